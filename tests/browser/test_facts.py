"""Facts over two times: their bars, their graph, what is found among many, and their history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from tests.browser.browser import Viewer, needs_chromium

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
MANY = 600
"""Facts; the page reads 500 at once."""


def test_the_graph_shows_what_points_where_and_what_has_ended(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/facts?ns=facts&shape=graph")
    nordlys = page.get_by_role("link", name="Ann works at Nordlys, does not hold", exact=True)
    nordlys.wait_for()
    assert nordlys.get_attribute("class") == "edge faded"
    page.goto(f"{shown}/facts?ns=facts&shape=graph&valid=2020-01-01T00:00:00Z")
    held = page.get_by_role("link", name="Ann works at Nordlys", exact=True)
    held.wait_for()
    assert "faded" not in (held.get_attribute("class") or "")
    # The head of the arrow is at the object's end of the line.
    assert held.evaluate(
        """(edge) => {
          const place = (text) => {
            const name = [...edge.ownerSVGElement.querySelectorAll('.entity-name')]
              .find((element) => element.textContent === text);
            return [Number(name.getAttribute('x')), Number(name.getAttribute('y'))];
          };
          const { x, y } = edge.querySelector('.head').getPointAtLength(0);
          const far = ([left, top]) => Math.hypot(left - x, top - y);
          return far(place('Nordlys')) < far(place('Ann'));
        }"""
    )
    held.press("Enter")
    page.locator("h1", has_text="Ann works at Nordlys").wait_for()


def test_the_end_of_the_slider_is_any_day(shown: str, view: View) -> None:
    page = view(shown).open("/facts?valid=2022-06-01T00:00:00Z")
    slider = page.get_by_label("Valid time")
    page.locator(".sliders output", has_text="Jun 1, 2022").wait_for()
    slider.press("End")
    page.locator(".sliders output", has_text="any day").wait_for()
    assert "valid=" not in page.url


def test_one_name_is_found_among_many_facts(
    tmp_path: Path, serve: Callable[..., str], view: View
) -> None:
    path = tmp_path / "many.db"
    with memoranda.open(path, embedder=None) as store:
        agent = store.bind(agent_id="clerk")
        with agent.begin_transaction() as transaction:
            for number in range(MANY):
                transaction.assert_fact(
                    subject=f"Buyer {number:04}",
                    relation="buys from",
                    object="Zenith" if number == MANY - 1 else "Aster",
                    valid_from="2024-01-01T00:00:00Z",
                )
    viewer = view(serve(file=path))
    page = viewer.open("/facts")
    page.get_by_text("There are more facts than are drawn").wait_for()
    last = page.locator(".bar-row", has_text="Buyer 0599")
    assert last.count() == 0
    for name in ("Zenith", "Buyer 0599"):
        page.get_by_label("Find a name in facts").fill(name)
        page.keyboard.press("Enter")
        last.wait_for()
        assert page.locator(".bar-row").count() == 1
        page.get_by_role("tab", name="Graph").click()
        page.locator(".graph .edge").wait_for()
        assert page.locator(".graph .edge").count() == 1
        page.get_by_role("tab", name="Timelines").click()
    page.get_by_label("Find a name in facts").fill("nobody")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show all facts").click()
    page.locator(".bar-row", has_text="Buyer 0000").wait_for()
    assert viewer.violations() == []


def test_a_fact_has_a_history(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/facts?ns=facts")
    page.locator(".fact-bar", has_text="Polaris").click()
    history = page.get_by_label("Its history")
    ended = history.locator("li", has_text="ended on")
    assert "Jun 1, 2024" in ended.inner_text()
    stated = history.locator("li", has_text="stated since")
    assert "Jun 1, 2023" in stated.inner_text()
    assert stated.locator("q").inner_text() == "Ann buys for Polaris"
    line = history.locator(".fact-line li")
    assert [text.split()[-1] for text in line.all_inner_texts()] == ["Nordlys", "Ships", "Polaris"]
    assert viewer.violations() == []
    stated.get_by_role("link", name="commit 31").click()
    page.locator(".events li.current", has_text="learned Ann works at Polaris").wait_for()
    page.go_back()
    # As of then, it had not ended, and the job in between was not known.
    page.goto(f"{page.url}&at=32")
    stated.wait_for()
    assert ended.count() == 0
    assert [text.split()[-1] for text in line.all_inner_texts()] == ["Nordlys", "Polaris"]
    history.get_by_role("link", name="Nordlys").click()
    page.locator("h1", has_text="Ann works at Nordlys").wait_for()
