"""Hundreds of requests made from the OpenAPI document, valid and not: no fault, and every answer as described.

Thousands are made by test_schemathesis_often.
"""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.api.fuzzing import AnyCase, Real, ask_as_nobody, ask_as_owner, described, often, served_to_all
from tests.api.world import Api

by_owner, by_nobody = described(thoroughly=False), described(thoroughly=False)
seldom = settings(often, max_examples=4)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with served_to_all(tmp_path_factory.mktemp("schemathesis")) as api:
        yield api


@pytest.fixture(scope="module")
def real(served: Api) -> Real:
    return Real(served)


@by_owner.parametrize()
@seldom
def test_an_owner_is_answered_as_described(case: AnyCase, served: Api, real: Real) -> None:
    ask_as_owner(case, served, real)


@by_nobody.parametrize()
@seldom
def test_nobody_is_answered_as_described(case: AnyCase, served: Api, real: Real) -> None:
    ask_as_nobody(case, served, real)
