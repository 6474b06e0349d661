"""Windows of a real Chromium, each as good as a device of its own: its size, language, theme, cookies and address.

Whatever a page complains about is noted: a breach of its policy, an error in its script or on its console, a request to
another site. A test ends well only if nothing was.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from urllib.parse import urlsplit

import msgspec
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Route,
    ViewportSize,
    WebError,
    expect,
    sync_playwright,
)

from tests.browser import scripts
from tests.browser.chromium import arguments, find_chromium

LONGEST_WAIT_MS = 20_000
AWAY = r"net::ERR_(CONNECTION|EMPTY|INCOMPLETE|NETWORK|SOCKET|INTERNET)\w+"
"""What a browser says while the server cannot be reached."""
LOCALES = {"en": "en-GB", "ar": "ar-QA", "zh": "zh-CN"}
PAST_THE_GUARD = "() => new Promise((done) => setTimeout(done, 650))"
"""The same key within 0.6 s is one that was pressed twice by mistake."""
OVER_A_NETWORK = {"http", "https", "ws", "wss"}


class Size(msgspec.Struct, frozen=True):
    width: int
    height: int
    touch: bool = False


PHONE = Size(390, 844, touch=True)
PORTRAIT = Size(1080, 1920)
TV = Size(1920, 1080)
DESK = Size(1440, 900)
TABLET = Size(1024, 768, touch=True)


def intercept(page: Page, address: str | re.Pattern[str], handler: Callable[[Route], object]) -> None:
    """From now on. A page that is there already sends some requests past it, until one is seen to be intercepted."""
    page.route(address, handler)
    page.route("**/health/live", lambda route: route.fulfill(status=204))
    while page.evaluate("() => fetch('/health/live').then((answer) => answer.status)") != 204:
        pass


@contextmanager
def chromium() -> Iterator[Browser]:
    """While it is open no event loop can be run in this thread: Playwright has its own."""
    expect.set_options(timeout=LONGEST_WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*arguments(), *scripts.arguments()])
        yield browser
        browser.close()


class Windows:
    """Those of one test. All look at one server."""

    _addresses = count(1)

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.complaints: list[str] = []
        self._browser = browser
        self._allowed: list[str] = []
        self._contexts: list[BrowserContext] = []
        self._pages: dict[Page, CDPSession] = {}

    def open(
        self,
        path: str,
        size: Size = PHONE,
        *,
        language: str = "en",
        dark: bool = False,
        still: bool = False,
        script: bool = True,
        session: str | None = None,
        address: str | None = "",
    ) -> Page:
        """A page in a window of its own.

        `session` is of somebody signed in. `still`: with as little motion as possible. `address` is whose requests the
        server sees: by default those of a new one each, so that limits are on and no test uses up another's; with None
        they come from this machine itself.
        """
        context = self._browser.new_context(
            base_url=self.url,
            viewport=ViewportSize(width=size.width, height=size.height),
            is_mobile=size.touch,
            has_touch=size.touch,
            locale=LOCALES.get(language, language),
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
            java_script_enabled=script,
            extra_http_headers={} if address is None else {"X-Forwarded-For": address or self._new_address()},
        )
        self._contexts.append(context)
        self._listen(context)
        if session is not None:
            self.sign_in(context, session)
        return self._go(context, path)

    def beside(self, page: Page, path: str) -> Page:
        """Another page in the same window: the same person, in another tab."""
        return self._go(page.context, path)

    def sign_in(self, context: BrowserContext, session: str) -> None:
        context.add_cookies(
            [{"name": "dawr", "value": session, "url": self.url, "httpOnly": True, "sameSite": "Lax"}],
        )

    def allow(self, *patterns: str) -> None:
        """From now on, complaints that have one of these in them are part of the test."""
        self._allowed += patterns

    def close(self) -> None:
        """A round trip for each page first: what it said before has arrived then."""
        for session in self._pages.values():
            with suppress(Error):
                session.send("Runtime.evaluate", {"expression": "0"})
            scripts.measured(session)
        for context in self._contexts:
            context.close()

    def must_be_quiet(self) -> None:
        assert self.complaints == [], "\n".join(self.complaints)

    def _new_address(self) -> str:
        number = next(self._addresses)
        return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

    def _listen(self, context: BrowserContext) -> None:
        context.set_default_timeout(LONGEST_WAIT_MS)
        context.on("request", self._look_at)
        context.on("weberror", self._note_error)
        context.on("console", self._note_message)

    def _go(self, context: BrowserContext, path: str) -> Page:
        page = context.new_page()
        self._watch(page)
        page.goto(path)
        return page

    def _watch(self, page: Page) -> None:
        """Before it goes anywhere; a page that opens another by itself is the only one that is quicker."""
        page.on("popup", self._watch)
        session = page.context.new_cdp_session(page)
        self._pages[page] = session
        session.on("Audits.issueAdded", lambda found: self._judge(found["issue"]))
        session.send("Audits.enable")
        scripts.measure(session)
        page.on("load", lambda _: scripts.measured(session))

    def _judge(self, issue: dict[str, object]) -> None:
        if issue["code"] == "ContentSecurityPolicyIssue":
            self._complain(f"Against the page's policy: {issue['details']}")

    def _note_error(self, error: WebError) -> None:
        self._complain(f"Error in a script: {error.error}")

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(f"On the console: {message.text} ({message.location['url']})")

    def _look_at(self, request: Request) -> None:
        asked = urlsplit(request.url)
        if asked.scheme in OVER_A_NETWORK and asked.netloc != urlsplit(self.url).netloc:
            self._complain(f"A request to another site: {request.url}")

    def _complain(self, sentence: str) -> None:
        if not any(re.search(pattern, sentence) for pattern in self._allowed):
            self.complaints.append(sentence)
