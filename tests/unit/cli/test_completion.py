"""Shell completion: of commands and options, and of the names and ids in a store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import click
import pytest

import memoranda
from memoranda.cli.completion import MAX_CANDIDATES
from memoranda.cli.main import cli as root
from tests.unit.cli.runner import Cli


def complete(cli: Cli, words: str, **env: str | None) -> list[str]:
    """Return the candidates for the last word of a line; a line that ends in a space has none."""
    names = words.split(" ")
    variables = {
        "_MEMORANDA_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(names) - 1),
    }
    result = cli.run(env={**variables, **env})
    assert result.stderr == ""
    return [line.removeprefix("plain,") for line in result.stdout.splitlines() if line]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A store with ids of each kind, two agents and two namespaces, which no test changes."""
    cli = Cli(tmp_path_factory.mktemp("shared"))
    cli("write", "goal", "{}")
    cli("write", "user:42", "{}", "--namespace", "team/eng")
    cli("write", "todo", "{}", "--agent", "coder")
    ground = cli.row("remember", "Ann does not fly")["id"]
    old = cli.row("reflect", "Ann travels slowly", "--on", ground)["id"]
    cli("reflect", "Book the train", "--on", old)
    new = cli.row("reflect", "Ann travels calmly", "--on", ground)["id"]
    cli("supersede", old, new)
    cli("transcript", "add", "Ann: I work at Acme")
    cli("fact", "assert", "Ann", "works_at", "Acme")
    cli("forget", "memory", cli.row("remember", "spare")["id"], "--yes")
    return cli


@pytest.fixture(scope="module")
def ids(shared: Cli) -> dict[str, str]:
    """Kind -> one id of that kind in the shared store."""
    return {
        "memory": shared.rows("memories")[0]["id"],
        "transcript": shared.row("transcript", "list")["id"],
        "fact": shared.row("fact", "list")["assertions"][0],
        "notice": shared.row("inbox")["id"],
        "erasure": shared.row("certificate")["erasure_id"],
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(cli: Cli, shell: str) -> None:
    script = cli("completion", shell)
    assert "_MEMORANDA_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_another_shell_is_a_usage_error(cli: Cli) -> None:
    assert "tcsh" in cli.fails(2, "completion", "tcsh")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("memoranda rep", {"replay"}),
        ("memoranda replay --all", {"--all-agents", "--all-namespaces"}),
        ("memoranda completion f", {"fish"}),
    ],
)
def test_what_completing_offers(cli: Cli, words: str, offered: set[str]) -> None:
    assert set(complete(cli, words)) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script(cli: Cli) -> None:
    script = cli("completion", "bash")
    result = subprocess.run(
        ["bash", "-c", 'eval "$1"; complete -p memoranda', "bash", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_memoranda_completion" in result.stdout


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ("memoranda get ", ["goal"]),
        ("memoranda get g", ["goal"]),
        ("memoranda get x", []),
        ("memoranda get --namespace team/eng ", ["user:42"]),
        ("memoranda get --namespace team/eng user:", ["user:42"]),
        ("memoranda get --agent coder ", ["todo"]),
        ("memoranda keys ", ["goal"]),
        ("memoranda forget key ", ["goal"]),
        ("memoranda get --agent ", ["coder", "planner"]),
        ("memoranda get --agent=co", ["coder"]),
        ("memoranda forget agent p", ["planner"]),
        ("memoranda get --namespace ", ["default", "team/eng"]),
        ("memoranda forget namespace t", ["team/eng"]),
        ("memoranda reindex --in-namespace t", ["team/eng"]),
        ("memoranda why g", ["goal"]),
        ("memoranda why mem", ["memory:"]),
        ("memoranda write x {} --because g", ["goal"]),
    ],
)
def test_names_of_the_store_are_completed(shared: Cli, words: str, candidates: list[str]) -> None:
    assert complete(shared, words) == candidates


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        ("show", {"memory"}),
        ("edit", {"memory"}),
        ("origins", {"memory"}),
        ("link", {"memory"}),
        ("forget memory", {"memory"}),
        ("reflect text --on", {"memory"}),
        ("transcript show", {"transcript"}),
        ("extract", {"transcript"}),
        ("remember text --transcript", {"transcript"}),
        ("fact explain", {"fact"}),
        ("fact retract --assertion", {"fact"}),
        ("forget facts", {"memory", "transcript"}),
        ("fact assert a b c --source", {"memory", "transcript"}),
        ("resolve", {"notice"}),
        ("certificate", {"erasure"}),
    ],
)
def test_ids_are_completed_by_what_the_argument_takes(
    shared: Cli, ids: dict[str, str], words: str, kinds: set[str]
) -> None:
    candidates = complete(shared, f"memoranda {words} ")
    expected = kinds | {"notice"} if "memory" in kinds else kinds  # a notice is a memory
    assert {kind for kind, name in ids.items() if name in candidates} == expected
    kind = min(kinds)
    assert complete(shared, f"memoranda {words} {ids[kind][:-1]}") == [ids[kind]]


@pytest.mark.parametrize("kind", ["memory", "transcript", "fact"])
def test_references_are_completed(shared: Cli, ids: dict[str, str], kind: str) -> None:
    reference = f"{kind}:{ids[kind]}"
    assert reference in complete(shared, f"memoranda why {kind}:")
    assert complete(shared, f"memoranda why {reference[:-1]}") == [reference]


