"""From a template to an answer. Templates escape everything; nothing in a page is inline, so the policy is strict."""

from functools import cache
from importlib.resources import files

import jinja2

from dawr.web.response import HTML, Response


def page(template: str, **facts: object) -> Response:
    return Response(200, _templates().get_template(template).render(facts).encode(), kind=HTML)


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
