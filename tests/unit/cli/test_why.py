"""`memoranda why`, and the keys of the inbox."""

from __future__ import annotations

import re

import pytest

from memoranda.cli.render.why_colors import branch_text
from memoranda.why.reason import Reason
from tests.unit.cli.runner import Cli

WORDS = "I never fly. The train is fine."
ID = r"[0-9a-f-]{36}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture
def believing(cli: Cli) -> Cli:
    """A command line on a store with words, a memory, a reflection, and a plan because of it."""
    words = cli.row("transcript", "add", WORDS)["id"]
    ground = cli.row(
        *("remember", "Ann does not fly", "--title", "ground"),
        *("--transcript", words, "--quote", "I never fly"),
    )["id"]
    old = cli.row("reflect", "travels slowly", "--on", ground, "--title", "old")["id"]
    cli("write", "goal", '{"city": "Oslo"}')
    because = ("--because", f"memory:{old}", "--because", "goal", "--because", f"memory:{ground}")
    cli("write", "plan", '{"by": "train"}', *because)
    return cli


def named(cli: Cli, title: str) -> str:
    return str(cli.row("show", "--title", title)["id"])


def supersede(cli: Cli) -> None:
    new = cli.row("reflect", "travels calmly", "--on", named(cli, "ground"))["id"]
    cli("supersede", named(cli, "old"), new)


def test_it_draws_a_tree(believing: Cli) -> None:
    lines = believing("why", "plan").splitlines()
    patterns = (
        rf'plan@1  {{"by":"train"}}  commit 5  {TIME}',
        rf"├── because travels slowly  memory:{ID}@1  commit 3  {TIME}",
        rf"│   └── reflects_on Ann does not fly  memory:{ID}@1  commit 2  {TIME}",
        rf"│       └── quotes “I never fly”  commit 1  {TIME}",
        rf'├── because goal@1  {{"city":"Oslo"}}  commit 4  {TIME}',
        rf"└── because Ann does not fly  \(unfolded above\)  memory:{ID}@1  commit 2  {TIME}",
    )
    for line, pattern in zip(lines, patterns, strict=True):
        assert re.fullmatch(pattern, line), line


def test_what_is_stale_is_marked(believing: Cli) -> None:
    assert "STALE" not in believing("why", "plan")
    head = believing.row("stats")["commits"]
    supersede(believing)
    plan, slow, flying, words, goal, again = believing("why", "plan").splitlines()
    assert "rests on something STALE" in plan
    assert "travels slowly  STALE: superseded by “travels calmly”  memory:" in slow
    assert not any("STALE" in line for line in (flying, words, goal, again))
    assert "STALE" not in believing("why", "plan", "--at", head)
    believing("delete", "goal")
    assert 'goal@1  {"city":"Oslo"}  STALE: deleted' in believing("why", "plan")


def test_what_is_stale_is_coloured(believing: Cli) -> None:
    supersede(believing)
    reason = Reason(kind="key", ref=None, summary="{}", stale=("deleted",), is_stale=True)
    (only,) = reason.branches()
    assert "\x1b[31m  STALE: deleted" in branch_text(only)


def test_memories_begin_a_tree_too(believing: Cli) -> None:
    ground = named(believing, "ground")
    assert believing("why", f"memory:{ground}@1") == believing("why", f"memory:{ground}")
    first, second = believing("why", f"memory:{ground}").splitlines()
    assert first.startswith(f"Ann does not fly  memory:{ground}@1  commit 2")
    assert second.startswith("└── quotes “I never fly”")
    for env in ({"MEMORANDA_AGENT": None}, {}):
        assert believing.run("why", f"memory:{ground}", env=env).exit_code == 0


def test_json_has_an_object_for_each_part(believing: Cli) -> None:
    supersede(believing)
    parts = believing.rows("why", "plan")
    assert [(part["number"], part["parent"], part["depth"]) for part in parts] == [
        *((0, None, 0), (1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 0, 1), (5, 0, 1)),
    ]
    plan, slow, _, words, _, again = parts
    assert plan["ref"] == {
        "key": "plan", "version": 1, "agent_id": "planner", "namespace": "default",
    }  # fmt: skip
    assert (plan["is_stale"], plan["believed"], plan["stale"]) == (True, True, [])
    assert (slow["believed"], slow["stale"]) == (False, ["superseded by “travels calmly”"])
    assert slow["ref"] == {"memory_id": named(believing, "old"), "version": 1}
    assert (words["kind"], words["summary"], words["relation"]) == (
        *("transcript", "I never fly", "quotes"),
    )
    assert words["ref"]["spans"] == [[0, 11]]
    assert again["repeated"]
    assert (plan["actor"], plan["commit_ts"]) == ("planner", 5)


