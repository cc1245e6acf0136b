"""Tools that store, read and change memories."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta

from memoranda.calls.memories import GetMemory, ListMemories, MemoryHistory
from memoranda.calls.memory_writes import (
    Promote,
    Reflect,
    Remember,
    RetractMemory,
    UpdateMemory,
)
from memoranda.calls.transcripts import GetTranscript, LoadTranscript
from memoranda.errors import InvalidInput, NotFound
from memoranda.memory.records import Memory
from memoranda.memory.transcripts import rendered, span_in, span_of
from memoranda.model.limits import short_repr
from memoranda.model.memory import Span
from memoranda.model.refs import TranscriptRef
from memoranda.server.mcp.session import (
    NOTICE,
    Notice,
    Session,
    memory_id_of,
    missing_memory,
    time_of,
    transcript_id_of,
    uri_of,
)
from memoranda.server.mcp.tool import Answer, Arguments, tool

Kind = Literal[
    "observation",
    "decision",
    "event",
    "claim",
    "concept",
    "persona",
    "conversation",
    "reflection",
]
Tier = Literal["short", "mid", "long"]
Limit = Annotated[int, Meta(ge=1, le=100)]
_YEAR_DIGITS = 4
"""Text of so many digits is a year, and not a commit."""


# Answers.


class Stored(Answer, frozen=True, kw_only=True):
    """What a write did: it is durable, and `hash` is that of its commit in the chain."""

    id: str
    outcome: str
    commit: int
    hash: str | None = None
    version: int | None = None


class MemoryAnswer(Answer, frozen=True, kw_only=True):
    """A memory."""

    id: str
    title: str | None = None
    content: str | None = None
    truncated: bool = False
    kind: str
    tier: str
    tags: tuple[str, ...] = ()
    priority: int
    confidence: float
    version: int
    agent: str
    namespace: str
    visibility: str
    created_at: str | None = None
    updated_at: str | None = None
    event_time: str | None = None
    expires_at: str | None = None
    superseded_by: str | None = None
    retracted: bool = False
    reason: str | None = None
    """Why it was retracted."""
    reflection_depth: int = 0


class OneMemory(Answer, frozen=True, kw_only=True):
    """A memory that was read."""

    notice: Notice
    memory: MemoryAnswer


class Memories(Answer, frozen=True, kw_only=True):
    """Memories that were read."""

    notice: Notice
    memories: tuple[MemoryAnswer, ...]
    more: bool = False
    """Whether there are more than the limit."""


def memory_answer(session: Session, memory: Memory) -> MemoryAnswer:
    """Return a memory as an answer; a long content is cut, and linked."""
    content = None
    if memory.content is not None:
        content = session.clip(memory.content, uri_of("memory", memory.id))
    return MemoryAnswer(
        id=memory.id,
        title=memory.title,
        content=None if content is None else content.text,
        truncated=content is not None and content.is_cut,
        kind=memory.kind,
        tier=memory.tier,
        tags=memory.tags,
        priority=memory.priority,
        confidence=memory.confidence,
        version=memory.version,
        agent=memory.agent_id,
        namespace=memory.namespace,
        visibility=memory.visibility,
        created_at=time_of(memory.created_at),
        updated_at=time_of(memory.updated_at),
        event_time=time_of(memory.event_time),
        expires_at=time_of(memory.expires_at),
        superseded_by=memory.superseded_by,
        retracted=memory.retracted,
        reason=memory.reason,
        reflection_depth=memory.reflection_depth,
    )


async def stored(session: Session, memory: Memory) -> Stored:
    """Return what a write of a memory did."""
    assert memory.commit_ts is not None, "it was just written"
    assert memory.outcome is not None, "it was just written"
    return Stored(
        id=memory.id,
        outcome=memory.outcome,
        commit=memory.commit_ts,
        hash=await session.hash_of(memory.commit_ts),
        version=memory.version,
    )


# Storing.


class StoreArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_store`."""

    content: str
    title: Annotated[str, Meta(description="Unique; reuse it to update")] | None = None
    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    private: bool = False
    event_time: Annotated[str, Meta(description="When it happened, RFC 3339")] | None = None
    transcript_id: str | None = None
    quote: Annotated[str, Meta(description="Exact words of the transcript")] | None = None
    idempotency_key: str | None = None


