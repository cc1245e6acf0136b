"""Tools about links between memories, and about notices of changed evidence."""

from __future__ import annotations

from typing import Literal

from memoranda.calls.link_writes import Link, ResolveInvalidation, Supersede
from memoranda.calls.links import Invalidations
from memoranda.memory.records import Invalidation
from memoranda.memory.records import Link as LinkRecord
from memoranda.model.ref_text import format_ref
from memoranda.server.mcp.session import (
    NOTICE,
    Notice,
    Session,
    memory_id_of,
    time_of,
)
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import Limit

Relation = Literal["related_to", "supersedes", "contradicts", "derived_from", "reflects_on"]
Decision = Literal["keep", "revise", "retract"]


class Linked(Answer, frozen=True, kw_only=True):
    """What linking two memories did; it is durable."""

    source: str
    target: str
    relation: str
    outcome: str
    commit: int
    hash: str | None = None
    notified: tuple[str, ...] = ()
    """Memories whose owners got a notice."""


class NoticeAnswer(Answer, frozen=True, kw_only=True):
    """A notice: something of yours rests on evidence that changed."""

    id: str
    change: str
    """What happened to the evidence."""
    dependent: str | None = None
    """What of yours rests on it."""
    evidence: str | None = None
    replaced_by: str | None = None
    by: str
    created_at: str | None = None
    decision: str | None = None
    note: str | None = None


class Inbox(Answer, frozen=True, kw_only=True):
    """Notices, oldest first."""

    notice: Notice
    invalidations: tuple[NoticeAnswer, ...]
    more: bool = False


class InboxArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_inbox`."""

    status: Literal["open", "resolved", "all"] = "open"
    limit: Limit = 20


def notice_answer(record: Invalidation) -> NoticeAnswer:
    """Return a notice as an answer."""
    return NoticeAnswer(
        id=record.id,
        change=record.change,
        dependent=None if record.dependent is None else format_ref(record.dependent),
        evidence=None if record.evidence is None else format_ref(record.evidence),
        replaced_by=record.invalidating_id,
        by=record.by,
        created_at=time_of(record.created_at),
        decision=record.decision,
        note=record.note,
    )


@tool(core=True)
async def memory_inbox(session: Session, arguments: InboxArguments) -> Inbox:
    """List your beliefs whose evidence was superseded, retracted or ended.

    Look here first in a session.
    """
    call = Invalidations(session.agent_id, arguments.status)
    records, more = await session.calls.first(call, arguments.limit)
    notices = tuple(notice_answer(record) for record in records)
    return Inbox(notice=NOTICE, invalidations=notices, more=more)


class LinkArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_link`."""

    source: str
    target: str
    relation: Relation
    idempotency_key: str | None = None


@tool(verb="write")
async def memory_link(session: Session, arguments: LinkArguments) -> Linked:
    """Link one memory to another."""
    link = await session.commit(
        Link(
            memory_id_of("source", arguments.source),
            memory_id_of("target", arguments.target),
            arguments.relation,
            session.agent_id,
            txn_id=arguments.idempotency_key,
        )
    )
    return await _linked(session, link)


class SupersedeArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_supersede`."""

    old: str
    new: str
    idempotency_key: str | None = None


@tool(verb="write")
async def memory_supersede(session: Session, arguments: SupersedeArguments) -> Linked:
    """Let a newer memory replace an older one. Owners of what rests on the old one get notices."""
    link = await session.commit(
        Supersede(
            memory_id_of("old", arguments.old),
            memory_id_of("new", arguments.new),
            session.agent_id,
            txn_id=arguments.idempotency_key,
        )
    )
    return await _linked(session, link)


async def _linked(session: Session, link: LinkRecord) -> Linked:
    assert link.commit_ts is not None, "it was just written"
    assert link.outcome is not None, "it was just written"
    return Linked(
        source=link.source,
        target=link.target,
        relation=link.relation,
        outcome=link.outcome,
        commit=link.commit_ts,
        hash=await session.hash_of(link.commit_ts),
        notified=link.notified,
    )


class Resolved(Answer, frozen=True, kw_only=True):
    """A notice that was decided; it is durable."""

    notice: Notice
    invalidation: NoticeAnswer
    outcome: str
    commit: int
    hash: str | None = None


class ResolveArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_resolve_invalidation`."""

    notice_id: str
    decision: Decision
    replacement: str | None = None
    note: str | None = None
    idempotency_key: str | None = None


@tool(verb="write")
async def memory_resolve_invalidation(session: Session, arguments: ResolveArguments) -> Resolved:
    """Decide a notice: keep the belief, revise it (replacement supersedes it), or retract it."""
    new = arguments.replacement
    record = await session.commit(
        ResolveInvalidation(
            memory_id_of("notice_id", arguments.notice_id),
            arguments.decision,
            arguments.note,
            None if new is None else memory_id_of("replacement", new),
            session.agent_id,
            txn_id=arguments.idempotency_key,
        )
    )
    assert record.commit_ts is not None, "it was just written"
    return Resolved(
        notice=NOTICE,
        invalidation=notice_answer(record),
        outcome=record.outcome,
        commit=record.commit_ts,
        hash=await session.hash_of(record.commit_ts),
    )
