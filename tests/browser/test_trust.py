"""A log that does not hold, and an agent that is erased as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import memoranda
from tests.browser.browser import Viewer, needs_chromium

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
Serve = Callable[..., str]


def test_a_changed_event_is_found_and_named(story: Path, serve: Serve, view: View) -> None:
    with closing(sqlite3.connect(story)) as connection, connection:
        connection.execute("UPDATE event SET hash = randomblob(32) WHERE commit_ts = 7")
    viewer = view(serve(file=story))
    page = viewer.open("/trust")
    page.get_by_role("button", name="Verify").click()
    chain = page.get_by_label("The chain")
    chain.locator(".chip.bad").wait_for()
    assert chain.locator(".chip.bad").inner_text() == "it does not hold"
    assert "commit 7" in chain.locator(".problem").inner_text()
    assert chain.get_by_text("it holds").count() == 0
    viewer.screenshot("trust-broken")
    # The browser tells of each answer that was no success.
    viewer.complaints[:] = [line for line in viewer.complaints if "status of" not in line]


def test_a_whole_agent_is_erased(story: Path, serve: Serve, view: View) -> None:
    with memoranda.open(story, embedder=None) as store:
        store.write(agent_id="visitor", key="name", value={"is": "Zoë"})
    viewer = view(serve(file=story))
    page = viewer.open("/trust?agent=visitor")
    desk = page.get_by_label("Erasure desk")
    desk.locator("select[name=target]").select_option(label="A whole agent")
    desk.locator("input[name=value]").fill("visitor")
    desk.get_by_label("Reason").fill("it left")
    desk.get_by_role("button", name="Preview").click()
    desk.get_by_text("1 operation in 1 event").wait_for()
    desk.get_by_role("button", name="Erase for good").click()
    page.locator(".certificate", has_text="it left").wait_for()
    assert page.locator(".problem").count() == 0
    page.goto(page.url.partition("/trust")[0] + "/?agent=visitor")
    page.locator(".shell").wait_for()
    viewer.settle()
    text = page.locator("body").inner_text()
    assert "Zoë" not in text
    page.get_by_label("Agent").select_option("clerk")
    page.locator(".events li.current").wait_for()
