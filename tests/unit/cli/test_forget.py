"""Forgetting on the command line: shown and asked about first, with a certificate after."""

from __future__ import annotations

import json
import time

import pytest

from memoranda.log.erasure import purge as purging
from tests.leftovers import leftovers
from tests.unit.cli.runner import Cli


def test_a_memory_is_shown_first_and_then_gone(cli: Cli) -> None:
    memory = cli.row("remember", "secretword", "--title", "t")["id"]
    cli("write", "k", "{}", "--because", f"memory:{memory}")
    reports = cli("forget", "memory", memory, "--dry-run")
    assert "Would erase 1 operation in 1 event: 1 remember." in reports
    assert "key:default|planner|k" in reports
    assert cli.row("show", memory)["content"] == "secretword"
    row = cli.row("forget", "memory", memory, "--yes", "--reason", "asked to")
    assert (row["target"], row["operations"], row["reason"]) == ("memory", 1, "asked to")
    assert row["outcome"] == "deleted"
    assert not row["pending_purge"]
    cli.fails(4, "show", memory)
    assert cli.row("certificate", row["erasure_id"]) == row
    assert cli.rows("certificate") == [row]
    assert row["digest"] in cli("certificate", row["erasure_id"])
    assert row["erasure_id"] in cli("certificate")
    assert leftovers(cli.db, [b"secretword"]) == set()
    cli("verify")


def test_why_says_what_was_forgotten(cli: Cli) -> None:
    cli("write", "ground", "{}")
    cli("write", "k", "{}", "--because", "ground")
    cli("forget", "key", "ground", "--yes")
    assert "because key  STALE: forgotten" in cli("why", "k")
    assert "key  STALE: forgotten" in cli("inbox", "--keys")
    assert cli.rows("why", "k")[1]["stale"] == ["forgotten"]


def test_nobody_there_to_ask(cli: Cli) -> None:
    cli("write", "k", '{"v": 1}')
    assert "give --yes" in cli.fails(2, "forget", "key", "k")
    assert cli.row("get", "k")["version"] == 1


@pytest.mark.parametrize(("answer", "there"), [("y\n", False), ("n\n", True)])
def test_asked_on_a_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str, *, there: bool
) -> None:
    cli("write", "k", '{"v": 1}')
    monkeypatch.setattr("memoranda.cli.commands.forget.is_interactive", lambda: True)
    result = cli.run("forget", "key", "k", stdin=answer)
    assert "Would erase 1 operation" in result.stderr
    assert "It cannot be undone" in result.stderr
    assert result.exit_code == int(there)
    assert (cli.run("get", "k").exit_code == 0) == there


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("memory", "m"),
        ("transcript", "t"),
        ("key", "other"),
        ("agent", "nobody"),
        ("namespace", "nowhere"),
        ("facts", "m"),
    ],
)
def test_what_is_not_there(cli: Cli, what: str, name: str) -> None:
    cli("write", "k", "{}")
    assert name in cli.fails(4, "forget", what, name, "--yes")


def test_agents_namespaces_transcripts_and_facts(cli: Cli) -> None:
    row = cli.row("transcript", "add", "words")["id"]
    cli("fact", "assert", "a", "knows", "b", "--source", row)
    assert cli.row("forget", "facts", row, "--yes")["operations"] == 1
    assert cli.row("forget", "transcript", row, "--yes")["operations"] == 1
    cli("write", "k", "{}", "--agent", "other", "--namespace", "team")
    decoded_value = json.loads(cli("forget", "namespace", "team", "--dry-run", "--json"))
    assert decoded_value["by_type"] == {"write": 1}
    assert cli.row("forget", "namespace", "team", "--yes")["pseudonym"].startswith("forgotten-")
    assert cli.row("forget", "agent", "other", "--yes")["target"] == "agent"
    assert "other" not in cli("sql", "SELECT * FROM agents")
    cli("verify")


def test_purging(cli: Cli) -> None:
    cli("write", "k", "{}")
    assert "The files hold no erased data" in cli("purge")
    assert cli.row("purge") == {"pending_purge": False}
    assert cli("certificate").strip() == ""


