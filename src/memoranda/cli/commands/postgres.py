"""Commands for the operators of a PostgreSQL database of stores."""

from __future__ import annotations

import click

from memoranda.cli.options import ArgumentGroup, Target, takes_store
from memoranda.cli.output import plural, safe, takes_wide, write_json
from memoranda.cli.render.table import write_table
from memoranda.cli.server_location import ServerLocation, takes_stores

takes_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=ArgumentGroup)
def postgres() -> None:
    """Spread stores over several PostgreSQL servers.

    Either the database is distributed by Citus, or it is a directory of stores in other databases:
    each added server has one. New stores are made on the server with the fewest, and `memoranda
    stores move` moves a store.
    """


@postgres.command()
@takes_store
def distribute(target: Target) -> None:
    """Distribute all tables over the nodes of Citus, by the store.

    --db names the database, without ?store=. Each store is on one node then. Nobody may use the
    database meanwhile, and programs open their stores anew afterwards. What is distributed already
    stays as it is.
    """
    from memoranda.sdk.distribution import distribute_database

    distribution = distribute_database(target.location)
    if target.as_json:
        write_json(distribution)
        return
    if not distribution.distributed and not distribution.copied:
        click.echo(f"All {plural(len(distribution.unchanged), 'table')} are distributed already.")
        return
    tables = plural(len(distribution.distributed), "table")
    copied = plural(len(distribution.copied), "small table")
    click.echo(f"Distributed {tables} by store, and copied {copied} to every node.")


@postgres.command()
@takes_wide
@takes_json
@takes_stores
def servers(location: ServerLocation, *, as_json: bool) -> None:
    """List the servers, with the number of stores on each.

    'home' is the database of --stores, which knows where every store is.
    """
    with location.directory() as directory:
        rows = [
            {"server": server.name, "database": server.url.name, "stores": server.stores}
            for server in directory.servers()
        ]
    if as_json:
        for row in rows:
            write_json(row)
    else:
        write_table(rows)


@postgres.command("add-server")
@click.argument("name", metavar="NAME")
@click.argument("url", metavar="URL")
@takes_json
@takes_stores
def add_server(location: ServerLocation, *, name: str, url: str, as_json: bool) -> None:
    """Add a server, or give it another URL.

    NAME is a short name of your choice, and URL that of a database, which gets the tables of
    Memoranda if it has none. The URL is kept in the database of --stores, with its password if it
    has one.
    """
    with location.directory() as directory:
        directory.put_server(name, url)
    if as_json:
        write_json({"server": name})
    else:
        click.echo(f"Added {safe(name)}.")


@postgres.command("remove-server")
@click.argument("name", metavar="NAME")
@takes_json
@takes_stores
def remove_server(location: ServerLocation, *, name: str, as_json: bool) -> None:
    """Remove a server that has no stores.

    Its database stays.
    """
    with location.directory() as directory:
        directory.remove_server(name)
    if as_json:
        write_json({"server": name})
    else:
        click.echo(f"Removed {safe(name)}.")
