"""Forgeries: changes that leave the store whole from inside, so that only a head kept elsewhere
finds them. Whoever compares a log with a checkpoint has these to try.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

import memoranda
from memoranda.log import chain
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import AnyOperation, Write
from tests.tamper.tables import opened

Events = list[SealedEvent]


def cut_off(path: Path) -> None:
    """Remove the last events."""
    _forge(path, lambda events: events[:-3])


def rewrite(path: Path) -> None:
    """Change a value that was written, and chain all that follows anew."""

    def change(events: Events) -> Events:
        index = next(i for i, event in enumerate(events) if i > 5 and _first_write(event) == 0)
        event = events[index]
        parts = codec.split(event.operations)
        (operation, *_) = codec.decode_operations(event.operations)
        parts[0] = codec.encode(msgspec.structs.replace(operation, encoded=b'{"forged":true}'))
        events[index] = msgspec.structs.replace(event, operations=codec.join(parts))
        return events

    _forge(path, change)


def leave_out(path: Path) -> None:
    """Take an event out that nothing rests on, and number all that follow anew."""
    _forge(path, lambda events: [*events[:-2], events[-1]])


def reorder(path: Path) -> None:
    """Let two events that touch nothing in common change places."""
    _forge(path, lambda events: [*events[:-2], *_with_times([events[-1], events[-2]], events[-2:])])


def rename_log(path: Path) -> None:
    """Give the log another id, and chain it anew from the beginning."""
    with opened(path) as database:
        database.execute("UPDATE meta SET value = 'another-log' WHERE name = 'log_id'")
    _forge(path, lambda events: events)


FORGERIES: dict[str, Callable[[Path], None]] = {
    forgery.__name__: forgery for forgery in (cut_off, rewrite, leave_out, reorder, rename_log)
}
"""What `verify` cannot find by itself, by name; each changes the store at a path."""


def _forge(path: Path, change: Callable[[Events], Events]) -> None:
    """Write the log anew as a forger would, who knows the format and repairs all that shows."""
    with opened(path) as database:
        log_id = str(database.execute("SELECT value FROM meta WHERE name = 'log_id'").get)
        query = "SELECT * FROM event ORDER BY commit_ts"
        events = change([SealedEvent(*row) for row in database.execute(query)])
        commit_tss = {event.commit_ts for event in events}
        database.execute("DELETE FROM event")
        for table in ("checkpoint", "tree_node"):
            database.execute(f"DELETE FROM {table}")
        database.execute("DELETE FROM meta WHERE name = 'tree' OR name LIKE 'cursor%'")
        for (commit_ts,) in database.execute("SELECT DISTINCT commit_ts FROM blob").fetchall():
            if commit_ts not in commit_tss:
                database.execute("DELETE FROM blob WHERE commit_ts = ?", (commit_ts,))
        last = chain.genesis(log_id)
        for event in events:
            sealed = chain.seal_again(last, event)
            row = msgspec.structs.astuple(sealed)
            database.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
            last = chain.head_after(row)
    with memoranda.open(path, create=False) as store:
        store.rebuild()


def _with_times(events: Events, times: Events) -> Events:
    return [
        msgspec.structs.replace(event, committed_at=other.committed_at)
        for event, other in zip(events, times, strict=True)
    ]


def _first_write(event: SealedEvent) -> int | None:
    operations: tuple[AnyOperation, ...] = codec.decode_operations(event.operations)
    return next((i for i, item in enumerate(operations) if isinstance(item, Write)), None)
