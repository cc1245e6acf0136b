"""Messages of a transcript: as they were stored, else read from the text, where spans are exact.

A text is one voice's claim of who said what: whoever gave it could have written any name before a
colon. Messages that were stored as such keep their speakers whatever they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from memoranda.extract.protocol import Message
from memoranda.memory.rendering import Rendering

BLOCK_BYTES = 32 * 1024
"""So much of a conversation is extracted at a time, and written in one transaction."""
_PIECE = 16 * 1024
"""A longer message is read in pieces of so many characters at most."""
_BREAKS = (
    re.compile(r".*\n", re.DOTALL),
    re.compile(r".*[.!?…]\s", re.DOTALL),
    re.compile(r".*\s", re.DOTALL),
)
"""Where a long message is cut: behind a line, else a sentence, else a word."""


def messages_in(rendering: Rendering) -> list[Message]:
    """Return what was said in messages that are stored as such, by their own speakers."""
    found = []
    for place in rendering.places:
        if place.said:
            text = rendering.text[slice(*place.span)].decode()
            offsets = _Offsets(text, place.span[0])
            found += [
                Message(place.speaker, text[first:end], offsets.span(first, end), place.at)
                for first, end in _pieces(text, 0, len(text))
            ]
    return found


def messages_of(text: str, began: datetime | None = None) -> list[Message]:
    """Return the messages of a transcript; text before the first one is nobody's.

    What a chat program says itself is no message. `began` is when it is known to have begun.
    """
    from memoranda.extract.heads import days_come_first, heads, said_at  # made when needed

    found = heads(text)
    day_first = days_come_first(found, began)
    messages, offsets = [], _Offsets(text)
    begin = found[0].line if found else len(text)
    for first, end in _pieces(text, 0, begin):
        messages.append(Message("", text[first:end], offsets.span(first, end)))
    for number, head in enumerate(found):
        if not head.speaker:
            continue
        behind = found[number + 1].line if number + 1 < len(found) else len(text)
        at = said_at(head, day_first=day_first)
        for first, end in _pieces(text, head.text, behind):
            span = offsets.span(first, end)
            messages.append(Message(head.speaker, text[first:end], span, at))
    return messages


def blocks(messages: Sequence[Message], most: int = BLOCK_BYTES) -> Iterator[Sequence[Message]]:
    """Yield messages that are extracted together, cut where the text alone says."""
    block: list[Message] = []
    for message in messages:
        if block and message.span[1] - block[0].span[0] > most:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _pieces(text: str, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where a message stands, without the space around it; in pieces, if it is long."""
    while first < end:
        cut = end if end - first <= _PIECE else first + _cut(text[first : first + _PIECE])
        words = text[first:cut]
        if stripped := words.strip():
            begin = first + len(words) - len(words.lstrip())
            yield begin, begin + len(stripped)
        first = cut


def _cut(text: str) -> int:
    for pattern in _BREAKS:
        found = pattern.match(text)
        if found is not None:
            return found.end()
    return len(text)


class _Offsets:
    """Turns places in a text into places in its UTF-8, from the front to the back."""

    def __init__(self, text: str, first: int = 0) -> None:
        self._text = text
        self._place = 0
        self._byte = first

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return a stretch in bytes; each begins behind the last one."""
        return self._to(first), self._to(end)

    def _to(self, place: int) -> int:
        self._byte += len(self._text[self._place : place].encode())
        self._place = place
        return self._byte
