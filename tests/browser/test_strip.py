"""The strip of time, the keyboard, and times as a viewer reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

import memoranda
from memoranda.server.http.settings import HttpSettings
from memoranda.testing import FixedIds
from tests.browser.browser import Viewer, needs_chromium
from tests.browser.story import WorkingClock, tell
from tests.patience import wait_until
from tests.server_process import ServerThread

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
_COLOURS = """() => {
  const canvas = document.querySelector('.strip canvas');
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const pen = copy.getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  const style = getComputedStyle(canvas);
  const drawn = new Set();
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue] = pixels.slice(at, at + 3);
    drawn.add('#' + [red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join(''));
  }
  return ['state', 'memory', 'fact', 'notice']
    .filter((name) => drawn.has(style.getPropertyValue(`--${name}`).trim()));
}"""
"""Returns the kinds whose colours are on the strip."""


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the story over four working days, with a night between two."""
    path = tmp_path_factory.mktemp("days") / "demo.db"
    tell(path, clock=WorkingClock("2026-02-09T08:30:00Z"), ids=FixedIds())
    with ServerThread(file=path, tokens=False, http=HttpSettings(port=0)) as server:
        yield f"http://{server.server.http_address}"


def parameter(page: Page, name: str) -> str | None:
    """Return a parameter of the address."""
    return parse_qs(urlsplit(page.url).query).get(name, [None])[0]


def press_at(page: Page, share: float, *, upto: float | None = None) -> None:
    """Press a place of the strip; with `upto`, select the range up to there."""
    box = page.locator(".strip").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
    if upto is not None:
        page.keyboard.down("Shift")
    page.mouse.down()
    if upto is not None:
        page.mouse.move(box["x"] + upto * box["width"], box["y"] + 20, steps=3)
    page.mouse.up()
    if upto is not None:
        page.keyboard.up("Shift")


def commits(page: Page) -> list[int]:
    """Return the commits of the rows in sight."""
    return [int(text) for text in page.locator(".events .commit").all_inner_texts()]


def test_idle_time_is_short(days: str, view: View) -> None:
    """Nights are 97 % of the time: places of the strip lead to events all the same."""
    viewer = view(days)
    page = viewer.open("/")
    viewer.settle()
    reached = []
    for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        before = parameter(page, "at")
        press_at(page, share)
        wait_until(lambda before=before: parameter(page, "at") != before)  # type: ignore[misc]
        viewer.settle()
        reached.append(int(parameter(page, "at") or 0))
    assert reached == sorted(set(reached))
    assert len(reached) == 9
    assert reached[0] < 10
    assert reached[-1] > 34


def test_a_range_is_selected_and_left_again(days: str, view: View) -> None:
    viewer = view(days)
    page = viewer.open("/")
    viewer.settle()
    everything = commits(page)
    press_at(page, 0.01, upto=0.2)
    page.wait_for_url("**from=*")
    page.locator(".events li.current", has_text="invoice/8").wait_for()
    assert commits(page) == list(range(1, 11))
    day = page.url
    page.get_by_role("button", name="Zoom in").click()
    wait_until(lambda: page.url != day)
    narrow = parameter(page, "from")
    page.get_by_role("button", name="Zoom out").click()
    wait_until(lambda: parameter(page, "from") != narrow)
    page.get_by_role("button", name="All", exact=True).click()
    page.locator(".events li.current", has_text="Ann lives in Oslo").wait_for()
    assert parameter(page, "from") is None
    assert commits(page) == everything
    page.locator(".strip").hover()
    page.mouse.wheel(0, -100)
    page.wait_for_url("**from=*")
    page.locator(".strip").dblclick()
    wait_until(lambda: parameter(page, "from") is None)


def test_the_strip_and_the_tabs_follow_the_keyboard(days: str, view: View) -> None:
    page = view(days).open("/")
    strip = page.get_by_role("slider", name="The moment you look at")
    strip.focus()
    page.keyboard.press("Home")
    page.locator(".events li.current", has_text="policy").wait_for()
    assert strip.get_attribute("aria-valuenow") == "1"
    assert strip.get_attribute("aria-valuetext") == "commit 1, wrote policy"
    page.keyboard.press("PageDown")
    page.locator(".events li.current .commit", has_text="11").wait_for()
    page.keyboard.press("End")
    page.locator(".events li.current", has_text="Ann lives in Oslo").wait_for()
    assert strip.get_attribute("aria-valuenow") == "44"
    page.keyboard.press("+")
    page.wait_for_url("**from=*")
    page.keyboard.press("-")

    page.goto(page.url.partition("?")[0].replace("timeline", "") + "inbox")
    page.get_by_role("tab", name="To decide").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**status=resolved*")
    page.get_by_role("tab", name="Decided", selected=True).wait_for()
    page.keyboard.press("End")
    page.get_by_role("tabpanel", name="Stale keys").get_by_text("orders/polaris").wait_for()
    page.goto(page.url.partition("/inbox")[0] + "/")
    page.locator(".shell").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")