def test_private_ids_of_others_are_not_offered(cli: Cli) -> None:
    name = cli.row("remember", "a secret", "--private")["id"]
    assert complete(cli, "memoranda show ") == [name]
    assert complete(cli, "memoranda show --agent coder ") == []
    assert complete(cli, "memoranda show ", MEMORANDA_AGENT=None) == []


def test_the_store_is_the_one_that_the_line_names(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    cli("write", "here", "{}")
    cli("write", "there", "{}", "--db", other)
    assert complete(cli, "memoranda get ") == ["here"]
    assert complete(cli, f"memoranda get --db {other} ") == ["there"]
    cli.env["MEMORANDA_DB"] = None
    cli("write", "at-home", "{}")
    assert complete(cli, "memoranda get ") == ["at-home"]


def test_there_are_not_too_many_candidates(cli: Cli) -> None:
    with memoranda.open(cli.db, embedder=None) as store:
        bound = store.bind(agent_id="planner")
        for number in range(MAX_CANDIDATES + 20):
            bound.write(key=f"k{number:03}", value={})
    assert complete(cli, "memoranda get ") == [f"k{number:03}" for number in range(MAX_CANDIDATES)]


@pytest.mark.parametrize(
    "key", ["$(touch x)", "a;b", "a b", "a\nplain,b", "a*", "-x", "`x`", "\x1b[31m", "a'b", "~a"]
)
def test_a_name_that_a_shell_would_run_or_expand_is_not_offered(cli: Cli, key: str) -> None:
    with memoranda.open(cli.db, embedder=None) as store:
        store.write(key=key, value={}, agent_id="planner")
        store.write(key="zoë/plan-2.b", value={}, agent_id="planner")
    assert complete(cli, "memoranda get ") == ["zoë/plan-2.b"]


LINES = [
    "get ",
    "show ",
    "why ",
    "why memory:",
    "get --agent ",
    "get --namespace ",
    "get --nosuch ",
]


@pytest.mark.parametrize("line", LINES)
def test_without_a_store_nothing_is_offered_or_made(cli: Cli, line: str) -> None:
    assert complete(cli, f"memoranda {line}") == []
    assert list(cli.home.iterdir()) == []


@pytest.mark.parametrize("line", LINES)
def test_a_file_that_is_no_store_is_silent(cli: Cli, line: str) -> None:
    cli.db.write_bytes(b"not a store at all" * 100)
    assert complete(cli, f"memoranda {line}") == []


def test_after_an_unknown_command_the_commands_are_offered(cli: Cli) -> None:
    assert "replay" in complete(cli, "memoranda nosuch ")


def test_without_an_agent_no_keys_are_offered(filled: Cli) -> None:
    assert complete(filled, "memoranda get ", MEMORANDA_AGENT=None) == []
    assert complete(filled, "memoranda get --agent ", MEMORANDA_AGENT=None) == ["planner"]


def test_completing_changes_nothing(filled: Cli) -> None:
    before = filled.db.read_bytes()
    assert complete(filled, "memoranda get ") == ["goal", "plan"]
    assert filled.db.read_bytes() == before


def test_a_locked_store_is_silent(filled: Cli) -> None:
    with closing(apsw.Connection(str(filled.db))) as other:  # of our SQLite: it knows its locks
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE meta SET value = value")
        assert complete(filled, "memoranda get ") == []


def parameters(command: click.Command, path: str) -> Iterator[tuple[str, click.Parameter]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from parameters(child, f"{path} {name}")
        return
    yield from ((path, parameter) for parameter in command.params)


ID_NAMES = {"ID", "REF", "NOTICE", "ASSERTION", "SOURCE", "TARGET"}
COMPLETED = {"agent", "namespace", "key", "prefix", "agent_id"}
OF_NO_STORE = (" token ",)
"""Commands that name agents which no store need have yet."""


def test_every_argument_for_a_name_or_an_id_is_completed() -> None:
    without = {
        f"{path} {parameter.name}"
        for path, parameter in parameters(root, "")
        if (parameter.name in COMPLETED or (parameter.metavar or "").strip("[]") in ID_NAMES)
        and parameter.name != "txn_id"
        and not path.startswith(OF_NO_STORE)
        and parameter._custom_shell_complete is None
    }
    assert without == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "reply"),
    [
        (["get", "--namespace", "team/eng", "user", ":"], ["42"]),
        pytest.param(
            ["get", "--namespace", "team/eng", "user", ":", "4"], ["42"], marks=pytest.mark.slow
        ),
        pytest.param(["get", "--agent", "=", "coder", "t"], ["todo"], marks=pytest.mark.slow),
        (["why", "memory", ":", "0"], None),
    ],
)
def test_the_script_completes_in_bash(
    shared: Cli, ids: dict[str, str], tmp_path: Path, words: list[str], reply: list[str] | None
) -> None:
    """Bash splits words at `:` and `=`, and replaces only what follows them."""
    program = tmp_path / "memoranda"
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from memoranda.cli.main import run; run()' \"$@\"\n"
    )
    program.chmod(0o700)
    call = '''eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _memoranda_completion "$1"; printf '%s\\n' "${COMPREPLY[@]}"'''
    result = subprocess.run(
        ["bash", "-c", call, "bash", shared("completion", "bash"), str(program), *words],
        env={**os.environ, **{name: text for name, text in shared.env.items() if text is not None}},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    replies = result.stdout.split()
    if reply is None:
        assert ids["memory"] in replies
    else:
        assert replies == reply
