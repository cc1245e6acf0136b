"""The tool that searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from memoranda.calls.recall import Recall
from memoranda.model.ref_text import format_ref
from memoranda.search.results import Hit
from memoranda.server.mcp.session import NOTICE, Notice, Session, time_of, uri_of
from memoranda.server.mcp.tool import Answer, Arguments, tool
from memoranda.server.mcp.tools.memories import moment

_CANDIDATES = 50
"""Hits that are looked at; the budget decides how many are answered."""
_BYTES_A_TOKEN = 4
"""Bytes of one unit of the budget: about one token of a language model."""
_MIN_BYTES = 100
"""What is shown of a text at the least."""
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
    answers = tuple(_within(session, hits, arguments.budget * _BYTES_A_TOKEN))
    return Recalled(notice=NOTICE, hits=answers, omitted=len(hits) - len(answers))


def _within(session: Session, hits: list[Hit], room: int) -> Iterator[RecalledHit]:
    """Yield hits as long as there is room; the first one always, though it may be cut."""
    for number, hit in enumerate(hits):
        answer = _answer(hit)
        size = len(msgspec.json.encode(answer))
        if size > room:
            if not number:
                yield _cut(session, hit, answer, size - room)
            return
        yield answer
        room -= size


def _cut(session: Session, hit: Hit, answer: RecalledHit, excess: int) -> RecalledHit:
    """Return a hit whose text is cut, with a link to all of it."""
    kind = {"memory": "memory", "passage": "transcript"}.get(hit.kind)
    session.link(uri_of("why", answer.ref) if kind is None else uri_of(kind, hit.id))
    length = max(len(hit.text.encode()) - excess, _MIN_BYTES)
    text = hit.text.encode()[:length].decode(errors="ignore") + "…"
    return replace(answer, text=text, truncated=True)


def _answer(hit: Hit) -> RecalledHit:
    memory, fact = hit.memory, hit.fact
    return RecalledHit(
        ref=format_ref(hit.ref),
        text=hit.text,
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
