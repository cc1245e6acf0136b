"""A real headless browser, and the page in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.patience import LONG_SECONDS

CHROMIUM = shutil.which("chromium")
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Git ignores it."""
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="THE PAGE IS NOT TESTED: there is no chromium; `apt-get install chromium` brings it",
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the browser of this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Viewer:
    """Somebody who looks at the page; what the console says is noted."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        *,
        dark: bool = False,
        phone: bool = False,
        timezone: str | None = None,
    ) -> None:
        self.address = address
        self.name = "dark" if dark else "phone" if phone else "light"
        size: Any = PHONE if phone else _DESKTOP
        self._context = browser.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            timezone_id=timezone,
        )
        self._context.set_default_timeout(LONG_SECONDS * 1000)
        self.complaints: list[str] = []
        self.page: Page = self._context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, path: str = "/") -> Page:
        """Open an address, and wait until the store is read."""
        self.page.goto(self.address + path)
        self.page.locator(".shell, .sign-in, .problem").first.wait_for()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is being read."""
        self.page.wait_for_function("() => !document.querySelector('[aria-busy]')")

    def screenshot(self, name: str) -> None:
        """Keep a picture of the page, for people."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.settle()
        self.page.screenshot(
            path=SCREENSHOTS / f"{name}-{self.name}.png", full_page=self.name == "phone"
        )

    def violations(self) -> list[str]:
        """Return what axe-core calls serious or worse; in the dark, only colours are other ones."""
        self.settle()
        self.page.evaluate(_AXE.read_text("utf-8"))
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if self.name == "dark":
            options["runOnly"] = {"type": "rule", "values": ["color-contrast"]}
        result = self.page.evaluate("(options) => axe.run(document, options)", options)
        return [
            f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
            for rule in result["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

    def close(self) -> None:
        """Leave; a second call has no effect."""
        self._context.close()
