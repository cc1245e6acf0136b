"""Ids by their first characters, and the agents and namespaces of a store."""

from __future__ import annotations

import pytest

from tests.unit.cli.runner import Cli

PREFIX = 23
"""Characters: ids of one millisecond share fewer, and this is not the whole id."""


@pytest.fixture
def believing(cli: Cli) -> Cli:
    """A store with a transcript, memories that rest on each other, a fact and a notice."""
    words = cli.row("transcript", "add", "Ann: I never fly")["id"]
    ground = cli.row("remember", "Ann does not fly", "--transcript", words[:PREFIX])["id"]
    old = cli.row("reflect", "Ann travels slowly", "--on", ground[:PREFIX], "--title", "old")["id"]
    cli("reflect", "Book the train", "--on", old[:PREFIX], "--title", "plan")
    new = cli.row("reflect", "Ann travels calmly", "--on", ground[:PREFIX], "--title", "new")["id"]
    cli("supersede", old[:PREFIX], new[:PREFIX])
    cli("fact", "assert", "Ann", "avoids", "planes", "--source", ground[:PREFIX])
    return cli


def named(cli: Cli, title: str) -> str:
    return str(cli.row("show", "--title", title)["id"])


def test_every_command_about_memories_takes_a_prefix(believing: Cli) -> None:
    plan, new = named(believing, "plan"), named(believing, "new")
    assert believing.row("show", plan[:PREFIX])["id"] == plan
    assert believing.row("edit", plan[:PREFIX], "--priority", 7)["id"] == plan
    assert believing.row("link", plan[:PREFIX], new[:PREFIX])["target"] == new
    assert believing.row("unlink", plan[:PREFIX], new[:PREFIX])["source"] == plan
    assert believing.rows("origins", plan[:PREFIX])[0]["memory"]["id"] == plan
    assert believing.rows("why", f"memory:{plan[:PREFIX]}@2")[0]["ref"]["memory_id"] == plan
    believing("write", "k", "{}", "--because", f"memory:{plan[:PREFIX]}")
    assert believing.row("history", "k")["because"][0]["memory_id"] == plan
    assert believing.row("retract", plan[:PREFIX])["id"] == plan


def test_notices_transcripts_facts_and_erasures_too(believing: Cli) -> None:
    notice = believing.row("inbox")["id"]
    new = named(believing, "new")
    report = ("resolve", notice[:8], "revise", "--with", new[:PREFIX])
    assert believing.row(*report)["notice"] == notice
    words = believing.row("transcript", "list")["id"]
    assert believing.row("transcript", "show", words[:8])["id"] == words
    assert believing.row("extract", words[:8], "--extractor", "rules")["transcript_id"] == words
    (fact, *_) = believing.rows("fact", "list", "--relation", "avoids")
    (assertion,) = fact["assertions"]
    assert believing.row("fact", "explain", assertion[:PREFIX])["fact"] == fact
    believing("fact", "retract", "--assertion", assertion[:PREFIX])
    erasure = believing.row("forget", "transcript", words[:8], "--yes")["erasure_id"]
    assert believing.row("certificate", erasure[:8])["erasure_id"] == erasure


@pytest.mark.slow
def test_a_list_of_facts_has_short_ids_that_are_enough(believing: Cli) -> None:
    for number in range(30):
        believing("fact", "assert", "Ann", "likes", f"tea {number}")
    lines = believing("fact", "list", "--relation", "likes").splitlines()
    assert len(lines) == 30
    for line in (lines[0], lines[13], lines[29]):
        short_id, _, statement = line.partition("  ")
        assert len(short_id) < 36
        assert statement.partition("  ")[0] in believing("fact", "explain", short_id)