def test_times_are_the_viewers_and_exact_when_pointed_at(days: str, view: View) -> None:
    page = view(days, timezone="America/New_York").open("/timeline?at=1")
    row = page.locator(".events li.current time")
    assert row.inner_text() == "03:33:14"
    assert row.get_attribute("title") == "2026-02-09T08:33:14.000000Z (UTC)"
    page.goto(page.url.partition("/timeline")[0] + "/facts")
    bar = page.locator(".fact-bar", has_text="Tall Ships")
    bar.get_by_text("Sep 1, 2021").wait_for()  # not the evening before


def test_the_strip_shows_the_chosen_kinds_only(days: str, view: View) -> None:
    viewer = view(days)
    page = viewer.open("/")
    viewer.settle()
    assert page.evaluate(_COLOURS) == ["state", "memory", "fact", "notice"]
    page.get_by_role("button", name="Facts", exact=True).click()
    wait_until(lambda: page.evaluate(_COLOURS) == ["fact"])
    page.get_by_role("button", name="Notices", exact=True).click()
    wait_until(lambda: page.evaluate(_COLOURS) == ["fact", "notice"])


def test_the_page_stays_in_place_while_one_steps(days: str, view: View) -> None:
    """Whatever an event says, the strip is as high as before."""
    viewer = view(days)
    page = viewer.open("/")
    viewer.settle()
    places = set()
    for _ in range(30):
        box = page.locator(".strip").bounding_box()
        assert box is not None
        places.add((box["y"], box["height"], page.locator("#main").bounding_box()["y"]))  # type: ignore[index]
        page.keyboard.press("ArrowLeft")
        viewer.settle()
    assert len(places) == 1


def test_the_list_of_events_names_the_days(days: str, view: View) -> None:
    page = view(days, timezone="UTC").open("/timeline?at=5")
    page.locator(".events li.current").wait_for()
    assert page.locator(".events .day").all_inner_texts()[:2] == ["Feb 9", "Feb 10"]


def test_the_browser_goes_back_to_what_was_seen(days: str, view: View) -> None:
    page = view(days).open("/timeline?at=32&ns=facts")
    page.get_by_label("What this event changed").get_by_role("link", name="orders/polaris").click()
    page.get_by_text("What it rests on").wait_for()
    page.get_by_role("link", name="Facts").click()
    page.locator(".fact-bar").first.wait_for()
    page.go_back()
    page.get_by_text("What it rests on").wait_for()
    page.go_back()
    page.locator(".events li.current .commit", has_text="32").wait_for()
    assert page.get_by_label("Namespace of events").input_value() == "facts"
    page.go_forward()
    page.locator("h1", has_text="orders/polaris").wait_for()
    assert parameter(page, "at") == "32"


def test_only_the_chosen_namespace_is_listed(days: str, view: View) -> None:
    viewer = view(days)
    page = viewer.open("/")
    viewer.settle()
    page.get_by_label("Namespace of events").select_option("beliefs")
    page.locator(".events li.current", has_text="decided").wait_for()
    wait_until(lambda: commits(page)[:1] == [11])
    assert commits(page)[-1] == 22
    assert page.evaluate(_COLOURS) == ["memory", "notice"]


def test_the_notices_and_decisions_of_a_namespace_are_among_its_events(
    story: Path, serve: Callable[..., str], view: View
) -> None:
    with memoranda.open(story, embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        notice = next(notice for notice in clerk.invalidations() if "facts" in notice.namespace)
        clerk.resolve_invalidation(notice.id, decision="keep", note="it still holds")
        decided = store.stats().commits
    viewer = view(serve(file=story))
    page = viewer.open("/?ns=facts")
    page.locator(".events li.current", has_text="it still holds").wait_for()
    listed = commits(page)
    assert listed == [*range(23, 41), decided]
    wait_until(lambda: page.evaluate(_COLOURS) == ["state", "memory", "fact", "notice"])
    changes = page.get_by_label("What this event changed")
    changes.get_by_text("it still holds").wait_for()
    page.keyboard.press("ArrowLeft")  # what was noticed is with the event that it was noticed in
    page.locator(".events li.current", has_text="ended").wait_for()
    changes.get_by_text("rests on something that").wait_for()
    page.get_by_role("button", name="Notices", exact=True).click()
    wait_until(lambda: commits(page) == [39, 40, decided])
    page.get_by_label("Namespace of events").select_option("talks")
    page.get_by_text("No event matches").wait_for()


def test_a_namespace_that_appears_can_be_chosen(
    story: Path, serve: Callable[..., str], view: View
) -> None:
    viewer = view(serve(file=story))
    page = viewer.open("/")
    viewer.settle()
    with memoranda.open(story, embedder=None) as store:
        store.write(agent_id="clerk", key="first", value={}, namespace="brand/new")
    page.locator(".events li.current", has_text="first").wait_for()
    page.get_by_label("Namespace of events").select_option("brand/new")
    wait_until(lambda: page.locator(".events li").count() == 1)
