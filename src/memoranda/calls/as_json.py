"""Answers as JSON values, for the command line and for servers.

`to_json` walks a result: a struct becomes an object with its fields in their order, a time becomes
RFC 3339 text, bytes become hexadecimal text, and a tuple becomes an array. Results with another
shape register it below; the rules they share are:

- `unproven` is a member only where it is true, and then the last one.
- The answer of a write has `outcome`, `commit_ts` and `committed_at`. A memory or a transcript that
  a call only reads has no `outcome`.
- The object of a fact is text, and a member that ends in `_kind` tells a literal from an entity.
- A tree is a list of nodes that name their parents: a nested one could be deeper than JSON parsers
  accept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from functools import singledispatch
from typing import Any

import msgspec

from memoranda.calls.results import AssertedFacts, ExtractionReport, ImportedChat
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.entities import Literal, literal_kind
from memoranda.graph.records import Assertion, Fact, Neighbor
from memoranda.log.compaction.compactor import Compaction
from memoranda.log.erasure.certificate import Certificate
from memoranda.log.read.timeline_buckets import TimelineBucket
from memoranda.memory.records import Anchor, Invalidation, Memory, Origin
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.clock import to_micros, to_rfc3339
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import Operation, Write
from memoranda.model.receipt import CommitFields, Written
from memoranda.search.results import Hit
from memoranda.state.reads import StateChange, StateRecord, StateVersion
from memoranda.why.reason import Reason

JsonObject = dict[str, Any]


@singledispatch
def to_json(value: object) -> Any:
    """Return a public result as JSON; raise `TypeError` for any other object."""
    raise TypeError(f"{type(value).__name__} has no JSON form: register one")


def time_text(instant: datetime) -> str:
    """Return a time as RFC 3339 text in UTC."""
    if instant.tzinfo is UTC:  # as all times of results are
        return instant.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    return to_rfc3339(to_micros("time", instant))


_PLAIN = frozenset((type(None), bool, int, float, str, dict, list))
"""Types whose values are JSON already."""


def struct_json(record: msgspec.Struct, *, omit: Collection[str] = ()) -> JsonObject:
    """Return the fields of a struct as JSON, in their order."""
    members: JsonObject = {}
    for name in record.__struct_fields__:
        if name not in omit:
            value = getattr(record, name)
            # Inline: a server answers most requests with a record of plain values.
            members[name] = value if type(value) in _PLAIN else to_json(value)
    return members


# Values. A dict or a list is JSON already: results hold documents as they were decoded, and these
# are not copied; a document may also be nested deeper than Python recurses.


@to_json.register(type(None))
@to_json.register(bool)
@to_json.register(int)
@to_json.register(float)
@to_json.register(str)
@to_json.register(dict)
@to_json.register(list)
def _json_value(value: object) -> object:
    return value


@to_json.register(datetime)
def _time(time: datetime) -> str:
    return time_text(time)


@to_json.register(date)
def _date(day: date) -> str:
    return day.isoformat()


@to_json.register(bytes)
def _hex(content: bytes) -> str:
    return content.hex()


@to_json.register(Enum)
def _enum(member: Enum) -> object:
    return to_json(member.value)


@to_json.register(tuple)
def _array(items: tuple[object, ...]) -> list[Any]:
    return [to_json(item) for item in items]


@to_json.register(frozenset)
def _sorted_array(items: frozenset[str]) -> list[Any]:
    return sorted(items)


@to_json.register(Mapping)
def _object(members: Mapping[str, object]) -> JsonObject:
    return {name: to_json(member) for name, member in members.items()}


to_json.register(msgspec.Struct, struct_json)


# Keys and events.


def _proof(record: StateRecord | StateVersion | ReplayEvent | Memory | Fact) -> JsonObject:
    return {"unproven": True} if record.unproven else {}


@to_json.register(StateRecord)
@to_json.register(StateVersion)
def _record(record: StateRecord | StateVersion) -> JsonObject:
    return struct_json(record, omit={"unproven"}) | _proof(record)


@to_json.register(StateChange)
def _change(change: StateChange) -> JsonObject:
    return {"key": change.key, "kind": change.kind} | struct_json(change, omit={"key"})


@to_json.register(TimelineBucket)
def _bucket(bucket: TimelineBucket) -> JsonObject:
    counts = {kind.value: count for kind, count in bucket.counts.items()}
    return struct_json(bucket) | {"counts": counts}


@to_json.register(ReplayEvent)
def _event(event: ReplayEvent) -> JsonObject:
    """Return an event.

    A signature, a trace id and the `summary` mark are members only if the event has them.
    """
    members: JsonObject = {
        "commit_ts": event.commit_ts,
        "committed_at": event.timestamp,
        "txn_id": event.txn_id,
        "actor": event.actor,
        "token": event.token,
        "operations": to_json(event.operations),
    } | _proof(event)
    if event.signature is not None:
        members |= {"attest_level": event.attest_level, "signature": event.signature}
    if event.trace_id is not None:
        members["trace_id"] = event.trace_id
    return members | {"summary": True} if event.summary else members


@to_json.register(Operation)
def _operation(operation: Operation) -> JsonObject:
    """Return the fields that all operations have, and the references of a write."""
    members: JsonObject = {
        "type": operation.type.value,
        "namespace": operation.namespace,
        "agent_id": operation.agent_id,
        "key": operation.key,
        "value": operation.value,
        "version": operation.version,
    }
    if isinstance(operation, Write) and operation.because:
        members["because"] = to_json(operation.because)
    return members


# Answers of writes.


_COMMIT_FIELDS = frozenset(CommitFields.__annotations__)


def commit_fields(record: Written) -> JsonObject:
    """Return the outcome and the commit of a record; empty unless a write returned the record."""
    if record.commit_ts is None:
        return {}
    return {name: to_json(getattr(record, name)) for name in Written.__struct_fields__}


@to_json.register(AssertedFacts)
@to_json.register(Certificate)
@to_json.register(Compaction)
@to_json.register(ExtractionReport)
@to_json.register(ImportedChat)
def _answer(
    answer: AssertedFacts | Certificate | Compaction | ExtractionReport | ImportedChat,
) -> JsonObject:
    """Return an answer whose outcome follows from its fields."""
    return struct_json(answer) | {"outcome": answer.outcome}


# Memories and transcripts.


@to_json.register(Written)
def _written(record: Written) -> JsonObject:
    return struct_json(record, omit=_COMMIT_FIELDS) | commit_fields(record)


@to_json.register(Memory)
def _memory(memory: Memory) -> JsonObject:
    members = struct_json(memory, omit=_COMMIT_FIELDS | {"unproven"})
    return members | commit_fields(memory) | _proof(memory)


@to_json.register(Invalidation)
def _notice(notice: Invalidation) -> JsonObject:
    return {"status": notice.status} | _written(notice)


@to_json.register(Anchor)
def _anchor(anchor: Anchor) -> JsonObject:
    return _object(anchor._asdict())


@to_json.register(TranscriptInfo)
def _transcript(info: TranscriptInfo) -> JsonObject:
    """Return the listed fields of a transcript; another call reads its text."""
    names = ("id", "namespace", "agent_id", "created_at", "occurred_at", "expires_at")
    sizes = ("original_size", "compressed_size")
    return {name: to_json(getattr(info, name)) for name in names + sizes}


@to_json.register(Origin)
def _origin(origin: Origin) -> JsonObject:
    """Return one node of a tree of origins, without the nodes below it."""
    names = ("memory", "relation", "expired", "repeated", "sources")
    return {name: to_json(getattr(origin, name)) for name in names}


def origin_nodes(root: Origin) -> Iterator[JsonObject]:
    """Yield the nodes of a tree of origins, depth first, a memory before those it rests on.

    `parent` is the id of the memory above, `depth` the number of links to the root.
    """
    stack: list[tuple[Origin, str | None, int]] = [(root, None, 0)]
    while stack:
        origin, parent, depth = stack.pop()
        members = to_json(origin)
        yield {"memory": members["memory"], "parent": parent, "depth": depth} | members
        above = origin.memory.id
        stack.extend((child, above, depth + 1) for child in reversed(origin.origins))


# Facts.


def _named(member: str, value: str | Literal) -> JsonObject:
    kind = literal_kind(value) if isinstance(value, Literal) else None
    return {member: str(value), f"{member}_kind": kind}


@to_json.register(Literal)
def _literal(literal: Literal) -> str:
    return str(literal)


@to_json.register(Fact)
def _fact(fact: Fact) -> JsonObject:
    head = {"subject": fact.subject, "relation": fact.relation} | _named("object", fact.object)
    return head | struct_json(fact, omit={"object", "unproven"}) | _proof(fact)


@to_json.register(Assertion)
def _assertion(assertion: Assertion) -> JsonObject:
    return struct_json(assertion, omit={"object"}) | _named("object", assertion.object)


@to_json.register(Neighbor)
def _neighbor(neighbor: Neighbor) -> JsonObject:
    return _named("node", neighbor.node) | struct_json(neighbor, omit={"node"})


@to_json.register(EdgeResolution)
def _resolution(resolution: EdgeResolution) -> JsonObject:
    changes = [
        {"before": to_json(before), "after": to_json(after)} for before, after in resolution.changed
    ]
    members = struct_json(resolution, omit=_COMMIT_FIELDS) | {"changed": changes}
    return members | commit_fields(resolution)


# Search results and reasons.


@to_json.register(Hit)
def _hit(hit: Hit) -> JsonObject:
    before, after = hit.context
    names = ("id", "kind", "text", "score", "parts", "time", "speaker", "memory", "fact")
    members: JsonObject = {name: to_json(getattr(hit, name)) for name in names}
    members["provenance"] = to_json(hit.provenance)
    context = {"before": before, "after": after}
    conflicting = [to_json(fact) for fact in hit.conflicting]
    duplicates = list(hit.duplicates)
    return members | {"context": context, "duplicates": duplicates, "conflicting": conflicting}


@to_json.register(Reason)
def _reason(reason: Reason) -> JsonObject:
    """Return one node of a tree of reasons, without the nodes below it."""
    return struct_json(reason, omit={"because"}) | {"believed": reason.believed}


def reason_nodes(root: Reason) -> Iterator[JsonObject]:
    """Yield the nodes of a tree of reasons, depth first, each before those it rests on.

    `number` counts the nodes from 0, `parent` is the number of the node above.
    """
    path: list[int] = []
    for number, branch in enumerate(root.branches()):
        parent = path[branch.depth - 1] if branch.depth else None
        yield {"number": number, "parent": parent, "depth": branch.depth} | to_json(branch.reason)
        path[branch.depth :] = [number]


def stale_key(root: Reason) -> JsonObject:
    """Return a key's node, and below `rests_on` the stale nodes of its tree."""
    return _reason(root) | {"rests_on": [to_json(node) for node in root.walk() if node.stale]}
