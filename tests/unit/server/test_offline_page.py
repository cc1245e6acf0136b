"""The page as one file: what it holds, and what its text cannot do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.errors import InvalidInput, NotFound
from memoranda.server import offline_story
from memoranda.server.offline_document import embeddable, make_document
from memoranda.server.offline_story import read_story
from tests.unit.cli.runner import Cli

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 &lt;"


@pytest.fixture
def store() -> Iterator[Store]:
    with memoranda.open(":memory:", embedder=None) as opened:
        yield opened.bind(agent_id="clerk")


def tell(store: Store) -> None:
    """Write three values of a key, a memory and a fact; another agent adds a memory in between."""
    store.write(key="limit", value={"is": 1})
    memory = store.remember("Ann works at Polaris")
    store.write(key="limit", value={"is": 2}, because=[memory.ref])
    store.bind(agent_id="other").remember("Bo is new")
    store.assert_fact(subject="Ann", relation="works at", object="Polaris", source=memory.id)
    store.write(key="limit", value={"is": 3})


def known(intervals: list[Any], commit: int) -> list[Any]:
    return [item for start, end, item in intervals if start <= commit < (end or commit + 1)]


def test_a_story_has_what_the_store_knew_at_each_event(store: Store) -> None:
    tell(store)
    story = read_story(store, "clerk")
    assert [event["commit_ts"] for event in story["events"]] == [1, 2, 3, 5, 6]
    for commit in (1, 2, 3, 5, 6):
        (record,) = known(story["state"]["default"], commit)
        state = store.get_state(key="limit", at=commit)
        assert state is not None
        assert record["value"] == state.value
        memories = [memory["content"] for memory in known(story["memories"]["default"], commit)]
        listed = store.list_memories(namespace="default", at=commit, content=True)
        assert memories == [memory.content for memory in listed]
        (tree,) = known(story["trees"]["default\nlimit"], commit)
        assert tree[0]["commit_ts"] == state.commit_ts
        assert len(tree) == sum(1 for _ in store.why("limit", at=commit).walk())


def test_a_range_begins_with_what_was_known_before_it(store: Store) -> None:
    tell(store)
    last = [event.timestamp for event in store.replay()][-1]
    story = read_story(store, "clerk", from_timestamp=last)
    assert (story["first"], story["last"]) == (6, 6)
    values = [known(story["state"]["default"], commit)[0]["value"]["is"] for commit in (5, 6)]
    assert values == [2, 3]
    assert len(known(story["memories"]["default"], 5)) == 2


def test_a_range_that_is_too_long_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(store)
    monkeypatch.setattr(offline_story, "MAX_EVENTS", 4)
    with pytest.raises(InvalidInput, match=r"has 5 events, and a file holds 4 at most: .* --from"):
        read_story(store, "clerk")
    monkeypatch.setattr(offline_story, "MAX_EVENTS", 5)
    monkeypatch.setattr(offline_story, "MAX_BYTES", 2000)
    with pytest.raises(InvalidInput, match=r"MiB of text: choose less of it"):
        read_story(store, "clerk")
    texts: list[object] = []
    monkeypatch.setattr(offline_story, "MAX_BYTES", 100)

    def long_text(event: object) -> str:
        texts.append(event)
        return "x" * 60

    monkeypatch.setattr(offline_story, "to_json", long_text)
    with pytest.raises(InvalidInput, match=r"MiB of text: choose less of it"):
        read_story(store, "clerk")
    assert len(texts) == 2, "no more is read than fits"
    monkeypatch.undo()
    with pytest.raises(NotFound, match="agent 'nobody' has no event in any namespace"):
        read_story(store, "nobody")


def test_data_cannot_leave_its_element() -> None:
    text = embeddable({HOSTILE: HOSTILE})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {HOSTILE: HOSTILE}


def test_a_document_is_one_file_that_fetches_nothing(store: Store) -> None:
    store.write(key=HOSTILE, value={"text": HOSTILE})
    document = make_document(f"{HOSTILE} title", read_story(store, "clerk"))
    assert len(re.findall(r"<script\b", document)) == 2
    assert document.count("</script>") == 2
    assert "alert(1)</script>" not in document
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', document)
    assert len(policy) == 1
    assert policy[0].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[0]
    assert not re.search(r'(?:src|href)="(?!data:)', document.partition("<body>")[0])
    assert (
        "/page/"
        not in re.sub(r"[\"'/]page/(?:lib|parts|views)/", "", document).partition('id="story"')[0]
    )


def test_the_command_writes_a_new_file(tmp_path: Path) -> None:
    cli, file = Cli(tmp_path), tmp_path / "story.html"
    with memoranda.open(cli.db, embedder=None) as store:
        tell(store.bind(agent_id="clerk"))
    command = ("export", "--html", file, "--agent", "clerk")
    assert cli.run(*command).output.startswith("Exported 5 events to ")
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Ann works at Polaris" in file.read_text("utf-8")
    assert cli.run(*command).exit_code != 0  # the name is taken
    assert "--html goes without 'log'" in cli.run(*command, "log", "x").output
    assert "Say what to export" in cli.run("export").output
