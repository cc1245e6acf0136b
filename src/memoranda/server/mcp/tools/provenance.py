"""Tools that follow a belief: to its words, to what rests on it, to its reasons."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from msgspec import Meta

from memoranda.calls.links import Dependents
from memoranda.calls.transcripts import LoadTranscript, Origins, ReplayTranscripts
from memoranda.calls.why import Why
from memoranda.errors import NotFound
from memoranda.memory.provenance import ReplayedTranscript
from memoranda.memory.records import Origin
from memoranda.memory.transcripts import excerpts_of, rendered
from memoranda.model.limits import short_repr
from memoranda.model.ref_text import format_ref, parse
from memoranda.model.refs import KeyRef
from memoranda.server.mcp.session import (
    INLINE_BYTES,
    NOTICE,
    Notice,
    Session,
    memory_id_of,
    missing_memory,
    time_of,
    uri_of,
)
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import MemoryAnswer, memory_answer, moment
from memoranda.why.reason import Reason

MAX_NODES = 200
"""Nodes of a tree in an answer; the resource has all of them."""


# The words.


class ReplayedWords(Answer, frozen=True, kw_only=True):
    """A transcript that a memory comes from."""

    transcript_id: str
    memory_id: str
    """The nearest memory that cites it."""
    hop: int
    """Links from the memory that was asked about to that one."""
    occurred_at: str | None = None
    size: int
    """Bytes of its text."""
    excerpts: tuple[str, ...] = ()
    """The cited words, or all words if none are cited."""
    truncated: bool = False
    """Whether words are left out: they are in the linked resource."""
    expired: bool = False
    retracted: bool = False


class Replayed(Answer, frozen=True, kw_only=True):
    """The transcripts that a memory comes from, in the order of when they took place."""

    notice: Notice
    memory_id: str
    transcripts: tuple[ReplayedWords, ...]


class ReplayArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_replay`."""

    memory_id: str
    depth: Annotated[int, Meta(ge=0, description="Hops of reflection; default all")] | None = None
    verbose: Annotated[bool, Meta(description="Also words over 100 KiB")] = False


@tool(core=True)
async def memory_replay(session: Session, arguments: ReplayArguments) -> Replayed:
    """Read the exact words that a memory comes from, also through reflections."""
    memory = await session.memory(arguments.memory_id)
    entries = await session.calls.ask(
        ReplayTranscripts(memory.id, arguments.depth, agent_id=session.agent_id)
    )
    words = [await _words(session, entry, is_verbose=arguments.verbose) for entry in entries]
    return Replayed(notice=NOTICE, memory_id=memory.id, transcripts=tuple(words))


async def _words(session: Session, entry: ReplayedTranscript, *, is_verbose: bool) -> ReplayedWords:
    """Return the cited words of a transcript; of a large one, only if they are asked for."""
    info = entry.transcript
    spans = entry.spans
    size = sum(end - start for start, end in spans) or info.original_size
    has_room = is_verbose or (info.original_size <= INLINE_BYTES and session.has_room(size))
    excerpts: tuple[str, ...] = ()
    if has_room:
        content = await session.calls.ask(LoadTranscript(info.id))
        rendering = rendered(info, content)
        excerpts = excerpts_of(content if rendering is None else rendering.text, spans)
    else:
        session.link(uri_of("transcript", info.id))
    return ReplayedWords(
        transcript_id=info.id,
        memory_id=entry.memory_id,
        hop=next(anchor.hop for anchor in entry.anchors if anchor.memory_id == entry.memory_id),
        occurred_at=time_of(info.occurred_at),
        size=info.original_size,
        excerpts=excerpts,
        truncated=not has_room,
        expired=entry.expired,
        retracted=entry.retracted,
    )


# What rests on a memory.


class Dependent(Answer, frozen=True, kw_only=True):
    """A memory that reflects on another."""

    id: str
    hop: int
    agent: str
    namespace: str
    title: str | None = None
    content: str | None = None
    truncated: bool = False


class DependentsAnswer(Answer, frozen=True, kw_only=True):
    """The memories that reflect on one, the nearest first."""

    notice: Notice
    memory_id: str
    superseded_by: str | None = None
    dependents: tuple[Dependent, ...]
    more: bool = False


class DependentsArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_dependents_of_invalidated`."""

    memory_id: str
    depth: Annotated[int, Meta(ge=0, description="Hops; default 1")] = 1


@tool(core=True)
async def memory_dependents_of_invalidated(
    session: Session, arguments: DependentsArguments
) -> DependentsAnswer:
    """List conclusions that rest on a memory and may be wrong if it is."""
    memory = await session.memory(arguments.memory_id)
    records = await session.calls.ask(
        Dependents(memory.id, arguments.depth, agent_id=session.agent_id)
    )
    answers = []
    for record in records[:MAX_NODES]:
        dependent = await session.memory(record.id)
        content = session.clip(dependent.content or "", uri_of("memory", record.id))
        answers.append(
            Dependent(
                id=record.id,
                hop=record.hop,
                agent=record.agent_id,
                namespace=record.namespace,
                title=dependent.title,
                content=content.text,
                truncated=content.is_cut,
            )
        )
    return DependentsAnswer(
        notice=NOTICE,
        memory_id=memory.id,
        superseded_by=memory.superseded_by,
        dependents=tuple(answers),
        more=len(records) > MAX_NODES,
    )


# Reasons.


class WhyNode(Answer, frozen=True, kw_only=True):
    """A node of a tree of reasons."""

    depth: int
    relation: str | None = None
    """How the node above rests on it."""
    kind: str
    ref: str | None = None
    text: str
    truncated: bool = False
    agent: str | None = None
    commit: int | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    believed: bool
    stale: tuple[str, ...] = ()
    """Why it is no longer believed."""
    hidden: bool = False
    repeated: bool = False


class WhyAnswer(Answer, frozen=True, kw_only=True):
    """A tree of reasons: each node comes before those it rests on."""

    notice: Notice
    ref: str
    is_stale: bool
    nodes: tuple[WhyNode, ...]
    more: bool = False


class WhyArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_why`."""

    ref: Annotated[str, Meta(description="memory:ID, fact:ID, or the name of a key")]
    at: Annotated[str | int, Meta(description="Past time or commit")] | None = None


@tool(core=True)
async def memory_why(session: Session, arguments: WhyArguments) -> WhyAnswer:
    """Explain a belief down to quoted words, with what of it is stale."""
    reason = await explain(session, arguments.ref, arguments.at)
    branches = list(islice(reason.branches(), MAX_NODES + 1))
    more = len(branches) > MAX_NODES
    if more:
        session.link(uri_of("why", arguments.ref))
    return WhyAnswer(
        notice=NOTICE,
        ref=arguments.ref,
        is_stale=reason.is_stale,
        nodes=tuple(
            _why_node(session, arguments.ref, branch.reason, branch.depth)
            for branch in branches[:MAX_NODES]
        ),
        more=more,
    )


async def explain(session: Session, text: str, at: str | int | None = None) -> Reason:
    """Return the reasons of what a text names, or raise `NotFound` that says how to name it."""
    ref = parse(text)
    if isinstance(ref, KeyRef):
        ref = KeyRef(ref.key, ref.version, session.agent_id, session.namespace)
    try:
        return await session.calls.ask(Why(ref, moment(at), session.agent_id))
    except NotFound as error:
        raise NotFound(
            f"there is no {short_repr(text)} to explain: give memory:ID, fact:ID, or the name of "
            "a key that has a value; memory_recall finds references",
            field="ref",
        ) from error


def _why_node(session: Session, root: str, reason: Reason, depth: int) -> WhyNode:
    text = session.clip(reason.summary, uri_of("why", root))
    return WhyNode(
        depth=depth,
        relation=reason.relation,
        kind=reason.kind,
        ref=None if reason.ref is None else format_ref(reason.ref),
        text=text.text,
        truncated=text.is_cut,
        agent=reason.agent_id,
        commit=reason.commit_ts,
        valid_from=time_of(reason.valid_from),
        valid_to=time_of(reason.valid_to),
        believed=reason.believed,
        stale=reason.stale,
        hidden=reason.hidden,
        repeated=reason.repeated,
    )


# Origins.


class OriginNode(Answer, frozen=True, kw_only=True):
    """A memory of a tree of origins, and the words it cites."""

    depth: int
    relation: str | None = None
    memory: MemoryAnswer
    excerpts: tuple[str, ...] = ()
    transcripts: tuple[str, ...] = ()
    """The transcripts that the excerpts are from."""
    truncated: bool = False
    expired: bool = False
    repeated: bool = False


class OriginsAnswer(Answer, frozen=True, kw_only=True):
    """The memories that one rests on, each before those below it."""

    notice: Notice
    memory_id: str
    nodes: tuple[OriginNode, ...]
    more: bool = False


class OriginsArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_origins`."""

    memory_id: str
    at: Annotated[str | int, Meta(description="Past time or commit")] | None = None


@tool()
async def memory_origins(session: Session, arguments: OriginsArguments) -> OriginsAnswer:
    """Show the memories that a memory rests on as a tree, each with the words it cites."""
    memory_id = memory_id_of("memory_id", arguments.memory_id)
    call = Origins(memory_id, moment(arguments.at), session.agent_id)
    root = await session.calls.ask(call)
    if root is None:
        raise missing_memory("memory_id", arguments.memory_id)
    branches = list(islice(walk(root), MAX_NODES + 1))
    more = len(branches) > MAX_NODES
    if more:
        session.link(uri_of("memory", memory_id))
    nodes = tuple(_origin_node(session, *branch) for branch in branches[:MAX_NODES])
    return OriginsAnswer(notice=NOTICE, memory_id=memory_id, nodes=nodes, more=more)


def walk(root: Origin) -> Iterator[tuple[Origin, int]]:
    """Yield the nodes of a tree of origins with their depths, a memory before those below it."""
    stack = [(root, 0)]
    while stack:
        origin, depth = stack.pop()
        yield origin, depth
        stack.extend((child, depth + 1) for child in reversed(origin.origins))


def _origin_node(session: Session, origin: Origin, depth: int) -> OriginNode:
    sources = [source for source in origin.sources if not source.erased]
    words = [
        session.clip(words, uri_of("transcript", source.transcript_id))
        for source in sources
        for words in source.excerpts
    ]
    return OriginNode(
        depth=depth,
        relation=origin.relation,
        memory=memory_answer(session, origin.memory),
        excerpts=tuple(part.text for part in words),
        transcripts=tuple(source.transcript_id for source in sources),
        truncated=any(part.is_cut for part in words),
        expired=origin.expired,
        repeated=origin.repeated,
    )
