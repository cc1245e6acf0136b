"""Calls of imports and extractions: the parts of a conversation that the log has already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from memoranda.calls.call import AnyInstant, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput
from memoranda.graph import reads as graph_reads
from memoranda.graph.requests import check_relation
from memoranda.log.commit import idempotency
from memoranda.log.views import Commit
from memoranda.memory import transcripts
from memoranda.memory.transcripts import StoredTranscript
from memoranda.model.clock import check_time
from memoranda.model.limits import check_integer, check_items, check_text, short_repr
from memoranda.model.operations import AnyOperation
from memoranda.model.operations.graph import Assert, End
from memoranda.model.operations.memory import Remember, Revise

_DIGEST_BYTES = 32
"""Bytes of a SHA-256."""


class FindSameTranscript(Call[StoredTranscript | None], frozen=True):
    """Find the transcript of a scope that has this content and this time."""

    needs_primary = True

    agent_id: str
    namespace: str
    digests: tuple[bytes, ...]
    """Hashes that the content may be stored under."""
    size: int
    """Bytes of its text."""
    occurred_at: AnyInstant = None


class CommittedItems(msgspec.Struct, frozen=True):
    """The memories and facts of a transaction, and its commit."""

    commit_ts: int
    committed_micros: int
    memories: tuple[str, ...]
    facts: tuple[str, ...]


class GetCommittedItems(Call[CommittedItems | None], frozen=True):
    """Read the ids of the memories and facts that a transaction of the caller has written."""

    needs_primary = True

    txn_id: str


class UnusedRelations(Call[list[str]], frozen=True):
    """List those of the relations that a namespace has neither used nor classified."""

    namespace: str
    relations: tuple[str, ...]


class LogHead(NamedTuple):
    """The last commit of the log."""

    commit_ts: int
    committed_micros: int


class GetHead(Call[LogHead], frozen=True):
    """Read the last commit of the log, and its time in microseconds."""

    needs_primary = True
    reach = "store"


def find_same_transcript(
    core: Core, grant: Grant, call: FindSameTranscript
) -> StoredTranscript | None:
    """Return the transcript, or None."""
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    size = check_integer("size", call.size, minimum=0, maximum=2**62)
    occurred_at = check_time("occurred_at", call.occurred_at)
    digests = [_check_digest(digest) for digest in check_items("digests", call.digests)]
    with core.engine.reading() as reader:
        return transcripts.find_duplicate(reader, scope, digests, size, occurred_at)


def _check_digest(digest: object) -> bytes:
    if not isinstance(digest, bytes) or len(digest) != _DIGEST_BYTES:
        raise InvalidInput("digests", f"{short_repr(digest)} is no hash of {_DIGEST_BYTES} bytes")
    return digest


def get_committed_items(core: Core, grant: Grant, call: GetCommittedItems) -> CommittedItems | None:
    """Return the ids, or None if there is no such transaction that the grant covers."""
    txn_id = check_text("txn_id", call.txn_id, max_bytes=core.limits.txn_id_bytes)
    with core.engine.reading() as reader:
        commit_ts = idempotency.commit_of(reader, txn_id, grant.acting(None))
        if commit_ts is None:
            return None
        commit = Commit.load(reader, commit_ts)
    operations = commit.operations
    if not grant.covers_everything:
        operations = tuple(part for part in operations if _is_covered(grant, part))
        if commit.operations and not operations:
            return None
    return CommittedItems(commit_ts, commit.committed_at, *_ids_in(operations))


def _is_covered(grant: Grant, operation: AnyOperation) -> bool:
    """Say whether a grant covers the data that an operation wrote."""
    is_public = isinstance(operation, (Remember, Revise, Assert, End)) and not operation.private
    if is_public:
        return grant.coverage.covers_namespace(operation.namespace)
    is_visible = not operation.private or grant.actor in (None, operation.agent_id)
    return is_visible and grant.covers(operation.namespace, operation.agent_id)


def _ids_in(operations: Iterable[AnyOperation]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the memories and facts in the operations of a commit, each once."""
    memories: dict[str, None] = {}
    facts: dict[str, None] = {}
    for operation in operations:
        if isinstance(operation, (Remember, Revise)):
            memories[operation.memory_id] = None
        elif isinstance(operation, (Assert, End)):
            facts[operation.assertion_id] = None
    return tuple(memories), tuple(facts)


def unused_relations(core: Core, grant: Grant, call: UnusedRelations) -> list[str]:
    """Return the relations, as the caller spelled them."""
    namespace = grant.scope(call.namespace, grant.acting(None), core.limits).namespace
    unused = []
    with core.engine.reading() as reader:
        for relation in check_items("relations", call.relations):
            name = check_relation("relations", relation, core.limits)
            if graph_reads.is_unused_relation(reader, namespace, name.key):
                unused.append(str(relation))
    return unused


def get_head(core: Core, _: Grant, __: GetHead) -> LogHead:
    """Return its number and its time; zeros for an empty log."""
    with core.engine.reading() as reader:
        row = reader.row("event_head")
    return LogHead(0, 0) if row is None else LogHead(row[0], row[1])


HANDLERS: Handlers = {
    FindSameTranscript: find_same_transcript,
    GetCommittedItems: get_committed_items,
    UnusedRelations: unused_relations,
    GetHead: get_head,
}
