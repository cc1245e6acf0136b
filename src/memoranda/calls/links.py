"""Calls that read links between memories, dependents, and notices of changed evidence."""

from __future__ import annotations

from memoranda.calls.arguments import check_agent, check_viewer
from memoranda.calls.call import AnyMoment, Call, Handlers
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.log.pages import Pages
from memoranda.memory import provenance, reads
from memoranda.memory.notices import Inbox
from memoranda.memory.records import DependentRecord, Invalidation, Link
from memoranda.memory.requests import check_choice, check_id
from memoranda.model.memory import RELATIONS

STATUSES = ("open", "resolved", "all")


class Links(Call[list[Link]], frozen=True):
    """List the links from and to a memory, in the order of their creation."""

    reach = "id"

    memory_id: str
    relation: str | None = None
    include_closed: bool = False
    at: AnyMoment = None
    agent_id: str | None = None


class Dependents(Call[list[DependentRecord]], frozen=True):
    """List the memories that reflect on a memory, up to a number of links away."""

    reach = "walk"

    memory_id: str
    depth: int | None = 1
    """None: any."""
    at: AnyMoment = None
    agent_id: str | None = None


class Invalidations(Call[Invalidation], frozen=True):
    """List the notices to an agent, or to all agents, oldest first."""

    shape = "pages"

    agent_id: str | None
    """None: all agents."""
    status: str = "open"
    at: AnyMoment = None


def links(core: Core, grant: Grant, call: Links) -> list[Link]:
    """Return the links."""
    viewer = check_viewer(core, grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    relation = None if call.relation is None else check_choice("relation", call.relation, RELATIONS)
    commit = core.commit_at("at", call.at)
    with core.engine.snapshot() as reader:
        return reads.links_of(
            reader,
            memory_id,
            commit,
            viewer,
            relation=relation,
            include_closed=bool(call.include_closed),
        )


def dependents(core: Core, grant: Grant, call: Dependents) -> list[DependentRecord]:
    """Return the dependents, the nearest first."""
    viewer = check_viewer(core, grant, call.agent_id)
    memory_id = check_id("memory_id", call.memory_id)
    depth = check_optional_integer("depth", call.depth, minimum=0)
    commit = core.commit_at("at", call.at)
    with core.engine.snapshot() as reader:
        return provenance.dependents(reader, memory_id, depth, commit, viewer)


def invalidations(core: Core, grant: Grant, call: Invalidations) -> Pages[Invalidation]:
    """Return the notices."""
    status = check_choice("status", call.status, STATUSES)
    return Inbox(
        core.engine,
        at=core.commit_at("at", call.at),
        agent_id=check_agent(core, call.agent_id),
        viewer=check_viewer(core, grant, call.agent_id),
        is_open=None if status == "all" else status == "open",
    )


HANDLERS: Handlers = {Links: links, Dependents: dependents, Invalidations: invalidations}
