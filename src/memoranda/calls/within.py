"""Reads inside a transaction: as of its beginning, with its staged changes on top.

They are tracked.

They are the calls of reads outside a transaction. The moment is the transaction's own, so a call
that names another is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import msgspec

from memoranda.calls.arguments import check_viewer
from memoranda.calls.call import Call, Handlers, call_name
from memoranda.calls.core import Core, check_optional_integer, error_codec
from memoranda.calls.facts import Facts, Timeline
from memoranda.calls.grant import Grant
from memoranda.calls.keys import GetState, ListKeys, ScanPrefix
from memoranda.calls.links import Dependents, Links
from memoranda.calls.memories import GetMemory, check_named, title_keys
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.errors import InvalidInput
from memoranda.graph.entities import Literal
from memoranda.graph.records import Fact
from memoranda.graph.requests import TimelineRead, check_entity, check_relation
from memoranda.log.pages import MappedPages, Pages
from memoranda.memory.records import DependentRecord, Link, Memory, memory_of
from memoranda.memory.requests import (
    LinksRead,
    MemoryRead,
    TitleKey,
    check_choice,
    check_id,
    check_title,
)
from memoranda.model.clock import check_time, to_datetime
from memoranda.model.limits import check_text, plain_text, short_repr
from memoranda.model.memory import REFLECTS_ON, RELATIONS
from memoranda.model.refs import MemoryRef
from memoranda.state.reads import PendingScan, StateRecord
from memoranda.state.requests import KeyRead, PrefixRead


class Refused(msgspec.Struct, frozen=True):
    """A staged request that a commit would refuse."""

    position: int
    """Its position among the staged requests about facts."""
    error: dict[str, Any]
    """The error, as `ErrorCodec` encodes it."""


class Refusals(Call[list[Refused]], frozen=True):
    """List the staged requests about facts that a commit would refuse."""


class FindTitle(Call[str | None], frozen=True):
    """Find the memory that has a title, also if it is expired or retracted."""

    namespace: str
    owner: str
    """Empty for the titles of the namespace; else the agent whose private ones they are."""
    title: str


class FindEventTime(Call[int | None], frozen=True):
    """Find the time of a memory's event in microseconds, also of an expired memory."""

    reach = "id"

    memory: MemoryRef
    agent_id: str
    namespace: str


def get_state(core: Core, transaction: OpenTransaction, call: GetState) -> StateRecord | None:
    """Return the value of a key as the transaction sees it."""
    _check_present(call, "version", "at")
    scope = transaction.grant.scope(call.namespace, call.agent_id, core.limits)
    key = check_text("key", call.key, max_bytes=core.limits.key_bytes)
    transaction.draft.track(KeyRead(scope, key))
    with core.engine.snapshot() as reader:
        return transaction.keys.get(reader, scope, key, transaction.draft.base_commit)


def list_keys(core: Core, transaction: OpenTransaction, call: ListKeys) -> Pages[str]:
    """Return the keys under a prefix as the transaction sees them, in order."""
    return MappedPages(_scan(core, transaction, call), lambda entry: entry.key)


def scan_prefix(core: Core, transaction: OpenTransaction, call: ScanPrefix) -> Pages[StateRecord]:
    """Return the keys under a prefix with their values as the transaction sees them."""
    return _scan(core, transaction, call)


def _scan(core: Core, transaction: OpenTransaction, call: ListKeys | ScanPrefix) -> PendingScan:
    _check_present(call, "at")
    scope = transaction.grant.scope(call.namespace, call.agent_id, core.limits)
    prefix = plain_text("prefix", call.prefix)
    transaction.draft.track(PrefixRead(scope, prefix))
    base = transaction.draft.base_commit
    return PendingScan(core.engine, transaction.keys, scope, prefix=prefix, at=base)


def get_memory(core: Core, transaction: OpenTransaction, call: GetMemory) -> Memory | None:
    """Return a memory by its id or its title, if it is neither retracted nor expired.

    Staged requests show as far as they can be decided before the commit.
    """
    _check_present(call, "version", "at")
    viewer = check_viewer(core, transaction.grant, call.agent_id)
    check_named(call.memory_id, call.title)
    candidates: list[str | None] = [call.memory_id]
    if call.title is not None:
        scope = transaction.grant.scope(call.namespace or "", viewer, core.limits)
        keys = title_keys(scope, call.title, core.limits)
        candidates = [transaction.find_title(key) for key in keys]
    memory_ids = [check_id("memory_id", name) for name in candidates if name is not None]
    for memory_id in memory_ids:
        transaction.draft.track(MemoryRead(memory_id))
    now = core.clock.now()
    with core.engine.reading() as reader:
        for memory_id in memory_ids:
            snapshot = transaction.memories.memory(reader, memory_id, viewer)
            if snapshot is not None and not snapshot.hidden(now):
                return memory_of(snapshot, transaction.memory_text(reader, snapshot))
    return None


