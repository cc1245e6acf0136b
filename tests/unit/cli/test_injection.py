"""What is in a store is shown on a terminal, never obeyed by it."""

from __future__ import annotations

import json
import re

import pytest

from memoranda.cli.output import safe, safe_json
from tests.unit.cli.runner import Cli

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
HOSTILE = f"{ESCAPE}\x9b31m\u202e[red]x[/red]\r\n\u2028\x7f"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]")
COMMANDS = (
    ("keys",),
    ("scan",),
    ("get", HOSTILE),
    ("history", HOSTILE),
    ("why", HOSTILE),
    ("diff", "0"),
    ("diff", "1"),
    ("replay",),
    ("replay", "--all-namespaces"),
    ("tail", "--timeout", "0"),
    ("tail", "--timeout", "0", "--all-agents", "--all-namespaces"),
)


@pytest.fixture
def hostile(cli: Cli) -> Cli:
    """A store in which everything that can be hostile is."""
    value = json.dumps({HOSTILE: [HOSTILE]})
    cli("write", HOSTILE, value, "--txn-id", HOSTILE)
    cli("write", HOSTILE, json.dumps({HOSTILE: [HOSTILE, 1]}), "--because", HOSTILE)
    return cli


@pytest.fixture
def believing(hostile: Cli) -> Cli:
    """A store with hostile memories, words and notes too."""
    words = hostile.row("transcript", "add", HOSTILE)["id"]
    ground = hostile.row("remember", HOSTILE, "--transcript", words, "--tag", HOSTILE)["id"]
    old = hostile.row("reflect", HOSTILE, "--on", ground, "--title", HOSTILE)["id"]
    hostile("reflect", HOSTILE, "--on", old)
    hostile("supersede", old, hostile.row("reflect", HOSTILE, "--on", ground)["id"])
    notice = hostile.row("inbox")["id"]
    hostile("resolve", notice, "keep", "--note", HOSTILE)
    hostile("write", f"{HOSTILE}2", "{}", "--because", f"{HOSTILE}@1")
    return hostile


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("memories",),
        ("memories", "--content"),
        ("show", "--title", HOSTILE),
        ("inbox", "--status", "all"),
        ("inbox", "--keys"),
        ("replay",),
        ("origins",),
        ("why",),
        ("transcript", "show"),
    ],
    ids=lambda arguments: " ".join(arguments[:2])[:20],
)
def test_no_control_character_of_a_belief_gets_out(
    believing: Cli, arguments: tuple[str, ...], form: tuple[str, ...]
) -> None:
    if arguments == ("origins",):
        arguments += (believing.rows("memories")[1]["id"],)
    if arguments == ("why",):
        arguments += (f"memory:{believing.rows('memories')[1]['id']}",)
    if arguments == ("transcript", "show"):
        arguments += (believing.row("transcript", "list")["id"],)
    output = believing(*arguments, *form)
    assert not CONTROL.search(output)
    assert "[red]x[/red]" in output


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: str(arguments[0]))
def test_no_control_character_gets_out(
    hostile: Cli, arguments: tuple[str, ...], form: tuple[str, ...]
) -> None:
    output = hostile(*arguments, *form)
    assert not CONTROL.search(output)
    assert "[red]x[/red]" in output


def test_writes_and_messages_are_safe_too(hostile: Cli) -> None:
    writes = hostile("write", HOSTILE, "{}")
    assert not CONTROL.search(writes)
    assert writes.count("\n") == 1
    for arguments in (
        ("get", ESCAPE),
        ("get", "plan", "--at", ESCAPE),
        ("keys", "--db", f"{ESCAPE}.db"),
        ("write", "k", "{}", "--agent", ESCAPE),
        ("write", "k", "{}", "--because", ESCAPE),
        ("write", "k", f"@{ESCAPE}"),
        ("write", HOSTILE, "{}", "--expect-version", "9"),
    ):
        result = hostile.run(*arguments)
        assert result.exit_code != 0
        assert not CONTROL.search(result.stderr)


def test_arguments_that_are_no_text_are_told_of(filled: Cli) -> None:
    """A shell passes any bytes on; Python hands over as lone surrogates what is not UTF-8."""
    for arguments in (("bogus\udcff",), ("get", "\udcff"), ("get", "k", "--bogus\udcff")):
        assert r"\\udcff" in filled.fails(2, *arguments, "--json")


def test_json_still_says_what_was_written(hostile: Cli) -> None:
    first, _ = hostile.rows("replay")
    (operation,) = first["operations"]
    assert (operation["key"], operation["value"]) == (HOSTILE, {HOSTILE: [HOSTILE]})
    assert first["txn_id"] == HOSTILE
    assert hostile.rows("keys") == [{"key": HOSTILE}]


def test_a_key_takes_one_line(cli: Cli) -> None:
    cli("write", "two\nlines", "{}")
    assert cli("keys") == "two\\u000alines\n"


def test_ordinary_text_is_left_alone() -> None:
    text = "naïve 日本語 👩‍🚀 \\ [bold] {}"
    assert safe(text) == safe_json(text) == text
