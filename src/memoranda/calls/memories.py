"""Calls that read memories: one, its history, and lists of them."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.calls.arguments import (
    check_agent,
    check_members,
    check_namespace,
    check_place,
    check_viewer,
)
from memoranda.calls.call import AnyInstant, AnyMoment, Call, Handlers
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import resolve_as_of
from memoranda.memory import reads
from memoranda.memory.records import Memory
from memoranda.memory.requests import TitleKey, check_choice, check_id, check_tags, check_title
from memoranda.model.clock import check_time
from memoranda.model.document import Document
from memoranda.model.limits import Limits
from memoranda.model.memory import KINDS, TIERS
from memoranda.model.scope import Scope


class GetMemory(Call[Memory | None], frozen=True):
    """Read a memory by its id or its title: now, at a version, or at a moment."""

    reach = "id"

    memory_id: str | None = None
    title: str | None = None
    namespace: str | None = None
    """The namespace of the title."""
    version: int | None = None
    at: AnyMoment = None
    agent_id: str | None = None


class MemoryHistory(Call[Memory], frozen=True):
    """List every version of a memory, retractions included, oldest first."""

    reach = "id"
    shape = "pages"

    memory_id: str
    since: AnyMoment = None
    agent_id: str | None = None


class ListMemories(Call[Memory], frozen=True):
    """List the memories of a namespace and its children that the caller may see."""

    shape = "pages"

    namespace: str | None
    """None: all namespaces."""
    children: bool = True
    agent_id: str | None = None
    """None: of all agents."""
    kind: str | None = None
    tier: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Document | None = None
    created_after: AnyInstant = None
    created_before: AnyInstant = None
    at: AnyMoment = None
    content: bool = False


def get_memory(core: Core, grant: Grant, call: GetMemory) -> Memory | None:
    """Return the memory, or None if there is none that the caller may see."""
    viewer = check_viewer(core, grant, call.agent_id)
    version = check_optional_integer("version", call.version, minimum=1)
    check_named(call.memory_id, call.title)
    keys: Sequence[TitleKey] = ()
    if call.title is not None:
        scope = Scope(check_place(core, call.namespace or ""), viewer)
        keys = title_keys(scope, call.title, core.limits)
    memory_id = None if call.memory_id is None else check_id("memory_id", call.memory_id)
    with core.engine.snapshot() as reader:
        as_of = resolve_as_of(reader, core.clock, call.at)
        if memory_id is None:
            return reads.get_by_title(reader, keys, as_of, viewer, version)
        return reads.get(reader, memory_id, as_of, viewer, version)


def memory_history(core: Core, grant: Grant, call: MemoryHistory) -> Pages[Memory]:
    """Return the versions; with `since`, from the one that the memory had at that moment."""
    viewer = check_viewer(core, grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    through = core.head()
    first = None if call.since is None else core.commit_at("since", call.since)
    return reads.MemoryHistory(core.engine, memory_id, viewer, to_commit=through, from_commit=first)


def list_memories(core: Core, grant: Grant, call: ListMemories) -> Pages[Memory]:
    """Return the memories, by namespace and then by creation."""
    filters = reads.Filters(
        namespace=check_namespace(core, call.namespace),
        children=call.children,
        agent_id=check_agent(core, call.agent_id),
        kind=None if call.kind is None else check_choice("kind", call.kind, KINDS),
        tier=None if call.tier is None else check_choice("tier", call.tier, TIERS),
        tags=frozenset(check_tags(call.tags, core.limits)),
        metadata=check_members(core, call.metadata),
        created_after=check_time("created_after", call.created_after),
        created_before=check_time("created_before", call.created_before),
        viewer=check_viewer(core, grant, call.agent_id),
    )
    return reads.Memories(core.engine, core.as_of(call.at), filters, content=bool(call.content))


def check_named(memory_id: object, title: object) -> None:
    """Refuse a call that names a memory neither by id nor by title, or by both."""
    if (memory_id is None) == (title is None):
        raise InvalidInput("memory_id", "give a memory's id or its title, one of the two")


def title_keys(scope: Scope, title: str, limits: Limits) -> tuple[TitleKey, TitleKey]:
    """Return the keys under which an agent looks up a title: private first, then shared."""
    checked = check_title(title, limits)
    assert checked is not None, "a title is given"
    own, shared = (TitleKey.of(scope, checked, private=private) for private in (True, False))
    return own, shared


HANDLERS: Handlers = {
    GetMemory: get_memory,
    MemoryHistory: memory_history,
    ListMemories: list_memories,
}
