"""The files of pages: each under a name that changes with it, small on the way, and whole when it is unpacked."""

import gzip
import re
from importlib.resources import files

import pytest

from dawr.web.pages.assets import IMPORTED, _assets, address_of
from dawr.web.response import HTML, JSON, Response, packed
from dawr.web.wording import LANGUAGES, words_in

FULL_NAME = re.compile(r"[a-z_-]+\.[0-9a-f]{12}\.(js|css|svg|json)")


def test_every_file_has_a_hash_of_itself_in_its_name() -> None:
    there = {file.name for file in (files("dawr.web") / "static").iterdir()}

    assert there <= _assets().names.keys()
    assert all(FULL_NAME.fullmatch(name) for name in _assets().served)


def test_a_module_imports_others_by_the_names_under_which_they_are_served() -> None:
    sources = {
        file.name: file.read_text() for file in (files("dawr.web") / "static").iterdir() if file.name.endswith(".js")
    }

    imports = {name: IMPORTED.findall(text) for name, text in sources.items()}

    assert any(imports.values())
    for name, imported in imports.items():
        served = _assets().served[_assets().names[name]].body.decode()
        for other in imported:
            assert f'"./{_assets().names[other]}"' in served
            assert f'"./{other}"' not in served


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_has_the_words_of_the_server(language: str) -> None:
    for screen in words_in(language).screens:
        assert address_of(f"words-{screen}-{language}.json").startswith(f"/static/words-{screen}-{language}.")


def test_what_is_packed_is_the_same_when_it_is_unpacked() -> None:
    for response in _assets().served.values():
        assert response.packed is not None
        assert gzip.decompress(response.packed) == response.body


def test_pages_are_packed_and_what_programs_read_is_not() -> None:
    page, short, answer = (
        Response(200, b"<p>word</p>" * 200, kind=HTML),
        Response(200, b"<p>", kind=HTML),
        Response(200, b"[1]" * 1000, kind=JSON),
    )

    assert gzip.decompress(packed(page).body) == page.body
    assert (b"content-encoding", b"gzip") in packed(page).headers
    assert packed(short) == short
    assert packed(answer) == answer
