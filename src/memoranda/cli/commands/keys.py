"""Commands that write keys, read them, and show their history."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_key, complete_ref
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import safe, takes_wide, write_each, write_json, write_value
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store


@click.command()
@click.argument("key", shell_complete=complete_key)
@click.argument("value")
@click.option(
    "--expect-version",
    metavar="N",
    type=int,
    help="Write only if the key has this version; 0: only if it has no value.",
)
@click.option(
    "--because",
    metavar="REF",
    multiple=True,
    shell_complete=complete_ref,
    help="A source of the value: KEY[@VERSION], memory:ID[@VERSION], fact:ID or "
    "transcript:ID[@START-END]; default: the current version. Repeatable.",
)
@click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries.")
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
    """Write a value to a key.

    VALUE is a JSON object, `-` to read it from stdin, or `@file` to read it from a file. A missing
    store is created. In --because, write the prefix `key:` before a key that begins with `memory:`,
    `fact:`, `transcript:` or `key:`.
    """
    from memoranda.cli import references

    document = inputs.document(value)
    with target.agent_store(create=True) as store:
        receipt = store.write(
            key=key,
            value=document,
            expect_version=expect_version,
            because=[references.full_ref(store, text) for text in because],
            txn_id=txn_id,
        )
        _report_commit(target, store, key, receipt.commit_ts, "wrote")


@click.command()
@click.argument("key", shell_complete=complete_key)
@click.option(
    "--expect-version", metavar="N", type=int, help="Delete only if the key has this version."
)
@click.option("--txn-id", metavar="ID", help="Idempotency key for safe retries.")
@takes_target
def delete(target: Target, *, key: str, expect_version: int | None, txn_id: str | None) -> None:
    """Delete a key's value; its history stays.

    A key without a value is not found, and nothing is written. A deletion that is repeated with
    its --txn-id succeeds and prints the first one.
    """
    with target.agent_store() as store:
        is_retry = txn_id is not None and any(
            version.txn_id == txn_id for version in store.history(key=key)
        )
        if store.get_state(key=key) is None and not is_retry:
            raise _not_found(target, key)
        receipt = store.delete(key=key, expect_version=expect_version, txn_id=txn_id)
        _report_commit(target, store, key, receipt.commit_ts, "deleted")


@click.command()
@click.argument("key", shell_complete=complete_key)
@click.option("--version", metavar="N", type=int, help="The value of this version.")
@takes_moment
@takes_target
def get(target: Target, *, key: str, version: int | None, at: str | None) -> None:
    """Print a key's value, now or as of a past moment."""
    from memoranda.calls.as_json import to_json

    with target.agent_reader() as store:
        record = store.get_state(key=key, version=version, at=inputs.moment(at))
    if record is None:
        moment = f" at version {version}" if version is not None else ""
        moment += f" at {at}" if at is not None else ""
        raise _not_found(target, key, moment)
    if target.as_json:
        write_json(to_json(record))
    else:
        write_value(record.value)


@click.command()
@click.argument("prefix", default="", shell_complete=complete_key)
@takes_moment
@takes_limit
@takes_target
def keys(target: Target, *, prefix: str, at: str | None, limit: int | None) -> None:
    """List the keys that have a value, in order."""
    with target.agent_reader() as store:
        write_each(
            islice(store.list_keys(prefix=prefix, at=inputs.moment(at)), limit),
            as_json=target.as_json,
            json_form=lambda key: {"key": key},
            text=safe,
            if_empty=f"no keys {target.scope_text}",
        )


@click.command()
@click.argument("prefix", default="", shell_complete=complete_key)
@takes_moment
@takes_limit
@takes_wide
@takes_target
def scan(target: Target, *, prefix: str, at: str | None, limit: int | None) -> None:
    """List keys with their values, in order."""
    from memoranda.cli.render import key_text

    with target.agent_reader() as store:
        write_each(
            islice(store.scan_prefix(prefix=prefix, at=inputs.moment(at)), limit),
            as_json=target.as_json,
            text=key_text.entry,
            if_empty=f"no keys {target.scope_text}",
        )


@click.command()
@click.argument("key", shell_complete=complete_key)
@click.option("--since", metavar="MOMENT", help="From the version as of this moment on.")
@takes_limit
@takes_wide
@takes_target
def history(target: Target, *, key: str, since: str | None, limit: int | None) -> None:
    """Show every version of a key, oldest first."""
    from memoranda.cli.render import key_text

    with target.agent_reader() as store:
        versions = store.history(key=key, since=inputs.moment(since))
        first = next(versions, None)
        if first is None:
            raise _not_found(target, key)
        write_each(
            islice(chain([first], versions), limit),
            as_json=target.as_json,
            text=key_text.version,
            if_empty="no versions",
        )


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@takes_wide
@takes_target
def diff(target: Target, *, old: str, new: str | None) -> None:
    """Show which keys changed between two moments.

    OLD and NEW are commit numbers or times, such as 2026-02-07T10:00:00+01:00; NEW defaults to
    now.
    """
    from memoranda.cli.render import key_text

    with target.agent_reader() as store:
        write_each(
            store.diff(old=inputs.moment(old), new=inputs.moment(new)),
            as_json=target.as_json,
            text=key_text.change,
            if_empty=f"no differences {target.scope_text}",
        )


def _not_found(target: Target, key: str, moment: str = "") -> NotFound:
    return NotFound(
        f"not found: key {key!r} {target.scope_text} has no value{moment}: "
        "`memoranda keys` lists the keys that have one"
    )


def _report_commit(target: Target, store: Store, key: str, commit: int, action: str) -> None:
    """Print a write as it is in the log, since others may have changed the key by now."""
    from memoranda.calls.as_json import to_json

    event = next(store.replay(after_commit=commit - 1, through_commit=commit))
    operation = next(operation for operation in event.operations if operation.key == key)
    if not target.as_json:
        click.echo(f"{action} {safe(key)}  version {operation.version}  commit {commit}")
        return
    envelope = to_json(event)
    del envelope["operations"]
    write_json({"key": key, "version": operation.version, **envelope})
