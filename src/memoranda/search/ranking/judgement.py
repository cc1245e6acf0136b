"""Judge candidates by their texts and their time, whether they could be an answer at all.

The searches find texts with the words and the meaning of a query. Many of them do not answer it: a
greeting beside the answer, an earlier question, a message of another speaker, an event of another
year. Each rule here gives a factor of at most 1, and none excludes a candidate.

The candidates are judged as one pool, whose size does not depend on the number of hits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from math import log
from typing import Final

from memoranda.graph.records import Fact
from memoranda.model.clock import to_micros
from memoranda.model.intervals import OPEN_END
from memoranda.search.index.partitions import FACT
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.question import Anchor, Question, TimeWindow

INFORMATION_HALF: Final = 1.0
"""Rare terms at which a text has half of the possible information."""
MIN_TEXTS: Final = 32
"""Texts among which a term can be common; of fewer, none is."""
QUESTION_COST: Final = 0.4
"""Share of its score that a text loses if it is nothing but a question."""
OTHER_SPEAKER: Final = 0.9
"""Factor of a message that another person than the named one said: it may still be about that
person."""
OTHER_ROLE: Final = 0.6
"""Factor of a message of the other side of a chat, where one side's words are asked for."""
REPORTED_FACTOR: Final = 0.9
"""Factor of a message from the days after the requested time: it is likely about that time."""
OUTSIDE_WINDOW: Final = 0.5
"""Factor of a time that the question excludes: events are also told long after."""
WRONG_SIDE: Final = 0.8
"""Factor of something before an event, where the question asks for something after it."""
WRONG_END: Final = 0.8
"""Factor of the oldest candidate where the newest is asked for, and of the newest where the oldest
is."""
MIN_ANCHOR_SHARE: Final = 0.66
"""Share of the terms of an event that a text must have to be about that event."""
_SENTENCE = re.compile(r"[^.!?…。！？؟]+[.!?…。！？؟]*")  # noqa: RUF001
_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")
_NO_TERMS: Final[frozenset[str]] = frozenset()
_MAX_CHARACTERS: Final = 4_000
"""Characters of a text that are judged."""


def judge(candidates: Sequence[Candidate], question: Question) -> None:
    """Set the factors of each candidate; those that depend on it alone are set."""
    event = None if question.anchor is None else _find_event(candidates, question.anchor)
    _weigh_information(candidates, question.terms)
    if question.asks:
        _weigh_statements(candidates)
    _weigh_speakers(candidates, question)
    if question.window is not None:
        _weigh_window(candidates, question.window)
    if question.anchor is not None:
        _weigh_anchor(candidates, question.anchor, event)
    elif question.wants_newest or question.wants_oldest:
        _weigh_order(candidates, newest=question.wants_newest)


# Information: a text of few and common words says little, whatever stands around it.


def _weigh_information(candidates: Sequence[Candidate], query_terms: frozenset[str]) -> None:
    """Weigh texts by their rare terms; how rare a term is, the candidates themselves say.

    So no document frequency is looked up, and phrases that every speaker repeats count little. Many
    candidates were found by a term of the query, so such terms count as rare; a text with all of
    them is no chatter, however short. A fact says something by its form, and a long text has many
    terms.
    """
    texts = [candidate for candidate in candidates if _is_judged(candidate)]
    terms_of = [candidate.own_terms_among(query_terms) for candidate in texts]
    occurring = _NO_TERMS.union(*terms_of)
    # With all of these a text has full information, whatever its other terms: they are not counted
    # where each text has them, as mostly after a query of one term.
    incomplete = [
        (candidate, terms)
        for candidate, terms in zip(texts, terms_of, strict=True)
        if not occurring or terms != occurring
    ]
    if not incomplete:
        return
    counts = Counter(chain.from_iterable(candidate.own_terms for candidate in texts))
    total = max(len(texts), MIN_TEXTS)
    by_count = {  # few counts, and very many terms
        count: log(1 + (total - count + 0.5) / (count + 0.5)) / log(1 + total)
        for count in set(counts.values())
    }
    rarity = {
        term: 1.0 if term in query_terms else by_count[count] for term, count in counts.items()
    }
    for candidate, terms in incomplete:
        mass = sum(map(rarity.__getitem__, candidate.own_terms))
        coverage = len(terms) / max(len(occurring), 1)
        candidate.parts.information = max(mass / (mass + INFORMATION_HALF), coverage)


