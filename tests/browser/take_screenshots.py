"""Take the pictures of the README: `python -m tests.browser.take_screenshots`.

The store has the demo's story, over four working days of a fixed clock: the same page gives the
same pictures.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from memoranda.server.http.settings import HttpSettings
from memoranda.testing import FixedClock, FixedIds
from tests.browser.browser import Viewer, open_browser
from tests.browser.story import WorkingClock, tell
from tests.server_process import ServerThread

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = {
    "page-timeline": "/timeline?at=20",
    "page-why": "/why?key=orders/polaris&space=facts",
    "page-facts": "/facts?valid=2022-06-01T00:00:00Z",
}
_SIZE = {"width": 1120, "height": 660}


def main() -> None:
    """Write the pictures, light and dark."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        path = Path(folder) / "demo.db"
        clock = WorkingClock("2026-02-09T08:30:00Z")
        tell(path, clock=clock, ids=FixedIds())
        present = FixedClock(clock.now())
        with ServerThread(
            file=path, tokens=False, http=HttpSettings(port=0), clock=present
        ) as server:
            for dark in (False, True):
                take(browser, f"http://{server.server.http_address}", dark=dark)


def take(browser: Browser, address: str, *, dark: bool) -> None:
    """Take all pictures in one colour scheme."""
    viewer = Viewer(browser, address, dark=dark)
    viewer.page.set_viewport_size({"width": _SIZE["width"], "height": _SIZE["height"]})
    for name, place in PICTURES.items():
        page = viewer.open(place)
        viewer.settle()
        page.evaluate("() => document.fonts.ready")
        page.wait_for_timeout(300)
        page.screenshot(path=IMAGES / f"{name}{'-dark' if dark else ''}.png")
    viewer.close()
    assert viewer.complaints == []


if __name__ == "__main__":
    main()
