"""Calls as operations on memories, as OpenTelemetry's conventions for generative AI name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from memoranda.calls.call import Call, call_name
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.records import Fact
from memoranda.memory.records import Memory
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.search.results import Hit
from memoranda.state.reads import StateRecord

Record = Mapping[str, Any]
"""A memory as a span may have it: its id, its content, and perhaps a score."""

CREATE, UPSERT, UPDATE = "create_memory", "upsert_memory", "update_memory"
DELETE, SEARCH = "delete_memory", "search_memory"
_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    CREATE: ("assert_fact", "store_transcript"),
    UPSERT: ("alias", "commit", "reflect", "remember", "write"),
    UPDATE: (
        *("end_fact", "link", "link_transcript", "merge_entities", "promote", "supersede"),
        *("resolve_invalidation", "touch", "unlink", "update_memory"),
    ),
    DELETE: ("delete", "forget", "retract_fact", "retract_memory", "sweep"),
    SEARCH: (
        *("ask_within", "diff", "entities", "entity", "explain_recall", "facts", "get_memory"),
        *("get_state", "get_transcript", "history", "iter_facts", "iter_shared_facts", "list_keys"),
        *("list_memories", "list_transcripts", "list_within", "load_transcript"),
        *("memories_for", "memory_history", "neighbors", "path", "recall", "recall_context"),
        *("replay_transcripts", "scan_prefix", "subgraph", "timeline", "transcripts_for"),
    ),
}
OPERATIONS: Mapping[str, str] = MappingProxyType(
    {name: operation for operation, names in _OPERATIONS.items() for name in names}
)
"""The operation of each call that reads or changes memories, keys, facts or transcripts."""
_ID_FIELDS = ("memory_id", "transcript_id", "assertion_id", "fact", "notice_id")
"""Arguments with ids that the engine created. Keys and names are the caller's own words."""


def operation_of(call: Call[Any]) -> str | None:
    """Return the operation that a call is; None for one that concerns the store or its log."""
    operation = OPERATIONS.get(call_name(type(call)))
    if operation == UPSERT and getattr(call, "title", "") is None:
        return CREATE  # without a title, nothing can be updated
    return operation


def record_id_in(call: Call[Any]) -> str | None:
    """Return the id of the one record that a call is about."""
    for name in _ID_FIELDS:
        value = getattr(call, name, None)
        if isinstance(value, str):
            return value
    return None


def records_in(call: Call[Any], answer: Any) -> tuple[str | None, Sequence[Record] | None]:
    """Return the id of the one record of an answer, and the records that it has; None: unknown."""
    if operation_of(call) is None:
        return None, None
    if isinstance(answer, list):
        return None, [_record(item) for item in answer]
    if answer is None:
        return None, []
    record = _record(answer)
    return record.get("id"), [record] if record else None


def _record(item: Any) -> Record:
    if isinstance(item, Memory):
        return {"id": item.id, "content": item.content}
    if isinstance(item, Hit):
        return {"id": item.id, "content": item.text, "score": item.score}
    if isinstance(item, StateRecord):
        return {"content": item.value}
    if isinstance(item, Fact):
        return {"content": f"{item.subject} {item.relation} {item.object}"}
    if isinstance(item, TranscriptInfo):
        return {"id": item.id}
    if isinstance(item, EdgeResolution):
        return {"id": item.assertion_id} if item.assertion_id else {}
    return {}