def test_an_ambiguous_or_unknown_prefix(believing: Cli) -> None:
    plan = named(believing, "plan")
    message = believing.fails(2, "show", plan[:4])
    assert message.startswith(f"Error: ID: '{plan[:4]}' is ambiguous, give more characters:")
    assert f"memory {plan}" in message
    assert "too short" in believing.fails(2, "show", plan[:3])
    for command in ("show", "origins", "retract"):
        assert "not found: memory 'ffff'" in believing.fails(4, command, "ffff")
    assert "not found: assertion 'ffff'" in believing.fails(4, "fact", "explain", "ffff")
    assert "not found: notice" in believing.fails(4, "resolve", plan, "keep")
    assert "not found: erasure 'ffff'" in believing.fails(4, "certificate", "ffff")


def test_candidates_are_what_the_agent_may_see(cli: Cli) -> None:
    secret = cli.row("remember", "a secret", "--private")["id"]
    cli("remember", "no secret")
    message = cli.fails(4, "show", secret[:PREFIX], "--agent", "other")
    assert "not found: memory" in message
    assert secret not in cli.run("show", secret[:4], "--agent", "other").stderr


def test_what_is_superseded_is_shown_by_its_new_words(believing: Cli) -> None:
    assert "superseded by “new”" in believing("memories")
    assert "superseded_by" in believing("show", "--title", "old")
    assert f"“new”  {named(believing, 'new')}" in believing("show", "--title", "old")
    inbox = believing("inbox")
    assert "“plan” of planner reflects on “old”," in inbox
    assert "which planner superseded by “new”" in inbox
    assert "STALE: superseded by “Ann travels calmly”" in believing(
        "why", f"memory:{named(believing, 'plan')}"
    )


def test_agents_and_namespaces(cli: Cli) -> None:
    cli("write", "k", "{}")
    cli("write", "k", "{}", "--namespace", "team/eng")
    cli("write", "k", "{}", "--agent", "bob", "--namespace", "team/eng")
    agents = cli.rows("agents")
    assert [(row["agent_id"], row["namespaces"], row["commits"]) for row in agents] == [
        ("bob", 1, 1),
        ("planner", 2, 2),
    ]
    heading, *lines = cli("agents").splitlines()
    assert heading.split() == ["agent", "namespaces", "commits", "last", "commit", "last", "active"]
    assert [line.split()[:4] for line in lines] == [
        ["bob", "1", "1", "3"],
        ["planner", "2", "2", "2"],
    ]
    namespaces = cli.rows("namespaces", "--limit", 5)
    assert [(row["namespace"], row["agents"], row["last_commit"]) for row in namespaces] == [
        ("default", 1, 1),
        ("team/eng", 2, 3),
    ]
    assert len(cli.rows("agents", "--limit", 1)) == 1


def test_nobody_yet(cli: Cli) -> None:
    assert "no store" in cli.fails(4, "agents").lower()
    cli.fails(5, "write", "plan", "{}", "--expect-version", 7)
    result = cli.run("namespaces")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing was written yet" in result.stderr


def test_sql_lists_what_it_can_read(filled: Cli) -> None:
    views = {row["name"]: row for row in filled.rows("sql")}
    assert views["state"]["description"] == "The values that keys have now."
    for name, view in views.items():
        columns = ", ".join(view["columns"])
        assert filled.run("sql", f"SELECT {columns} FROM {name}").exit_code == 0
    output = filled("sql")
    assert "agents  The agents, in each namespace they wrote in." in output
    assert "    namespace, agent_id, first_commit, last_commit" in output
    assert all(len(line) <= 100 for line in output.splitlines())


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("recal", "'recall'"), ("search", "'recall'"), ("memorys", "'memories'"), ("ls", "'keys'")],
)
def test_did_you_mean(cli: Cli, typo: str, meant: str) -> None:
    assert f"No such command '{typo}'. Did you mean {meant}" in cli.fails(2, typo)


def test_did_you_mean_of_options_and_subcommands(cli: Cli) -> None:
    assert "--namespace" in cli.fails(2, "keys", "--namespac", "x")
    assert "list" in cli.fails(2, "fact", "lst")
    assert "`memoranda --help` lists" in cli.fails(2, "zzzzzz")
