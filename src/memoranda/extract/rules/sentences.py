"""Split a text into sentences, and tell the mood of each: statement, question, plan, hearsay."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "vs", "etc"}
    | {"e.g", "i.e", "approx", "no", "dept", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep"}
    | {"sept", "oct", "nov", "dec"}
)
_END = re.compile(r"[.!?…]+[\"'\u201d\u2019)\]]*(?=\s|$)|\n+")
_LAST_WORD = re.compile(r"(?:^|[\s(])([\w.]+)$")
_LEADING = re.compile(r"[^\w\"'`>(\u201c\u2018\u00ab]*")
"""White space, bullets and emoticons before the first word."""
_MARKS = re.compile('```|["“”«»]')
_OPENING = {"“": 1, "«": 1, "”": -1, "»": -1}


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, and its byte range in the UTF-8 of the text."""

    text: str
    start: int
    end: int
    has_quotation: bool
    """Whether all or part of it is a quotation, so that it may be somebody else's statement."""


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, without surrounding white space."""
    marks, byte, position = _QuotationMarks(), 0, 0
    for start, end in _sentence_spans(text):
        sentence = text[start:end]
        byte += len(text[position:start].encode())
        size = len(sentence.encode())
        has_quotation = marks.advance(text[position:end]) or sentence.startswith(">")
        yield Sentence(sentence, byte, byte + size, has_quotation)
        byte, position = byte + size, end


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character ranges of sentences."""
    start = 0
    for end in (*_ends(text), len(text)):
        first = start + _LEADING.match(text[start:end]).end()  # type: ignore[union-attr]
        if stripped := text[first:end].rstrip():
            yield first, first + len(stripped)
        start = end


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match.group() != "." or not _abbreviates(text, match.start()):
            yield match.end()


def _abbreviates(text: str, dot: int) -> bool:
    """Say whether a full stop ends an abbreviation: `Dr.`, or the initial in `J. Smith`."""
    last = _LAST_WORD.search(text, max(0, dot - 20), dot)
    if last is None:
        return False
    word = last.group(1)
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


class _QuotationMarks:
    """Tracks open quotation marks and code fences across sentences."""

    def __init__(self) -> None:
        self._fenced = False
        self._straight = False
        self._depth = 0

    def advance(self, text: str) -> bool:
        """Read the next part of the text, and say whether any of it is inside marks."""
        inside = self._open
        for mark in _MARKS.findall(text):
            inside = True
            if mark == "```":
                self._fenced = not self._fenced
            elif mark == '"':
                self._straight = not self._straight
            else:
                self._depth = max(0, self._depth + _OPENING[mark])
        return inside

    @property
    def _open(self) -> bool:
        return self._fenced or self._straight or self._depth > 0


# The mood of a sentence: statement, question, hypothesis, plan, hearsay or doubt.

_QUESTION = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|was|were|am|can|could|will"
    r"|would|should|shall|may|have|has|had|guess)\b|.*\?[\"')\]]*$",
    re.IGNORECASE | re.DOTALL,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|whether|would|could|should|might|wish\w*|imagine|imagining|suppose|supposing"
    r"|pretend\w*|hypothetically|hopes?|hoping|hoped|wants?|wanted|wanna|wondering|wonder|dream\w*"
    r"|kidding|joking|let's|lets|considering|almost|nearly|as though|in theory|not sure|unsure"
    r"|no idea|in case|were to|ought|needs? to|have to|has to)\b|\b\w+'d\b|^\s*(?:please|let)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:said|says|saying|told|tells|claims?|claimed|asked|asks|heard|according to|reportedly"
    r"|rumou?rs?|read that|writes|wrote|apparently|supposedly|allegedly|thinks|believes|thought"
    r"|believed)\b",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plans? to|planning|planned to|about to|tomorrow|next"
    r"|upcoming|soon|am (?:moving|leaving|starting|relocating)|is (?:moving|leaving|starting"
    r"|relocating)|'m (?:moving|leaving|starting|relocating))\b|\b\w+'ll\b",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"(?:,\s*)?\b(?:maybe|perhaps|probably|possibly|presumably|likely|i (?:think|guess|believe"
    r"|assume|reckon)(?: that)?|as far as i know|afaik|iirc|kind of|sort of|kinda"
    r"|it seems(?: that)?|seems like|more or less)\b,?\s*",
    re.IGNORECASE,
)


class Mood(msgspec.Struct, frozen=True):
    """Whether a sentence can be taken as a statement of fact."""

    is_statement: bool
    """Whether it states something; questions, hypotheses and hearsay do not, and are skipped."""
    is_plan: bool
    """Whether it is about the future."""
    is_doubtful: bool
    """Whether the speaker is not sure, which lowers the confidence."""
    text: str
    """The sentence without the words that express doubt."""


def mood_of(sentence: str) -> Mood:
    """Return the mood of a sentence."""
    text, doubts = _DOUBTED.subn(" ", sentence)
    text = text.strip()
    is_indirect = any(pattern.search(text) for pattern in (_HYPOTHETICAL, _REPORTED))
    is_question = any(_QUESTION.match(version) for version in (sentence, text))
    return Mood(
        is_statement=not is_indirect and not is_question,
        is_plan=_PLANNED.search(text) is not None,
        is_doubtful=doubts > 0,
        text=text,
    )
