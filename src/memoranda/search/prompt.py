"""Render hits as text for a prompt, within a budget.

Each hit is a line with its date; lines below it state its provenance and what superseded it. Hits
are grouped by kind, the best first; a line that does not fit is left out as a whole. Text that
people wrote is put on one line, so that nothing in it can imitate a line of this format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from memoranda.memory import snapshots, transcripts
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.model.clock import to_datetime
from memoranda.model.limits import check_integer
from memoranda.model.memory import join_lines
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.search.index.partitions import FACT, MEMORY, PASSAGE
from memoranda.search.query import SearchQuery
from memoranda.search.ranking.filters import content_time, superseding_memories
from memoranda.search.results import WITHDRAWN, Hit
from memoranda.storage.port import Reader

CHARACTERS_PER_TOKEN: Final = 4
"""Characters of one unit of the budget: about one token of a language model."""
MIN_BUDGET: Final = 16
"""Tokens: in less there is no room for a line."""
MAX_BUDGET: Final = 1_000_000
"""Tokens: more than models take."""
NO_HITS_TEXT: Final = "Nothing was found that fits."
_HEADINGS: Final = {FACT: "Facts", MEMORY: "Memories", PASSAGE: "Said in transcripts"}
_MAX_HIT_CHARACTERS: Final = 800
"""Characters at which the text of a hit is cut."""
_MAX_NOTE_CHARACTERS: Final = 160
"""Characters at which the text of a hit, or of its superseding memory, is cut."""


class HitNotes(msgspec.Struct, frozen=True):
    """Data about hits that their notes need."""

    transcript_times: Mapping[str, datetime]
    """When transcripts were said, by id."""
    superseded_by: Mapping[str, str]
    """The superseding memories as text, by the id of the superseded one."""


def check_budget(budget: object) -> int:
    """Return the budget if it is in range."""
    return check_integer("budget", budget, minimum=MIN_BUDGET, maximum=MAX_BUDGET)


def render(hits: Sequence[Hit], budget: int, notes: HitNotes) -> str:
    """Return the hits as text of at most `budget` times four characters."""
    page = _Page(budget * CHARACTERS_PER_TOKEN)
    for hit in hits:
        if page.add(_HEADINGS[hit.kind], _line(hit)):
            for note in _notes(hit, notes):
                page.add_note(_HEADINGS[hit.kind], note)
    return page.text() or NO_HITS_TEXT


class _Page:
    """Lines under headings, as far as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room + 1  # the last line has no newline
        self._groups: dict[str, list[str]] = {}

    def add(self, heading: str, line: str) -> bool:
        """Add a line if it fits, with its heading if that is new."""
        prefix = "" if heading in self._groups else f"{heading}:\n"
        if not self._take_room(len(prefix) + len(line) + 1):
            return False
        self._groups.setdefault(heading, [f"{heading}:"]).append(line)
        return True

    def add_note(self, heading: str, line: str) -> None:
        """Add a line below the last one of its group, if it fits."""
        if self._take_room(len(line) + 1):
            self._groups[heading].append(line)

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(line for lines in self._groups.values() for line in lines)

    def _take_room(self, size: int) -> bool:
        if size > self._room:
            return False
        self._room -= size
        return True


def _line(hit: Hit) -> str:
    """Return the line of a hit, with its date and kind."""
    kind = hit.kind if hit.memory is None else hit.memory.kind
    title = f"{hit.memory.title}: " if hit.memory is not None and hit.memory.title else ""
    text = join_lines(hit.text) if hit.kind == PASSAGE else title + hit.text
    line = f"{_date(hit.time)} · {kind} · {shorten(text, _MAX_HIT_CHARACTERS)}"
    if hit.fact is None:
        return line
    since, end = _date(hit.fact.valid_from), hit.fact.valid_to
    time = f"since {since}" if end is None else f"{since} to {_date(end)}"
    agent = hit.fact.agent_id
    owner = "shared by its agents" if agent is None else f"believed by {agent}"
    # Part of the line, which is shown as a whole or not at all: a note below might not fit.
    disputes = "".join(
        f"; disputed: {fact.agent_id} believes {shorten(str(fact.object), _MAX_NOTE_CHARACTERS)}"
        for fact in hit.conflicting
    )
    return f"{line} ({time}, {owner}{disputes})"


def _notes(hit: Hit, notes: HitNotes) -> Iterator[str]:
    """Yield the lines below a hit."""
    if hit.id in notes.superseded_by:
        yield f"  superseded by {notes.superseded_by[hit.id]}"
    elif hit.kind == PASSAGE and hit.parts["superseded"] < 1:
        yield f"  {WITHDRAWN}"
    for source in hit.provenance:
        if isinstance(source, TranscriptRef):
            time = notes.transcript_times.get(source.transcript_id)
            suffix = "" if time is None else f", said at {str(time)[:16]}"
            yield f"  from transcript {source.transcript_id}{suffix}"
        elif isinstance(source, MemoryRef):
            yield f"  from memory {source.memory_id}"


def load_notes(reader: Reader, query: SearchQuery, hits: Sequence[Hit]) -> HitNotes:
    """Return the times of the transcripts of hits, and what superseded them."""
    sources = (source for hit in hits for source in hit.provenance)
    transcript_ids = {ref.transcript_id for ref in sources if isinstance(ref, TranscriptRef)}
    infos = transcripts.find(reader, transcript_ids, query.commit, within=query.namespaces)
    superseded = {hit.id for hit in hits if hit.kind == MEMORY and hit.parts["superseded"] < 1}
    newer = superseding_memories(reader, query, superseded, content=True)
    return HitNotes(
        {info.id: to_datetime(info.instant) for info in infos.values()},
        {old: _describe(reader, query, memory) for old, memory in newer.items()},
    )


def _describe(reader: Reader, query: SearchQuery, memory: MemorySnapshot) -> str:
    """Describe a superseding memory; by its id alone if it may not be shown itself."""
    is_expired = memory.expired(query.now) and not query.request.include_expired
    if memory.forgotten or memory.retracted or is_expired:
        return memory.memory_id
    text = shorten(snapshots.text_of(reader, memory), _MAX_NOTE_CHARACTERS)
    return f"{memory.memory_id}: {_date(to_datetime(content_time(memory)))} · {text}"


def shorten(text: str, limit: int) -> str:
    """Return a text on one line, cut after a word if it is too long."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    prefix = line[: limit - 2]
    return f"{prefix.rpartition(' ')[0] or prefix} …"


def _date(moment: datetime | None) -> str:
    return "undated" if moment is None else str(moment)[:10]
