"""Tools about facts: what is true, from when to when, and who said so."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memoranda.calls.fact_writes import AssertFact, EndFact
from memoranda.calls.facts import Explain, IterFacts, Timeline
from memoranda.graph.edge_resolver import EdgeResolution
from memoranda.graph.records import Assertion, Ending, Fact
from memoranda.model.ref_text import format_ref
from memoranda.model.refs import Evidence, MemoryRef, TranscriptRef
from memoranda.server.mcp.session import (
    NOTICE,
    Notice,
    Session,
    fact_id_of,
    memory_id_of,
    time_of,
    transcript_id_of,
    uri_of,
)
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import Limit, moment

_MAX_FACTS = 200
"""Facts of an answer: more take too much of a model's context."""
KnownAt = Annotated[str | int, Meta(description="As known at this time or commit")]


class FactAnswer(Answer, frozen=True, kw_only=True):
    """A fact, and when it holds."""

    ref: str
    subject: str
    relation: str
    object: str
    valid_from: str | None = None
    valid_to: str | None = None
    """None: it still holds."""
    confidence: float
    agent: str | None = None
    sources: tuple[str, ...] = ()


class Facts(Answer, frozen=True, kw_only=True):
    """Facts that were read."""

    notice: Notice
    facts: tuple[FactAnswer, ...]
    more: bool = False


class FactWritten(Answer, frozen=True, kw_only=True):
    """What stating a fact, or its end, did; it is durable."""

    notice: Notice
    id: str | None = None
    """The id of the statement."""
    outcome: str
    commit: int
    hash: str | None = None
    closed: tuple[str, ...] = ()
    """Facts that it ended."""
    repeats: bool = False
    """Whether the fact was known, and only gained a statement."""


class SourceArguments(Arguments, frozen=True, kw_only=True):
    """The arguments about the source of a fact."""

    source: Annotated[str, Meta(description="memory:ID or transcript:ID")] | None = None
    idempotency_key: str | None = None


class AssertArguments(SourceArguments, frozen=True, kw_only=True):
    """The arguments of `fact_assert`."""

    subject: str
    relation: str
    object: str
    valid_from: Annotated[str, Meta(description="Default now")] | None = None
    valid_to: str | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] = 1.0


@tool(verb="write")
async def fact_assert(session: Session, arguments: AssertArguments) -> FactWritten:
    """State a fact, such as (Ann, works at, Polaris), and from when it holds.

    In a single-valued relation it ends the one before.
    """
    resolution = await session.commit(
        AssertFact(
            session.agent_id,
            session.namespace,
            arguments.subject,
            arguments.relation,
            arguments.object,
            arguments.valid_from,
            arguments.valid_to,
            arguments.confidence,
            _source(arguments.source),
            txn_id=arguments.idempotency_key,
        )
    )
    return await _written(session, resolution)


class EndArguments(SourceArguments, frozen=True, kw_only=True):
    """The arguments of `fact_end`."""

    subject: str
    relation: str
    object: str | None = None
    at: Annotated[str, Meta(description="Default now")] | None = None


@tool(verb="write")
async def fact_end(session: Session, arguments: EndArguments) -> FactWritten:
    """State that a fact stopped being true at a time. Without an object, whatever holds ends."""
    resolution = await session.commit(
        EndFact(
            session.agent_id,
            session.namespace,
            arguments.subject,
            arguments.relation,
            arguments.object,
            arguments.at,
            _source(arguments.source),
            txn_id=arguments.idempotency_key,
        )
    )
    return await _written(session, resolution)


def _source(text: str | None) -> Evidence | None:
    if text is None:
        return None
    if text.startswith("transcript:"):
        return TranscriptRef(transcript_id_of("source", text))
    return MemoryRef(memory_id_of("source", text))


