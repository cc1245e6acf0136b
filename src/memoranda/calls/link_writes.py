"""Calls that link memories, cite transcripts and resolve notices."""

from __future__ import annotations

from msgspec.structs import replace

from memoranda.calls.call import WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.memory_writes import single
from memoranda.calls.open_transaction import checked_agent
from memoranda.calls.requests import (
    SUPERSEDE_ARGUMENTS,
    link_memories,
    resolve_notice,
    supersede_memory,
    unlink_memories,
)
from memoranda.calls.write import WriteHandler, Writes, Written
from memoranda.memory import notices, reads
from memoranda.memory.records import Invalidation
from memoranda.memory.records import Link as LinkRecord
from memoranda.memory.requests import LinkMemories, ResolveNotice, UnlinkMemories
from memoranda.model.limits import Limits
from memoranda.model.memory import SUPERSEDES
from memoranda.model.operations import Resolve


class Link(WriteCall[LinkRecord], frozen=True):
    """Link one memory to another; an open link stays as it is."""

    reach = "id"

    source: str
    target: str
    relation: str
    agent_id: str | None = None


class Unlink(WriteCall[LinkRecord], frozen=True):
    """Close a link between two memories."""

    reach = "id"

    source: str
    target: str
    relation: str
    agent_id: str | None = None


class Supersede(WriteCall[LinkRecord], frozen=True):
    """Let one memory supersede another."""

    reach = "id"

    old: str
    new: str
    agent_id: str | None = None


class ResolveInvalidation(WriteCall[Invalidation], frozen=True):
    """Resolve a notice with a decision: `keep`, `retract`, or `revise` with a replacement."""

    reach = "id"

    notice_id: str
    decision: str
    note: str | None = None
    replacement: str | None = None
    agent_id: str | None = None


def link_request(grant: Grant, call: Link, limits: Limits) -> LinkMemories:
    """Return the request of a link."""
    agent = checked_agent(grant, call.agent_id, limits)
    return link_memories(agent, call.source, call.target, call.relation)


def unlink_request(grant: Grant, call: Unlink, limits: Limits) -> UnlinkMemories:
    """Return the request to close a link."""
    agent = checked_agent(grant, call.agent_id, limits)
    return unlink_memories(agent, call.source, call.target, call.relation)


def supersede_request(grant: Grant, call: Supersede, limits: Limits) -> LinkMemories:
    """Return the request of a link from the new memory to the old one."""
    return supersede_memory(checked_agent(grant, call.agent_id, limits), call.old, call.new)


def resolve_request(grant: Grant, call: ResolveInvalidation, limits: Limits) -> ResolveNotice:
    """Return the request of a decision."""
    agent = checked_agent(grant, call.agent_id, limits)
    return resolve_notice(limits, agent, call.notice_id, call.decision, call.note, call.replacement)


def _answer_link(core: Core, call: Link | Unlink | Supersede, written: Written) -> LinkRecord:
    if isinstance(call, Supersede):
        edge = (call.new, SUPERSEDES, call.old)
    else:
        edge = (call.source, call.relation, call.target)
    with core.engine.reading() as reader:
        return reads.committed_link(reader, edge, written.committed)


def _answer_notice(core: Core, call: ResolveInvalidation, written: Written) -> Invalidation:
    committed = written.committed
    with core.engine.reading() as reader:
        operations = committed.own_operations(reader)
        is_new = any(isinstance(operation, Resolve) for operation in operations)
        answer = committed.answer(reader, "updated" if is_new else "unchanged")
        return replace(notices.find(reader, call.notice_id, committed.commit), **answer)


WRITES: Writes = {
    Link: WriteHandler(single(link_request), _answer_link, link_request),
    Unlink: WriteHandler(single(unlink_request), _answer_link, unlink_request),
    Supersede: WriteHandler(
        single(supersede_request, SUPERSEDE_ARGUMENTS),
        _answer_link,
        supersede_request,
        SUPERSEDE_ARGUMENTS,
    ),
    ResolveInvalidation: WriteHandler(single(resolve_request), _answer_notice, resolve_request),
}
