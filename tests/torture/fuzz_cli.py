"""A fuzz of the command line: every command, with plausible and hostile texts.

A command ends with an exit code and a message. A traceback is a defect.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from random import Random

import click
from click.testing import CliRunner

from memoranda.cli.command_table import COMMANDS
from memoranda.cli.main import cli

_LEFT_OUT = {"demo", "serve", "tail", "ui"}
"""Commands that take long, or go on until they are stopped."""
_ENDLESS = {"--every", "--follow"}
"""Options by which a command goes on until it is stopped."""
_TEXTS = (
    "a", "k1", "Ann", "Oslo", "lives in", "1", "0", "-1", "2", "{}", '{"n": 1}', "[1", "", " ",
    "x" * 5_000, "\x01", "9" * 5_000, "../x", "odd.db", "2024-01-01T00:00:00Z",
    "2024-13-01", "nan", "inf", "🎉" * 300, "--json", "--", "-", "SELECT 1", "%s{0}", "memory:x",
    "[" * 5_000, '{"a":' * 2_000, "00000000-0000-7000-8000-000000000000",
)  # fmt: skip


def commands() -> list[tuple[list[str], click.Command]]:
    """Return every command with the words that call it, groups taken apart."""
    context = click.Context(cli)
    result: list[tuple[list[str], click.Command]] = []
    for name in sorted(set(COMMANDS) - _LEFT_OUT):
        command = cli.get_command(context, name)
        assert command is not None, "a listed command can be imported"
        if isinstance(command, click.Group):
            result += [([name, part], inner) for part, inner in sorted(command.commands.items())]
        else:
            result.append(([name], command))
    return result


def arguments(command: click.Command, random: Random) -> Iterator[str]:
    """Yield random arguments for a command's parameters."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if parameter.required or random.random() < 0.5:
                yield random.choice(_TEXTS)
        elif "--db" in parameter.opts:
            yield from ("--db", "fuzz_cli.db" if random.random() < 0.9 else random.choice(_TEXTS))
        elif _ENDLESS.isdisjoint(parameter.opts) and random.random() < 0.2:
            yield parameter.opts[-1]
            if not getattr(parameter, "is_flag", False):
                yield random.choice(_TEXTS)


def fuzz_command(random: Random, known: list[tuple[list[str], click.Command]]) -> str | None:
    """Run one command; return what is wrong with how it ended, if anything is."""
    words, command = random.choice(known)
    line = [*words, *arguments(command, random)]
    result = CliRunner().invoke(cli, line, input="yes\n" if random.random() < 0.5 else "")
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return None
    reports = "".join(traceback.format_exception(error, limit=-6))
    return f"memoranda {line!r:.600}\n{reports[-3000:]}"
