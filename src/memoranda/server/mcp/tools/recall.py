"""The tool that searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from memoranda.calls.recall import Recall
from memoranda.model.ref_text import format_ref
from memoranda.search.results import Hit
from memoranda.server.mcp.session import NOTICE, Notice, Session, time_of, uri_of
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import moment

_CANDIDATES = 50
"""Hits that are looked at; the budget decides how many are answered."""
_CHARACTERS_A_TOKEN = 4
_OVERHEAD = 160
"""Characters of a hit beside its text: its reference, its time, its reasons."""
_PARTS = {"text": "words", "vector": "meaning", "graph": "entity", "conversation": "conversation"}
"""Part of a score -> what of the hit matches the query."""


class RecalledHit(Answer, frozen=True, kw_only=True):
    """A memory, a fact or a passage of a transcript."""

    ref: str
    """Cite it by this."""
    text: str
    truncated: bool = False
    title: str | None = None
    time: str | None = None
    agent: str | None = None
    speaker: str | None = None
    score: float
    reasons: tuple[str, ...] = ()
    """What matches, the strongest first."""
    sources: tuple[str, ...] = ()
    """What it rests on."""
    conflicting: tuple[str, ...] = ()
    """What other agents believe instead."""


class Recalled(Answer, frozen=True, kw_only=True):
    """What a search found, the best first."""

    notice: Notice
    hits: tuple[RecalledHit, ...]
    omitted: int = 0
    """Hits that the budget has no room for."""


class RecallArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of `memory_recall`."""

    query: str
    budget: Annotated[int, Meta(description="Tokens of the answer", ge=50, le=20_000)] = 1000
    as_of: Annotated[str, Meta(description="What held at this time")] | None = None
    known_as_of: (
        Annotated[str | int, Meta(description="What was known at this time or commit")] | None
    ) = None


@tool(core=True)
async def memory_recall(session: Session, arguments: RecallArguments) -> Recalled:
    """Search memories, facts and past conversations in plain words.

    Do it before you answer from memory. Cite hits by their ref.
    """
    hits = await session.calls.ask(
        Recall(
            query=arguments.query,
            k=_CANDIDATES,
            namespace=session.namespace,
            valid_at=arguments.as_of,
            known_at=moment(arguments.known_as_of),
        )
    )
    answers = tuple(_within(session, hits, arguments.budget * _CHARACTERS_A_TOKEN))
    return Recalled(notice=NOTICE, hits=answers, omitted=len(hits) - len(answers))


def _within(session: Session, hits: list[Hit], characters: int) -> Iterator[RecalledHit]:
    """Yield hits as long as there is room; the first one always, though it may be cut."""
    room = characters
    for number, hit in enumerate(hits):
        size = len(hit.text) + _OVERHEAD
        if size > room and number:
            return
        yield _answer(session, hit, max(room - _OVERHEAD, _OVERHEAD))
        room -= size


def _answer(session: Session, hit: Hit, room: int) -> RecalledHit:
    text, is_cut = hit.text, len(hit.text) > room
    if is_cut:
        text = text[:room] + "…"
        kind = {"memory": "memory", "passage": "transcript"}.get(hit.kind)
        session.link(uri_of("why", format_ref(hit.ref)) if kind is None else uri_of(kind, hit.id))
    memory, fact = hit.memory, hit.fact
    return RecalledHit(
        ref=format_ref(hit.ref),
        text=text,
        truncated=is_cut,
        title=None if memory is None else memory.title,
        time=time_of(hit.time),
        agent=memory.agent_id if memory else fact.agent_id if fact else None,
        speaker=hit.speaker,
        score=round(hit.score, 3),
        reasons=_reasons(hit),
        sources=tuple(format_ref(source) for source in hit.provenance if source != hit.ref),
        conflicting=tuple(str(other) for other in hit.conflicting),
    )


def _reasons(hit: Hit) -> tuple[str, ...]:
    parts = [(score, _PARTS[name]) for name, score in hit.parts.items() if name in _PARTS]
    matching = sorted(((score, name) for score, name in parts if score > 0), reverse=True)
    return tuple(f"{name} {score:.2f}" for score, name in matching)
