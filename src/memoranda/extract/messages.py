"""The messages of a transcript, stored or parsed from its text, and their outline.

In a plain text, speakers are a claim: its author can write any name before a colon. Messages that
were stored as messages keep their speakers, whatever their text contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from memoranda.errors import InvalidInput
from memoranda.extract.protocol import Message, Skipped
from memoranda.memory.messages import Rendering, check_time_of
from memoranda.model.clock import to_datetime
from memoranda.model.document import Document
from memoranda.model.limits import short_repr

if TYPE_CHECKING:
    from memoranda.extract.speaker_lines import MessageHeader

BLOCK_BYTES = 32 * 1024
"""Bytes of transcript per block: one call of the extractor, and one transaction."""
_MAX_PIECE_CHARS = 16 * 1024
"""The most characters of a piece: longer messages are split, so that no pattern runs over more."""
_BREAK_PATTERNS = (
    re.compile(r".*\n", re.DOTALL),
    re.compile(r".*[.!?…]\s", re.DOTALL),
    re.compile(r".*\s", re.DOTALL),
)
"""Where a long message is split: after a line, else after a sentence, else after a word."""


def messages_from_rendering(rendering: Rendering) -> list[Message]:
    """Return the messages of a transcript that was stored as messages."""
    messages = []
    for utterance in rendering.utterances:
        if utterance.is_statement:
            text = rendering.text[slice(*utterance.span)].decode()
            offsets = _ByteOffsets(text, utterance.span[0])
            messages += [
                Message(
                    utterance.speaker,
                    text[start:end],
                    offsets.span(start, end),
                    utterance.at,
                    utterance.role,
                )
                for start, end in _pieces(text, 0, len(text))
            ]
    return messages


def parse_messages(text: str, started_at: datetime | None = None) -> list[Message]:
    """Return the messages of a transcript that was stored as text.

    Text before the first header has no speaker. Notices of a chat program are left out.
    `started_at` is the time of the first message, if it is known.
    """
    # Imported here, because compiling its patterns takes a while.
    from memoranda.extract.speaker_lines import find_headers, header_time, is_day_first

    headers = find_headers(text)
    day_first = is_day_first(headers, started_at)
    messages, offsets = [], _ByteOffsets(text)
    first_line = headers[0].line_start if headers else len(text)
    for start, end in _pieces(text, 0, first_line):
        messages.append(Message("", text[start:end], offsets.span(start, end)))
    ends = [*(header.line_start for header in headers[1:]), len(text)]
    for header, message_end in zip(headers, ends, strict=False):
        if not header.speaker:
            continue
        at = header_time(header, day_first=day_first)
        for start, end in _pieces(text, header.text_start, message_end):
            span = offsets.span(start, end)
            messages.append(Message(header.speaker, text[start:end], span, at))
    return messages


def split_into_blocks(
    messages: Sequence[Message], max_bytes: int = BLOCK_BYTES
) -> Iterator[Sequence[Message]]:
    """Yield blocks of messages. They depend on the text alone, so a retry yields the same ones."""
    block: list[Message] = []
    for message in messages:
        if block and message.span[1] - block[0].span[0] > max_bytes:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the range of a message without surrounding white space, split if it is long."""
    while start < end:
        piece_end = end
        if end - start > _MAX_PIECE_CHARS:
            piece_end = start + _break_position(text[start : start + _MAX_PIECE_CHARS])
        piece = text[start:piece_end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            yield first, first + len(stripped)
        start = piece_end


def _break_position(text: str) -> int:
    for pattern in _BREAK_PATTERNS:
        match = pattern.match(text)
        if match is not None:
            return match.end()
    return len(text)


class _ByteOffsets:
    """Converts positions in a text to byte offsets in its UTF-8. Positions must not decrease.

    So each character is encoded once, however many positions are converted.
    """

    def __init__(self, text: str, first_byte: int = 0) -> None:
        self._text = text
        self._position = 0
        self._byte = first_byte

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the byte range of a range of characters."""
        return self._convert(start), self._convert(end)

    def _convert(self, position: int) -> int:
        self._byte += len(self._text[self._position : position].encode())
        self._position = position
        return self._byte


# Outlines: the facts about a conversation that are needed before it is stored.


class Outline(msgspec.Struct, frozen=True):
    """The number of messages of a conversation, and the time of the first that has one."""

    message_count: int
    started_at: datetime | None


def outline_text(text: str, occurred_at: datetime | None) -> Outline:
    """Return the outline of a conversation in a plain text.

    `occurred_at`, the time of the first message, resolves ambiguous dates. Raises `InvalidInput` if
    the text does not start with a speaker, or if its dates stay ambiguous.
    """
    # Imported here, because compiling its patterns takes a while.
    from memoranda.extract.speaker_lines import find_headers, header_time, is_day_first

    headers = find_headers(text)
    preamble = text[: headers[0].line_start] if headers else text
    if preamble.strip():
        number = 1 + preamble[: len(preamble) - len(preamble.lstrip())].count("\n")
        raise InvalidInput(
            "text",
            f"line {number} begins with no speaker: a message is `Name: text`; "
            "`store_transcript` keeps any text",
        )
    ambiguous = _first_ambiguous(headers, occurred_at)
    if ambiguous is not None:
        number = 1 + text.count("\n", 0, ambiguous.line_start)
        raise InvalidInput(
            "text",
            f"line {number} has the date {short_repr(ambiguous.ambiguous_date)}, and nothing tells "
            "whether the day or the month comes first: give `occurred_at`, the time of the first "
            "message, or write dates as 2024-05-03",
        )
    day_first = is_day_first(headers, occurred_at)
    times = (header_time(header, day_first=day_first) for header in headers)
    started_at = next((at for at in times if at is not None), None)
    return Outline(sum(1 for header in headers if header.speaker), started_at)


def outline_messages(messages: Sequence[Document], rendering: Rendering) -> Outline:
    """Return the outline of messages; raises `InvalidInput` for a time that cannot be read."""
    times = [
        check_time_of(message, f"text, message {number}")
        for number, message in enumerate(messages, 1)
    ]
    started_at = next((at for at in times if at is not None), None)
    return Outline(len(rendering.spans), None if started_at is None else to_datetime(started_at))


def ambiguous_dates(text: str, occurred_at: datetime | None) -> tuple[Skipped, ...]:
    """Return a note about the ambiguous dates of a transcript, if it has any."""
    from memoranda.extract.speaker_lines import find_headers

    ambiguous = _first_ambiguous(find_headers(text), occurred_at)
    if ambiguous is None:
        return ()
    reason = "day or month first? such dates were ignored: the time of the transcript was used"
    return (Skipped(str(ambiguous.ambiguous_date), reason),)


def _first_ambiguous(
    headers: Sequence[MessageHeader], occurred_at: datetime | None
) -> MessageHeader | None:
    """Return the first header whose date can be read in two ways."""
    from memoranda.extract.speaker_lines import is_day_first

    if is_day_first(headers, occurred_at) is not None:
        return None
    return next((header for header in headers if header.ambiguous_date is not None), None)
