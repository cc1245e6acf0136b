"""The commands about keys."""

from __future__ import annotations

import json
import re

import pytest

from tests.unit.cli.runner import Cli

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def test_write_says_what_it_became(cli: Cli) -> None:
    assert cli("write", "plan", '{"a": 1}') == "wrote plan  version 1  commit 1\n"
    row = cli.row("write", "plan", '{"a": 2}')
    assert (row["key"], row["version"], row["commit_ts"]) == ("plan", 2, 2)
    assert TIME.fullmatch(row["committed_at"])
    assert row["actor"] == "planner"
    assert row["token"].endswith(cli.row("verify")["head_hash"])


def test_the_value_comes_from_stdin_or_a_file(cli: Cli) -> None:
    cli("write", "piped", "-", stdin='{"é": "ü"}'.encode())
    path = cli.home / "value.json"
    path.write_text('{"from": "file"}', "utf-8")
    cli("write", "filed", f"@{path}")
    assert cli.row("get", "piped")["value"] == {"é": "ü"}
    assert cli.row("get", "filed")["value"] == {"from": "file"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("{", "value: is not JSON"),
        ("", "value: is not JSON"),
        ("[1]", "give a JSON object"),
        ('{"a": NaN}', "value.a: nan is not finite"),
        ("@no/such/file", "cannot read the file 'no/such/file'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused(cli: Cli, value: str, complaint: str) -> None:
    assert complaint in cli.fails(2, "write", "plan", value)


def test_stdin_that_is_no_text_is_refused(cli: Cli) -> None:
    assert "is not JSON" in cli.fails(2, "write", "plan", "-", stdin=b'{"a": "\xff"}')


def test_a_bad_value_creates_no_store(cli: Cli) -> None:
    cli.fails(2, "write", "plan", "{")
    assert list(cli.home.iterdir()) == []


def test_compare_and_set(filled: Cli) -> None:
    filled("write", "plan", "{}", "--expect-version", 2)
    assert "is at 3" in filled.fails(5, "write", "plan", "{}", "--expect-version", 2)
    assert "is at 3" in filled.fails(5, "delete", "plan", "--expect-version", 2)
    filled("delete", "plan", "--expect-version", 3)
    filled("write", "plan", "{}", "--expect-version", 0)


def test_a_named_write_happens_once(cli: Cli) -> None:
    first = cli.row("write", "plan", "{}", "--txn-id", "t1")
    assert cli.row("write", "plan", "{}", "--txn-id", "t1") == first
    assert first["txn_id"] == "t1"
    assert "t1" in cli.fails(5, "write", "plan", '{"b": 1}', "--txn-id", "t1")
    deleted = cli.row("delete", "plan", "--txn-id", "t2")
    assert cli.row("delete", "plan", "--txn-id", "t2") == deleted
    assert (deleted["version"], deleted["commit_ts"]) == (2, 2)


@pytest.mark.parametrize("key", ["typo", "tmp"])  # never written, and deleted before
@pytest.mark.parametrize("options", [(), ("--txn-id", "t1")])
def test_deleting_what_has_no_value_writes_nothing(
    filled: Cli, key: str, options: tuple[str, ...]
) -> None:
    commits = len(filled.rows("replay"))
    assert "not found" in filled.fails(4, "delete", key, *options)
    assert len(filled.rows("replay")) == commits


def test_because_takes_a_version_behind_the_last_at(filled: Cli) -> None:
    filled("write", "a@b", "{}")
    filled("write", "c", "{}", "--because", "plan@1", "--because", "plan", "--because", "a@b")
    filled("write", "d", "{}", "--because", "a@b@1")
    assert [
        (ref["key"], ref["version"])
        for key in ("c", "d")
        for ref in filled.row("history", key)["because"]
    ] == [("plan", 1), ("plan", 2), ("a@b", 1), ("a@b", 1)]
    assert "no version 9" in filled.fails(4, "write", "e", "{}", "--because", "plan@9")
    assert "--because" in filled.fails(2, "write", "e", "{}", "--because", "plan@0")


def test_because_takes_memories_and_keys_that_look_like_them(filled: Cli) -> None:
    memory = filled.row("remember", "it rains")["id"]
    for key in ("memory:x", "key:x", "fact:x"):
        filled("write", key, "{}")
    references = (f"memory:{memory}@1", "key:memory:x@1", "key:key:x@1", "key:fact:x@1")
    typed = (f"memory:{memory}", "key:memory:x", "key:key:x@1", "key:fact:x")
    filled("write", "c", "{}", *(word for ref in typed for word in ("--because", ref)))
    memories, *keys = filled.row("history", "c")["because"]
    assert memories == {"memory_id": memory, "version": 1}
    assert [ref["key"] for ref in keys] == ["memory:x", "key:x", "fact:x"]
    lines = filled("history", "c").splitlines()[-1]
    assert lines == f"  because {', '.join(references)}"
    assert lines in filled("replay").replace("          because", "  because")
    filled("write", "d", "{}", *(word for ref in references for word in ("--because", ref)))
    assert filled.row("history", "d")["because"] == [memories, *keys]
    for missing, by_name in (
        ("memory:x", "'x'"),
        (f"memory:{memory}@2", "version 2"),
        ("fact:x", "x"),
    ):
        assert by_name in filled.fails(4, "write", "e", "{}", "--because", missing)
    assert "--because: " in filled.fails(2, "write", "e", "{}", "--because", "memory:")
    assert "--because: " in filled.fails(2, "write", "e", "{}", "--because", "fact:")


def test_get_prints_the_value(filled: Cli) -> None:
    assert json.loads(filled("get", "plan")) == {"step": 2, "todo": ["a", "b"], "by": "bob"}
    row = filled.row("get", "plan")
    place = {"key", "namespace", "agent_id"}
    assert row.keys() == place | {"value", "version", "commit_ts", "committed_at"}
    assert (row["key"], row["version"], row["commit_ts"]) == ("plan", 2, 3)


def test_get_looks_into_the_past(filled: Cli) -> None:
    assert filled.row("get", "plan", "--version", 1)["value"]["step"] == 1
    assert filled.row("get", "plan", "--at", 2)["value"]["step"] == 1
    assert filled.row("get", "plan", "--at", 10**30)["value"]["step"] == 2
    time = filled.row("get", "plan", "--version", 1)["committed_at"]
    offset = time.replace("Z", "+00:00")
    assert filled.row("get", "plan", "--at", offset)["version"] == 1


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (("nope",), "'nope' of agent 'planner' in namespace 'default'"),
        (("tmp",), "no value"),
        (("plan", "--at", "1"), "no value at 1"),
        (("plan", "--version", "9"), "no value at version 9"),
    ],
)
def test_an_absent_key_is_said_on_stderr(
    filled: Cli, arguments: tuple[str, ...], where: str, form: tuple[str, ...]
) -> None:
    assert where in filled.fails(4, "get", *arguments, *form)


