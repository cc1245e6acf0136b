"""Commands that copy a store: copy, restore, fork, export and import."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from memoranda.cli import inputs
from memoranda.cli.commands.transcripts import import_chat
from memoranda.cli.options import Target, is_given, takes_store, takes_target
from memoranda.cli.output import byte_size, plural, safe, safe_json, warn, write_json
from memoranda.cli.progress import meter

# Copying, restoring and forking.


@click.command()
@click.argument("source", metavar="FROM", type=click.Path())
@click.argument("destination", metavar="TO", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def copy(*, source: str, destination: str, as_json: bool) -> None:
    """Copy a store to another file or database, and verify the copy.

    FROM and TO are paths, or URLs such as postgresql://host/database?store=name. The copy has the
    same log with the same hashes, and the same cursors. If the command is interrupted, run it
    again: it goes on where it ended, and brings a finished copy up to date. A target with another
    log is refused.

    Example: memoranda copy agents.db 'postgresql://host/agents?store=acme'
    """
    import memoranda
    from memoranda.calls.as_json import to_json

    with meter("Copying") as progress:
        report = memoranda.copy(source, destination, progress=progress)
    if as_json:
        write_json(to_json(report))
        return
    click.echo(f"Copied and verified {plural(report.commits, 'commit')}.")
    for warning in report.warnings:
        warn(warning)


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


@click.group(name="export", invoke_without_command=True)
@click.option(
    "--html",
    "file",
    metavar="FILE",
    type=click.Path(),
    help="Write the agent's story to a new file that any browser opens, without a server.",
)
@click.option("--from", "from_time", metavar="TIME", help="Start at this time.")
@click.option("--to", "to_time", metavar="TIME", help="End before this time.")
@takes_target
@click.pass_context
def export_group(
    context: click.Context,
    target: Target,
    *,
    file: str | None,
    from_time: str | None,
    to_time: str | None,
) -> None:
    """Export data to a file.

    With --html, FILE is the replay debugger with one agent's story over a range: timeline, why,
    facts and inbox, read-only. It holds what the agent knew then, and the conversations it quotes;
    it needs no network and no server. By default it has all namespaces and all of the time.

    Example: memoranda export --html story.html --agent planner --from 2026-02-07
    """
    if context.invoked_subcommand is not None:
        if file is not None:
            raise click.UsageError(f"--html goes without {context.invoked_subcommand!r}.")
        return
    if file is None:
        raise click.UsageError("Say what to export: `log FILE`, or `--html FILE`.")
    _export_story(target, file, from_time, to_time)


def _export_story(target: Target, file: str, from_time: str | None, to_time: str | None) -> None:
    from memoranda.server.offline_document import make_document
    from memoranda.server.offline_story import read_story
    from memoranda.storage.files import atomic_file, check_free, make_private

    path = Path(file)
    check_free("file", path)
    with target.agent_reader() as store, meter("Exporting the story") as progress:
        assert target.agent is not None, "the reader has checked it"
        story = read_story(
            store,
            target.agent,
            namespace=target.namespace if is_given("namespace") else None,
            from_timestamp=from_time,
            to_timestamp=to_time,
            progress=progress,
        )
    title = f"{target.agent} · Memoranda"
    document = make_document(title, story).encode()
    with atomic_file("file", path) as draft:
        make_private(draft)
        draft.write_bytes(document)
    events = len(story["events"])
    if target.as_json:
        write_json({"path": file, "events": events, "bytes": len(document)})
        return
    click.echo(f"Exported {plural(events, 'event')} to {safe(file)}, {byte_size(len(document))}.")


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
