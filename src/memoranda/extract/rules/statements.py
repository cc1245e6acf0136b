"""Read messages by rules: the facts that their clauses state, and the memories made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum

import msgspec

from memoranda.extract.protocol import (
    IS,
    LIKES,
    LIVES_IN,
    PREFERS,
    REPORTS_TO,
    WORKS_AT,
    ExtractedFact,
    ExtractedMemory,
    Message,
)
from memoranda.extract.rules.clauses import (
    Clause,
    is_about_people,
    parse_kind,
    parse_name,
    parse_thing,
    split_clauses,
)
from memoranda.extract.rules.dates import DateMention, DateRelation, find_dates
from memoranda.extract.rules.sentences import Mood, mood_of, split_sentences
from memoranda.model.memory import Span, replace_line_breaks, speaker_label

_ADVERBS = (
    r"(?:(?:also|still|now|currently|just|recently|really|always|actually|already|both|truly|so"
    r"|absolutely|definitely|only|mostly|usually|generally|then|officially|finally|very much)\s+)*"
)
_NEGATED = re.compile(r"\b(?:not|never|no|nobody|none|neither|nor|hardly|without)\b|n't\b", re.I)
_NO_MORE = re.compile(r"\s*\b(?:any ?more|any longer)\b", re.IGNORECASE)
_OVER = re.compile(r"\s(?:over|to|rather than|instead of|than)\s", re.IGNORECASE)
_MOVE_PATTERN = re.compile(
    rf"(?:(?:have|has)\s+)?{_ADVERBS}(?:moved|relocated)\s+(?:back\s+|over\s+|out\s+)?",
    re.IGNORECASE,
)
_DEPARTURE_PATTERN = re.compile(
    rf"(?:(?:have|has)\s+)?{_ADVERBS}(?:left|quit)\s+(?:(?:my|his|her|their|the) job at\s+)?", re.I
)
_AFTER_DEPARTURE = re.compile(r"(?: for good)?[ .!…]*$", re.IGNORECASE)
_DAY = timedelta(days=1)
"""Dates up to a day after the message count as past: the message may be in another time zone."""


class Tense(Enum):
    """The tense of a verb: how its fact relates to the time of the message."""

    PRESENT = "present"
    START = "start"
    PERFECT = "perfect"
    """It holds since a date, which must be given: `have worked at` alone may be long over."""
    PAST = "past"
    END = "end"


class FactCandidate(msgspec.Struct, frozen=True):
    """A fact that a clause states about its subject."""

    relation: str
    object: str | None
    valid_from: datetime
    """The start, or with `ends` the end."""
    valid_to: datetime | None = None
    ends: bool = False


class _Verb(msgspec.Struct, frozen=True):
    """A verb in the first and the third person, and the parser of the words after it."""

    relation: str
    tense: Tense
    patterns: tuple[re.Pattern[str], re.Pattern[str]]
    """For `I work at` and for `Ann works at`."""
    parse_object: Callable[[str], str | None]


def _name(text: str) -> str | None:
    parsed_name = parse_name(text)
    return None if parsed_name is None else parsed_name[0]


def _preferred(text: str) -> str | None:
    """Return what is preferred. What it is preferred to is in the memory only."""
    infinitive = re.match(r"to\s", text) is not None
    over = _OVER.search(text, 3 if infinitive else 0)
    return parse_thing(text if over is None else text[: over.start()])


def _verb(
    relation: str,
    tense: Tense,
    first_person: str,
    third_person: str,
    parse_object: Callable[[str], str | None],
) -> _Verb:
    first, third = (
        re.compile(rf"{_ADVERBS}(?:{text})\s+", re.IGNORECASE)
        for text in (first_person, third_person)
    )
    return _Verb(relation, tense, (first, third), parse_object)


def _forms(
    base: str, third_person: str, gerund: str, particle: str
) -> Iterator[tuple[Tense, str, str]]:
    """Yield the forms of a verb for a fact that holds or ended, in the first and third person."""
    yield Tense.PRESENT, f"{base} {particle}", f"{third_person} {particle}"
    yield Tense.PRESENT, f"am {_ADVERBS}{gerund} {particle}", f"is {_ADVERBS}{gerund} {particle}"
    yield Tense.END, f"no longer {base} {particle}", f"no longer {third_person} {particle}"
    yield (
        Tense.END,
        f"am no longer {gerund} {particle}",
        f"is no longer {gerund} {particle}",
    )
    for form in (f"used to {base} {particle}", f"stopped {gerund} {particle}"):
        yield Tense.END, form, form


def _verbs() -> Iterator[_Verb]:
    """Yield every verb that the rules understand. The first that matches counts."""
    at = "(?:at|for)"
    for relation, base, third_person, gerund, particle in (
        (WORKS_AT, "work", "works", "working", at),
        (LIVES_IN, "live", "lives", "living", "in"),
        (REPORTS_TO, "report", "reports", "reporting", "to"),
    ):
        for tense, first, third in _forms(base, third_person, gerund, particle):
            yield _verb(relation, tense, first, third, _name)
    for past, gerund, relation, particle in (
        ("worked", "working", WORKS_AT, at),
        ("lived", "living", LIVES_IN, "in"),
        ("reported", "reporting", REPORTS_TO, "to"),
    ):
        lasted = f"(?:{past}|been {gerund}) {particle}"
        yield _verb(relation, Tense.PERFECT, f"have {lasted}", f"has {lasted}", _name)
        yield _verb(relation, Tense.PAST, f"{past} {particle}", f"{past} {particle}", _name)
    began = f"started (?:working |a (?:new )?job )?{at}"
    yield _verb(WORKS_AT, Tense.START, began, began, _name)
    yield _verb(LIVES_IN, Tense.PRESENT, "am (?:now )?based in", "is (?:now )?based in", _name)
    yield from _tastes()


def _tastes() -> Iterator[_Verb]:
    for relation, base, third_person, gerund, parse_object in (
        (
            LIKES,
            "(?:like|love|enjoy|adore)",
            "(?:likes|loves|enjoys|adores)",
            "liking",
            parse_thing,
        ),
        (PREFERS, "prefer", "prefers", "preferring", _preferred),
    ):
        yield _verb(relation, Tense.PRESENT, base, third_person, parse_object)
        yield _verb(
            relation, Tense.END, f"no longer {base}", f"no longer {third_person}", parse_object
        )
        former = f"used to {base}|stopped {gerund}"
        yield _verb(relation, Tense.END, former, former, parse_object)
    article = "(?:an?|the)"
    yield _verb(IS, Tense.PRESENT, f"am {_ADVERBS}{article}", f"is {_ADVERBS}{article}", parse_kind)
    no_longer = f"no longer {article}"
    yield _verb(IS, Tense.END, f"am {no_longer}", f"is {no_longer}", parse_kind)


_VERBS = tuple(_verbs())
_DENIED = re.compile(r"(?:do|does)(?: not|n't)\s+", re.IGNORECASE)


def fact_candidates(clause: Clause, at: datetime) -> list[FactCandidate]:
    """Return the facts that a clause of a message with this time states; none if it is not clear.

    1. `moved from A to B`, `left A`: one or two changes.
    2. `do not live in A any more`: the end of a fact.
    3. A verb of the list, in the person of the subject.
    """
    changes = _parse_move(clause, at) or _parse_departure(clause, at)
    if changes:
        return changes
    if (denial := _rewrite_denial(clause)) is not None:
        candidates = _match_verb(denial, at, first_person=True)
        return [candidate for candidate in candidates if candidate.ends]
    return _match_verb(clause, at, first_person=clause.first_person)


def _rewrite_denial(clause: Clause) -> Clause | None:
    """Return `do not … any more` as `no longer …`, with the verb in its base form."""
    predicate = clause.predicate
    denial, no_more = _DENIED.match(predicate), _NO_MORE.search(predicate)
    if denial is None or no_more is None:
        return None
    words = f"{predicate[denial.end() : no_more.start()]}{predicate[no_more.end() :]}"
    return msgspec.structs.replace(clause, predicate=f"no longer {words}")


def _match_verb(clause: Clause, at: datetime, *, first_person: bool) -> list[FactCandidate]:
    for verb in _VERBS:
        match = verb.patterns[0 if first_person else 1].match(clause.predicate)
        if match is None:
            continue
        complement = clause.predicate[match.end() :]
        object_ = None if _NEGATED.search(complement) else verb.parse_object(complement)
        candidate = None if object_ is None else _with_times(verb, object_, clause.dates, at)
        return [] if candidate is None else [candidate]
    return []


def _with_times(
    verb: _Verb, object_: str, dates: Sequence[DateMention], at: datetime
) -> FactCandidate | None:
    """Return a fact with its valid time, from the tense of the verb and the date of the clause.

    None if the clause has several dates, is about the future, or lacks the date its tense needs.
    """
    if len(dates) > 1:
        return None
    date = dates[0] if dates else None
    on = at if date is None else date.valid_from
    is_range = date is not None and date.relation is DateRelation.RANGE
    since = date is not None and date.relation is DateRelation.SINCE
    until = date is not None and date.relation is DateRelation.UNTIL
    if on > at + _DAY and not until:
        return None
    if verb.tense is Tense.END:
        return FactCandidate(verb.relation, object_, on, ends=True)
    if is_range and date is not None:
        return FactCandidate(verb.relation, object_, on, date.valid_to)
    if verb.tense is Tense.PAST:
        return FactCandidate(verb.relation, object_, on, ends=True) if until else None
    if verb.tense is Tense.PERFECT and not since:
        return None
    if until:
        return FactCandidate(verb.relation, object_, at, on) if on > at else None
    starts_on_date = since or verb.tense is Tense.START
    return FactCandidate(verb.relation, object_, on if starts_on_date else at)


def _parse_move(clause: Clause, at: datetime) -> list[FactCandidate]:
    """Read `moved from A to B`: the old home ends, whichever it is, and the new one starts."""
    match = _MOVE_PATTERN.match(clause.predicate)
    if match is None or _NEGATED.search(clause.predicate):
        return []
    on = _event_time(clause.dates, at)
    text = clause.predicate[match.end() :]
    old = None
    if origin := re.match(r"(?:from|of)\s+", text):
        old = parse_name(text[origin.end() :])
        if old is None:
            return []
        text = old[1].lstrip()
    destination = re.match(r"to\s+", text)
    new = parse_name(text[destination.end() :]) if destination else None
    if on is None or (new is None and (destination or old is None)):
        return []
    end = FactCandidate(LIVES_IN, old[0] if old else None, on, ends=True)
    return [end] if new is None else [end, FactCandidate(LIVES_IN, new[0], on)]


def _parse_departure(clause: Clause, at: datetime) -> list[FactCandidate]:
    """Read `left A`, a company or a city: end both relations, of which one holds at most.

    With `today`, it is rather the start of a trip, and is skipped.
    """
    match = _DEPARTURE_PATTERN.match(clause.predicate)
    if match is None or any(date.vague for date in clause.dates):
        return []
    name, on = parse_name(clause.predicate[match.end() :]), _event_time(clause.dates, at)
    if name is None or on is None or not _AFTER_DEPARTURE.match(name[1]):
        return []
    is_job = "job at" in match.group() or "quit" in match.group()
    relations = (WORKS_AT,) if is_job else (WORKS_AT, LIVES_IN)
    return [FactCandidate(relation, name[0], on, ends=True) for relation in relations]


def _event_time(dates: Sequence[DateMention], at: datetime) -> datetime | None:
    """Return the time of an event without duration; None: it is not clear."""
    if not dates:
        return at
    fits = len(dates) == 1 and dates[0].relation in (DateRelation.ON, DateRelation.SINCE)
    return dates[0].valid_from if fits and dates[0].valid_from <= at + _DAY else None


# Reading messages: which sentences state something, and what.

_CONFIDENCE, _DOUBTFUL_CONFIDENCE = 0.9, 0.5
"""The confidence of a plain statement, and of one with a word of doubt such as `maybe`."""
_MIN_DATED_WORDS = 4
"""A shorter sentence with a date, such as `See you Monday`, is not worth a memory."""
_MAX_SENTENCE_CHARS = 1_000
"""A longer sentence is not a plain statement; it also bounds the time that patterns take."""
_TAGS = {
    WORKS_AT: "work",
    REPORTS_TO: "work",
    LIVES_IN: "home",
    LIKES: "preference",
    PREFERS: "preference",
    IS: "person",
}


def read_message(
    message: Message, at: datetime, people: set[str]
) -> Iterator[tuple[ExtractedMemory, list[ExtractedFact]]]:
    """Yield the memory and the facts of each sentence that states something.

    `people` are the names of the speakers, in folded case.
    """
    for sentence in split_sentences(message.text):
        mood = mood_of(sentence.text.replace("\u2019", "'"))
        if sentence.has_quotation or not mood.is_statement:
            continue
        if len(sentence.text) > _MAX_SENTENCE_CHARS:
            continue
        dates = find_dates(mood.text, at, in_future=mood.is_plan)
        span = message.span[0] + sentence.start, message.span[0] + sentence.end
        confidence = _DOUBTFUL_CONFIDENCE if mood.is_doubtful else _CONFIDENCE
        facts: list[ExtractedFact] = []
        if not mood.is_plan:
            candidates = _stated_facts(mood, dates, message, at, people)
            facts = [
                _fact(subject, candidate, confidence, span) for subject, candidate in candidates
            ]
        if facts or _is_dated(mood.text, dates):
            yield _memory(message.speaker, sentence.text, mood, dates, facts, at, span), facts


def _stated_facts(
    mood: Mood, dates: Sequence[DateMention], message: Message, at: datetime, people: set[str]
) -> Iterator[tuple[str, FactCandidate]]:
    """Yield the subjects and facts of a sentence.

    An uncertain subject may be any capitalized word: `is` needs a person. A clause without a
    subject counts only after one that stated a fact: `and love everywhere` has no verb.
    """
    previous: Sequence[FactCandidate] = ()
    for clause in split_clauses(mood.text, dates, message.speaker):
        is_person = clause.sure or clause.subject.casefold() in people
        candidates = fact_candidates(clause, at)
        if clause.elided and not previous:
            candidates = []
        previous = [candidate for candidate in candidates if is_person or candidate.relation != IS]
        yield from ((clause.subject, candidate) for candidate in previous)


def _is_dated(text: str, dates: Sequence[DateMention]) -> bool:
    """Say whether a sentence is worth a memory for its date."""
    return (
        any(not date.vague for date in dates)
        and len(text.split()) >= _MIN_DATED_WORDS
        and is_about_people(text)
    )


def _fact(subject: str, candidate: FactCandidate, confidence: float, span: Span) -> ExtractedFact:
    return ExtractedFact(
        subject=subject,
        relation=candidate.relation,
        object=candidate.object,
        valid_from=candidate.valid_from,
        valid_to=candidate.valid_to,
        ends=candidate.ends,
        confidence=confidence,
        spans=(span,),
    )


def _memory(
    speaker: str,
    sentence: str,
    mood: Mood,
    dates: Sequence[DateMention],
    facts: Sequence[ExtractedFact],
    at: datetime,
    span: Span,
) -> ExtractedMemory:
    text = replace_line_breaks(sentence)
    kind = "claim" if mood.is_doubtful else "observation" if facts else "event"
    return ExtractedMemory(
        content=f"{speaker_label(speaker)}: {text}" if speaker else text,
        kind=kind,
        tags=tuple(sorted({_TAGS[fact.relation] for fact in facts})),
        confidence=_DOUBTFUL_CONFIDENCE if mood.is_doubtful else _CONFIDENCE,
        event_time=dates[0].valid_from if dates else at,
        spans=(span,),
    )
