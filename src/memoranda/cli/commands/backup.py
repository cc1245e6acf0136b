"""Commands that copy a store: backups, restoring them, and forks."""

from __future__ import annotations

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import warn, write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe, sized


@click.command()
@click.argument("file", type=click.Path())
@takes_target
def backup(target: Target, *, file: str) -> None:
    """Copy the store to a new file, while others go on writing.

    FILE holds everything that was committed when the backup began, all agents together. It appears
    once it is whole, and it is a store itself: every command can read it with --db.
    """
    from memoranda.cli import shapes

    with target.store() as store, meter("Backing up") as progress:
        found = store.backup(file, progress=progress)
    if target.as_json:
        write_json({"path": file, **shapes.report(found)})
        return
    commits, size = counted(found.commits, "commit"), sized(found.bytes)
    click.echo(f"Backed up {commits} to {safe(file)}, {size}.")


@click.command()
@click.argument("backup", metavar="BACKUP", type=click.Path())
@click.option(
    "--force", is_flag=True, help="Replace the store that is there, or what is left of it."
)
@takes_target
def restore(target: Target, *, backup: str, force: bool) -> None:
    """Put a copy of a backup in the place of the store.

    The backup's chain is verified first. A store that is there is replaced with --force only, and
    not while anybody has it open; a write-ahead log that was left of one that is gone may hold its
    last commits, and is discarded with --force only. The next write begins a new epoch of the log.
    """
    import memoranda
    from memoranda.cli import shapes

    target.make_folder()
    with meter("Restoring") as progress:
        found = memoranda.restore(backup, target.location, overwrite=force, progress=progress)
    if target.as_json:
        write_json({"store": target.location, **shapes.report(found)})
        return
    commits = counted(found.commits, "commit")
    click.echo(f"Restored {commits} from {safe(backup)} to {safe(target.location)}.")
    for warning in found.warnings:
        warn(warning)


@click.command()
@click.argument("file", metavar="NEWFILE", type=click.Path())
@click.option(
    "--at",
    metavar="MOMENT",
    required=True,
    help="The last commit to take: a number, or a time such as 2026-02-07T10:00:00+01:00.",
)
@takes_target
def fork(target: Target, *, file: str, at: str) -> None:
    """Begin a new log in a new file with this one's events up to a moment.

    The fork has the same operations at the same commits and times, and goes its own way from there.
    It has an id of its own, so its hashes differ, and its first epoch says where it comes from.
    """
    from memoranda.cli import shapes

    with target.store() as store, meter("Forking") as progress:
        found = store.fork(file, at=inputs.moment(at), progress=progress)
    if target.as_json:
        write_json({"path": file, **shapes.report(found)})
        return
    click.echo(f"Forked {counted(found.commits, 'commit')} to {safe(file)}.")