@tool(verb="write", core=True)
async def memory_store(session: Session, arguments: StoreArguments) -> Stored:
    """Store one thing worth knowing in later sessions.

    Such as a fact about the user, a decision and its reason, a correction. Answers with its id
    once it is durable.
    """
    citation = await _citation(session, arguments.transcript_id, arguments.quote)
    memory = await session.commit(
        Remember(
            session.agent_id,
            session.namespace,
            arguments.content,
            arguments.title,
            kind=arguments.kind or UNSET,
            tags=arguments.tags or UNSET,
            visibility="private" if arguments.private else UNSET,
            event_time=arguments.event_time or UNSET,
            source="mcp",
            txn_id=arguments.idempotency_key,
            **citation,
        )
    )
    return await stored(session, memory)


async def _citation(
    session: Session, transcript_id: str | None, quote: str | None
) -> dict[str, Any]:
    """Return the arguments of a citation: a transcript, and the span of a quote in it."""
    if transcript_id is None:
        if quote is not None:
            raise InvalidInput("quote", "needs a transcript_id: name the transcript it is from")
        return {}
    name = transcript_id_of("transcript_id", transcript_id)
    if quote is None:
        return {"transcript": TranscriptRef(name)}
    return {
        "transcript": TranscriptRef(name),
        "spans": (await span_of_quote(session, name, quote),),
    }


async def span_of_quote(session: Session, transcript_id: str, quote: str) -> Span:
    """Return where exact words are in a transcript, or raise `InvalidInput`."""
    info = await session.calls.ask(GetTranscript(transcript_id))
    if info is None:
        raise missing_transcript(transcript_id)
    content = await session.calls.ask(LoadTranscript(transcript_id))
    rendering = rendered(info, content)
    span = span_of(content, quote) if rendering is None else span_in(rendering, quote)
    if span is None:
        raise InvalidInput(
            "quote", f"{short_repr(quote)} is not in transcript {transcript_id!r}: quote exactly"
        )
    return span


def missing_transcript(transcript_id: str) -> NotFound:
    """Return the error for a transcript that is not there, or that the caller may not see."""
    return NotFound(
        f"there is no transcript {short_repr(transcript_id)}: memory_replay lists transcripts",
        field="transcript_id",
    )


class ReflectArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_reflect`."""

    content: str
    on: Annotated[tuple[str, ...], Meta(description="Memory ids", min_length=1)]
    title: str | None = None
    idempotency_key: str | None = None


@tool(verb="write", core=True)
async def memory_reflect(session: Session, arguments: ReflectArguments) -> Stored:
    """Store a conclusion drawn from memories, linked to them.

    If one is superseded, the conclusion appears in memory_inbox.
    """
    targets = tuple(memory_id_of("on", text) for text in arguments.on)
    memory = await session.commit(
        Reflect(
            session.agent_id,
            session.namespace,
            arguments.content,
            arguments.title,
            on=targets,
            source="mcp",
            txn_id=arguments.idempotency_key,
        )
    )
    return await stored(session, memory)


# Reading.


class GetArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_get`."""

    memory_id: str | None = None
    title: str | None = None
    version: Annotated[int, Meta(ge=1)] | None = None
    at: Annotated[str | int, Meta(description="A past moment: time or commit")] | None = None


@tool()
async def memory_get(session: Session, arguments: GetArguments) -> OneMemory:
    """Read one memory by its id or its title, now or at a past version or moment."""
    name, title = arguments.memory_id, arguments.title
    memory = await session.calls.ask(
        GetMemory(
            None if name is None else memory_id_of("memory_id", name),
            title,
            session.namespace,
            arguments.version,
            moment(arguments.at),
            session.agent_id,
        )
    )
    if memory is None:
        raise missing_memory("title" if name is None else "memory_id", name or title or "")
    return OneMemory(notice=NOTICE, memory=memory_answer(session, memory))


class ListArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_list`."""

    kind: Kind | None = None
    tags: tuple[str, ...] = ()
    mine: Annotated[bool, Meta(description="Only your own")] = False
    created_after: str | None = None
    created_before: str | None = None
    limit: Limit = 20


