"""The page opens, and shows the story."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.browser import Viewer, needs_chromium

pytestmark = needs_chromium


def test_the_page_opens_and_steps_back(served: str, view: Callable[..., Viewer]) -> None:
    viewer = view(served)
    page = viewer.open("/")
    page.locator(".events li.current").get_by_text("learned Ann lives in Oslo").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator(".events li.current").get_by_text("stored a conversation").wait_for()
    assert "at=" in page.url
    page.reload()
    page.locator(".events li.current").get_by_text("stored a conversation").wait_for()
    assert page.evaluate("() => window.attacked") is None
