"""The command that sums up a namespace's log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.log.compaction import Compaction


@click.command()
@click.option(
    "--before",
    metavar="MOMENT",
    help="Sum up to here: a commit, or a time such as 2026-02-07T10:00:00+01:00.",
)
@click.option("--retention", is_flag=True, help="As far as the namespace's log retention says.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", metavar="TEXT", help="Why; it stands in the log.")
@click.option("--purge", is_flag=True, help="Then write the file anew, smaller.")
@takes_target
def compact(
    target: Target,
    *,
    before: str | None,
    retention: bool,
    dry_run: bool,
    yes: bool,
    reason: str | None,
    purge: bool,
) -> None:
    """Sum up what was done in a namespace up to a moment, by all of its agents, for good.

    What holds at that moment stays, with its versions and times, and so does what anything rests
    on. The other operations keep only their hashes: the chain still verifies, but what was in
    between can no longer be asked for. Others go on writing meanwhile. If it is interrupted, the
    store is sound, and the next compaction of the namespace goes on with it.
    """
    import memoranda
    from memoranda.cli import shapes

    if (before is None) is not retention:
        raise InvalidInput("before", "give this or --retention, exactly one of them")
    moment = memoranda.RETENTION if retention else inputs.moment(before or "")
    with target.store() as store:
        if not dry_run and not yes:
            with meter("Looking") as progress:
                found = store.compact(before=moment, progress=progress)
            _ask(found)
            moment = found.horizon  # the one that was agreed to
        with meter("Looking" if dry_run else "Compacting") as progress:
            found = store.compact(
                before=moment, confirm=not dry_run, reason=reason, purge=purge, progress=progress
            )
    if target.as_json:
        write_json(shapes.report(found))
        return
    _tell(found, done=not dry_run)


def _ask(found: Compaction) -> None:
    """Let a person say whether it is what was meant; where there is none, --yes has to."""
    if not is_person():
        raise InvalidInput("confirm", "is missing: give it, or --dry-run to see what would go")
    click.confirm(f"{_said(found)} go for good. Go on?", abort=True, err=True)


def is_person() -> bool:
    """Say whether there is somebody to ask."""
    return sys.stdin.isatty()


def _tell(found: Compaction, *, done: bool) -> None:
    if not found.erased:
        click.echo(f"Nothing to sum up in {safe(found.namespace)} to commit {found.horizon}.")
        return
    told = f"{_said(found)} {'are gone' if done else 'would go'}, {found.kept:,} stay."
    if found.unfinished:
        told += " An earlier compaction was interrupted: this is what it has left."
    click.echo(told if found.commit_ts is None else f"{told} Commit {found.commit_ts}.")


def _said(found: Compaction) -> str:
    where = f"{safe(found.namespace)} up to commit {found.horizon}"
    return f"{counted(found.erased, 'operation')} of {where}"
