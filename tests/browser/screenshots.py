"""`make screenshots`: a picture of every page in every state, at its sizes, light, dark and in Arabic.

All go to `build/screenshots`, which is not kept; those that the README shows also to `docs/pictures`. Names of scenes
choose some: `python -m tests.browser.screenshots phone console-next`.
"""

import asyncio
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from tests.browser.scenes import IN_THE_HALL, Scene, scenes
from tests.browser.stage import Stage, set_the_stage
from tests.browser.windows import Size, Windows, chromium

ROOT = Path(__file__).parents[2]
TAKEN = ROOT / "build" / "screenshots"
SHOWN = ROOT / "docs" / "pictures"
BEST = {
    "demo-called-1440x900-light": "demo",
    "phone-called-390x844-light": "phone",
    "display-sound-1920x1080-light": "display",
    "console-called-1440x900-light": "console",
}
"""What the README shows, and under which name."""


async def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        async with set_the_stage(Path(directory)) as stage:
            return await asyncio.to_thread(take, stage, tuple(sys.argv[1:]))


def take(stage: Stage, wanted: tuple[str, ...]) -> int:
    """How many could not be taken."""
    TAKEN.mkdir(parents=True, exist_ok=True)
    SHOWN.mkdir(parents=True, exist_ok=True)
    stage.let_staff_in()
    missed = 0
    with chromium() as browser:
        for scene in scenes(stage):
            if not wanted or scene.name.startswith(wanted):
                missed += sum(not _is_taken(browser, stage, scene, size, look) for size, look in _ways(scene))
    return min(missed, 1)


def _ways(scene: Scene) -> list[tuple[Size, str]]:
    return [(size, look) for size in scene.sizes for look in scene.looks]


def _is_taken(browser: Browser, stage: Stage, scene: Scene, size: Size, look: str) -> bool:
    name = f"{scene.name}-{size.width}x{size.height}-{look}"
    windows = Windows(browser, stage.demo_url if scene.is_demo else stage.url)
    try:
        page = _shown(windows, stage, scene, size, look)
        page.screenshot(path=TAKEN / f"{name}.png", animations="disabled")
    except (Error, AssertionError) as error:
        sys.stderr.write(f"{name}: {str(error).splitlines()[0]}\n")
        return False
    finally:
        windows.close()
    if name in BEST:
        shutil.copy(TAKEN / f"{name}.png", SHOWN / f"{BEST[name]}.png")
    return True


def _shown(windows: Windows, stage: Stage, scene: Scene, size: Size, look: str) -> Page:
    page = windows.open(
        "about:blank",
        size,
        language="ar" if look == "arabic" else "en",
        dark=look == "dark",
        still=True,
        session=scene.session,
        address=None,
    )
    page.clock.install(time=datetime.fromtimestamp(stage.clock.now / 1000, UTC))
    path = f"{scene.path}?lang=ar" if look == "arabic" and scene.looks == IN_THE_HALL else scene.path
    if scene.is_followed:
        with page.expect_response(lambda answer: "/v1/events" in answer.url):
            page.goto(path)
    else:
        page.goto(path)
    if scene.then is not None:
        scene.then(page)
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    return page


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
