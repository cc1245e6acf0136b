"""The log's identity: its id, its epochs, and the logs it was forked from.

A fork begins with another log's events. Their leaves are the same in both logs, except the epoch's
in the first event. So the chain they had in the other log can be computed from the fork.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from memoranda.errors import Corruption
from memoranda.log import chain, pages
from memoranda.model import codec
from memoranda.model.event import Head, ResumeToken, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import ENGINE_SCOPE, Ancestor, Epoch
from memoranda.storage.port import Engine, Reader, Row, Writer

# Identity and epochs: the log's id, and the files it was written in.
#
# A log keeps its id when its file is copied or restored. The first event that is written to another
# file has an epoch, so that a reader sees where a history continued from a copy.


def stored_log_id(reader: Reader) -> str | None:
    """Return the log's id, if it has one yet."""
    row = reader.row("meta_get", name="log_id")
    return str(row[0]) if row else None


def log_id_of(engine: Engine, ids: IdSource) -> str:
    """Return the log's id; create one for a new log."""
    with engine.reading() as reader:
        row = reader.row("meta_get", name="log_id")
    if row is None:
        row = engine.write(partial(_create_log_id, ids=ids))
    return str(row[0])


def _create_log_id(writer: Writer, ids: IdSource) -> Row:
    """Give the log an id, unless another process did; a log with events must have one."""
    if (row := writer.row("meta_get", name="log_id")) is not None:
        return row
    if pages.head_commit(writer):
        raise Corruption("the log's id is missing from the store: restore a backup")
    log_id = ids.unique()
    writer.run("meta_set", name="log_id", value=log_id)
    return (log_id,)


def new_epoch_if_moved(
    writer: Writer, home: str, log_id: str, head: Head, ids: IdSource
) -> list[Epoch]:
    """Return the epoch to log if the last write was to another file, or there was none."""
    last_home = writer.row("meta_get", name="home")
    if last_home == (home,):
        return []
    writer.run("meta_set", name="home", value=home)
    last_epoch = writer.row("meta_get", name="epoch")
    origin = ResumeToken(log_id, head.commit_ts, head.hash) if head.commit_ts else None
    return [
        Epoch(
            namespace=ENGINE_SCOPE.namespace,
            agent_id=ENGINE_SCOPE.agent_id,
            version=int(last_epoch[0]) + 1 if last_epoch else 1,
            epoch_id=ids.unique(),
            cause="copied" if origin else "created",
            origin=str(origin) if origin else None,
        )
    ]


# Lineage: the log an event was written in, and the hash chain it had there.


def first_epoch(event: SealedEvent) -> tuple[int, Epoch]:
    """Return the epoch in a log's first event, and its position."""
    for position, operation in enumerate(codec.decode_operations(event.operations)):
        if isinstance(operation, Epoch):
            return position, operation
    raise Corruption("the log's first event has no epoch")


def fork_lineage(
    event: SealedEvent, log_id: str, through: int, last: bytes
) -> tuple[Ancestor, ...]:
    """Return the lineage of a fork, from the log's first event and the last one that is forked."""
    position, epoch = first_epoch(event)
    parent = Ancestor(log_id, through, last, chain.operation_leaves(event)[position])
    older = (
        ancestor
        if ancestor.commit_ts <= through
        else replace(ancestor, commit_ts=through, hash=b"")
        for ancestor in epoch.lineage
    )
    return (*older, parent)


class Lineage:
    """The ancestors of a log, read on first use."""

    def __init__(self, log_id: str) -> None:
        self._log_id = log_id
        self._chains: list[_AncestorChain] | None = None

    def origin(self, reader: Reader, commit_ts: int) -> tuple[str, bytes]:
        """Return the log a commit was written in, and the hash of the event before it there."""
        if self._chains is None:
            self._chains = [*_chains(reader)]
        for ancestor_chain in self._chains:
            if commit_ts <= ancestor_chain.ancestor.commit_ts:
                return ancestor_chain.ancestor.log_id, ancestor_chain.hash_at(reader, commit_ts - 1)
        if commit_ts == 1:
            return self._log_id, chain.genesis(self._log_id).hash
        (before,) = pages.events_of(reader, [commit_ts - 1])
        return self._log_id, before.hash


def _chains(reader: Reader) -> Iterator[_AncestorChain]:
    (first,) = pages.events_of(reader, [1])
    position, epoch = first_epoch(first)
    for ancestor in epoch.lineage:
        yield _AncestorChain(ancestor, position)


class _AncestorChain:
    """The hash chain of another log, computed from the events of its fork."""

    def __init__(self, ancestor: Ancestor, position: int) -> None:
        self.ancestor = ancestor
        self._position = position
        """Position of the epoch in the first event."""
        self._reached = 0
        self._hash = chain.genesis(ancestor.log_id).hash

    def hash_at(self, reader: Reader, commit_ts: int) -> bytes:
        """Return the hash that a commit had; commits must be asked for in ascending order."""
        for event in pages.events(reader, after=self._reached, through=commit_ts):
            leaves = chain.leaves_in(event)
            if event.commit_ts == 1:
                leaves[1 + self._position] = self.ancestor.epoch
            self._reached = event.commit_ts
            self._hash = chain.event_hash(
                event.salts, event.commit_ts, event.committed_at, self._hash, leaves
            )
        return self._hash
