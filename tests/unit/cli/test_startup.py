"""Starting the command: what it imports and what that costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import click
import pytest

import memoranda
from memoranda.__main__ import _quick_answer
from memoranda.cli.command_table import COMMANDS, OPTIONS, USAGE
from memoranda.cli.main import cli as group
from tests.unit.cli.runner import Cli

RUNS = 15
MOST_STARTS = 8
"""The CPU time of `memoranda --help`, in starts of an interpreter that does nothing."""


def context() -> click.Context:
    """Return a context with the group's own names for help: click remembers the first it sees."""
    return group.make_context("memoranda", [], resilient_parsing=True)


def test_the_table_has_the_short_help_of_every_command() -> None:
    ctx = context()
    for name, (_, short_help) in COMMANDS.items():
        command = group.get_command(ctx, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=200) == short_help


def test_the_table_has_the_usage_and_the_options_of_the_group() -> None:
    ctx = context()
    records = (parameter.get_help_record(ctx) for parameter in group.get_params(ctx))
    assert dict(record for record in records if record is not None) == OPTIONS
    assert " ".join(("memoranda", *group.collect_usage_pieces(ctx))) == USAGE


def test_help_fits_on_a_terminal(cli: Cli) -> None:
    assert max(map(len, cli("--help").splitlines())) <= 80


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"]])
def test_a_quick_answer_is_what_the_group_answers(cli: Cli, arguments: list[str]) -> None:
    assert _quick_answer(arguments) == cli(*arguments)


@pytest.mark.parametrize("arguments", [[], ["get", "--help"], ["--help", "get"], ["--versio"]])
def test_other_arguments_are_left_to_the_group(arguments: list[str]) -> None:
    assert _quick_answer(arguments) is None


def test_completion_is_not_answered_with_help() -> None:
    env = {**os.environ, "_MEMORANDA_COMPLETE": "bash_complete"}
    process = subprocess.run(
        [sys.executable, "-m", "memoranda", "--help"],
        env={**env, "COMP_WORDS": "memoranda rep", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "plain,replay\n"


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_a_quick_answer_imports_neither_click_nor_the_engine(argument: str) -> None:
    imported = modules_of("-m", "memoranda", argument)
    assert {"memoranda", "memoranda.__main__"} <= imported | {"memoranda.__main__"}
    assert not {"click", "msgspec", "apsw", "memoranda.sdk", "memoranda.errors"} & imported


def test_completing_a_name_imports_no_command() -> None:
    env = {"_MEMORANDA_COMPLETE": "bash_complete", "COMP_WORDS": "memoranda r", "COMP_CWORD": "1"}
    imported = modules_of("-m", "memoranda", env=env)
    assert "memoranda.cli.main" in imported
    assert not any(name.startswith("memoranda.cli.commands.") for name in imported)
    assert "memoranda.sdk" not in imported


def modules_of(*arguments: str, env: dict[str, str] | None = None) -> set[str]:
    """Return the modules that a start of the interpreter imports."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}


def test_help_takes_few_starts_of_an_interpreter() -> None:
    bare = statistics.median(cpu_seconds("-c", "pass") for _ in range(RUNS))
    of_help = statistics.median(cpu_seconds("-m", "memoranda", "--help") for _ in range(RUNS))
    assert of_help <= MOST_STARTS * bare


def cpu_seconds(*arguments: str) -> float:
    """Return the user CPU time of a start of the interpreter."""
    to_nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], os.environ, file_actions=to_nowhere
    )
    _, status, usage = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_utime


def test_the_package_binds_its_public_names_when_one_is_used() -> None:
    code = (
        "import sys, memoranda\n"
        "assert 'memoranda.sdk' not in sys.modules\n"
        "from memoranda import *\n"
        "assert 'memoranda.sdk' in sys.modules\n"
        "assert Store is memoranda.Store\n"
        "assert {*memoranda.__all__} <= {*dir(memoranda)}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'memoranda' has no attribute 'nonsense'"):
        getattr(memoranda, "nonsense")  # noqa: B009


def test_no_help_of_a_group_is_cut_in_80_columns() -> None:
    for name in COMMANDS:
        root = context()
        command = group.get_command(root, name)
        if isinstance(command, click.Group):
            inner = click.Context(command, parent=root, info_name=name, terminal_width=80)
            assert "..." not in command.get_help(inner).partition("Options:")[2], name
