"""Split a sentence into clauses, and parse the names and phrases in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from memoranda.extract.rules.dates import DateMention

# Names of people, places and companies, which English writes with capitals.

_WORD = re.compile(r"[^\W_][\w&.'/-]*")
_JOINING = frozenset({"of", "de", "la", "le", "van", "von", "der", "den", "am", "upon", "&", "the"})
_MAX_NAME_WORDS = 5
"""The most words of a name, such as `Bank of New York Mellon`."""
_MAX_SUBJECT_WORDS = 3
"""The most words of a name that is the subject of a clause: a person."""
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        i you he she it we they me him her us them my your his our their its mine yours the a an
        this that these those there here what who where when why how which everyone everybody
        someone somebody nobody no one anyone anybody people and but so or also because since if as
        in on at for to from with after before during by of about yes yeah yep nope ok okay well oh
        hi hey hello thanks thank sorry please sure right great good nice cool wow lol btw fyi today
        tonight yesterday tomorrow now then later soon maybe perhaps not never always sometimes just
        only even both all some any most many few each every another other monday tuesday wednesday
        thursday friday saturday sunday january february march april may june july august september
        october november december mum mom dad work home however although though while still again
        god dear nothing something anything everything first last next
        """,
    )
)
"""Words that may start with a capital and are not names."""


def parse_name(text: str, *, max_words: int = _MAX_NAME_WORDS) -> tuple[str, str] | None:
    """Return the name that a text starts with, and the text after it; None: there is none.

    A name is a run of capitalized words. Words such as `of` may join them but do not end a name.
    """
    words: list[str] = []
    position, end = 0, 0
    while len(words) < max_words:
        match = _WORD.match(text, position)
        if match is None:
            break
        word = match.group().rstrip(".'/-")
        joins = word in _JOINING and bool(words)
        if not joins and not _is_capital(word):
            break
        words.append(word)
        if not joins:
            end = match.start() + len(word)
        if len(match.group()) > len(word) or text[match.end() : match.end() + 1] != " ":
            break
        position = match.end() + 1
    name = text[:end]
    if not name or name.split()[0].lower() in _NO_NAMES or _is_possessive(name, text[end:]):
        return None
    return name, text[end:]


def _is_capital(word: str) -> bool:
    return word[:1].isupper() or (word[:1].isdigit() and any(map(str.isupper, word)))


def _is_possessive(name: str, remaining: str) -> bool:
    """Say whether a name is a possessive, as in `Bob's house`. `McDonald's` alone is not."""
    return name.endswith(("'s", "s'")) and remaining[:1] == " " and remaining[1:2].islower()


# Noun phrases: what somebody likes, prefers or is.

_MAX_PHRASE_WORDS = 6
"""A longer phrase is mostly a clause, which the rules do not understand."""
_BOUNDARY = re.compile(
    r"[,;:()\u2014]|\s-\s|\b(?:because|but|when|while|so|since|as|though|although|too|a lot"
    r"|very much|so much|the most|most|best|now|these days|more|than|except|especially|and|or|who"
    r"|which|that|at the moment|right now|anyway|again|already)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:i|me|my|mine|you|your|yours|he|him|his|she|her|hers|it|its|we|us|our|ours|they|them|their"
    r"|this|that|these|those|what|how|who|where|here|there|someone|something|anything|everything"
    r"|nothing|one|ones|not|no|never|none|way|same|being)\b",
    re.IGNORECASE,
)
_VAGUE_KIND = re.compile(
    r"(?:bit|little|lot|few|couple|moment|mess|wreck|kind|sort|good idea|bad idea|shame|pity|joke"
    r"|fan|mix|huge|reason|problem|thing|case|point|first|last|next|best|worst|only|second|third|real"
    r"|total|big)\b",
    re.IGNORECASE,
)
_DETERMINED = re.compile(r"(?:the|a|an|some|any|all|both|every|each|most|many|few|more)\b", re.I)
_UNFINISHED = re.compile(
    r"\b(?:to|of|in|on|at|for|with|from|about|by|into|over|the|a|an|everywhere|together|doing)$",
    re.IGNORECASE,
)
_CAPITAL_THE = re.compile(r"[Tt]he [A-Z]")
_END = " .!…'\"\t\n"


def parse_thing(text: str) -> str | None:
    """Return the thing that a text starts with, such as what is liked; None: it is not clear."""
    phrase = _phrase(text)
    if phrase is None or (_DETERMINED.match(phrase) and not _CAPITAL_THE.match(phrase)):
        return None
    return phrase


def parse_kind(text: str) -> str | None:
    """Return what somebody is, such as a profession. The text starts after `a`, `an` or `the`."""
    phrase = _phrase(text)
    return None if phrase is None or _VAGUE_KIND.match(phrase) else phrase


