"""Lineage: which log an event was written in, and the chain it had there.

A fork begins with another log's events. Their leaves are the same in both, but for the epoch in the
first event, so the chain that they had in the other log can be computed from the fork.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memoranda.errors import Corruption
from memoranda.log import chain, leaves, pages
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import Ancestor, Epoch
from memoranda.storage.port import Reader


def epoch_in(event: SealedEvent) -> tuple[int, Epoch]:
    """Return the epoch in a log's first event, and where it stands."""
    for position, operation in enumerate(codec.decode_operations(event.operations)):
        if isinstance(operation, Epoch):
            return position, operation
    raise Corruption("the log's first event begins no epoch, as every log's does")


def of_fork(event: SealedEvent, log_id: str, through: int, last: bytes) -> tuple[Ancestor, ...]:
    """Return the lineage of a fork of a log, given its first event and the last that is forked."""
    position, epoch = epoch_in(event)
    own = Ancestor(log_id, through, last, chain.operation_leaves(event)[position])
    older = (
        each if each.commit_ts <= through else replace(each, commit_ts=through, hash=b"")
        for each in epoch.lineage
    )
    return (*older, own)


class Lineage:
    """The logs that a log comes from, as far as they are asked for."""

    def __init__(self, log_id: str) -> None:
        self._log_id = log_id
        self._chains: list[_Chain] | None = None

    def origin(self, reader: Reader, commit_ts: int) -> tuple[str, bytes]:
        """Return the log that a commit was written in, and the hash it had before it there."""
        if self._chains is None:
            self._chains = [*_chains(reader)]
        for each in self._chains:
            if commit_ts <= each.ancestor.commit_ts:
                return each.ancestor.log_id, each.hash_at(reader, commit_ts - 1)
        if commit_ts == 1:
            return self._log_id, chain.genesis(self._log_id).hash
        (before,) = pages.events_of(reader, [commit_ts - 1])
        return self._log_id, before.hash


def _chains(reader: Reader) -> Iterator[_Chain]:
    (first,) = pages.events_of(reader, [1])
    position, epoch = epoch_in(first)
    for ancestor in epoch.lineage:
        yield _Chain(ancestor, position)


class _Chain:
    """The chain of another log, computed from the events of its fork."""

    def __init__(self, ancestor: Ancestor, position: int) -> None:
        self.ancestor = ancestor
        self._position = position
        """Where the epoch stands in the first event."""
        self._reached = 0
        self._hash = chain.genesis(ancestor.log_id).hash

    def hash_at(self, reader: Reader, commit_ts: int) -> bytes:
        """Return the hash that a commit had; commits are asked for in order."""
        for event in pages.events(reader, after=self._reached, through=commit_ts):
            own = chain.leaves_in(event)
            if event.commit_ts == 1:
                own[1 + self._position] = self.ancestor.epoch
            self._reached = event.commit_ts
            self._hash = leaves.event_hash(
                event.salts, event.commit_ts, event.committed_at, self._hash, own
            )
        return self._hash
