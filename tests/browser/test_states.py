"""What the page says where there is nothing, or where something is wrong: it says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda.server.http.settings import HttpSettings
from tests.browser.browser import Viewer, needs_chromium
from tests.server_process import ServerThread

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
_IS_IN_SIGHT = """() => {
  const row = document.querySelector('.rail nav').getBoundingClientRect();
  const link = document.querySelector('.rail nav [aria-current]').getBoundingClientRect();
  return link.left >= row.left && link.right <= row.right - 24;
}"""
"""Returns whether the open view's link is where the row of views does not fade out."""
_FIRST_WRITE = """() => fetch('/v1/stores/-/agents/ann/keys/first?namespace=default', {
    method: 'PUT', headers: {'content-type': 'application/json'}, body: '{"value": {"n": 1}}'})"""


def test_an_empty_store_shows_its_first_event(
    tmp_path: Path, serve: Callable[..., str], view: View
) -> None:
    with memoranda.open(tmp_path / "empty.db", embedder=None):
        pass
    viewer = view(serve(file=tmp_path / "empty.db"))
    viewer.page.clock.install()
    page = viewer.open("/")
    page.get_by_text("No agent has written yet").wait_for()
    assert page.get_by_label("Agent").inner_text() == "none yet"
    assert viewer.violations() == []
    viewer.screenshot("empty")
    page.evaluate(_FIRST_WRITE)
    page.clock.fast_forward(11_000)
    page.locator(".events li.current", has_text="first").wait_for()


def test_what_is_not_there_is_said(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/timeline?agent=nobody")
    page.get_by_text("Events of nobody appear here").wait_for()
    assert page.get_by_label("Agent").input_value() == "nobody"
    page = viewer.open("/timeline?q=no+such+words")
    page.get_by_role("button", name="Take all filters away").click()
    page.locator(".events li.current", has_text="Ann lives in Oslo").wait_for()
    page = viewer.open("/why?key=orders/polaris&space=facts&at=2")
    page.get_by_text("Not known at commit 2").wait_for()
    page.get_by_role("button", name="Look at it now").click()
    page.get_by_text("What it rests on").wait_for()
    page = viewer.open("/why?key=none&space=facts")
    page.get_by_text("Nothing like this is known").wait_for()
    assert viewer.violations() == []
    page = viewer.open("/timeline?store=none")
    page.get_by_text("there is no store").wait_for()
    page.get_by_role("link", name="Begin anew").click()
    page.locator(".events li.current", has_text="Ann lives in Oslo").wait_for()
    # The browser tells of each answer that was no success.
    viewer.complaints[:] = [line for line in viewer.complaints if "404" not in line]


def test_a_server_that_went_away_is_said(story: Path, view: View) -> None:
    with ServerThread(file=story, tokens=False, http=HttpSettings(port=0)) as server:
        viewer = view(f"http://{server.server.http_address}")
        page = viewer.open("/")
        page.locator(".events li.current").wait_for()
    page.get_by_role("button", name="Not live").wait_for()
    page.get_by_label("Time", exact=True).get_by_text("Last seen").wait_for()
    page.get_by_role("link", name="Trust").click()
    page.get_by_text("The server does not answer").wait_for()
    page.get_by_text("reload this page").wait_for()
    viewer.screenshot("server-gone")
    page.get_by_role("link", name="Timeline").click()
    page.locator(".events .event").first.click()
    for part in ("What this event changed", "What the agent knew"):
        page.get_by_label(part).get_by_text("The server does not answer").wait_for()
    viewer.close()
    viewer.complaints.clear()  # the browser tells of each refused connection


def test_the_open_view_stays_in_sight_on_a_phone(shown: str, view: View) -> None:
    viewer = view(shown, phone=True)
    for place in ("timeline", "facts", "trust", "compare"):
        page = viewer.open(f"/{place}")
        page.locator(".rail nav [aria-current]").wait_for()
        viewer.settle()
        page.wait_for_function(_IS_IN_SIGHT)
