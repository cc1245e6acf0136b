"""Phrases for things: what somebody likes or prefers, and what somebody is."""

from __future__ import annotations

import re

_MOST_WORDS = 6
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


def thing_at(text: str) -> str | None:
    """Return what is liked at the beginning of a text; None, if that is not clear."""
    found = _phrase(text)
    if found is None or (_DETERMINED.match(found) and not _CAPITAL_THE.match(found)):
        return None
    return found


def kind_at(text: str) -> str | None:
    """Return what somebody is: the text begins behind `a`, `an` or `the`."""
    found = _phrase(text)
    return None if found is None or _VAGUE_KIND.match(found) else found


def _phrase(text: str) -> str | None:
    boundary = _BOUNDARY.search(text)
    found = (text if boundary is None else text[: boundary.start()]).strip(_END)
    words = found.split()
    if not words or len(words) > _MOST_WORDS or _POINTING.search(found):
        return None
    if _UNFINISHED.search(found):
        return None
    return found if words[0][0].isalnum() else None
