"""Commands about the stores in the folder of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.inputs import is_interactive
from memoranda.cli.options import ArgumentGroup
from memoranda.cli.output import byte_size, note, plural, safe, takes_wide, warn, write_json
from memoranda.cli.progress import meter
from memoranda.cli.render.table import Row, write_table
from memoranda.cli.server_location import ServerLocation, takes_stores
from memoranda.errors import InvalidInput, StoreBusy

if TYPE_CHECKING:
    from memoranda.sdk.store_files import StoreSummary

takes_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=ArgumentGroup)
def stores() -> None:
    """Create, list, rename, move and drop stores of a server.

    A store is a tenant: one log, in a file of its own or in a PostgreSQL database. A running server
    opens a store when it is used. It owns the store while it has it open, and then nobody renames
    or drops it.
    """


@stores.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--on",
    metavar="SERVER",
    help="The PostgreSQL server for it; by default, the one with the fewest stores.",
)
@takes_json
@takes_stores
def create(server: ServerLocation, *, name: str, on: str | None, as_json: bool) -> None:
    """Create an empty store.

    NAME is 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit. `memoranda
    postgres servers` lists the servers that a database spreads its stores over.
    """
    if on is not None:
        with server.directory() as directory:
            directory.create(name, on)
            place = directory.describe(name)
    else:
        with server.catalog() as catalog:
            catalog.create(name)
            place = catalog.describe(name)
    if as_json:
        write_json({"name": name, "path": place})
    else:
        click.echo(f"Created {safe(place)}.")


@stores.command("list")
@takes_wide
@takes_json
@takes_stores
def list_stores(server: ServerLocation, *, as_json: bool) -> None:
    """List the stores: size, commits and owner.

    The owner is the server that has the store open.
    """
    with server.catalog() as catalog:
        summaries = list(catalog.summaries())
    if as_json:
        for summary in summaries:
            write_json(summary)
        return
    is_spread = any(summary.server for summary in summaries)
    if not write_table(_row(summary, is_spread=is_spread) for summary in summaries):
        note("no stores: `memoranda stores create` makes one")
    for summary in summaries:
        if summary.problem is not None:
            warn(f"{summary.name} cannot be read: {summary.problem}")


@stores.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@takes_json
@takes_stores
def rename(server: ServerLocation, *, old: str, new: str, as_json: bool) -> None:
    """Rename a store; its log stays the same.

    No program may have it open. Tokens of this store alone are for its new name then.
    """
    with server.catalog() as catalog:
        catalog.rename(old, new)
    if as_json:
        write_json({"old": old, "new": new})
    else:
        click.echo(f"Renamed {safe(old)} to {safe(new)}.")
    with server.existing_tokens() as tokens:
        if tokens and (renamed := tokens.rename_store(old, new)):
            note(f"{plural(len(renamed), 'token')} of {old!r} now for {new!r}")


@stores.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--to", metavar="SERVER", required=True, help="The server, or 'home': the database of --stores."
)
@click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="How long to wait until a server has closed the store in the old database.",
)
@takes_json
@takes_stores
def move(server: ServerLocation, *, name: str, to: str, wait: float, as_json: bool) -> None:
    """Move a store to another PostgreSQL server while it is used.

    The log is copied and verified, then the store takes no writes for a moment, and from then on it
    is on the other server. Memoranda servers find it there, and their clients notice only the
    pause; a program that has opened it without a server must open it again. The old rows are
    removed.

    Run it again if it was interrupted. With the server that the store is on, it undoes what an
    interrupted move has begun.
    """
    with server.directory() as directory, meter("Copying") as progress:
        report = directory.move(name, to, wait=wait, progress=progress)
    if as_json:
        write_json(report)
    elif report.source == report.target:
        click.echo(f"{safe(name)} is on {report.target}.")
    else:
        pause = f"{report.pause_seconds * 1000:.0f} ms without writes"
        commits = plural(report.commits, "commit")
        click.echo(f"Moved {safe(name)} to {report.target}: {commits}, {pause}.")
    if not report.removed:
        warn(
            f"rows of {safe(name)} are left where it was, since a server has it open there or "
            "cannot be reached: run the same command again to remove them"
        )


@stores.command()
@click.argument("name", metavar="NAME")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@takes_json
@takes_stores
def drop(server: ServerLocation, *, name: str, yes: bool, as_json: bool) -> None:
    """Remove a store for good, with its whole log.

    No program may have it open. Tokens of this store alone are revoked: they would reach a new one
    of the same name. Backups and exported logs elsewhere are not removed.
    """
    with server.catalog() as catalog:
        summary = catalog.summarize(name)
    if summary.owner is not None:
        raise StoreBusy(
            f"{name!r} is owned by {summary.owner}: stop that server, or wait until it has closed "
            "the store"
        )
    if not yes:
        _confirm(summary)
    with server.existing_tokens() as tokens:  # first: no token may reach a later store of this name
        revoked = tokens.revoke_store(name) if tokens else ()
    with server.catalog() as catalog:
        removed = catalog.drop(name)
    if as_json:
        write_json(removed)
    else:
        files = ", ".join(map(safe, removed.files))
        click.echo(f"Removed {files}{_size(removed.bytes)}, {_commits(summary)}.")
    if revoked:
        note(f"{plural(len(revoked), 'token')} of it revoked")


def _confirm(summary: StoreSummary) -> None:
    """Ask the user to confirm; without a terminal, --yes is required."""
    if not is_interactive():
        raise InvalidInput("confirm", "is missing: give it to remove a store, which nothing undoes")
    size = _size(summary.bytes)
    text = f"Remove the store {safe(summary.name)}{size}, {_commits(summary)}, for good?"
    click.confirm(text, abort=True, err=True)


def _size(number: int | None) -> str:
    return "" if number is None else f" ({byte_size(number)})"


def _commits(summary: StoreSummary) -> str:
    if summary.commits is None:
        return "which cannot be read"
    last = summary.last_committed_at
    since = "" if last is None else f", the last on {last:%Y-%m-%d}"
    return f"with {plural(summary.commits, 'commit')}{since}"


def _row(summary: StoreSummary, *, is_spread: bool) -> Row:
    last = summary.last_committed_at
    row: Row = {
        "store": summary.name,
        "size": "" if summary.bytes is None else byte_size(summary.bytes),
        "commits": "?" if summary.commits is None else summary.commits,
        "last commit": "" if last is None else f"{last:%Y-%m-%d %H:%M:%S}Z",
        "owner": summary.owner or "",
    }
    return {**row, "server": summary.server or "home"} if is_spread else row