@pytest.mark.parametrize(
    ("moment", "complaint"),
    [
        ("yesterday", "--at: 'yesterday' is not RFC 3339"),
        ("2026-02-07T10:00:00", "offset"),
        ("2026-02-30T10:00:00Z", "is not a time"),
        ("-1", "--at: -1 is negative"),
    ],
)
def test_a_bad_moment_is_refused(filled: Cli, moment: str, complaint: str) -> None:
    for command in (("get", "plan"), ("keys",), ("scan",)):
        assert complaint in filled.fails(2, *command, "--at", moment)


def test_keys_and_scan(filled: Cli) -> None:
    assert filled("keys") == "goal\nplan\n"
    assert filled("keys", "--at", 4) == "goal\nplan\ntmp\n"
    assert filled("keys", "--limit", 1) == "goal\n"
    assert filled.rows("keys", "p") == [{"key": "plan"}]
    assert filled("scan", "g") == 'goal  v1  {"text": "ship it"}\n'
    assert [row["key"] for row in filled.rows("scan")] == ["goal", "plan"]
    assert filled.rows("scan", "p", "--at", 2, "--limit", 5) == [
        filled.row("get", "plan", "--at", 2)
    ]


def test_history_shows_deletions_too(filled: Cli) -> None:
    lines = filled("history", "tmp").splitlines()
    assert [line for line in lines if not TIME.search(line)] == ["  {}", "  deleted"]
    assert [line.split("  ")[:2] for line in lines if TIME.search(line)] == [
        ["version 1", "commit 4"],
        ["version 2", "commit 5"],
    ]
    assert "  because goal@1\n" in filled("history", "plan")
    rows = filled.rows("history", "tmp")
    assert [(row["version"], row["value"]) for row in rows] == [(1, {}), (2, None)]
    assert filled.rows("history", "tmp", "--limit", 1) == rows[:1]


DIFFERENCES = """\
+ goal  v1
    + text: "ship it"
~ plan  v1 → v2
    ~ step: 1 → 2
    + by: "bob"
"""


def test_diff_shows_what_changed_inside(filled: Cli) -> None:
    plan = DIFFERENCES[DIFFERENCES.index("~ plan") :]
    assert filled("diff", 2) == plan
    assert filled("diff", 0, 1) == DIFFERENCES[: DIFFERENCES.index("~ plan")]
    assert filled("diff", 3, 2) == ('~ plan  v2 → v1\n    ~ step: 2 → 1\n    - by: "bob"\n')
    assert filled("diff", 4, 5) == "- tmp  v1\n"


def test_diff_in_json(filled: Cli) -> None:
    (change,) = filled.rows("diff", 2, 3)
    assert (change["key"], change["kind"]) == ("plan", "changed")
    assert change["before"] == filled.row("get", "plan", "--version", 1)
    assert change["after"] == filled.row("get", "plan")
    (added,) = filled.rows("diff", 0, 1)
    assert (added["kind"], added["before"]) == ("added", None)


def test_a_bad_moment_of_a_diff_is_named(filled: Cli) -> None:
    assert "OLD: 'x'" in filled.fails(2, "diff", "x")
    assert "NEW: 'y'" in filled.fails(2, "diff", 1, "y")


def test_finding_nothing_is_said_to_people_only(filled: Cli) -> None:
    for command in (("keys", "zzz"), ("scan", "zzz"), ("diff", 5)):
        result = filled.run(*command)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "of agent 'planner' in namespace 'default'" in result.stderr
        quiet = filled.run(*command, "--json")
        assert (quiet.exit_code, quiet.output) == (0, "")
