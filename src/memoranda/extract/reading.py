"""Reading messages by rules: which sentences state something, what, and in which words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from memoranda.extract.clauses import begins_with_somebody, clauses
from memoranda.extract.dates import Dated, dates
from memoranda.extract.moods import Mood, mood_of
from memoranda.extract.protocol import ExtractedFact, ExtractedMemory, Message
from memoranda.extract.relations import IS, LIKES, LIVES_IN, PREFERS, REPORTS_TO, WORKS_AT
from memoranda.extract.sentences import sentences
from memoranda.extract.statements import Statement, statements
from memoranda.model.lines import speaker_label, unbroken
from memoranda.model.memory import Span

_SURE, _DOUBTED = 0.9, 0.5
_FEWEST_WORDS = 4
_LONGEST = 1_000
"""A sentence of more characters is no plain statement."""
_TAGS = {
    WORKS_AT: "work",
    REPORTS_TO: "work",
    LIVES_IN: "home",
    LIKES: "preference",
    PREFERS: "preference",
    IS: "person",
}


def read(
    message: Message, at: datetime, people: set[str]
) -> Iterator[tuple[ExtractedMemory, list[ExtractedFact]]]:
    """Yield what each sentence of a message gives, if anything."""
    for sentence in sentences(message.text):
        mood = mood_of(sentence.text.replace("\u2019", "'"))
        if sentence.quoted or not mood.stated or len(sentence.text) > _LONGEST:
            continue
        found = dates(mood.text, at, to_come=mood.planned)
        span = message.span[0] + sentence.first, message.span[0] + sentence.beyond
        confidence = _DOUBTED if mood.doubted else _SURE
        facts = [
            _fact(who, said, confidence, span)
            for who, said in ([] if mood.planned else _stated(mood, found, message, at, people))
        ]
        if facts or _is_dated(mood.text, found):
            yield _memory(message.speaker, sentence.text, mood, found, facts, at, span), facts


def _stated(
    mood: Mood, found: Sequence[Dated], message: Message, at: datetime, people: set[str]
) -> Iterator[tuple[str, Statement]]:
    before: Sequence[Statement] = ()
    for clause in clauses(mood.text, found, message.speaker):
        known = clause.sure or clause.subject.casefold() in people
        said = statements(clause, at)
        if clause.elided and not before:  # `and love everywhere` has no verb
            said = []
        before = [each for each in said if known or each.relation != IS]
        yield from ((clause.subject, each) for each in before)


def _is_dated(text: str, found: Sequence[Dated]) -> bool:
    """Say whether a sentence is worth keeping for its date."""
    return (
        any(not each.vague for each in found)
        and len(text.split()) >= _FEWEST_WORDS
        and begins_with_somebody(text)
    )


def _fact(who: str, said: Statement, confidence: float, span: Span) -> ExtractedFact:
    return ExtractedFact(
        subject=who,
        relation=said.relation,
        object=said.object,
        valid_from=said.begin,
        valid_to=said.end,
        ends=said.ends,
        confidence=confidence,
        spans=(span,),
    )


def _memory(
    speaker: str,
    words: str,
    mood: Mood,
    found: Sequence[Dated],
    facts: Sequence[ExtractedFact],
    at: datetime,
    span: Span,
) -> ExtractedMemory:
    said = unbroken(words)
    kind = "claim" if mood.doubted else "observation" if facts else "event"
    return ExtractedMemory(
        content=f"{speaker_label(speaker)}: {said}" if speaker else said,
        kind=kind,
        tags=tuple(sorted({_TAGS[fact.relation] for fact in facts})),
        confidence=_DOUBTED if mood.doubted else _SURE,
        event_time=found[0].first if found else at,
        spans=(span,),
    )
