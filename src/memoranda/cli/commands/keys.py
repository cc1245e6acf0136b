"""Commands about keys: writing, reading, and what they were before."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import write_each, write_json, write_value
from memoranda.cli.text import safe
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.sdk.store import Store


@click.command()
@click.argument("key")
@click.argument("value")
@click.option(
    "--expect-version",
    metavar="N",
    type=int,
    help="Write only if the key is at this version; 0: only if it has no value.",
)
@click.option(
    "--because",
    metavar="REF",
    multiple=True,
    help="What the value rests on: KEY[@VERSION], memory:ID[@VERSION] or fact:ID, at its current "
    "version if none is given. Repeatable.",
)
@click.option("--txn-id", metavar="ID", help="Name the write: tried again, it happens once.")
@takes_target
def write(
    target: Target,
    *,
    key: str,
    value: str,
    expect_version: int | None,
    because: tuple[str, ...],
    txn_id: str | None,
) -> None:
    """Give a key a value.

    VALUE is a JSON object, `-` to read it from stdin, or `@file` to read it from a file. The store
    is created if there is none. A key to rest on that begins with `memory:`, `fact:` or `key:` is
    named with `key:` before it.
    """
    from memoranda.cli import refs

    document = inputs.document(value)
    with target.agents_store(create=True) as store:
        commit = store.write(
            key=key,
            value=document,
            expect_version=expect_version,
            because=[refs.parse(text) for text in because],
            txn_id=txn_id,
        )
        _report_commit(target, store, key, commit, "wrote")


@click.command()
@click.argument("key")
@click.option(
    "--expect-version", metavar="N", type=int, help="Delete only if the key is at this version."
)
@click.option("--txn-id", metavar="ID", help="Name the deletion: tried again, it happens once.")
@takes_target
def delete(target: Target, *, key: str, expect_version: int | None, txn_id: str | None) -> None:
    """Take a key's value away. Its history stays."""
    with target.agents_store(create=True) as store:
        commit = store.delete(key=key, expect_version=expect_version, txn_id=txn_id)
        _report_commit(target, store, key, commit, "deleted")


@click.command()
@click.argument("key")
@click.option("--version", metavar="N", type=int, help="The value the key had at this version.")
@takes_moment
@takes_target
def get(target: Target, *, key: str, version: int | None, at: str | None) -> None:
    """Print a key's value, now or at some moment."""
    from memoranda.cli import shapes

    with target.agents_store() as store:
        found = store.get_state(key=key, version=version, at=inputs.moment(at))
    if found is None:
        when = f" at version {version}" if version is not None else ""
        when += f" at {at}" if at is not None else ""
        raise NotFound(
            f"key {key!r} {target.whose} has no value{when}: "
            "`memoranda keys` lists those that have one"
        )
    if target.as_json:
        write_json({"key": key, **shapes.record(found)})
    else:
        write_value(found.value)


@click.command()
@click.argument("prefix", default="")
@takes_moment
@takes_limit
@takes_target
def keys(target: Target, *, prefix: str, at: str | None, limit: int | None) -> None:
    """List the keys that have a value, in order."""
    with target.agents_store() as store:
        write_each(
            islice(store.list_keys(prefix=prefix, at=inputs.moment(at)), limit),
            as_json=target.as_json,
            shape=lambda key: {"key": key},
            lines=safe,
            nothing=f"no keys {target.whose}",
        )


@click.command()
@click.argument("prefix", default="")
@takes_moment
@takes_limit
@takes_target
def scan(target: Target, *, prefix: str, at: str | None, limit: int | None) -> None:
    """List keys with their values, in order."""
    from memoranda.cli import lines, shapes

    with target.agents_store() as store:
        write_each(
            islice(store.scan_prefix(prefix=prefix, at=inputs.moment(at)), limit),
            as_json=target.as_json,
            shape=shapes.entry,
            lines=lines.entry,
            nothing=f"no keys {target.whose}",
        )


@click.command()
@click.argument("key")
@click.option("--since", metavar="MOMENT", help="From the version that it had at this moment.")
@takes_limit
@takes_target
def history(target: Target, *, key: str, since: str | None, limit: int | None) -> None:
    """Show every version of a key, oldest first, deletions too."""
    from memoranda.cli import lines, shapes

    with target.agents_store() as store:
        write_each(
            islice(store.history(key=key, since=inputs.moment(since)), limit),
            as_json=target.as_json,
            shape=shapes.version,
            lines=lines.version,
            nothing=f"key {key!r} {target.whose} was never written",
        )


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False)
@takes_target
def diff(target: Target, *, a: str, b: str | None) -> None:
    """Show which keys differ between two moments, and how.

    A and B are commit numbers, or times such as 2026-02-07T10:00:00+01:00. No B means now.
    """
    from memoranda.cli import lines, shapes

    with target.agents_store() as store:
        write_each(
            store.diff(a=inputs.moment(a), b=inputs.moment(b)),
            as_json=target.as_json,
            shape=shapes.change,
            lines=lines.change,
            nothing=f"no differences {target.whose}",
        )


def _report_commit(target: Target, store: Store, key: str, commit: int, deed: str) -> None:
    """Say what a write became. The log knows, whatever has happened to the key meanwhile."""
    from memoranda.cli import shapes

    event = next(store.replay(after_commit=commit - 1, through_commit=commit))
    operation = next(each for each in event.operations if each.key == key)
    if not target.as_json:
        click.echo(f"{deed} {safe(key)}  version {operation.version}  commit {commit}")
        return
    found = shapes.event(event)
    del found["operations"]
    write_json({"key": key, "version": operation.version, **found})
