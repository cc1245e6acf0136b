"""Certificates: what a store says of an erasure, read from the log."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.log import pages
from memoranda.log.previewing import Preview
from memoranda.log.purging import first_pending
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.instant import to_datetime
from memoranda.model.operations import Erase
from memoranda.storage.port import Engine, Reader


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """That something was erased: when, by whom and why, but not what.

    It says nothing that could be compared with a guess of what was erased.
    """

    erasure_id: str
    """What it is asked for by; a dry run has none."""
    target: str
    """What kind of thing: memory, transcript, key, fact, entity, agent, namespace, facts, sweep or
    compaction."""
    commit_ts: int | None
    committed_at: datetime | None
    by: str
    reason: str | None
    operations: int
    """How many operations were erased, or something of them."""
    events: int
    """In how many events."""
    digest: str
    """A hash over what stands in their places now, their leaf hashes in it."""
    pseudonym: str | None = None
    """What stands wherever the name stood of an agent or a namespace."""
    pending_purge: bool = False
    """Whether its bytes may still be in the files: `purge` lets them go."""
    copies: tuple[str, ...] = ()
    """Folders beside the store, or among temporary files, in which somebody makes a copy of it, or
    was killed while making one: what is erased may be in them, and no purge reaches there."""
    preview: Preview | None = None
    """Of a dry run: what would be erased, and what rests on it."""


class Certificates:
    """Every erasure of a log, oldest first, a page at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._after = 0

    def next_page(self) -> list[Certificate]:
        """Return the next certificates."""
        with self._engine.snapshot() as reader:
            rows = reader.rows("erasures_page", after=self._after, most=pages.PAGE_ROWS)
            if rows:
                self._after = rows[-1][0]
            found = [certificate_of(reader, row[0]) for row in rows]
        return [each for each in found if each is not None]


def find(reader: Reader, erasure_id: str) -> Certificate | None:
    """Return the certificate of an erasure."""
    after = 0
    while rows := reader.rows("erasures_page", after=after, most=pages.PAGE_ROWS):
        for (after,) in rows:
            found = certificate_of(reader, after)
            if found is not None and found.erasure_id == erasure_id:
                return found
    return None


def certificate_of(reader: Reader, commit_ts: int) -> Certificate | None:
    """Return what a commit says that it erased."""
    row = reader.row("event_get", commit_ts=commit_ts)
    if row is None:
        return None
    event = SealedEvent(*row)
    for operation in codec.decode_standing(event.operations):
        if isinstance(operation, Erase):
            return _certificate(reader, event, operation)
    return None


def _certificate(reader: Reader, event: SealedEvent, said: Erase) -> Certificate:
    operations, events = reader.row("erased_counts", erasure=event.commit_ts) or (0, 0)
    pending = first_pending(reader)
    return Certificate(
        erasure_id=said.erasure_id,
        target=said.target,
        commit_ts=event.commit_ts,
        committed_at=to_datetime(event.committed_at),
        by=said.by,
        reason=said.reason,
        operations=operations,
        events=events,
        digest=said.digest.hex(),
        pseudonym=said.pseudonym,
        pending_purge=pending is not None and pending <= event.commit_ts,
    )
