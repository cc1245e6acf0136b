"""The commands about memories, and about what they rest on."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import memoranda
from memoranda.audit.signers import Signer
from tests.unit.cli.runner import Cli

WORDS = "I never fly. The train is fine."


@pytest.fixture
def believing(cli: Cli) -> Cli:
    """A command line on a store with words, a memory of them, and reflections on that."""
    words = cli.row("transcript", "add", WORDS)["id"]
    ground = cli.row(
        "remember", "Ann does not fly", "--title", "ground", "--transcript", words,
        "--quote", "I never fly", "--tag", "ann", "--metadata", '{"n": 1}',
    )["id"]  # fmt: skip
    old = cli.row("reflect", "travels slowly", "--on", ground, "--title", "old")["id"]
    cli("reflect", "goes by train", "--on", old, "--title", "dependent")
    cli("reflect", "travels calmly", "--on", ground, "--title", "new")
    return cli


def named(cli: Cli, title: str) -> str:
    """Return the id of the memory with a title."""
    return str(cli.row("show", "--title", title)["id"])


def test_remember_says_what_became_of_it(cli: Cli) -> None:
    assert re.fullmatch(r"created \S+  version 1\n", cli("remember", "x", "--title", "t"))
    assert re.fullmatch(r"updated \S+  version 2\n", cli("remember", "y", "--title", "t"))
    assert re.fullmatch(r"unchanged \S+  version 2\n", cli("remember", "y", "--title", "t"))
    row = cli.row("remember", "z", "--private", "--priority", 9, "--ttl", 60, "--kind", "claim")
    assert (row["visibility"], row["priority"], row["kind"]) == ("private", 9, "claim")
    assert row["expires_at"] is not None


def test_the_words_come_from_stdin_or_a_file(cli: Cli) -> None:
    cli("remember", "-", stdin="é from stdin")
    path = cli.home / "words.txt"
    path.write_text("from a file", "utf-8")
    cli("remember", f"@{path}")
    assert [row["content"] for row in cli.rows("memories", "--content")] == [
        "é from stdin",
        "from a file",
    ]
    assert "UTF-8" in cli.fails(2, "remember", "-", stdin=b"\xff")
    assert "no/such" in cli.fails(2, "remember", "@no/such")


def test_bad_input_is_named_as_it_is_typed(cli: Cli) -> None:
    assert "--kind: " in cli.fails(2, "remember", "x", "--kind", "guess")
    assert "--priority: " in cli.fails(2, "remember", "x", "--priority", 11)
    assert "CONTENT: " in cli.fails(2, "remember", "")
    assert "--transcript" in cli.fails(2, "remember", "x", "--quote", "y")
    assert not cli.db.exists() or cli.rows("memories") == []


def test_show_and_list(believing: Cli) -> None:
    output = believing("show", "--title", "ground")
    for part in ("Ann does not fly", "ground", "observation", "ann"):
        assert part in output
    assert len(believing.rows("memories")) == 4
    (tagged,) = believing.rows("memories", "--tag", "ann", "--metadata", '{"n": 1}')
    assert (tagged["title"], tagged["content"]) == ("ground", None)
    assert len(believing.rows("memories", "--kind", "reflection", "--limit", 2)) == 2
    assert "ground" in believing("memories")
    assert "not found: memory 'nobody'" in believing.fails(4, "show", "nobody")


def test_a_list_between_two_times(believing: Cli) -> None:
    instance = [row["created_at"] for row in believing.rows("memories")]
    assert len(set(instance)) == 4
    rows = believing.rows("memories", "--after", instance[1], "--before", instance[3])
    assert [row["created_at"] for row in rows] == instance[1:3]
    assert len(believing.rows("memories", "--after", instance[2])) == 2
    assert len(believing.rows("memories", "--before", instance[2])) == 2
    assert "--after: " in believing.fails(2, "memories", "--after", "yesterday")
    assert "--before: " in believing.fails(2, "memories", "--before", "2026-01-01T00:00:00")


def test_edit_and_retract(believing: Cli) -> None:
    ground = named(believing, "ground")
    changed = believing.row("edit", ground, "--content", "never flies", "--expect-version", 1)
    assert (changed["version"], changed["content"], changed["tags"]) == (2, "never flies", ["ann"])
    believing.fails(5, "edit", ground, "--content", "x", "--expect-version", 1)
    believing("retract", ground, "--reason", "misheard")
    assert "retracted" in believing.fails(4, "show", ground)
    history = believing.rows("show", ground, "--history")
    assert [row["version"] for row in history] == [1, 2, 3]
    assert (history[-1]["retracted"], history[-1]["reason"]) == (True, "misheard")
    assert believing.row("show", ground, "--version", 1)["content"] == "Ann does not fly"
    assert believing.row("show", ground, "--at", 2)["content"] == "Ann does not fly"


def test_origins_quote_the_words(believing: Cli) -> None:
    tree = believing("origins", named(believing, "dependent"))
    assert tree.splitlines() == [
        "reflection goes by train",
        "  reflection travels slowly",
        "    observation Ann does not fly",
        "      “I never fly”",
    ]
    old, ground = believing.rows("origins", named(believing, "old"))
    assert (old["parent"], old["depth"], old["sources"]) == (None, 0, [])
    assert (ground["parent"], ground["depth"]) == (old["memory"]["id"], 1)
    assert ground["sources"][0]["excerpts"] == ["I never fly"]
    believing.fails(4, "origins", "nobody")


def test_origins_may_lie_deep(cli: Cli) -> None:
    depth = 1500
    with memoranda.open(cli.db).bind(agent_id="a") as store, store.begin_transaction() as staged:
        ids = [staged.remember(str(number)) for number in range(depth)]
        for source, target in pairwise(ids):
            staged.link(source=source, target=target, relation="derived_from")
    lines = cli("origins", ids[0]).splitlines()
    assert lines[-1] == f"{'  ' * (depth - 1)}observation {depth - 1}"
    rows = cli.rows("origins", ids[0])
    assert [row["memory"]["id"] for row in rows] == ids
    assert [row["parent"] for row in rows] == [None, *ids[:-1]]


def test_superseding_fills_the_inbox(believing: Cli) -> None:
    old, new, dependent = (named(believing, name) for name in ("old", "new", "dependent"))
    assert "no open notices" in believing.run("inbox").stderr
    assert f"notified the owner of {dependent}" in believing("supersede", old, new)
    (notice,) = believing.rows("inbox")
    assert (notice["dependent_id"], notice["status"]) == (dependent, "open")
    reports = believing("inbox")
    assert f"memoranda resolve {notice['id']} keep | retract | revise" in reports
    assert "--with" in believing.fails(2, "resolve", notice["id"], "revise")
    assert "keep" in believing("resolve", notice["id"], "keep", "--note", "fine")
    assert believing.rows("inbox") == []
    (closed,) = believing.rows("inbox", "--status", "resolved")
    assert (closed["decision"], closed["note"]) == ("keep", "fine")
    assert "keep by planner: fine" in believing("inbox", "--status", "all")
    believing.fails(5, "resolve", notice["id"], "retract")


def test_stats_count_memories(believing: Cli) -> None:
    old, new = named(believing, "old"), named(believing, "new")
    believing("supersede", old, new)
    row = believing.row("stats")
    assert (row["memories"], row["transcripts"], row["open_notices"]) == (4, 1, 1)
    output = believing("stats")
    for fact in ("memories      4\n", "transcripts   1\n", "open notices  1\n"):
        assert fact in output


def test_link_and_unlink(believing: Cli) -> None:
    old, new = named(believing, "old"), named(believing, "new")
    row = believing.row("link", old, new, "--relation", "contradicts")
    assert (row["source"], row["target"], row["valid_until"]) == (old, new, None)
    assert "until" in believing("unlink", old, new, "--relation", "contradicts")
    believing.fails(4, "unlink", old, new, "--relation", "contradicts")
    assert "--relation: " in believing.fails(2, "link", old, new, "--relation", "likes")
    ground = named(believing, "ground")
    assert "cycle" in believing.fails(1, "link", ground, old, "--relation", "reflects_on")


def test_transcripts(cli: Cli) -> None:
    row = cli.row("transcript", "add", "é\nsecond line", "--occurred-at", "2026-01-01T00:00:00Z")
    assert (row["outcome"], row["commit_ts"]) == ("created", 1)
    assert row["committed_at"] == row["created_at"]
    assert (row["original_size"], row["occurred_at"]) == (14, "2026-01-01T00:00:00.000000Z")
    assert cli("transcript", "show", row["id"]) == "é\nsecond line\n"
    assert cli.row("transcript", "show", row["id"])["text"] == "é\nsecond line"
    assert row["id"] in cli("transcript", "list")
    cli.fails(4, "transcript", "show", "nobody")


def test_the_name_of_a_file_is_not_taken_for_words(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talk.txt").write_text("words", "utf-8")
    assert "@talk.txt" in cli.fails(2, "transcript", "add", "talk.txt")
    assert "@talk.txt" in cli.fails(2, "remember", "talk.txt")
    row = cli.row("transcript", "add", "@talk.txt")
    assert cli("transcript", "show", row["id"]) == "words\n"


def test_configure(cli: Cli) -> None:
    assert cli("configure", "--tier", "short=60", "--tier", "mid=never").startswith("configured")
    assert cli.row("remember", "x", "--tier", "mid")["expires_at"] is None
    cli("configure", "--max-reflection-depth", 0, "--retention", "3600")
    assert "limit is 0" in cli.fails(1, "remember", "x", "--kind", "reflection")
    assert "--tier: " in cli.fails(2, "configure", "--tier", "short=soon")
    cli.fails(2, "configure")


def test_audit(believing: Cli) -> None:
    believing("retract", named(believing, "ground"))
    (event,) = believing.rows("audit", "--type", "memory.retracted", "--by", "planner")
    assert (event["attest_level"], event["signature"]) == ("unsigned", None)
    assert "memory.stored" in believing("audit", "--limit", 5)
    assert believing.rows("audit", "--after", event["commit_ts"]) == []
    assert "--type: " in believing.fails(2, "audit", "--type", "x")
    several = believing.rows("audit", "--type", "memory.*", "--type", "link.created")
    assert {item["event_type"] for item in several} == {
        "memory.retracted",
        "memory.stored",
        "link.created",
    }


def test_a_refusal_is_listed(believing: Cli) -> None:
    ground = named(believing, "ground")
    believing.fails(1, "link", ground, ground, "--relation", "supersedes")
    (event,) = believing.rows("audit", "--type", "link.cycle_refused")
    assert event["agent_id"] == "planner"
    assert "  link.cycle_refused   planner" in believing("audit", "--type", "link.*")
    (noted,) = believing.rows("replay", "--agent", "_engine", "--namespace", "_audit")
    assert noted["operations"][0]["value"]["about"] == [ground, ground]


def test_signed_events_are_marked(believing: Cli) -> None:
    with memoranda.open(believing.db) as store:
        ann = store.bind(agent_id="ann", signer=Signer("ann", bytes(32)))
        ann.write(key="k", value={})
    assert "state.written        ann  self-signed" in believing("audit", "--by", "ann")
    (event,) = believing.rows("audit", "--type", "state.*", "--by", "ann")
    (replayed,) = believing.rows("replay", "--agent", "ann")
    assert replayed["signature"] == event["signature"]
    assert believing.row("verify")["signed"] == 1
    assert "1 commit by agents" in believing("verify")
