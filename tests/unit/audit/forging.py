"""Somebody who can write to a store's file, and chains the log anew behind what was changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from memoranda.log import chain
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import AnyOperation
from memoranda.testing import FixedIds

_COLUMNS = "commit_ts, committed_at, hash, salts, envelope, operations"

Change = Callable[[list[SealedEvent]], list[SealedEvent]]


def rechain(path: Path, change: Change) -> None:
    """Replace a log's events by what `change` makes of them, with hashes that fit."""
    database = apsw.Connection(str(path))
    ((log_id,),) = database.execute("SELECT value FROM meta WHERE name = 'log_id'")
    rows: list[Any] = database.execute(
        f"SELECT {_COLUMNS} FROM event ORDER BY commit_ts"
    ).fetchall()
    last = chain.genesis(log_id)
    sealed: list[SealedEvent] = []
    for event in change([SealedEvent(*row) for row in rows]):
        sealed.append(chain.seal_again(last, event))
        last = Head(sealed[-1].commit_ts, sealed[-1].committed_at, sealed[-1].hash)
    with database:
        database.execute("DELETE FROM event")
        database.executemany(
            f"INSERT INTO event ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            [msgspec.structs.astuple(event) for event in sealed],
        )
    database.close()


def at(commit_ts: int, change: Callable[[SealedEvent], SealedEvent]) -> Change:
    """Return what changes one event."""

    def changed(events: list[SealedEvent]) -> list[SealedEvent]:
        return [change(event) if event.commit_ts == commit_ts else event for event in events]

    return changed


def with_envelope(**fields: object) -> Callable[[SealedEvent], SealedEvent]:
    """Return what changes fields of an envelope."""

    def changed(event: SealedEvent) -> SealedEvent:
        envelope = msgspec.structs.replace(envelope_of(event), **fields)
        return msgspec.structs.replace(event, envelope=codec.encode_envelope(envelope))

    return changed


def envelope_of(event: SealedEvent) -> Envelope:
    return codec.decode_envelope(event.envelope)


def with_operations(
    change: Callable[[list[AnyOperation]], list[AnyOperation]],
) -> Callable[[SealedEvent], SealedEvent]:
    """Return what changes the operations of an event, with salts that fit them."""

    def changed(event: SealedEvent) -> SealedEvent:
        operations = change([*codec.decode_operations(event.operations)])
        return msgspec.structs.replace(
            event,
            operations=codec.join([*map(codec.encode, operations)]),
            salts=SaltSource(FixedIds("forged")).draw(operations),
        )

    return changed
