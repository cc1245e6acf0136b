"""Commands that copy a store: restore, fork, export and import."""

from __future__ import annotations

import sys

import click

from memoranda.cli import inputs
from memoranda.cli.commands.transcripts import import_chat
from memoranda.cli.options import Target, takes_store
from memoranda.cli.output import byte_size, plural, safe, safe_json, warn, write_json
from memoranda.cli.progress import meter

# Restoring and forking.


@click.command()
@click.argument("backup", metavar="BACKUP", type=click.Path())
@click.option("--overwrite", is_flag=True, help="Replace an existing store, or the remains of one.")
@takes_store
def restore(target: Target, *, backup: str, overwrite: bool) -> None:
    """Replace the store by a backup.

    The backup's hash chain is verified first. An existing store is replaced only with --overwrite,
    and not while a process has it open. A write-ahead log without a store may hold its last
    commits; it is discarded only with --overwrite. The next write starts a new epoch of the log.
    """
    import memoranda
    from memoranda.calls.as_json import to_json

    target.make_folder()
    with meter("Restoring") as progress:
        report = memoranda.restore(backup, target.location, overwrite=overwrite, progress=progress)
    if target.as_json:
        write_json({"store": target.location, **to_json(report)})
        return
    commits = plural(report.commits, "commit")
    click.echo(f"Restored {commits} from {safe(backup)} to {safe(target.location)}.")
    for warning in report.warnings:
        warn(warning)


@click.command()
@click.argument("file", metavar="NEWFILE", type=click.Path())
@click.option(
    "--at",
    metavar="MOMENT",
    required=True,
    help="The last commit: a number or a time, such as 2026-02-07T10:00:00+01:00.",
)
@takes_store
def fork(target: Target, *, file: str, at: str) -> None:
    """Copy the log up to a moment into a new log.

    The fork is a new store with the same operations at the same commits and times. It has its own
    log id, so its hashes differ, and its first epoch names its origin.
    """
    from memoranda.calls.as_json import to_json

    with target.reader() as store, meter("Forking") as progress:
        report = store.fork(file, at=inputs.moment(at), progress=progress)
    if target.as_json:
        write_json({"path": file, **to_json(report)})
        return
    click.echo(f"Forked {plural(report.commits, 'commit')} to {safe(file)}.")


# Exports and imports.


@click.group(name="export")
def export_group() -> None:
    """Export data to a file."""


@click.group(name="import")
def import_group() -> None:
    """Import an exported log or conversations."""


import_group.add_command(import_chat)


@export_group.command(name="log")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_store
def export_log(target: Target, *, file: str) -> None:
    """Export the log to a new file, as JSON Lines; `-` is stdout.

    FILE holds every commit up to the start of the export, of all agents, and everything that is
    needed to verify it: `memoranda-verify log FILE` does so without Memoranda. The same log gives
    the same bytes. Only its owner can read the file, which appears when it is complete.

    Example: memoranda export log log.jsonl
    """
    from memoranda.calls.as_json import to_json

    with (
        target.reader() as store,
        meter("Exporting the log", beside_output=file != "-") as progress,
    ):
        if file == "-":
            store.export_log(_Stdout(), progress=progress)
            return
        report = store.export_log(file, progress=progress)
    if target.as_json:
        write_json({"path": file, **to_json(report)})
        return
    commits, size = plural(report.commits, "commit"), byte_size(report.bytes)
    click.echo(f"Exported {commits} to {safe(file)}, {size}.")


@import_group.command(name="log")
@click.argument("file", metavar="FILE", type=click.Path())
@takes_store
def import_log(target: Target, *, file: str) -> None:
    """Create a store from an exported log; `-` is stdin.

    The store has the same log with the same id. Every line is verified, and the store appears when
    it is complete; an existing store is never changed. The first write starts a new epoch of the
    log.

    Example: memoranda import log log.jsonl --db new.db
    """
    import memoranda
    from memoranda.calls.as_json import to_json

    target.make_folder()
    source = sys.stdin.buffer if file == "-" else file
    with meter("Importing the log") as progress:
        report = memoranda.import_log(source, target.location, progress=progress)
    if target.as_json:
        write_json({"store": target.location, **to_json(report)})
        return
    commits = plural(report.commits, "commit")
    click.echo(f"Imported {commits} from {safe(file)} to {safe(target.location)}.")
    for warning in report.warnings:
        warn(warning)


class _Stdout:
    """Stdout as a binary file, without control characters on a terminal."""

    def write(self, line: bytes) -> None:
        """Write a line."""
        output = safe_json(line.decode()).encode() if sys.stdout.isatty() else line
        sys.stdout.buffer.write(output)