async def _written(session: Session, resolution: EdgeResolution) -> FactWritten:
    assert resolution.commit_ts is not None, "it was just written"
    assert resolution.outcome is not None, "it was just written"
    closed = tuple(
        f"{edge.subject_key} {edge.relation} {edge.object_key}" for edge in resolution.close
    )
    return FactWritten(
        notice=NOTICE,
        id=resolution.assertion_id,
        outcome=resolution.outcome,
        commit=resolution.commit_ts,
        hash=await session.hash_of(resolution.commit_ts),
        closed=tuple(closed),
        repeats=resolution.folded is not None,
    )


def fact_answer(fact: Fact) -> FactAnswer:
    """Return a fact as an answer."""
    return FactAnswer(
        ref=format_ref(fact.ref),
        subject=fact.subject,
        relation=fact.relation,
        object=str(fact.object),
        valid_from=time_of(fact.valid_from),
        valid_to=time_of(fact.valid_to),
        confidence=fact.confidence,
        agent=fact.agent_id,
        sources=tuple(format_ref(source) for source in fact.sources),
    )


class QueryArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `fact_query`."""

    subject: str | None = None
    relation: str | None = None
    object: str | None = None
    valid_at: Annotated[str, Meta(description="Default now")] | None = None
    known_at: KnownAt | None = None
    include_closed: bool = False
    limit: Limit = 20


@tool()
async def fact_query(session: Session, arguments: QueryArguments) -> Facts:
    """List your facts that hold at a time, as you knew them at a time."""
    call = IterFacts(
        session.agent_id,
        session.namespace,
        arguments.subject,
        arguments.relation,
        arguments.object,
        arguments.valid_at,
        moment(arguments.known_at),
        arguments.include_closed,
    )
    facts, more = await session.calls.first(call, arguments.limit)
    return Facts(notice=NOTICE, facts=tuple(map(fact_answer, facts)), more=more)


class TimelineArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `fact_timeline`."""

    subject: str
    relation: str
    known_at: KnownAt | None = None


@tool()
async def fact_timeline(session: Session, arguments: TimelineArguments) -> Facts:
    """List all values that a relation of a subject had, in the order of time."""
    facts = await session.calls.ask(
        Timeline(
            session.agent_id,
            session.namespace,
            arguments.subject,
            arguments.relation,
            moment(arguments.known_at),
        )
    )
    answers = tuple(map(fact_answer, facts[:_MAX_FACTS]))
    return Facts(notice=NOTICE, facts=answers, more=len(facts) > _MAX_FACTS)


class Statement(Answer, frozen=True, kw_only=True):
    """An assertion of a fact, or its end."""

    id: str
    at: str | None = None
    """From when on it holds, or no longer does."""
    actor: str
    commit: int
    source: str | None = None
    quotes: tuple[str, ...] = ()
    truncated: bool = False


class FactExplanation(Answer, frozen=True, kw_only=True):
    """A fact with the statements that it follows from."""

    notice: Notice
    fact: FactAnswer
    assertions: tuple[Statement, ...]
    end: Statement | None = None


class ExplainArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `fact_explain`."""

    fact: str
    known_at: KnownAt | None = None


@tool()
async def fact_explain(session: Session, arguments: ExplainArguments) -> FactExplanation:
    """Show who stated a fact, when, and on which quoted words."""
    name = fact_id_of("fact", arguments.fact)
    explanation = await session.calls.ask(
        Explain(name, moment(arguments.known_at), session.agent_id)
    )
    end = explanation.end
    return FactExplanation(
        notice=NOTICE,
        fact=fact_answer(explanation.fact),
        assertions=tuple(
            _statement(session, item, time_of(item.valid_from)) for item in explanation.assertions
        ),
        end=None if end is None else _statement(session, end, time_of(end.at)),
    )


def _statement(session: Session, item: Assertion | Ending, at: str | None) -> Statement:
    quotes = [session.clip(words, uri_of("why", f"fact:{item.id}")) for words in item.quotes]
    return Statement(
        id=item.id,
        at=at,
        actor=item.actor,
        commit=item.commit_ts,
        source=None if item.source is None else format_ref(item.source),
        quotes=tuple(words.text for words in quotes),
        truncated=any(words.is_cut for words in quotes),
    )