def links(core: Core, transaction: OpenTransaction, call: Links) -> list[Link]:
    """Return the open links of a memory as the transaction sees them."""
    _check_present(call, "at")
    viewer = check_viewer(core, transaction.grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    relations: Sequence[str] = RELATIONS
    if call.relation is not None:
        relations = (check_choice("relation", call.relation, RELATIONS),)
    transaction.draft.track(LinksRead(memory_id))
    with core.engine.reading() as reader:
        return transaction.memories.links(reader, memory_id, relations, viewer)


def dependents(core: Core, transaction: OpenTransaction, call: Dependents) -> list[DependentRecord]:
    """Return the memories that reflect on a memory, as the transaction sees them.

    The links of each memory on the way are tracked.
    """
    _check_present(call, "at")
    viewer = check_viewer(core, transaction.grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    depth = check_optional_integer("depth", call.depth, minimum=0)
    visited: dict[str, DependentRecord] = {}
    frontier, hop = [memory_id], 0
    with core.engine.reading() as reader:
        while frontier and (depth is None or hop < depth):
            hop += 1
            sources: set[str] = set()
            for name in frontier:
                transaction.draft.track(LinksRead(name))
                edges = transaction.memories.links(reader, name, (REFLECTS_ON,), viewer)
                sources.update(edge.source for edge in edges if edge.target == name)
            frontier = sorted(sources - visited.keys() - {memory_id})
            memories = transaction.memories.overlay(reader).memories(frontier, content=False)
            for name in frontier:
                memory = memories[name]
                visited[name] = DependentRecord(name, memory.namespace, memory.agent_id, hop)
    return list(visited.values())


def timeline(core: Core, transaction: OpenTransaction, call: Timeline | Facts) -> list[Fact]:
    """Return a timeline as the transaction sees it."""
    _check_present(call, "known_at")
    limits = core.limits
    if call.agent_id is None:
        raise InvalidInput("agent_id", "is missing: a transaction reads one agent's timeline")
    read = TimelineRead(
        transaction.grant.scope(call.namespace, call.agent_id, limits),
        check_entity("subject", call.subject, limits).key,
        check_relation("relation", call.relation, limits).key,
    )
    transaction.draft.track(read)
    viewer = check_viewer(core, transaction.grant, call.agent_id)
    with core.engine.snapshot() as reader:
        look_up = transaction.memories.rules(reader).look_up
        return transaction.facts.timeline(reader, read, look_up, core.clock.now(), viewer)


def facts(core: Core, transaction: OpenTransaction, call: Facts) -> list[Fact]:
    """Return the facts of a timeline that hold at a time, each object once, from its earliest."""
    at = check_time("valid_at", call.valid_at)
    facts_of_timeline = timeline(core, transaction, call)
    instant = to_datetime(core.clock.now() if at is None else at)
    holding: dict[str | Literal, Fact] = {}
    for fact in facts_of_timeline:
        if fact.valid_from <= instant and (fact.valid_to is None or instant < fact.valid_to):
            holding.setdefault(fact.object, fact)
    return list(holding.values())


def refusals(core: Core, transaction: OpenTransaction, _: Refusals) -> list[Refused]:
    """Return all of them. A commit raises only the first error."""
    transaction.draft.check()
    with core.engine.reading() as reader:
        look_up = transaction.memories.rules(reader).look_up
        errors = transaction.facts.refusals(reader, look_up)
    codec = error_codec()
    return [Refused(position, codec.encode(error)) for position, error in errors.items()]


def find_title(_: Core, transaction: OpenTransaction, call: FindTitle) -> str | None:
    """Return the id of the memory, or None."""
    owner = call.owner or transaction.grant.acting(None)
    scope = transaction.grant.scope(call.namespace, owner, transaction.limits)
    title = check_title(call.title, transaction.limits)
    if title is None:
        raise InvalidInput("title", "is missing")
    return transaction.find_title(TitleKey.of(scope, title, private=bool(call.owner)))


def find_event_time(_: Core, transaction: OpenTransaction, call: FindEventTime) -> int | None:
    """Return the time; None if it is not known, or if there is no such memory."""
    scope = transaction.grant.scope(call.namespace, call.agent_id, transaction.limits)
    memory_id = check_id("memory_id", call.memory.memory_id)
    version = check_optional_integer("version", call.memory.version, minimum=1)
    return transaction.event_time(MemoryRef(memory_id, version), scope)


def refuse_outside(_: Core, __: Grant, call: Refusals | FindTitle | FindEventTime) -> NoReturn:
    """Refuse a call that has an answer inside a transaction only."""
    name = call_name(type(call))
    raise InvalidInput("call", f"{name} is a read of a transaction: send it with `ask_within`")


HANDLERS: Handlers = {
    Refusals: refuse_outside,
    FindTitle: refuse_outside,
    FindEventTime: refuse_outside,
}


def _check_present(call: Call[Any], *fields: str) -> None:
    """Refuse a call that names a version or a moment."""
    for field in fields:
        if getattr(call, field) is not None:
            raise InvalidInput(field, "is given: a transaction reads as of its beginning")


READS: Mapping[type[Call[Any]], Callable[[Core, OpenTransaction, Any], Any]] = MappingProxyType(
    {
        GetState: get_state,
        ListKeys: list_keys,
        ScanPrefix: scan_prefix,
        GetMemory: get_memory,
        Links: links,
        Dependents: dependents,
        Timeline: timeline,
        Facts: facts,
        Refusals: refusals,
        FindTitle: find_title,
        FindEventTime: find_event_time,
    }
)
"""The reads that a transaction has."""


def read_within(core: Core, transaction: OpenTransaction, call: object) -> Any:
    """Return the answer of a read inside a transaction."""
    transaction.draft.check()
    handler = READS.get(type(call)) if isinstance(call, Call) else None
    if handler is None:
        names: Sequence[str] = sorted(map(call_name, READS))
        name = call_name(type(call)) if isinstance(call, Call) else short_repr(call)
        raise InvalidInput("read", f"{name} is not a read of a transaction: {', '.join(names)}")
    return handler(core, transaction, call)
