"""Reasons: what `why` answers, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec

from recollect.model.lines import unbroken
from recollect.model.refs import KeyRef, Ref, TranscriptRef

Kind = Literal["key", "memory", "fact", "transcript"]
_MOST_CHARACTERS = 400


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A key's value, a memory, a fact or quoted words, and below it what that rests on.

    What stands above in the tree already is marked as `repeated` and not unfolded again, so that a
    tree is never larger than what it is about.
    """

    kind: Kind
    ref: Ref | TranscriptRef | None
    """What names it; None for what whoever asked may not see."""
    summary: str
    """What it says: a value, a memory's words, a fact, a quotation; cut where it is long."""
    relation: str | None = None
    """How what stands above rests on it, such as because or reflects_on; None at the root."""
    agent_id: str | None = None
    actor: str | None = None
    """Who committed it."""
    commit_ts: int | None = None
    committed_at: datetime | None = None
    valid_from: datetime | None = None
    """Of a fact: since when it holds."""
    valid_to: datetime | None = None
    stale: tuple[str, ...] = ()
    """Why it is no longer believed itself."""
    is_stale: bool = False
    """Whether it or anything below it is no longer believed."""
    hidden: bool = False
    """Whether there is something that whoever asked may not see."""
    repeated: bool = False
    because: tuple[Reason, ...] = ()

    @property
    def believed(self) -> bool:
        """Whether nothing speaks against it itself."""
        return not self.stale

    def walk(self) -> Iterator[Reason]:
        """Yield it and everything below it, each before what it rests on, however deep that is."""
        for reason, _ in self.branches():
            yield reason

    def branches(self) -> Iterator[tuple[Reason, tuple[bool, ...]]]:
        """Yield the same, and for each level down to there whether it was the last branch of it."""
        waiting: list[tuple[Reason, tuple[bool, ...]]] = [(self, ())]
        while waiting:
            reason, lasts = waiting.pop()
            yield reason, lasts
            last = len(reason.because) - 1
            waiting.extend(
                (each, (*lasts, index == last))
                for index, each in reversed(list(enumerate(reason.because)))
            )

    def __str__(self) -> str:
        """Draw the tree."""
        return "\n".join(_drawn(reason, lasts) for reason, lasts in self.branches())


def _drawn(reason: Reason, lasts: tuple[bool, ...]) -> str:
    sides = "".join("    " if last else "│   " for last in lasts[:-1])
    start = sides + ("└── " if lasts[-1] else "├── ") if lasts else ""
    quoted = reason.kind == "transcript" and reason.summary
    summary = unbroken(reason.summary or "")  # no text may draw a branch of its own
    said = f"“{summary}”" if quoted else summary or reason.kind
    if isinstance(reason.ref, KeyRef):
        said = f"{reason.ref.key}@{reason.ref.version} {said}"
    parts = [f"{start}{reason.relation} {said}" if lasts else said]
    if reason.stale:
        parts.append(f"STALE: {', '.join(reason.stale)}")
    elif reason.is_stale:
        parts.append("rests on something STALE")
    if reason.repeated:
        parts.append("(unfolded above)")
    return "  ".join(parts)


def shortened(text: str) -> str:
    """Return the beginning of a text that may be long."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
