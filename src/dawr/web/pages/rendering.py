"""From a template to an answer. Templates escape everything; nothing in a page is inline, so the policy is strict."""

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files

import jinja2
import msgspec

from dawr.web.problems import OUR_FAULT, Problem
from dawr.web.response import HTML, NO_REFERRER, SAME_ORIGIN, Header, Response
from dawr.web.wording import ENGLISH, RIGHT_TO_LEFT, name_in, say, words_in

BY_LANGUAGE: Header = (b"vary", b"accept-language")


def page(
    name: str,
    language: str = ENGLISH,
    *,
    status: int = 200,
    headers: tuple[Header, ...] = (),
    referrer: Header = SAME_ORIGIN,
    **facts: object,
) -> Response:
    """In the visitor's language: `say` has the words of pages, `named` what places and queues are called.

    A page whose address is a secret names it to nobody, by `referrer`; then it can have no form.
    """
    template = _templates().get_template(name)
    body = template.render(
        facts,
        language=language,
        direction="rtl" if language in RIGHT_TO_LEFT else "ltr",
        say=words_of_pages(language),
        named=partial(name_in, language),
    )
    return Response(status, body.encode(), (*headers, referrer, BY_LANGUAGE), HTML)


def problem_page(problem: Problem, language: str, correlation_id: str, *, by_rule: bool) -> Response:
    """What a person sees instead of the JSON that programs get."""
    shown = page(
        "problem.html",
        language,
        status=problem.status,
        headers=problem.headers_of_response(),
        referrer=NO_REFERRER,
        problem=problem,
        correlation_id=correlation_id if problem.status >= OUR_FAULT else None,
    )
    return msgspec.structs.replace(shown, by_rule=by_rule)


def words_of_pages(language: str) -> Callable[..., str]:
    said = words_in(language).pages
    return lambda name, **facts: say(said[name], facts, language)


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.DictLoader(_sources()),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _sources() -> dict[str, str]:
    folder = files("dawr.web") / "templates"
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".html")}
