"""Clauses: the parts of a sentence that each say something of somebody, at some time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from memoranda.extract.dates import Dated
from memoranda.extract.names import name_at

_MARK = 0xE000
"""A date is taken out of the text and leaves one character for private use in its place."""
_MARKS = re.compile("[\ue000-\uf8ff]")
_SPLIT = re.compile(
    r"\s*[;,:]\s+(?:and|but|so|then|also)?\s*|\s+(?:and then|and|but|so|then)\s+|\s+-\s+|\u2014"
)
_LEADS = re.compile(
    r"^(?:(?:and|but|so|then|also|well|oh|yes|yeah|yep|no|nope|hi|hey|hello|ok|okay|actually|btw"
    r"|by the way|anyway|fyi|currently|now|nowadays|these days|right now|today|at the moment"
    r"|good news|update|recently|honestly|sure|thanks|cool|great|nice|wow|also)\b[,:!]?\s+)+",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"[Ii](?:'(?P<short>m|ve))?\s+")
_KIN = re.compile(
    r"[Mm]y (?:(?:little|big|older|younger|best|old|new|good|twin|eldest|youngest|late)\s)?"
    r"(?:sister|brother|mother|father|mum|mom|dad|wife|husband|partner|girlfriend|boyfriend|son|daughter|friend"
    r"|cousin|aunt|uncle|colleague|coworker|co-worker|boss|manager|neighbou?r|roommate|flatmate"
    r"|teammate|fianc[eé]e?|grandmother|grandfather|niece|nephew)\s+"
)
_SUPERIOR = re.compile(
    r"[Mm]y (?:new |current )?(?:line )?(?:boss|manager|supervisor)\s+is\s+(?:now\s+)?"
)
_EXPANDED = {"m": "am ", "ve": "have "}


class Clause(msgspec.Struct, frozen=True):
    """What is said of somebody."""

    subject: str
    first_person: bool
    """Whether the verb goes with `I`, not with a name."""
    said: str
    """The verb and all behind it, without dates."""
    dates: tuple[Dated, ...]
    sure: bool = True
    """Whether the subject is surely somebody: a capital alone may only begin a sentence."""
    elided: bool = False
    """Whether the subject is that of the clause before, as in `and live in Oslo`."""


def clauses(text: str, found: Sequence[Dated], speaker: str) -> Iterator[Clause]:
    """Yield the clauses of a sentence whose subject is clear: who speaks, or a name."""
    before: Clause | None = None
    for part in _parts(_marked(text, found)):
        words = _MARKS.sub(" ", part)
        own = tuple(found[ord(mark) - _MARK] for mark in _MARKS.findall(part))
        before = _clause(" ".join(words.split()), own, speaker, before)
        if before is not None:
            yield before


def begins_with_somebody(text: str) -> bool:
    """Say whether a sentence is about people: about who speaks, those with them, or a name."""
    words = _LEADS.sub("", text, count=1)
    return bool(
        re.match(r"(?:I|We|we|My|Our)\b", words) or _KIN.match(words) or name_at(words, most=3)
    )


def _marked(text: str, found: Sequence[Dated]) -> str:
    if _MARKS.search(text) or len(found) > 0xF8FF - _MARK:
        return ""  # whoever writes so is not understood
    pieces, place = [], 0
    for number, each in enumerate(found):
        pieces += [text[place : each.start], chr(_MARK + number)]
        place = each.end
    return "".join((*pieces, text[place:]))


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between commas and conjunctions; a date alone belongs to its neighbour."""
    kept = ""
    done: list[str] = []
    for part in _SPLIT.split(text):
        if _MARKS.sub("", part).strip(" .!,"):
            done.append(f"{kept} {part}".strip())
            kept = ""
        else:
            kept += part
    if kept and done:
        done[-1] += f" {kept}"
    yield from done


def _clause(
    words: str, dates: tuple[Dated, ...], speaker: str, before: Clause | None
) -> Clause | None:
    words = _LEADS.sub("", words, count=1)
    if superior := _SUPERIOR.match(words):
        return _of_speaker(speaker, f"report to {words[superior.end() :]}", dates)
    if first := _FIRST_PERSON.match(words):
        verb = _EXPANDED.get(first["short"] or "", "")
        return _of_speaker(speaker, verb + words[first.end() :], dates)
    kin = _KIN.match(words)
    named = name_at(words[kin.end() :] if kin else words, most=3)
    if named is not None and named[1][:1] == " ":
        sure = kin is not None or " " in named[0]
        return Clause(named[0], False, named[1].strip(), dates, sure)
    if before is not None and words[:1].islower():  # and works at …
        return Clause(before.subject, before.first_person, words, dates, before.sure, True)
    return None


def _of_speaker(speaker: str, said: str, dates: tuple[Dated, ...]) -> Clause | None:
    return Clause(speaker, True, said, dates) if speaker else None
