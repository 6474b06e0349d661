"""What axe finds wrong with a page."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""All that axe looks for by itself, and the size of targets besides, which WCAG 2.2 asks for."""


def faults_of(page: Page) -> list[str]:
    """A sentence for each element that breaks a rule; none, if all is well."""
    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))} ({rule['help']})"
        for rule in found
        for node in rule["nodes"]
    ]
