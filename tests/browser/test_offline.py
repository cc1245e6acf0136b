"""A story in one file: the same views, opened from the disk, without a server or a network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from tests.browser.browser import Viewer, needs_chromium
from tests.browser.story import HOSTILE, tell_hostile
from tests.patience import HANG_SECONDS

pytestmark = [needs_chromium, pytest.mark.slow]
View = Callable[..., Viewer]
_DECIDE = re.compile(
    r"You look at the past\.\s*Go to the present\s*to decide\.|It is decided in .*|"
    r"Download the evidence|Erase …"
)
"""What only a store can do."""
_PLACES = (
    *("timeline?at={}", "facts?at={}", "inbox?at={}", "inbox?status=stale&at={}"),
    "why?key=orders/polaris&space=facts&at={}",
)


def export(store: Path, agent: str, *options: str) -> str:
    """Export an agent's story, and return the address of the file."""
    file = store.with_name("story.html")
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "memoranda", "export", "--html", str(file)]
    done = subprocess.run(
        [*command, "--db", str(store), "--agent", agent, *options],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return file.as_uri()


def test_a_story_opens_from_the_disk(story: Path, view: View) -> None:
    viewer = view(export(story, "clerk"))
    requests: list[str] = []
    viewer.page.on("request", lambda request: requests.append(request.url))
    page = viewer.open("")
    page.locator(".events li.current").get_by_text("learned Ann lives in Oslo").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator(".events li.current").get_by_text("stored a conversation").wait_for()
    assert "#/timeline?at=" in page.url
    page.reload()
    page.locator(".events li.current").get_by_text("stored a conversation").wait_for()
    box = page.locator(".strip").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 3, box["y"] + 20)
    page.locator(".events li.current").get_by_text("policy").wait_for()
    viewer.screenshot("offline-timeline")

    page = viewer.open("#/why?key=orders/polaris&space=facts")
    page.get_by_text("no longer rests on what is believed").wait_for()
    assert page.locator("mark").inner_text() == "Since June 2023 I buy for Polaris"
    page.locator(".tree a", has_text="Send Polaris' offers to Ann").click()
    page.locator("h1", has_text="Send Polaris' offers to Ann").wait_for()
    viewer.screenshot("offline-why")

    page = viewer.open("#/facts")
    bar = page.locator(".fact-bar", has_text="Tall Ships")
    bar.wait_for()
    page.get_by_label("Known time").fill("32")
    bar.wait_for(state="detached")
    page.locator(".fact-bar", has_text="Polaris").first.click()
    history = page.get_by_label("Its history")
    stated = history.locator("li", has_text="stated since")
    assert "Jun 1, 2023" in stated.first.inner_text()
    lines = history.locator(".fact-line li").all_inner_texts()
    assert [text.split()[-1] for text in lines] == ["Nordlys", "Polaris"]
    stated.get_by_role("link").first.click()
    page.locator(".events li.current").get_by_text("learned Ann works at Polaris").wait_for()

    page = viewer.open("#/inbox")
    page.get_by_text("It is decided in the store").first.wait_for()
    page.get_by_role("tab", name="Decided").click()
    page.locator(".notice .chip.good").first.wait_for()
    viewer.open("#/recall").get_by_text("Recall needs the store").wait_for()
    assert {url.partition("#")[0] for url in requests if not url.startswith("data:")} == {
        viewer.address
    }


def test_a_file_knows_what_the_store_knew(
    story: Path, serve: Callable[..., str], view: View
) -> None:
    """Every moment of the file has the text of the same moment of the store."""
    served, exported = view(serve(file=story)), view(export(story, "clerk"))
    for commit in (33, 44):
        for place in _PLACES:
            texts = []
            for viewer, prefix in ((served, "/"), (exported, "#/")):
                viewer.page.goto("about:blank")
                page = viewer.open(prefix + place.format(commit))
                viewer.settle()
                text = _DECIDE.sub("", page.locator("#main").inner_text())
                texts.append(sorted(filter(None, text.splitlines())))
            assert texts[0] == texts[1], place.format(commit)


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_everybody_can_use_a_file(story: Path, view: View, look: str) -> None:
    viewer = view(export(story, "clerk"), **({look: True} if look != "light" else {}))
    violations = []
    for place in ("", "#/why?key=orders/polaris&space=facts", "#/facts", "#/inbox", "#/recall"):
        viewer.page.goto("about:blank")
        viewer.open(place)
        violations += [f"{place} {found}" for found in viewer.violations()]
        viewer.screenshot(f"offline-{place.strip('#/').partition('?')[0] or 'timeline'}")
    assert violations == []


def test_a_file_shows_stored_text_and_never_runs_it(tmp_path: Path, view: View) -> None:
    path = tmp_path / "hostile.db"
    tell_hostile(path)
    with memoranda.open(path, read_only=True) as store:
        (agent,) = (summary.agent_id for summary in store.agents())
    viewer = view(export(path, agent))
    for place in ("", "#/why", "#/inbox", "#/facts", "#/facts?shape=graph"):
        viewer.page.goto("about:blank")
        page = viewer.open(place)
        viewer.settle()
        assert page.evaluate("() => window.attacked") is None
        assert page.locator("#app script, #app img[src='x'], #app svg a, #app style").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
    viewer.page.goto("about:blank")
    page = viewer.open("#/why")
    assert page.locator("body > script").count() == 2
    page.locator(".item", has_text="<script>").first.get_by_text("why", exact=True).click()
    page.locator(".tree").wait_for()
    assert HOSTILE[0] in page.locator("#main").inner_text()


def test_a_file_marks_words_in_messages(tmp_path: Path, view: View) -> None:
    path = tmp_path / "talk.db"
    with memoranda.open(path, embedder=None) as store:
        clerk = store.bind(agent_id="clerk")
        talk = clerk.store_transcript(
            [
                {"role": "user", "content": "Where is Ann?"},
                {"role": "assistant", "content": "She is in Oslo this week."},
            ]
        )
        span = talk.find("She is in Oslo")
        memory = clerk.remember("Ann is in Oslo", transcript=talk, spans=[span])
    page = view(export(path, "clerk")).open(f"#/why?memory={memory.id}")
    page.locator("mark", has_text="She is in Oslo").wait_for()
    assert page.locator(".turn").count() == 2
