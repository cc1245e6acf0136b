"""Commands that turn a log into a file that can be checked and kept, and that take files in."""

from __future__ import annotations

import sys

import click

from memoranda.cli.chats import import_chat
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import warn, write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe, safe_json, sized


@click.group(name="export")
def export_group() -> None:
    """Write what a store holds to a file."""


@click.group(name="import")
def import_group() -> None:
    """Take in what is in files: an exported log, conversations."""


import_group.add_command(import_chat)


@export_group.command(name="log")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_target
def export_log(target: Target, *, file: str) -> None:
    """Write the log to a new file, as JSON Lines; `-` is stdout.

    FILE has everything that was committed when the export began, all agents together, and all that
    is needed to check it: `memoranda-verify log FILE` does so without Memoranda. The same log gives
    the same bytes. Only its owner can read the file, which appears once it is whole.

    Example: memoranda export log log.jsonl
    """
    from memoranda.cli import shapes

    with target.store() as store, meter("Exporting", beside_output=file != "-") as progress:
        if file == "-":
            store.export_log(_Stdout(), progress=progress)
            return
        found = store.export_log(file, progress=progress)
    if target.as_json:
        write_json({"path": file, **shapes.report(found)})
        return
    commits, size = counted(found.commits, "commit"), sized(found.bytes)
    click.echo(f"Exported {commits} to {safe(file)}, {size}.")


@import_group.command(name="log")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_target
def import_log(target: Target, *, file: str) -> None:
    """Make a new store from an exported log; `-` is stdin.

    It has the same log with the same id, and gives the same answers. Every line is checked, and the
    store appears once it is whole; one that is there already is never touched. The first write
    begins a new epoch of the log.

    Example: memoranda import log log.jsonl --db new.db
    """
    import memoranda
    from memoranda.cli import shapes

    target.make_folder()
    source = sys.stdin.buffer if file == "-" else file
    with meter("Importing") as progress:
        found = memoranda.import_log(source, target.location, progress=progress)
    if target.as_json:
        write_json({"store": target.location, **shapes.report(found)})
        return
    commits = counted(found.commits, "commit")
    click.echo(f"Imported {commits} from {safe(file)} to {safe(target.location)}.")
    for warning in found.warnings:
        warn(warning)


class _Stdout:
    """Where lines are written that are data; a terminal is not sent control characters."""

    def write(self, line: bytes) -> None:
        """Write a line."""
        shown = safe_json(line.decode()).encode() if sys.stdout.isatty() else line
        sys.stdout.buffer.write(shown)
