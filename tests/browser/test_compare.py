"""A fork beside its origin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from tests.browser.browser import Viewer, needs_chromium

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
Serve = Callable[..., str]


def test_a_fork_stands_beside_its_origin(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/compare?store=origin")
    page.get_by_label("The other store").select_option("whatif")
    page.get_by_text("The same up to commit 6").wait_for()
    row = page.locator(".beside-row", has_text="policy").last
    assert "300" in row.inner_text()
    assert "1000" in row.inner_text()


def test_what_happened_after_a_fork_parted_stands_on_its_side(
    tmp_path: Path, serve: Serve, view: View
) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    with memoranda.open(folder / "origin.db", embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        clerk.write(key="shared", value={"is": "before"})
        clerk.remember("Both know this", title="common")
        store.fork(folder / "whatif.db", at=2)
        clerk.write(key="plan", value={"go": "north"})
        clerk.write(key="only/origin", value={"n": 1})
        clerk.remember("It rained in the north")
    with memoranda.open(folder / "whatif.db", embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        with clerk.begin_transaction() as both:
            both.write(key="plan", value={"go": "south"})
            both.write(key="aside", value={"seen": "elsewhere"}, namespace="aside")
        clerk.bind(namespace="facts").assert_fact(subject="Ann", relation="lives in", object="Rome")
    viewer = view(serve(folder=folder))
    page = viewer.open("/?store=origin")
    page.get_by_role("link", name="Compare").click()
    page.get_by_label("The other store").select_option("whatif")
    page.get_by_text("The same up to commit 2").wait_for()
    origin, fork = page.locator("ol.parted").all()
    events = [row.inner_text() for row in origin.locator("li").all()]
    assert len(events) == 3
    assert ["plan" in events[0], "only/origin" in events[1], "rained" in events[2]] == [True] * 3
    events = [row.inner_text() for row in fork.locator("li").all()]
    assert len(events) == 2
    assert ["plan" in events[0], "Ann lives in Rome" in events[1]] == [True] * 2
    assert page.locator("ol.parted", has_text="shared").count() == 0

    def sides(text: str) -> list[str]:
        """Return what stands at both sides of a difference."""
        row = page.locator(".differences .beside-row", has_text=text)
        return [side.inner_text() for side in row.locator("> div").all()]

    page.locator(".differences").first.wait_for()
    left, right = sides("plan")
    assert ("north" in left, "south" in right) == (True, True)
    left, right = sides("only/origin")
    assert "only/origin" in left
    assert right == "not known"
    left, right = sides("rained")
    assert "rained" in left
    assert right == "not known"
    for name in ("elsewhere", "Rome"):  # of other namespaces
        left, right = sides(name)
        assert left == "not known"
        assert name in right
    assert page.locator(".differences", has_text="Both know this").count() == 0
    assert page.locator(".differences", has_text="shared").count() == 0
    viewer.screenshot("fork")

    page.locator(".differences .beside-row", has_text="Rome").get_by_text("why").click()
    page.locator("h1", has_text="Ann lives in Rome").wait_for()
    page.get_by_text("What it rests on").wait_for()
    assert page.get_by_label("Store", exact=True).input_value() == "whatif"
    page.go_back()
    page.get_by_text("The same up to commit 2").wait_for()
    assert page.get_by_label("Store", exact=True).input_value() == "origin"
    fork.get_by_role("link", name="plan").click()
    page.locator(".events li.current", has_text="plan").wait_for()
    page.get_by_label("What this event changed").get_by_text("south").wait_for()
    assert page.get_by_label("Store", exact=True).input_value() == "whatif"
