"""Masking: what others did, without naming what they keep to themselves.

What is private is not shown at all; what is not may rest on it, and is shown without saying so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from memoranda.model.event import ReplayEvent
from memoranda.model.operations import AnyOperation, Assert, End, Write
from memoranda.model.refs import Evidence, FactRef, MemoryRef, Ref
from memoranda.storage.port import Reader

Named = Ref | Evidence


def masked(reader: Reader, events: Sequence[ReplayEvent], viewer: str) -> list[ReplayEvent]:
    """Return events as an agent is shown them."""
    named = [each for event in events for op in event.operations for each in _grounds(op, viewer)]
    if not named:
        return [*events]
    hidden = _hidden(reader, named, viewer)
    return [_masked(event, hidden, viewer) for event in events] if hidden else [*events]


def _grounds(operation: AnyOperation, viewer: str) -> Iterator[Named]:
    """Yield what an operation of another agent says that it rests on."""
    if operation.agent_id == viewer:
        return
    if isinstance(operation, Assert | End) and operation.source is not None:
        yield operation.source
    elif isinstance(operation, Write):
        yield from operation.because


def _hidden(reader: Reader, named: Iterable[Named], viewer: str) -> set[Named]:
    """Return what of that is private to others."""
    memories = {each.memory_id: None for each in named if isinstance(each, MemoryRef)}
    facts = {each.assertion_id: None for each in named if isinstance(each, FactRef)}
    of_memories = reader.rows("memories_hidden", memory_ids=_listed(memories), viewer=viewer)
    of_facts = reader.rows("graph_assertions_private", ids=_listed(facts), viewer=viewer)
    ids = {row[0] for row in (*of_memories, *of_facts)}
    return {
        each
        for each in named
        if (isinstance(each, MemoryRef) and each.memory_id in ids)
        or (isinstance(each, FactRef) and each.assertion_id in ids)
    }


def _masked(event: ReplayEvent, hidden: Collection[Named], viewer: str) -> ReplayEvent:
    if not any(each in hidden for op in event.operations for each in _grounds(op, viewer)):
        return event
    return event.only(_without(each, hidden, viewer) for each in event.operations)


def _without(operation: AnyOperation, hidden: Collection[Named], viewer: str) -> AnyOperation:
    if operation.agent_id == viewer:
        return operation
    if isinstance(operation, Write):
        return replace(
            operation, because=tuple(each for each in operation.because if each not in hidden)
        )
    if isinstance(operation, Assert | End) and operation.source in hidden:
        return _sourceless(operation)
    return operation


def _sourceless(operation: Assert | End) -> Assert | End:
    """Return what was said as if it came from nowhere."""
    if isinstance(operation, Assert):
        return replace(operation, source=None)
    return End(
        operation.namespace,
        operation.agent_id,
        operation.assertion_id,
        operation.subject,
        operation.relation,
        operation.object,
        operation.at,
    )


def _listed(ids: Iterable[str]) -> str:
    return msgspec.json.encode([*ids]).decode()
