"""`memoranda sql`: questions nobody foresaw."""

from __future__ import annotations

import sys
from itertools import islice

import click

from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import note


@click.command()
@click.argument("query")
@click.option("--csv", "form", flag_value="csv", help="Answer as CSV, as it does in a pipe.")
@click.option("--table", "form", flag_value="table", help="Answer as a table, as on a terminal.")
@takes_limit
@takes_target
def sql(target: Target, *, query: str, form: str | None, limit: int | None) -> None:
    """Answer an SQL query over the whole store, all agents together.

    QUERY is one SELECT over views of the store, such as state, memories, facts and events; their
    columns are documented in docs/reference/sql.md. Values are JSON text, so SQLite's JSON
    functions work on them. Nothing can be changed this way.
    """
    from memoranda.cli.grids import FORMS

    if target.as_json and form:
        raise click.UsageError(f"--json and --{form} are two forms: choose one")
    chosen = form or ("table" if sys.stdout.isatty() else "csv")
    write = FORMS["json" if target.as_json else chosen]
    with target.store() as store:
        if not write(islice(store.sql(query), limit)) and not target.as_json:
            note("no rows")