def test_a_deferred_purge_is_told_and_finished(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = [cli.row("remember", f"secretword {number}")["id"] for number in range(4)]
    monkeypatch.setattr(purging, "PURGE_AT_ONCE_BYTES", 1)
    text = cli("forget", "memory", memories[0], "--yes")
    assert "only up to 1 are purged at once" in text
    assert "run `memoranda purge`" in text
    row = cli.row("forget", "memory", memories[1], "--yes")
    assert row["pending_purge"]
    assert "memoranda purge" in row["pending_reason"]
    result = cli.run("stats")
    assert "run `memoranda purge`" in result.stderr
    assert "memoranda purge" in cli("doctor", "--quick")
    assert leftovers(cli.db, [b"secretword 3"])
    assert "The files hold no erased data" in cli("purge")
    assert "memoranda purge" not in cli.run("stats").stderr
    assert not cli.row("certificate", row["erasure_id"])["pending_purge"]
    row = cli.row("forget", "memory", memories[2], "--yes", "--purge")
    assert (row["pending_purge"], row["pending_reason"]) == (False, None)
    monkeypatch.undo()
    assert cli.row("forget", "memory", memories[3], "--yes", "--no-purge")["pending_purge"]
    cli("purge")
    assert leftovers(cli.db, [b"secretword"]) == set()


def test_sweeping(cli: Cli) -> None:
    cli("remember", "longword")
    assert "nothing to sweep" in cli("sweep", "--yes")
    assert cli.run("sweep", "--yes", "--json").stdout == "null\n"
    cli("remember", "shortword", "--ttl", "0.001")
    time.sleep(0.01)
    assert "nothing to sweep" in cli("sweep", "--yes")
    assert "give --yes" in cli.fails(2, "sweep", "--expired-for", "0.001")
    assert "1 remember" in cli("sweep", "--expired-for", "0.001", "--dry-run")
    row = cli.row("sweep", "--expired-for", "0.001", "--all-namespaces", "--yes")
    assert (row["target"], row["reason"]) == ("sweep", "its time is over")
    assert leftovers(cli.db, [b"shortword"]) == set()
    assert leftovers(cli.db, [b"longword"]) == {b"longword"}
    assert "expired_for" in cli.fails(2, "sweep", "--expired-for", "0", "--yes")


def test_a_fact_and_an_entity(cli: Cli) -> None:
    row = cli.row("fact", "assert", "Ann", "likes", "tea")
    cli("fact", "assert", "Bob", "knows", "Ann")
    assert "1 assert" in cli("forget", "fact", row["assertion_id"], "--dry-run")
    assert cli.row("forget", "fact", row["assertion_id"], "--yes")["target"] == "fact"
    cli("write", "k", '{"who": "Ann"}')
    reports = cli("forget", "entity", "ann", "--dry-run")
    assert "The name would still appear in 1 record" in reports
    assert "key:default|planner|k" in reports
    assert cli.row("forget", "entity", "ann", "--yes")["operations"] == 1
    assert cli.rows("fact", "list") == []
    cli.fails(4, "forget", "entity", "ann", "--yes")


def test_what_is_below_and_what_quotes(cli: Cli) -> None:
    cli("write", "k", "{}", "--namespace", "team/eng")
    cli.fails(4, "forget", "namespace", "team", "--yes")
    assert cli.row("forget", "namespace", "team", "--children", "--yes")["operations"] == 1
    words = cli.row("transcript", "add", "she said so")["id"]
    memory = cli.row("remember", "so", "--transcript", words)["id"]
    row = cli.row("forget", "transcript", words, "--derived", "--yes")
    assert row["operations"] == 2
    cli.fails(4, "show", memory)


def test_a_cursor_and_its_name(cli: Cli) -> None:
    cli("write", "k", "{}")
    cli("tail", "--cursor", "of-ann", "--timeout", "0")
    cli.fails(2, "cursors", "--purge")
    cli("cursors", "--drop", "of-ann", "--purge")
    assert leftovers(cli.db, [b"of-ann"]) == set()
    cli("tail", "--cursor", "mine", "--timeout", "0")
    assert "Would delete 1 cursor" in cli("forget", "agent", "planner", "--dry-run")