def test_what_is_not_there_is_told(believing: Cli) -> None:
    assert "'nope'" in believing.fails(4, "why", "nope")
    assert "no version 7" in believing.fails(4, "why", "plan@7")
    assert "'x'" in believing.fails(4, "why", "memory:x")
    assert "'x'" in believing.fails(4, "why", "fact:x")
    assert "plan" in believing.fails(4, "why", "plan", "--at", 1)
    assert "REF: " in believing.fails(2, "why", "memory:")
    assert "REF: " in believing.fails(2, "why", "plan@0")
    assert "--at" in believing.fails(2, "why", "plan", "--at", "soon")
    result = believing.run("why", "plan", env={"MEMORANDA_AGENT": None})
    assert (result.exit_code, "MEMORANDA_AGENT" in result.stderr) == (2, True)


def test_a_key_may_look_like_a_memory(cli: Cli) -> None:
    cli("write", "memory:x", '{"n": 1}')
    assert cli("why", "key:memory:x").startswith('key:memory:x@1  {"n":1}')
    cli("write", "y", "{}", "--because", "key:memory:x")
    cli("delete", "memory:x")
    assert cli("inbox", "--keys").splitlines() == [
        "y@1  {}",
        '  key:memory:x@1  {"n":1}  STALE: deleted',
        "  look: memoranda why y@1",
    ]


def test_words_of_a_transcript_are_a_source(cli: Cli) -> None:
    words = cli.row("transcript", "add", WORDS)["id"]
    cli("write", "some", "{}", "--because", f"transcript:{words}@0-11,13-22")
    cli("write", "all", "{}", "--because", f"transcript:{words}")
    assert re.search("because “I never fly”.*because “The train”", cli("why", "some"), re.DOTALL)
    assert f"because “{WORDS}”" in cli("why", "all")
    assert cli("why", f"transcript:{words}@0-1").startswith("“I”")
    assert f"transcript:{words}@0-11,13-22" in cli("history", "some")
    assert cli.run("write", "k", "{}", "--because", f"transcript:{words}@0-99").exit_code == 2
    cli("write", "transcript:x", "{}")
    assert cli("why", "key:transcript:x").startswith("key:transcript:x@1")


@pytest.mark.slow
def test_the_inbox_lists_keys_that_rest_on_something_stale(believing: Cli) -> None:
    result = believing.run("inbox", "--keys")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "has a stale source" in result.stderr
    believing("write", "goal", '{"city": "Rome"}')
    supersede(believing)
    assert believing("inbox", "--keys").splitlines() == [
        'plan@1  {"by":"train"}',
        "  travels slowly  STALE: superseded by “travels calmly”",
        '  goal@1  {"city":"Oslo"}  STALE: key is now at version 2',
        "  look: memoranda why plan@1",
    ]
    row = believing.row("inbox", "--keys")
    assert (row["ref"]["key"], row["is_stale"]) == ("plan", True)
    assert [item["stale"] for item in row["rests_on"]] == [
        ["superseded by “travels calmly”"],
        ["key is now at version 2"],
    ]
    assert believing("inbox", "--keys", "--at", 5) == ""
    assert believing("inbox", "--keys", "--limit", 0) == ""
    for extra in (("--all-agents",), ("--status", "all")):
        assert "--keys" in believing.fails(2, "inbox", "--keys", *extra)


def test_a_tree_may_be_deep(cli: Cli) -> None:
    cli("write", "k", "{}")
    for _ in range(30):
        cli("write", "k", "{}", "--because", "k")
    lines = cli("why", "k").splitlines()
    assert len(lines) == 31
    assert lines[-1].startswith(f"{' ' * 116}└── because k@1")


def test_a_terminal_that_cannot_draw_gets_letters(
    believing: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.cli.render.why_colors._can_draw", lambda: False)
    _, slow, flying, *_, again = believing("why", "plan").splitlines()
    assert slow.startswith("|-- because travels")
    assert flying.startswith("|   `-- reflects_on Ann")
    assert again.startswith("`-- because Ann")


def test_a_narrow_terminal_gets_two_lines(believing: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(text: str, *, beside: str) -> str:
        return text if len(beside) + len(text) <= 60 else f"{text[: 60 - len(beside)]}…"

    monkeypatch.setattr("memoranda.cli.render.why_colors.fit", narrow)
    lines = believing("why", "plan").splitlines()
    assert lines[1] == "├── because travels slowly"
    assert re.fullmatch(rf"│   │   memory:{ID}@1  commit 3  {TIME}", lines[2])
    assert re.fullmatch(rf"        memory:{ID}@1  commit 2  {TIME}", lines[-1])
