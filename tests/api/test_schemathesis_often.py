"""Thousands of requests made from the OpenAPI document, valid and not: no fault, and every answer as described."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.api.fuzzing import AnyCase, Real, ask_as_nobody, ask_as_owner, described, often, served_to_all
from tests.api.world import Api

pytestmark = pytest.mark.slow

AT_LEAST: Final = 2000
COUNTED: Final[Counter[str]] = Counter()

by_owner, by_nobody = described(thoroughly=True), described(thoroughly=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with served_to_all(tmp_path_factory.mktemp("schemathesis")) as api:
        yield api


@pytest.fixture(scope="module")
def real(served: Api) -> Real:
    return Real(served)


@by_owner.parametrize()
@often
def test_an_owner_is_answered_as_described(case: AnyCase, served: Api, real: Real) -> None:
    COUNTED["asked"] += 1
    ask_as_owner(case, served, real)


@by_nobody.parametrize()
@often
def test_nobody_is_answered_as_described(case: AnyCase, served: Api, real: Real) -> None:
    COUNTED["asked"] += 1
    ask_as_nobody(case, served, real)


def test_it_was_tried_often_enough() -> None:
    """Those above, in this run."""
    assert COUNTED["asked"] >= AT_LEAST
