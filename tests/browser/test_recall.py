"""Recall by meaning, and as of the past."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda.server.stores import StoreOptions
from tests.browser.browser import Viewer, needs_chromium
from tests.embedders import Hashing

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
Serve = Callable[..., str]


def test_each_search_says_what_it_found(tmp_path: Path, serve: Serve, view: View) -> None:
    path = tmp_path / "meaning.db"
    embedder = Hashing()
    with memoranda.open(path, embedder=embedder) as store:
        agent = store.bind(agent_id="clerk")
        agent.remember("Ann lives in Oslo")
        agent.assert_fact(
            subject="Ann", relation="works at", object="Polaris", valid_from="2024-01-01T00:00:00Z"
        )
    viewer = view(serve(file=path, stores=StoreOptions(embedder=embedder)))
    page = viewer.open("/recall?query=Where+does+Ann+live&space=default")
    cascade = page.get_by_label("What found the answers")
    cascade.wait_for()
    counts = {
        words.split(" found ")[0]: int(words.split(" found ")[1])
        for words in cascade.locator("li").all_inner_texts()
        if " found " in words
    }
    assert counts.keys() == {"words", "meaning", "graph"}
    assert all(counts.values()), counts
    first = page.locator(".hit", has_text="Ann lives in Oslo").locator(".score")
    assert "meaning" in first.inner_text()
    assert first.locator(".of-memory").count() == 1
    assert viewer.violations() == []


def test_the_past_answers_what_was_known_then(shown: str, view: View) -> None:
    viewer = view(shown)
    page = viewer.open("/recall?query=Where+does+Ann+live&space=talks")
    page.locator(".hit", has_text="Ann lives in Oslo").wait_for()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**at=43*")
    page.locator(".hit", has_text="Ann lives in Bergen").first.wait_for()
    page.locator(".hit", has_text="Ann lives in Oslo").wait_for(state="detached")
    page.get_by_role("button", name="Live", exact=True).click()
    page.locator(".hit", has_text="Ann lives in Oslo").wait_for()
