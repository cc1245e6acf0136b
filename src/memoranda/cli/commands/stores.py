"""Commands about the stores in the folder of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.inputs import is_interactive
from memoranda.cli.options import ArgumentGroup
from memoranda.cli.output import byte_size, note, plural, safe, takes_wide, warn, write_json
from memoranda.cli.render.table import Row, write_table
from memoranda.cli.server_location import ServerLocation, takes_stores
from memoranda.errors import InvalidInput, StoreBusy

if TYPE_CHECKING:
    from memoranda.sdk.store_files import StoreSummary

takes_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=ArgumentGroup)
def stores() -> None:
    """Create, list, rename and drop the stores of a server.

    A store is a tenant: one log, in a file of its own or in a PostgreSQL database. A running server
    opens a store when it is used. It owns the store while it has it open, and then nobody renames
    or drops it.
    """


@stores.command()
@click.argument("name", metavar="NAME")
@takes_json
@takes_stores
def create(server: ServerLocation, *, name: str, as_json: bool) -> None:
    """Create an empty store.

    NAME is 1 to 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.
    """
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
    if not write_table(map(_row, summaries)):
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


def _row(summary: StoreSummary) -> Row:
    last = summary.last_committed_at
    return {
        "store": summary.name,
        "size": "" if summary.bytes is None else byte_size(summary.bytes),
        "commits": "?" if summary.commits is None else summary.commits,
        "last commit": "" if last is None else f"{last:%Y-%m-%d %H:%M:%S}Z",
        "owner": summary.owner or "",
    }
