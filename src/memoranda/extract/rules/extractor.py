"""The rule-based extractor: a few kinds of plain English sentences, without a model.

The rules prefer precision to recall. They skip sentences that they do not understand, as well as
questions, hypotheses, quotations and hearsay. The transcript keeps the text in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from memoranda.extract.protocol import (
    SINGLE_VALUED,
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Message,
)
from memoranda.extract.rules.statements import read_message

_MACHINE_ROLES = frozenset(
    {"assistant", "system", "tool", "function", "developer", "bot", "ai", "model"}
)
"""Speakers whose messages are skipped: what a machine says of itself is not a fact."""


class RuleExtractor:
    """Extracts the relations is, works at, lives in, reports to, likes and prefers, with dates.

    Statements in the first person are about the speaker. Dates are relative to the time of the
    message. Sentences that state such a fact, or that have a date, become memories.
    """

    name = "rules/1"
    """The version is part of the name: other rules extract a transcript again."""
    single_valued = SINGLE_VALUED

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        """Return what the messages state."""
        memories: dict[str, ExtractedMemory] = {}
        facts = _Facts()
        people = {message.speaker.casefold() for message in messages} - {""}
        for message in messages:
            if _MACHINE_ROLES & {message.speaker.casefold(), message.role.casefold()}:
                continue
            for memory, sentence_facts in read_message(message, message.at or occurred_at, people):
                earlier = memories.get(memory.content)
                memories[memory.content] = _cite_both(earlier, memory) if earlier else memory
                facts.add(sentence_facts)
        return Extraction(memories=tuple(memories.values()), facts=tuple(facts.all))


class _Facts:
    """Facts in the order of their sentences. A repetition adds a span to the earlier fact.

    It is a repetition only if it equals the last sentence about the same subjects and relations.
    After `lives in Oslo`, `lives in Rome`, a second `lives in Oslo` is a new fact.
    """

    def __init__(self) -> None:
        self.all: list[ExtractedFact] = []
        self._last: dict[tuple[str, str], tuple[list[ExtractedFact], int]] = {}
        """The last sentence's facts about a subject and relation, without spans, and the index of
        its first fact in `all`."""

    def add(self, facts: list[ExtractedFact]) -> None:
        """Add the facts of one sentence."""
        without_spans = [replace(fact, spans=()) for fact in facts]
        topics = {(fact.subject, fact.relation) for fact in facts}
        last = [self._last.get(topic, ([], 0)) for topic in topics]
        if facts and all(last_facts == without_spans for last_facts, _ in last):
            for index, fact in enumerate(facts, start=last[0][1]):
                earlier = self.all[index]
                self.all[index] = replace(earlier, spans=earlier.spans + fact.spans)
            return
        self._last.update((topic, (without_spans, len(self.all))) for topic in topics)
        self.all += facts


def _cite_both(earlier: ExtractedMemory, repetition: ExtractedMemory) -> ExtractedMemory:
    """Return a memory that was stated twice, with the spans of both."""
    return replace(earlier, spans=earlier.spans + repetition.spans)
