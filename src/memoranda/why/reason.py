"""Reasons: what `why` answers, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from memoranda.model.lines import unbroken
from memoranda.model.refs import KeyRef, Ref, TranscriptRef

Kind = Literal["key", "memory", "fact", "transcript"]
_MOST_CHARACTERS = 400
MOST_LEVELS = 64
"""How deep a tree is drawn: a line begins with as many marks as it has levels above it."""
MOST_LINES = 1_000
"""How many lines a drawing has."""


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
        for branch in self.branches():
            yield branch.reason

    def branches(self) -> Iterator[Branch]:
        """Yield the same, with where each stands in the tree."""
        waiting = [(self, 0, True)]
        lasts: list[bool] = []
        while waiting:
            reason, depth, is_last = waiting.pop()
            if depth <= MOST_LEVELS:
                lasts[max(depth - 1, 0) :] = [is_last] if depth else []
            yield Branch(reason, depth, tuple(lasts))
            last = len(reason.because) - 1
            waiting.extend(
                (each, depth + 1, index == last)
                for index, each in reversed(list(enumerate(reason.because)))
            )

    def __str__(self) -> str:
        """Draw the tree; of one that is very large or deep the beginning, and how much is left."""
        lines: list[str] = []
        left = 0
        for branch in self.branches():
            if branch.depth > MOST_LEVELS or len(lines) >= MOST_LINES:
                left += 1
            else:
                lines.append(_drawn(branch.reason, branch.lasts))
        return "\n".join([*lines, left_out(left)] if left else lines)


class Branch(NamedTuple):
    """A part of a tree of reasons, and where it stands."""

    reason: Reason
    depth: int
    """How many levels it is below the root."""
    lasts: tuple[bool, ...]
    """For each level down to it whether it is the last branch there; of the first `MOST_LEVELS`."""


def left_out(count: int) -> str:
    """Return what is said where a drawing is not whole."""
    return f"… and {count:,} more, which are too many or too deep to be drawn"


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
