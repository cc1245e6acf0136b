"""A log that is longer than any list: the page reads the part of it that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import memoranda
from tests.browser.browser import Viewer, needs_chromium

pytestmark = [needs_chromium, pytest.mark.slow]
EVENTS = 3000


def current(page: Page, number: int) -> None:
    """Wait until the event of a number is looked at, with what it wrote."""
    page.locator(".events li.current", has_text=f"step/{number}").wait_for()
    page.get_by_label("What this event changed").get_by_text(f"step/{number}").wait_for()


def test_a_long_log_is_read_in_parts(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path = tmp_path / "long.db"
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        agent = store.bind(agent_id="walker")
        for number in range(1, EVENTS + 1):
            agent.write(key=f"step/{number}", value={"number": number})
    viewer = view(serve(file=path))
    page = viewer.open("/")
    current(page, EVENTS)
    assert page.locator(".events li").count() < 100
    page.locator(".strip").focus()
    page.keyboard.press("ArrowLeft")
    current(page, EVENTS - 1)

    box = page.locator(".strip").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
    page.wait_for_url("**at=*")
    page.wait_for_function("() => Number(new URLSearchParams(location.search).get('at')) < 2500")
    viewer.settle()
    middle = int(page.url.partition("at=")[2].partition("&")[0])
    assert 100 < middle < EVENTS - 100
    current(page, middle)

    for number in range(middle - 1, middle - 130, -1):  # over the edge of what was read
        page.keyboard.press("ArrowLeft")
        current(page, number)

    viewer.open("/timeline?at=2")
    current(page, 2)
    page.keyboard.press("ArrowLeft")
    current(page, 1)
    page.keyboard.press("ArrowLeft")
    current(page, 1)
    page.get_by_role("button", name="Live").click()
    current(page, EVENTS)

    page.get_by_label("Find a key or a text").fill("step/1234")
    page.keyboard.press("Enter")
    page.locator(".events .event", has_text="step/1234").wait_for()
    assert page.locator(".events .event").count() == 1