@tool()
async def memory_list(session: Session, arguments: ListArguments) -> Memories:
    """List memories by creation, without a query; use memory_recall to search."""
    call = ListMemories(
        session.namespace,
        agent_id=session.agent_id if arguments.mine else None,
        kind=arguments.kind,
        tags=arguments.tags,
        created_after=arguments.created_after,
        created_before=arguments.created_before,
        content=True,
    )
    memories, more = await session.calls.first(call, arguments.limit)
    answers = tuple(memory_answer(session, memory) for memory in memories)
    return Memories(notice=NOTICE, memories=answers, more=more)


class HistoryArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_history`."""

    memory_id: str
    limit: Limit = 20


@tool()
async def memory_history(session: Session, arguments: HistoryArguments) -> Memories:
    """List every version of a memory, oldest first, also if it was retracted."""
    memory_id = memory_id_of("memory_id", arguments.memory_id)
    call = MemoryHistory(memory_id, agent_id=session.agent_id)
    versions, more = await session.calls.first(call, arguments.limit)
    if not versions:
        raise missing_memory("memory_id", arguments.memory_id)
    answers = tuple(memory_answer(session, memory) for memory in versions)
    return Memories(notice=NOTICE, memories=answers, more=more)


# Changing.


class UpdateArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_update`."""

    memory_id: str
    content: str | None = None
    title: str | None = None
    kind: Kind | None = None
    tags: tuple[str, ...] | None = None
    priority: Annotated[int, Meta(ge=1, le=10)] | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    expect_version: int | None = None
    idempotency_key: str | None = None


@tool(verb="write")
async def memory_update(session: Session, arguments: UpdateArguments) -> Stored:
    """Change fields of a memory; this adds a version, and what is not given stays."""
    names = ("content", "title", "kind", "tags", "priority", "confidence")
    fields = {name: getattr(arguments, name) for name in names}
    changes = {name: value for name, value in fields.items() if value is not None}
    if not changes:
        raise InvalidInput("memory_update", f"nothing to change: give one of {', '.join(names)}")
    memory = await session.commit(
        UpdateMemory(
            memory_id_of("memory_id", arguments.memory_id),
            session.agent_id,
            arguments.expect_version,
            txn_id=arguments.idempotency_key,
            **changes,
        )
    )
    return await stored(session, memory)


class RetractArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_retract`."""

    memory_id: str
    reason: str | None = None
    idempotency_key: str | None = None


@tool(verb="write", destructive=True)
async def memory_retract(session: Session, arguments: RetractArguments) -> Stored:
    """Withdraw a memory that was wrong: reads omit it, its history stays.

    What rests on it gets a notice.
    """
    memory_id = memory_id_of("memory_id", arguments.memory_id)
    memory = await session.commit(
        RetractMemory(
            memory_id, arguments.reason, session.agent_id, txn_id=arguments.idempotency_key
        )
    )
    return await stored(session, memory)


class PromoteArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_promote`."""

    memory_id: str
    tier: Tier = "long"
    idempotency_key: str | None = None


@tool(verb="write")
async def memory_promote(session: Session, arguments: PromoteArguments) -> Stored:
    """Keep a memory longer: short lasts hours, mid a week, long for ever."""
    memory_id = memory_id_of("memory_id", arguments.memory_id)
    memory = await session.commit(
        Promote(memory_id, arguments.tier, session.agent_id, txn_id=arguments.idempotency_key)
    )
    return await stored(session, memory)


def moment(text: str | int | None) -> str | int | None:
    """Return a moment: a commit number, also as text, or a time."""
    is_number = isinstance(text, str) and text.isascii() and text.isdigit()
    return int(text) if text is not None and is_number and len(str(text)) != _YEAR_DIGITS else text
