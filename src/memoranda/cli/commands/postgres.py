"""Commands for the operators of a PostgreSQL database of stores."""

from __future__ import annotations

import click

from memoranda.cli.options import ArgumentGroup, Target, takes_store
from memoranda.cli.output import plural, write_json


@click.group(cls=ArgumentGroup)
def postgres() -> None:
    """Distribute the stores of a PostgreSQL database."""


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