def _phrase(text: str) -> str | None:
    boundary = _BOUNDARY.search(text)
    phrase = (text if boundary is None else text[: boundary.start()]).strip(_END)
    words = phrase.split()
    if not words or len(words) > _MAX_PHRASE_WORDS or _POINTING.search(phrase):
        return None
    if _UNFINISHED.search(phrase):
        return None
    return phrase if words[0][0].isalnum() else None


# Clauses: the parts of a sentence, each with a subject, a predicate and perhaps a date.

_MARK = 0xE000
"""The first Unicode private-use character. One stands for each date while clauses are split."""
_MARKS = re.compile("[\ue000-\uf8ff]")
_CLAUSE_SEPARATOR = re.compile(
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
    """A subject and its predicate."""

    subject: str
    first_person: bool
    """Whether the verb is in the first person: `I work`, not `Ann works`."""
    predicate: str
    """The verb and everything after it, without dates."""
    dates: tuple[DateMention, ...]
    sure: bool = True
    """Whether the subject is surely a person: one capitalized word may just start a sentence."""
    elided: bool = False
    """Whether the subject is taken from the clause before, as in `and live in Oslo`."""


def split_clauses(text: str, dates: Sequence[DateMention], speaker: str) -> Iterator[Clause]:
    """Yield the clauses of a sentence whose subject is clear: the speaker, or a name."""
    previous: Clause | None = None
    for part in _clause_texts(_mark_dates(text, dates)):
        words = _MARKS.sub(" ", part)
        own_dates = tuple(dates[ord(mark) - _MARK] for mark in _MARKS.findall(part))
        previous = _parse_clause(" ".join(words.split()), own_dates, speaker, previous)
        if previous is not None:
            yield previous


def is_about_people(text: str) -> bool:
    """Say whether a sentence is about people: the speaker, their relatives, or a name."""
    words = _LEADS.sub("", text, count=1)
    return bool(
        re.match(r"(?:I|We|we|My|Our)\b", words)
        or _KIN.match(words)
        or parse_name(words, max_words=_MAX_SUBJECT_WORDS)
    )


def _mark_dates(text: str, dates: Sequence[DateMention]) -> str:
    """Replace each date by its mark, so that no separator inside a date splits the sentence."""
    if _MARKS.search(text) or len(dates) > 0xF8FF - _MARK:
        return ""  # the text has marks of its own, or too many dates: skip it
    pieces, position = [], 0
    for number, date in enumerate(dates):
        pieces += [text[position : date.start], chr(_MARK + number)]
        position = date.end
    return "".join((*pieces, text[position:]))


def _clause_texts(text: str) -> Iterator[str]:
    """Yield the parts between commas and conjunctions; a date alone is joined to a neighbour."""
    pending = ""
    parts: list[str] = []
    for part in _CLAUSE_SEPARATOR.split(text):
        if _MARKS.sub("", part).strip(" .!,"):
            parts.append(f"{pending} {part}".strip())
            pending = ""
        else:
            pending += part
    if pending and parts:
        parts[-1] += f" {pending}"
    yield from parts


def _parse_clause(
    words: str, dates: tuple[DateMention, ...], speaker: str, previous: Clause | None
) -> Clause | None:
    """Return the clause that a text is, if its subject is clear.

    1. `My boss is …`: the speaker reports to that person.
    2. `I …`, `I'm …`, `I've …`: about the speaker.
    3. A name, perhaps after `my sister` and the like.
    4. No subject: that of the previous clause, if there was one.
    """
    words = _LEADS.sub("", words, count=1)
    if superior := _SUPERIOR.match(words):
        return _of_speaker(speaker, f"report to {words[superior.end() :]}", dates)
    if first := _FIRST_PERSON.match(words):
        verb = _EXPANDED.get(first["short"] or "", "")
        return _of_speaker(speaker, verb + words[first.end() :], dates)
    kin = _KIN.match(words)
    parsed_name = parse_name(words[kin.end() :] if kin else words, max_words=_MAX_SUBJECT_WORDS)
    if parsed_name is not None and parsed_name[1][:1] == " ":
        name, predicate = parsed_name
        sure = kin is not None or " " in name
        return Clause(name, False, predicate.strip(), dates, sure)
    if previous is not None and words[:1].islower():
        return Clause(previous.subject, previous.first_person, words, dates, previous.sure, True)
    return None


def _of_speaker(speaker: str, predicate: str, dates: tuple[DateMention, ...]) -> Clause | None:
    return Clause(speaker, True, predicate, dates) if speaker else None
