"""Statements: what a clause says that holds, began or ended, as facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum

import msgspec

from memoranda.extract.clauses import Clause
from memoranda.extract.dates import Dated, Relation
from memoranda.extract.names import name_at
from memoranda.extract.phrases import kind_at, thing_at
from memoranda.extract.relations import IS, LIKES, LIVES_IN, PREFERS, REPORTS_TO, WORKS_AT

_ADVERBS = (
    r"(?:(?:also|still|now|currently|just|recently|really|always|actually|already|both|truly|so"
    r"|absolutely|definitely|only|mostly|usually|generally|then|officially|finally|very much)\s+)*"
)
_NEGATED = re.compile(r"\b(?:not|never|no|nobody|none|neither|nor|hardly|without)\b|n't\b", re.I)
_NO_MORE = re.compile(r"\s*\b(?:any ?more|any longer)\b", re.IGNORECASE)
_OVER = re.compile(r"\s(?:over|to|rather than|instead of|than)\s", re.IGNORECASE)
_MOVED = re.compile(
    rf"(?:(?:have|has)\s+)?{_ADVERBS}(?:moved|relocated)\s+(?:back\s+|over\s+|out\s+)?",
    re.IGNORECASE,
)
_LEFT = re.compile(
    rf"(?:(?:have|has)\s+)?{_ADVERBS}(?:left|quit)\s+(?:(?:my|his|her|their|the) job at\s+)?", re.I
)
_AFTER_LEFT = re.compile(r"(?: for good)?[ .!…]*$", re.IGNORECASE)
_DAY = timedelta(days=1)


class Tense(Enum):
    """How what a verb says relates to when it is said."""

    HOLDS = "holds"
    BEGAN = "began"
    LASTED = "lasted"
    """It holds since some time, which must be said: `have worked at` alone may be long over."""
    WAS = "was"
    ENDED = "ended"


class Statement(msgspec.Struct, frozen=True):
    """What a clause says of its subject."""

    relation: str
    object: str | None
    begin: datetime
    end: datetime | None = None
    ends: bool = False


class _Verb(msgspec.Struct, frozen=True):
    """A verb, as `I` and as others say it, and how what stands behind it is read."""

    relation: str
    tense: Tense
    pattern: tuple[re.Pattern[str], re.Pattern[str]]
    read: Callable[[str], str | None]


def _name(text: str) -> str | None:
    found = name_at(text)
    return None if found is None else found[0]


def _preferred(text: str) -> str | None:
    """Read what is preferred; what it is preferred to, the memory says."""
    infinitive = re.match(r"to\s", text) is not None
    over = _OVER.search(text, 3 if infinitive else 0)
    return thing_at(text if over is None else text[: over.start()])


def _verb(
    relation: str, tense: Tense, mine: str, others: str, read: Callable[[str], str | None]
) -> _Verb:
    both = [re.compile(rf"{_ADVERBS}(?:{text})\s+", re.IGNORECASE) for text in (mine, others)]
    return _Verb(relation, tense, (both[0], both[1]), read)


def _forms(base: str, others: str, gerund: str, particle: str) -> Iterator[tuple[Tense, str, str]]:
    """Yield the forms of a verb that say that something holds or ended: mine, then others'."""
    yield Tense.HOLDS, f"{base} {particle}", f"{others} {particle}"
    yield Tense.HOLDS, f"am {_ADVERBS}{gerund} {particle}", f"is {_ADVERBS}{gerund} {particle}"
    yield Tense.ENDED, f"no longer {base} {particle}", f"no longer {others} {particle}"
    yield (
        Tense.ENDED,
        f"am no longer {gerund} {particle}",
        f"is no longer {gerund} {particle}",
    )
    for said in (f"used to {base} {particle}", f"stopped {gerund} {particle}"):
        yield Tense.ENDED, said, said


def _verbs() -> Iterator[_Verb]:
    """Yield every verb that is understood."""
    at = "(?:at|for)"
    for relation, base, others, gerund, particle in (
        (WORKS_AT, "work", "works", "working", at),
        (LIVES_IN, "live", "lives", "living", "in"),
        (REPORTS_TO, "report", "reports", "reporting", "to"),
    ):
        for tense, mine, theirs in _forms(base, others, gerund, particle):
            yield _verb(relation, tense, mine, theirs, _name)
    for past, gerund, relation, particle in (
        ("worked", "working", WORKS_AT, at),
        ("lived", "living", LIVES_IN, "in"),
        ("reported", "reporting", REPORTS_TO, "to"),
    ):
        lasted = f"(?:{past}|been {gerund}) {particle}"
        yield _verb(relation, Tense.LASTED, f"have {lasted}", f"has {lasted}", _name)
        yield _verb(relation, Tense.WAS, f"{past} {particle}", f"{past} {particle}", _name)
    began = f"started (?:working |a (?:new )?job )?{at}"
    yield _verb(WORKS_AT, Tense.BEGAN, began, began, _name)
    yield _verb(LIVES_IN, Tense.HOLDS, "am (?:now )?based in", "is (?:now )?based in", _name)
    yield from _tastes()