def _is_judged(candidate: Candidate) -> bool:
    return candidate.kind != FACT and not candidate.is_long


# Statements: a question does not answer another one.


def _weigh_statements(candidates: Sequence[Candidate]) -> None:
    for candidate in candidates:
        if _is_judged(candidate):
            text = candidate.text[len(candidate.label) : _MAX_CHARACTERS]
            candidate.parts.statement = 1 - QUESTION_COST * question_share(text)


def question_share(text: str) -> float:
    """Return the share of a text that is in questions."""
    size = question_size = 0
    for sentence in _SENTENCE.findall(text):
        length = len(sentence.strip())
        size += length
        question_size += length if sentence.rstrip().endswith(_QUESTION_MARKS) else 0
    return question_size / size if size else 0.0


# Speakers.


def _weigh_speakers(candidates: Sequence[Candidate], question: Question) -> None:
    """Prefer what the named person said, or the side of a chat that the question asks about."""
    quotes = [candidate for candidate in candidates if candidate.transcripts]
    labelled = [candidate for candidate in quotes if _is_judged(candidate) and candidate.label]
    if any(candidate.speaker_terms & question.terms for candidate in labelled):
        for candidate in labelled:
            if not candidate.speaker_terms & question.terms:
                candidate.parts.speaker = OTHER_SPEAKER
    if question.roles and any(candidate.speakers & question.roles for candidate in candidates):
        for candidate in candidates:
            if candidate.speakers and not candidate.speakers & question.roles:
                candidate.parts.speaker = OTHER_ROLE


# Time.


def _weigh_window(candidates: Sequence[Candidate], window: TimeWindow) -> None:
    """Prefer what happened in a window, or names it; nothing changes if nothing does."""
    factors = [_window_factor(candidate, window) for candidate in candidates]
    if max(factors, default=0.0) > OUTSIDE_WINDOW:
        for candidate, factor in zip(candidates, factors, strict=True):
            candidate.parts.date = factor


def _window_factor(candidate: Candidate, window: TimeWindow) -> float:
    record, end = candidate.record, candidate.time + 1
    if isinstance(record, Fact):
        end = OPEN_END if record.valid_to is None else to_micros("valid_to", record.valid_to)
    if window.overlaps(candidate.time, end) or _names(candidate, window):
        return 1.0
    reported_until = window.reported_until
    if window.end is not None and reported_until is not None:
        return REPORTED_FACTOR if window.end <= candidate.time < reported_until else OUTSIDE_WINDOW
    return OUTSIDE_WINDOW


def _names(candidate: Candidate, window: TimeWindow) -> bool:
    """Say whether a text names the date of a window."""
    return bool(window.terms) and not candidate.is_long and window.terms <= candidate.own_terms


def _find_event(candidates: Sequence[Candidate], anchor: Anchor) -> Candidate | None:
    """Return the best candidate about an event, before any is judged."""
    return max(
        (candidate for candidate in candidates if _is_about(candidate, anchor)),
        key=lambda candidate: candidate.parts.score(),
        default=None,
    )


def _weigh_anchor(candidates: Sequence[Candidate], anchor: Anchor, event: Candidate | None) -> None:
    """Prefer what was after an event, or before it."""
    if event is None:
        return
    for candidate in candidates:
        if candidate.time < event.time if anchor.later else candidate.time > event.time:
            candidate.parts.date = WRONG_SIDE


def _is_about(candidate: Candidate, anchor: Anchor) -> bool:
    if candidate.is_long:
        return False
    share = len(anchor.terms & candidate.own_terms) / len(anchor.terms)
    return share >= MIN_ANCHOR_SHARE


def _weigh_order(candidates: Sequence[Candidate], *, newest: bool) -> None:
    """Let factors fall evenly from the wanted end of time to the other. Facts hold now anyway."""
    dated = [candidate for candidate in candidates if candidate.kind != FACT]
    times = [candidate.time for candidate in dated]
    first, last = min(times, default=0), max(times, default=0)
    for candidate in dated if last > first else ():
        share = (candidate.time - first) / (last - first)
        candidate.parts.date = WRONG_END + (1 - WRONG_END) * (share if newest else 1 - share)
