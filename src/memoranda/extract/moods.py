"""In which mood a sentence is said: stated, asked, imagined, planned, reported, or in doubt."""

from __future__ import annotations

import re

import msgspec

_ASKED = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|was|were|am|can|could|will"
    r"|would|should|shall|may|have|has|had|guess)\b|.*\?[\"')\]]*$",
    re.IGNORECASE | re.DOTALL,
)
_IMAGINED = re.compile(
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
    """How far what a sentence says may be taken at its word."""

    stated: bool
    """Whether it says that something is so, or will be; else it is left alone."""
    planned: bool
    """Whether it is about what is to come."""
    doubted: bool
    """Whether who says it is not sure."""
    text: str
    """The sentence without the words that only express doubt."""


def mood_of(sentence: str) -> Mood:
    """Return the mood of a sentence."""
    text, doubts = _DOUBTED.subn(" ", sentence)
    text = text.strip()
    stated = not any(found.search(text) for found in (_IMAGINED, _REPORTED))
    return Mood(
        stated=stated and _ASKED.match(sentence) is None and _ASKED.match(text) is None,
        planned=_PLANNED.search(text) is not None,
        doubted=doubts > 0,
        text=text,
    )
