"""Context: what was found as text that a model reads, within a budget.

Each hit is a line with its date, and lines below it say where it comes from and what became of it.
They stand in groups, the best first; a line that does not fit is left out as a whole. What people
wrote is put on one line, so that nothing in it can look like a line of this text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from memoranda.errors import InvalidInput
from memoranda.memory import standing, transcripts
from memoranda.memory.standing import Standing
from memoranda.model.instant import to_datetime
from memoranda.model.limits import shown
from memoranda.model.lines import joined_lines
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.search.hits import Hit
from memoranda.search.questions import Question
from memoranda.search.shelves import FACT, MEMORY, PASSAGE
from memoranda.search.sifting import time_of
from memoranda.search.superseding import superseders
from memoranda.storage.port import Reader

CHARACTERS: Final = 4
"""How many characters a unit of the budget has, which is about what a model calls a token."""
LEAST: Final = 16
MOST: Final = 1_000_000
NOTHING: Final = "Nothing was found that fits."
_HEADINGS: Final = {FACT: "Facts", MEMORY: "Memories", PASSAGE: "Said in transcripts"}
_LONGEST: Final = 800
"""How much of one text is shown."""
_LONGEST_NOTE: Final = 160


class Around(msgspec.Struct, frozen=True):
    """What has to be known beside the hits to tell where they come from."""

    said_at: Mapping[str, datetime]
    """When transcripts were said, by their ids."""
    newer: Mapping[str, str]
    """What superseded something, by the id of that."""


def check_budget(budget: object) -> int:
    """Return how much room there is."""
    if isinstance(budget, bool) or not isinstance(budget, int) or not LEAST <= budget <= MOST:
        raise InvalidInput("budget", f"{shown(budget)} is not a number from {LEAST} to {MOST}")
    return int(budget)


def render(hits: Sequence[Hit], budget: int, around: Around) -> str:
    """Return the hits as text of at most `budget` times four characters."""
    page = _Page(budget * CHARACTERS)
    for hit in hits:
        if page.add(_HEADINGS[hit.kind], _line(hit)):
            for note in _notes(hit, around):
                page.note(_HEADINGS[hit.kind], note)
    return page.text() or NOTHING


class _Page:
    """Lines under headings, as long as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room + 1  # the last line has no newline behind it
        self._groups: dict[str, list[str]] = {}

    def add(self, heading: str, line: str) -> bool:
        """Take a line if it fits, with its heading if that is new."""
        first = "" if heading in self._groups else f"{heading}:\n"
        if not self._take(len(first) + len(line) + 1):
            return False
        self._groups.setdefault(heading, [f"{heading}:"]).append(line)
        return True

    def note(self, heading: str, line: str) -> None:
        """Take a line below the last one of its group, if it fits."""
        if self._take(len(line) + 1):
            self._groups[heading].append(line)

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(line for lines in self._groups.values() for line in lines)

    def _take(self, size: int) -> bool:
        if size > self._room:
            return False
        self._room -= size
        return True


def _line(hit: Hit) -> str:
    """Return what was found on a line, with its date and what it is."""
    kind = hit.kind if hit.memory is None else hit.memory.kind
    title = f"{hit.memory.title}: " if hit.memory is not None and hit.memory.title else ""
    text = joined_lines(hit.text) if hit.kind == PASSAGE else title + hit.text
    line = f"{_date(hit.time)} · {kind} · {shorten(text, _LONGEST)}"
    if hit.fact is None:
        return line
    since, end = _date(hit.fact.valid_from), hit.fact.valid_to
    return f"{line} (since {since})" if end is None else f"{line} ({since} to {_date(end)})"


def _notes(hit: Hit, around: Around) -> Iterator[str]:
    """Yield what became of a hit, and where it comes from."""
    if hit.id in around.newer:
        yield f"  superseded by {around.newer[hit.id]}"
    for source in hit.provenance:
        if isinstance(source, TranscriptRef):
            said = around.said_at.get(source.transcript_id)
            when = "" if said is None else f", said at {str(said)[:16]}"
            yield f"  from transcript {source.transcript_id}{when}"
        elif isinstance(source, MemoryRef):
            yield f"  from memory {source.memory_id}"


def around(reader: Reader, question: Question, hits: Sequence[Hit]) -> Around:
    """Return when the transcripts were said that hits come from, and what superseded them."""
    sources = (source for hit in hits for source in hit.provenance)
    said = {each.transcript_id for each in sources if isinstance(each, TranscriptRef)}
    known = transcripts.find(reader, said, question.commit, within=question.namespaces)
    replaced = {hit.id for hit in hits if hit.kind == MEMORY and hit.parts["superseded"] < 1}
    newer = superseders(reader, question, replaced, content=True)
    return Around(
        {each.id: to_datetime(each.instant) for each in known.values()},
        {old: _told(reader, question, new) for old, new in newer.items()},
    )


def _told(reader: Reader, question: Question, newer: Standing) -> str:
    """Return in a few words what superseded something; its id alone, if it is not shown itself."""
    over = newer.expired(question.now) and not question.asked.expired
    if newer.forgotten or newer.retracted or over:
        return newer.memory_id
    said = shorten(standing.text_of(reader, newer), _LONGEST_NOTE)
    return f"{newer.memory_id}: {_date(to_datetime(time_of(newer)))} · {said}"


def shorten(text: str, most: int) -> str:
    """Return a text on one line, cut behind a word if it is too long."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[: most - 2]
    return f"{cut.rpartition(' ')[0] or cut} …"


def _date(moment: datetime | None) -> str:
    return "undated" if moment is None else str(moment)[:10]
