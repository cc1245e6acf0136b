"""Operations one by one: an event is split without decoding it, and only what is asked for is.

A reader of a few keys of a large transaction decodes those, and one that goes through all of its
keys in pages splits it once.
"""

from __future__ import annotations

import msgspec

from memoranda.errors import Corruption
from memoranda.log import pages
from memoranda.model import codec
from memoranda.model.event import Envelope
from memoranda.model.operations import AnyOperation, standing
from memoranda.storage.port import Reader

_FEW = 16
"""How many operations an event has at most for splitting it again to cost nothing worth keeping."""
_MOST_BYTES = 32 * 1024 * 1024
"""How many bytes of events are kept, beside the last two: as many as a difference is between."""


class EventParts(msgspec.Struct, frozen=True, gc=False):
    """An event whose operations are split and not decoded."""

    commit_ts: int
    committed_at: int
    envelope: Envelope
    operations: list[msgspec.Raw]
    size: int

    def standing(self, position: int) -> AnyOperation:
        """Return what applies at a place: the operation, or what is left of it."""
        return standing(codec.decode_operation(self.operations[position]))


class SplitEvents:
    """Splits events, and keeps the large ones as long as nothing is erased.

    Within one snapshot what is kept is right. Who reads in several calls `refresh` in each.
    """

    def __init__(self) -> None:
        self._kept: dict[int, EventParts] = {}
        self._size = 0
        self._head = 0

    def refresh(self, reader: Reader) -> None:
        """Drop what is kept if anything was erased since it was read."""
        if self._kept and reader.row("erased_since", since=self._head) is not None:
            self._kept.clear()
            self._size = 0
        if not self._kept:
            self._head = pages.head_commit(reader)

    def of(self, reader: Reader, commit_ts: int) -> EventParts:
        """Return the event of a commit."""
        found = self._kept.get(commit_ts)
        if found is None:
            found = _read(reader, commit_ts)
            if len(found.operations) > _FEW:
                self._keep(found)
        return found

    def _keep(self, event: EventParts) -> None:
        self._kept[event.commit_ts] = event
        self._size += event.size
        while self._size > _MOST_BYTES and len(self._kept) > 2:
            oldest = next(iter(self._kept))
            self._size -= self._kept.pop(oldest).size


def _read(reader: Reader, commit_ts: int) -> EventParts:
    row = reader.row("event_get", commit_ts=commit_ts)
    if row is None:
        raise Corruption(f"commit {commit_ts}, which the index names, is not in the log")
    _, committed_at, _, _, envelope, operations = row
    return EventParts(
        commit_ts,
        committed_at,
        codec.decode_envelope(envelope),
        codec.parts(operations),
        len(operations),
    )
