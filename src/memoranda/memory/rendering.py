"""Rendering: messages as text, and where in it each of them stands.

The text is a pure function of the messages, so it is never stored: the hash of the messages covers
both. Spans that memories cite are places in the text; a rendering that was ever in use is
therefore kept for ever, by its number, and never changes.

Each part of a message begins a line, `Name: text`, with a time in brackets before it if the message
says when. Its further lines are indented, and a name that could pass for more than a name is
quoted. So whatever a message says, a line that begins in the first column is one that begins a
part of a message, and by whom is not for the message's text to say.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.memory.chat_parts import Part, parts_of, time_of
from memoranda.model.document import Document
from memoranda.model.instant import to_datetime
from memoranda.model.limits import shown
from memoranda.model.lines import continued, speaker_label
from memoranda.model.memory import Span

TEXT: Final = 0
"""The form of a transcript that was given as text."""
MESSAGES: Final = 1
"""The form of messages that are rendered as this module says."""


class Place(msgspec.Struct, frozen=True):
    """Words of one speaker in one message, and where they stand in the text."""

    message: int
    """The number of the message, from 0 on."""
    speaker: str
    span: Span
    at: datetime | None
    said: bool
    """Whether the speaker says them: a call of a tool or a thought is no statement."""


class Rendering(msgspec.Struct, frozen=True):
    """Messages as text."""

    text: bytes
    spans: tuple[Span, ...]
    """Where each message stands, in the order of the messages; between two is one newline."""
    places: tuple[Place, ...]
    """Where the words of each part stand that has some."""

    def message_at(self, offset: int) -> int | None:
        """Return the number of the message that a byte belongs to."""
        number = bisect_right(self.spans, offset, key=lambda span: span[0]) - 1
        inside = number >= 0 and offset < self.spans[number][1]
        return number if inside else None


def render(form: int, messages: Iterable[Document], where: str = "message") -> Rendering:
    """Return messages as text, in a form that this version knows."""
    if form != MESSAGES:
        raise Corruption(f"a transcript has form {shown(form)}, which this version does not know")
    page = _Page()
    for number, message in enumerate(messages):
        page.add(number, parts_of(message, f"{where} {number + 1}"), time_of(message))
    return Rendering(b"".join(page.pieces), tuple(page.spans), tuple(page.places))


def render_stored(form: int, messages: Iterable[Document]) -> Rendering:
    """Return stored messages as text; what could not have been stored is corrupt."""
    try:
        return render(form, messages)
    except InvalidInput as error:
        raise Corruption(f"stored messages cannot be read: {error}") from error


class _Page:
    """Text that grows by a message at a time."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.spans: list[Span] = []
        self.places: list[Place] = []
        self._size = 0

    def add(self, number: int, parts: Iterable[Part], micros: int | None) -> None:
        """Put a message below the others."""
        at = None if micros is None else to_datetime(micros)
        stamp = "" if at is None else f"[{at:%Y-%m-%d %H:%M:%S}] "
        first = None
        for part in parts:
            if self.pieces:
                self._put("\n")
            begin = self._size
            first = begin if first is None else first
            label = f" [{part.label}]" if part.label else ""
            self._put(stamp + speaker_label(part.speaker) + label)
            if part.text is None:
                continue
            self._put(": ")
            words = self._size
            self._put(continued(part.text))
            if self._size > words:
                span = (words, self._size)
                self.places.append(Place(number, part.speaker, span, at, part.said))
        assert first is not None, "a message has a part"
        self.spans.append((first, self._size))

    def _put(self, text: str) -> None:
        encoded = text.encode()
        self.pieces.append(encoded)
        self._size += len(encoded)
