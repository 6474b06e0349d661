"""From a template to an answer. Templates escape everything; nothing in a page is inline, so the policy is strict."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from dawr.domain import Venue
from dawr.domain.errors import RoleTooLow
from dawr.domain.venue import Digits
from dawr.web.forms import KEY, THEN, came_from, switch_person
from dawr.web.pages.assets import address_of
from dawr.web.pages.hue import hue_sheet
from dawr.web.problems import OUR_FAULT, Problem
from dawr.web.raw_request import RawRequest
from dawr.web.response import HTML, SAME_ORIGIN, Header, Response
from dawr.web.routes import Parts
from dawr.web.wording import (
    ENGLISH,
    LANGUAGES,
    RIGHT_TO_LEFT,
    Message,
    clock_time,
    digits_in,
    name_in,
    say,
    words_in,
)

BY_LANGUAGE: Header = (b"vary", b"accept-language")
YEAR_SECONDS = 365 * 24 * 60 * 60
LETTERS = {"en": "EN", "ar": "ع", "zh": "中"}
"""What the switch shows of each language."""


def page(
    parts: Parts,
    raw: RawRequest,
    name: str,
    *,
    venue: Venue | None = None,
    language: str | None = None,
    status: int = 200,
    headers: tuple[Header, ...] = (),
    **facts: object,
) -> Response:
    """In the visitor's language, unless one is given: by the switch on the page, by their browser, or the venue's.

    A template may use `say` for the words of its page, `named` for what places and queues are called, `asset` for
    the address of a file, `icon` for one of our pictures, `hidden` for the fields that every form has, and `number`
    and `clock` for a count and a time beside the words, in the venue's digits.
    """
    hidden = partial(_hidden, parts.ids.token)
    body = rendered(name, language or language_of(raw, venue), venue=venue, hidden=hidden, **facts)
    asked_for = raw.language_asked_for if language is None else None  # a screen that has its own is no switch
    switched = () if asked_for is None else (_kept(asked_for, secure=parts.clients.is_secure(raw.scope)),)
    return Response(status, body, (*headers, *switched, SAME_ORIGIN, BY_LANGUAGE), HTML)


def rendered(name: str, language: str, *, venue: Venue | None = None, **facts: object) -> bytes:
    screen = _screen_of(name)
    digits: Digits = "latin" if venue is None else venue.digits
    template = _templates().get_template(name)
    return template.render(
        facts,
        venue=venue,
        hue=None if venue is None else hue_sheet(venue),
        digits=digits,
        number=lambda count: digits_in(str(count), language, digits),
        clock=lambda ms: clock_time(ms, "UTC" if venue is None else venue.zone, language, digits),
        language=language,
        direction="rtl" if language in RIGHT_TO_LEFT else "ltr",
        languages=[(code, LETTERS[code], words_in(code).language) for code in LANGUAGES],
        words=address_of(f"words-{screen}-{language}.json") if screen in words_in(language).screens else None,
        say=words_of(screen, language, digits),
        named=partial(name_in, language),
        asset=address_of,
        icon=icon,
        separator=words_in(language).list_separator,
    ).encode()


def _screen_of(template: str) -> str:
    """Whose words it has: its own, or those of the page that it is beside: `console_desk.html` is the console's."""
    stem = template.removesuffix(".html")
    return stem if stem in words_in(ENGLISH).screens else stem.partition("_")[0]


def problem_page(
    parts: Parts, raw: RawRequest, problem: Problem, *, by_rule: bool, venue: Venue | None = None
) -> Response:
    """What a person sees instead of the JSON that programs get."""
    shown = page(
        parts,
        raw,
        "problem.html",
        venue=venue,
        status=problem.status,
        headers=problem.headers_of_response(),
        problem=problem,
        back=came_from(raw),
        switch=switch_person(raw) if problem.code == RoleTooLow.code else None,
        correlation_id=raw.correlation_id if problem.status >= OUR_FAULT else None,
    )
    return msgspec.structs.replace(shown, by_rule=by_rule)


def refusal_page(parts: Parts, raw: RawRequest, response: Response) -> Response:
    """The same for a refusal that was kept under its key as the body that programs get."""
    told = msgspec.json.decode(response.body, type=_Told)
    problem = Problem(response.status, told.code, told.title, told.detail, headers=response.headers)
    return problem_page(parts, raw, problem, by_rule=response.by_rule)


class _Told(msgspec.Struct):
    code: str
    title: str
    detail: str


def language_of(raw: RawRequest, venue: Venue | None = None) -> str:
    return raw.liked_language or (ENGLISH if venue is None else venue.language)


def words_of(screen: str, language: str, digits: Digits = "latin") -> Callable[..., str]:
    """How a page says something by its name: its own words, else those that all pages have."""
    words = words_in(language)
    own: Mapping[str, Message] = words.screens.get(screen, {})
    return lambda name, **facts: say(own.get(name) or words.pages[name], facts, language, digits)


def icon(name: str, *, turns: bool = False) -> Markup:
    """One of our pictures. Those that point somewhere turn where one reads from right to left."""
    kind = "icon turns" if turns else "icon"
    sprite = address_of("icons.svg")
    return Markup('<svg class="{}" viewBox="0 0 24 24" aria-hidden="true"><use href="{}#{}"></use></svg>').format(
        kind, sprite, name
    )


def _hidden(new_key: Callable[[], str], then: str = "") -> Markup:
    """What every form has: a key of its own, so that it is done once, and the page to go on to."""
    field = Markup('<input type="hidden" name="{}" value="{}">')
    return field.format(KEY, new_key()) + (field.format(THEN, then) if then else "")


def _kept(language: str, *, secure: bool) -> Header:
    """The switch, for the pages that are opened next."""
    attributes = f"Path=/; Max-Age={YEAR_SECONDS}; HttpOnly; SameSite=Lax{'; Secure' if secure else ''}"
    text = f"dawr-language={language}; {attributes}"
    return (b"set-cookie", text.encode())


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