def _tastes() -> Iterator[_Verb]:
    for relation, base, others, gerund, read in (
        (LIKES, "(?:like|love|enjoy|adore)", "(?:likes|loves|enjoys|adores)", "liking", thing_at),
        (PREFERS, "prefer", "prefers", "preferring", _preferred),
    ):
        yield _verb(relation, Tense.HOLDS, base, others, read)
        yield _verb(relation, Tense.ENDED, f"no longer {base}", f"no longer {others}", read)
        used = f"used to {base}|stopped {gerund}"
        yield _verb(relation, Tense.ENDED, used, used, read)
    article = "(?:an?|the)"
    yield _verb(IS, Tense.HOLDS, f"am {_ADVERBS}{article}", f"is {_ADVERBS}{article}", kind_at)
    gone = f"no longer {article}"
    yield _verb(IS, Tense.ENDED, f"am {gone}", f"is {gone}", kind_at)


_VERBS = tuple(_verbs())
_DENIED = re.compile(r"(?:do|does)(?: not|n't)\s+", re.IGNORECASE)


def statements(clause: Clause, at: datetime) -> list[Statement]:
    """Return what a clause says, at a time, that could be a fact; what is not clear, is not."""
    moved = _moved(clause, at) or _left(clause, at)
    if moved:
        return moved
    if (denied := _no_more(clause)) is not None:
        said = _said(denied, at, mine=True)
        return [each for each in said if each.ends]
    return _said(clause, at, mine=clause.first_person)


def _no_more(clause: Clause) -> Clause | None:
    """Return `do not … any more` as `no longer …`."""
    denied, more = _DENIED.match(clause.said), _NO_MORE.search(clause.said)
    if denied is None or more is None:
        return None
    said = f"no longer {clause.said[denied.end() : more.start()]}{clause.said[more.end() :]}"
    return msgspec.structs.replace(clause, said=said)


def _said(clause: Clause, at: datetime, *, mine: bool) -> list[Statement]:
    for verb in _VERBS:
        found = verb.pattern[0 if mine else 1].match(clause.said)
        if found is None:
            continue
        rest = clause.said[found.end() :]
        what = None if _NEGATED.search(rest) else verb.read(rest)
        made = None if what is None else _timed(verb, what, clause.dates, at)
        return [] if made is None else [made]
    return []


def _timed(verb: _Verb, what: str, dates: Sequence[Dated], at: datetime) -> Statement | None:
    """Return a statement with its times, if it has those it needs."""
    if len(dates) > 1:
        return None
    date = dates[0] if dates else None
    on = at if date is None else date.first
    span = date is not None and date.relation is Relation.RANGE
    since = date is not None and date.relation is Relation.SINCE
    until = date is not None and date.relation is Relation.UNTIL
    if on > at + _DAY and not until:
        return None
    if verb.tense is Tense.ENDED:
        return Statement(verb.relation, what, on, ends=True)
    if span and date is not None:
        return Statement(verb.relation, what, on, date.beyond)
    if verb.tense is Tense.WAS:
        return Statement(verb.relation, what, on, ends=True) if until else None
    if verb.tense is Tense.LASTED and not since:
        return None
    if until:
        return Statement(verb.relation, what, at, on) if on > at else None
    began = since or verb.tense is Tense.BEGAN
    return Statement(verb.relation, what, on if began else at)


def _moved(clause: Clause, at: datetime) -> list[Statement]:
    """Read `moved from A to B`: whatever was home is home no longer."""
    found = _MOVED.match(clause.said)
    if found is None or _NEGATED.search(clause.said):
        return []
    on = _once(clause.dates, at)
    rest = clause.said[found.end() :]
    old = None
    if away := re.match(r"(?:from|of)\s+", rest):
        old = name_at(rest[away.end() :])
        if old is None:
            return []
        rest = old[1].lstrip()
    home = re.match(r"to\s+", rest)
    new = name_at(rest[home.end() :]) if home else None
    if on is None or (new is None and (home or old is None)):
        return []
    ended = Statement(LIVES_IN, old[0] if old else None, on, ends=True)
    return [ended] if new is None else [ended, Statement(LIVES_IN, new[0], on)]


def _left(clause: Clause, at: datetime) -> list[Statement]:
    """Read `left A`: a company or a city, whichever of the two held; a trip ends otherwise."""
    found = _LEFT.match(clause.said)
    if found is None or any(each.vague for each in clause.dates):
        return []
    name, on = name_at(clause.said[found.end() :]), _once(clause.dates, at)
    if name is None or on is None or not _AFTER_LEFT.match(name[1]):
        return []
    both = (
        (WORKS_AT,)
        if "job at" in found.group() or "quit" in found.group()
        else (WORKS_AT, LIVES_IN)
    )
    return [Statement(relation, name[0], on, ends=True) for relation in both]


def _once(dates: Sequence[Dated], at: datetime) -> datetime | None:
    """Return when something happened that happens at once; None, if that is not clear."""
    if not dates:
        return at
    fits = len(dates) == 1 and dates[0].relation in (Relation.ON, Relation.SINCE)
    return dates[0].first if fits and dates[0].first <= at + _DAY else None
