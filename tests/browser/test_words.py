"""What a page's script says is what the server would say: every message, in every language, with every number."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from dawr.domain.venue import Digits
from dawr.web.pages.assets import address_of
from dawr.web.wording import LANGUAGES, RIGHT_TO_LEFT, say, words_in
from tests.browser.windows import DESK, Windows
from tests.web.messages import choices_in, facts_in

COUNTS = (0, 1, 2, 3, 10, 11, 99, 100, 101, 102, 1000)
TEXT = "A042"
SAY = """async ([module, language, direction, digits, words, asked]) => {
  Object.assign(document.documentElement, { lang: language, dir: direction });
  Object.assign(document.documentElement.dataset, { words, digits });
  const { loadWords, say } = await import(module);
  await loadWords();
  return asked.map(([name, facts]) => say(name, facts));
}"""


def questions(message: str | Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Facts that choose each of a message's forms."""
    facts = facts_in(message)
    by = {str(choice["by"]): choice.keys() - {"by", "none", "other"} for choice in choices_in(message)}
    plain = dict.fromkeys(facts | by.keys(), TEXT)
    yield plain
    for count in COUNTS:
        yield dict.fromkeys(plain, count)
    for name, values in by.items():
        yield from ({**plain, name: value} for value in values)
        yield {other: fact for other, fact in plain.items() if other != name or other in facts}


@pytest.mark.parametrize(("language", "digits"), [*product(LANGUAGES, ["latin"]), ("ar", "arabic")])
def test_the_script_says_what_the_server_says(windows: Windows, language: str, digits: Digits) -> None:
    page = windows.open("/docs", DESK)
    direction = "rtl" if language in RIGHT_TO_LEFT else "ltr"
    for number, (screen, words) in enumerate(words_in(language).screens.items()):
        asked = [(name, facts) for name, message in words.items() for facts in questions(message)]
        module = f"{address_of('words.js')}?{number}"

        file = address_of(f"words-{screen}-{language}.json")
        said = page.evaluate(SAY, [module, language, direction, digits, file, asked])

        assert said == [say(words[name], facts, language, digits) for name, facts in asked], screen
