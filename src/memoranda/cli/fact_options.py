"""What commands about facts take: parts of a fact, and the two axes of time."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click

from memoranda.cli.main import FIELD_NAMES
from memoranda.errors import InvalidInput

Command = Callable[..., None]
KINDS = ("number", "boolean", "date", "time", "text")
"""Of literals; said here too, so that asking for help loads no more than it has to."""
_REPORT = re.compile(r"(\.rejected(\.\d+)?)+$")
"""How the name of a file of rows that were set aside ends."""


class FactGroup(click.Group):
    """The group: where a field is an argument, errors name it so, while others have options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Note how the command spells its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        ctx.meta[FIELD_NAMES] = {
            each.name.strip("_"): (each.metavar or each.name).strip("[]")
            for each in (command.params if command else ())
            if isinstance(each, click.Argument) and each.name is not None
        }
        return name, command, rest


def takes_parts(*names: str) -> Callable[[Command], Command]:
    """Give a command parts of a fact as arguments; one that ends in `?` may be left out."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            part, required = name.removesuffix("?"), not name.endswith("?")
            shown = part.upper() if required else f"[{part.upper()}]"
            called = "object_" if part == "object" else part
            command = click.argument(called, metavar=shown, required=required)(command)
        return command

    return decorate


takes_literal = click.option(
    "--literal",
    metavar="KIND",
    type=click.Choice(KINDS),
    help=f"OBJECT is a value, not a name: a {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
)
takes_valid_at = click.option("--valid-at", metavar="TIME", help="What held then; not given, now.")
takes_known_at = click.option(
    "--known-at",
    metavar="MOMENT",
    help="As far as was known at a commit number, or at a time.",
)
_takes_source = click.option(
    "--source", metavar="ID", help="The memory or transcript it comes from."
)
_takes_spans = click.option(
    "--span",
    "spans",
    metavar="START:END",
    multiple=True,
    help="Bytes of the transcript it comes from. Repeatable.",
)


def takes_ground(command: Command) -> Command:
    """Let a command be told what it is that something comes from."""
    return _takes_source(_takes_spans(command))


takes_visibility = click.option(
    "--visibility",
    type=click.Choice(["namespace", "private"]),
    help="Who is shown it; not given, as what it comes from: a private memory's facts are private.",
)
takes_txn_id = click.option(
    "--txn-id", metavar="ID", help="Name the write: tried again, it happens once."
)
takes_form = click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="What the file is; not given, its name tells: .csv, .jsonl or .ndjson.",
)


def form_of(file: str, form: str | None) -> str:
    """Return what a file is: as was said, or as its name tells."""
    from memoranda.cli.fact_rows import SUFFIXES

    found = form or SUFFIXES.get(Path(_REPORT.sub("", file)).suffix.lower())
    if found is None:
        raise InvalidInput("path", f"{file!r} does not tell what it is: give --format csv or jsonl")
    return found
