"""An extractor that needs no model: it reads a few kinds of plain English sentences.

It is precise rather than greedy. What it does not understand, or what is asked, imagined, quoted or
reported, it leaves alone; the words are in the transcript all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from memoranda.extract.protocol import ExtractedFact, ExtractedMemory, Extraction, Message
from memoranda.extract.relations import SINGLE_VALUED

_MACHINES = frozenset(
    {"assistant", "system", "tool", "function", "developer", "bot", "ai", "model"}
)
"""Roles that do not speak of themselves."""


class RuleExtractor:
    """Reads who is what, works at, lives in, reports to, likes and prefers what, and when.

    What is said in the first person is about who speaks. Dates are read relative to when it was
    said. Memories are sentences that state such a thing, or that have a date.
    """

    name = "rules/1"
    """Another version reads otherwise, and extracts anew."""
    single_valued = SINGLE_VALUED
    """One home, one employer and one superior at a time."""

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        """Return what the messages state."""
        from memoranda.extract.reading import read  # its patterns take a while to be made

        memories: dict[str, ExtractedMemory] = {}
        facts = _Facts()
        people = {message.speaker.casefold() for message in messages} - {""}
        for message in messages:
            if message.speaker.casefold() in _MACHINES:
                continue
            for memory, said in read(message, message.at or occurred_at, people):
                known = memories.get(memory.content)
                memories[memory.content] = _joined(known, memory) if known else memory
                facts.add(said)
        return Extraction(memories=tuple(memories.values()), facts=tuple(facts.all))


class _Facts:
    """Facts in the order in which they were said; what is said again at once, only cites more."""

    def __init__(self) -> None:
        self.all: list[ExtractedFact] = []
        self._last: dict[tuple[str, str], tuple[list[ExtractedFact], int]] = {}

    def add(self, said: list[ExtractedFact]) -> None:
        """Take what a sentence says, unless it is the last word on it already."""
        bare = [replace(fact, spans=()) for fact in said]
        abouts = {(fact.subject, fact.relation) for fact in said}
        known = [self._last.get(about, ([], 0)) for about in abouts]
        if said and all(before == bare for before, _ in known):
            for place, fact in enumerate(said, start=known[0][1]):
                old = self.all[place]
                self.all[place] = replace(old, spans=old.spans + fact.spans)
            return
        self._last.update((about, (bare, len(self.all))) for about in abouts)
        self.all += said


def _joined(known: ExtractedMemory, again: ExtractedMemory) -> ExtractedMemory:
    """Return what was said twice as one memory, which cites both places."""
    return replace(known, spans=known.spans + again.spans)
