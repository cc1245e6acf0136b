"""A log that is longer than any list: the page reads the part of it that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, Route

import memoranda
from tests.browser.browser import Viewer, needs_chromium
from tests.browser.pace import open_timeline, requests_of, step_times
from tests.bulk import write_events

pytestmark = [needs_chromium, pytest.mark.slow]
EVENTS, LONG, MILLION = 1000, 20_000, 1_000_000


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
    page.wait_for_function(
        f"() => Number(new URLSearchParams(location.search).get('at')) < {EVENTS - 100}"
    )
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

    page.get_by_label("Find a key or a text").fill("step/321")
    page.keyboard.press("Enter")
    page.locator(".events .event", has_text="step/321").wait_for()
    assert page.locator(".events .event").count() == 1


def test_a_step_in_a_million_events_costs_few_requests(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    """Two thousand events are in one bucket of the strip, and few of them are read."""
    path = tmp_path / "long.db"
    write_events(path, MILLION)
    viewer = view(serve(file=path))
    page = viewer.page
    responses: list[Response] = []

    def note(response: Response) -> None:
        responses.append(response)

    page.on("response", note)
    with requests_of(viewer) as first:
        open_timeline(viewer)
    page.remove_listener("response", note)
    parts = [response.json()["items"] for response in responses if "/replay?" in response.url]
    assert 0 < sum(map(len, parts)) <= 500
    calls = [address for address in first if "/v1/" in address]
    assert len(calls) <= 16
    assert page.locator(".events li.current .commit").inner_text() == str(MILLION)
    page.wait_for_timeout(500)
    with requests_of(viewer) as requests:
        times = step_times(viewer, 10)
    print(f"steps: {sorted(round(time) for time in times)} ms, {len(requests)} requests")  # noqa: T201
    assert len(requests) <= 6 * 10
    assert not [address for address in requests if "subscribe" in address or "icon" in address]

    box = page.locator(".strip").bounding_box()
    assert box is not None
    with requests_of(viewer) as requests:
        page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
        page.wait_for_url("**at=*")
        page.wait_for_function(
            f"() => Number(new URLSearchParams(location.search).get('at')) < {0.9 * MILLION}"
        )
        viewer.settle()
    commit = page.url.partition("at=")[2].partition("&")[0]
    assert 0.1 * MILLION < int(commit) < 0.9 * MILLION
    assert page.locator(".events li.current .commit").inner_text() == commit
    assert len([address for address in requests if "/replay?" in address]) <= 3
    for key, number in (("ArrowLeft", int(commit) - 1), ("ArrowRight", int(commit))):
        step_times(viewer, 1, key)
        assert page.locator(".events li.current .commit").inner_text() == str(number)

    with requests_of(viewer) as requests:
        viewer.open("/timeline?at=99999999")
        page.locator(".events li.current", has_text=str(MILLION)).wait_for()
    assert len([address for address in requests if "/replay?" in address]) <= 2


def test_an_agent_with_few_events_among_many_is_found(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path = tmp_path / "sparse.db"
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        store.write(agent_id="rare", key="first", value={})
        store.write(agent_id="rare", key="second", value={})
    write_events(path, 5000)
    with memoranda.open(path, embedder=None) as store:
        store.write(agent_id="rare", key="third", value={})
        store.write(agent_id="a", key="last", value={})
    viewer = view(serve(file=path))
    page = viewer.open("/?agent=rare")
    page.locator(".events li.current", has_text="third").wait_for()
    page.locator(".events li", has_text="first").wait_for()
    assert page.locator(".events li").count() == 3
    viewer.open("/?agent=rare&at=3000")
    page.locator(".events li.current", has_text="second").wait_for()


def test_a_search_goes_on_by_itself_and_can_be_stopped(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path = tmp_path / "long.db"
    write_events(path, LONG)
    with memoranda.open(path, embedder=None) as store:
        store.write(agent_id="a", key="needle", value={"in": "a haystack"})
        store.write(agent_id="a", key="after", value={})
    viewer = view(serve(file=path))
    page = viewer.open("/")
    page.locator(".events li.current", has_text="after").wait_for()
    page.get_by_label("Find a key or a text").fill("haystack")
    page.keyboard.press("Enter")
    page.locator(".events li.current", has_text="needle").wait_for()
    page.locator(".searching").wait_for(state="detached")
    assert page.locator(".events .event").count() == 1

    pages = 0

    def few(route: Route) -> None:  # the third part of the log never comes
        nonlocal pages
        pages += 1
        if pages < 3:
            route.continue_()

    page.route("**/replay?*limit=1000*", few)
    page.get_by_label("Find a key or a text").fill("no such words")
    page.keyboard.press("Enter")
    page.get_by_text("Searching 2,000 events").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Searched 2,000 events").wait_for()
    page.unroute("**/replay?*limit=1000*")
    page.get_by_role("button", name="Search on").click()
    page.get_by_text("No event matches").wait_for()


def test_a_long_history_ends_with_the_newest_version(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path = tmp_path / "long.db"
    write_events(path, 100 * 250)  # each of a hundred keys has so many versions
    page = view(serve(file=path)).open("/why?key=k7&space=default")
    versions = page.get_by_label("Its versions").locator("li")
    versions.first.wait_for()
    numbers = [text.split()[0] for text in versions.locator(".kind").all_inner_texts()]
    assert numbers == [f"v{number}" for number in range(250, 50, -1)]
    page.get_by_text("Earlier versions are not shown here").wait_for()


def test_a_memory_with_many_versions_ends_with_the_newest(
    tmp_path: Path, serve: Callable[..., str], view: Callable[..., Viewer]
) -> None:
    path, number = tmp_path / "long.db", 520
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        memory = agent.remember("1 are here", title="visitors").id
        for version in range(2, number + 1):
            agent.remember(f"{version} are here", title="visitors")
    viewer = view(serve(file=path))

    def first_and_last(address: str) -> tuple[str, str]:
        page = viewer.open(address)
        versions = page.get_by_label("Its versions").locator("li")
        versions.first.wait_for()
        return versions.first.inner_text(), versions.last.inner_text()

    last, first = first_and_last(f"/why?memory={memory}")
    assert (last.startswith("v520"), "520 are here" in last) == (True, True)
    assert first.startswith("v321")
    page = viewer.page
    page.get_by_text("Earlier versions are not shown here").wait_for()
    assert page.get_by_text("Later versions are not shown here").count() == 0

    last, first = first_and_last(f"/why?memory={memory}&at=400")
    assert (last.startswith("v400"), first.startswith("v201")) == (True, True)
    page.get_by_text("Later versions are not shown here").wait_for()

    page = viewer.open("/timeline?at=515")  # what an event changed, late in a long history
    changes = page.get_by_label("What this event changed")
    changes.locator("del", has_text="514").wait_for()
    changes.get_by_text("515 are here").wait_for()
