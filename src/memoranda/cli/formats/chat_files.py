"""Files of conversations: plain text, JSON and JSON Lines, and the order of their dates.

A plain file keeps its text, and a JSON file keeps its messages. A file is read line by line. Each
day becomes a transcript of its own, since a transcript has one time; a day that is too long for one
is cut between messages. Where a file tells its conversations apart, as exports do, each of them
becomes a transcript instead.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO, cast

import msgspec
from msgspec.structs import replace

from memoranda.cli.formats.chat_exports import (
    ExportedConversation,
    conversation,
    exported,
    is_zip,
    open_archive,
)
from memoranda.cli.formats.fact_files import Lines
from memoranda.errors import InvalidInput
from memoranda.extract.speaker_lines import MessageHeader, header_time, is_day_first, parse_header
from memoranda.memory.messages import (
    MESSAGES,
    check_time_of,
    encode,
    parts_of,
    plain_message,
    render,
)
from memoranda.model.clock import to_datetime
from memoranda.model.document import Document
from memoranda.model.limits import Limits

# Dates: whether the day or the month comes first, and the time of each message.


class Turn(msgspec.Struct, frozen=True):
    """A message of a file, with its location for error messages."""

    content: str | Document
    """The lines of a plain file, or the message of a JSON file."""
    size: int
    """Bytes in a transcript, at most."""
    location: str
    header: MessageHeader | None = None
    """Speaker and time in a plain file; a JSON message contains its own."""
    sent_at: datetime | None = None
    conversation: ExportedConversation | None = None
    """The conversation of an export that the message belongs to."""

    @property
    def ambiguous_date(self) -> str | None:
        """Its date, if that can be read with the day or the month first."""
        return None if self.header is None else self.header.ambiguous_date

    @property
    def is_message(self) -> bool:
        """Whether it has a speaker; chat programs also write notices."""
        return self.header is None or bool(self.header.speaker)


class DatedTurn(msgspec.Struct, frozen=True):
    """A message and its time, if it has one."""

    turn: Turn
    sent_at: datetime | None


class DateOrder(msgspec.Struct, frozen=True):
    """The user's options about the dates of a file."""

    day_first: bool | None = None
    """Whether dates with slashes have the day first; None: the file shows it."""
    first_time: datetime | None = None
    """The time of the first message, for files without dates."""


def date_turns(turns: Iterable[Turn], order: DateOrder) -> Iterator[DatedTurn]:
    """Yield messages with their times.

    Messages are buffered from the first ambiguous date until a date shows the order.
    """
    buffer: list[Turn] = []
    day_first, ambiguous = order.day_first, False
    for turn in turns:
        buffer.append(turn)
        ambiguous = ambiguous or turn.ambiguous_date is not None
        if day_first is None:
            day_first = is_day_first(_headers([turn]))
        if day_first is not None or not ambiguous:
            yield from _read_times(buffer, day_first)
            buffer.clear()
    if buffer:
        yield from _read_times(buffer, _infer_day_first(buffer, order.first_time))


def _headers(turns: Iterable[Turn]) -> Iterator[MessageHeader]:
    return (turn.header for turn in turns if turn.header is not None)


def _infer_day_first(turns: list[Turn], first_time: datetime | None) -> bool:
    """Infer the order from the time of the first message; raise rather than guess."""
    day_first = is_day_first(_headers(turns), first_time)
    if day_first is None:
        turn = next(turn for turn in turns if turn.ambiguous_date is not None)
        raise InvalidInput(
            "path",
            f"{turn.location} has the date {turn.ambiguous_date}, and the file does not show "
            "whether the day or the month comes first: give --day-first or --month-first",
        )
    return day_first


def _read_times(turns: Iterable[Turn], day_first: bool | None) -> Iterator[DatedTurn]:  # noqa: FBT001
    for turn in turns:
        time = turn.sent_at
        if turn.header is not None:
            time = header_time(turn.header, day_first=day_first)
        if time is None and turn.ambiguous_date is not None:
            first = "day" if day_first else "month"
            raise InvalidInput(
                "path",
                f"{turn.location} has the date {turn.ambiguous_date}, which does not exist if the "
                f"{first} comes first",
            )
        yield DatedTurn(turn, time)


# Files: plain text, JSON lists and JSON Lines.

FORMS = ("plain", "json", "jsonl")
_SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_LIST = re.compile(rb"[\s\xef\xbb\xbf]*\[\s*[{\]]")
_OBJECT = re.compile(rb"[\s\xef\xbb\xbf]*\{")
_PEEK_BYTES = 4096
"""Bytes that are looked at to detect the format of a file."""
_MAX_LIST_BYTES = 256 * 2**20
"""A JSON list is parsed in memory; a longer one must be JSON Lines."""


class ParsedTranscript(msgspec.Struct, frozen=True):
    """The part of a file that becomes one transcript."""

    content: str | list[Document]
    messages: int
    first_time: datetime | None = None
    """The time of the first message that has one."""
    undated: bool = False
    """Whether messages have times of day, but none has a date."""
    title: str = ""
    """The title of the conversation in an export."""


def read_transcripts(
    file: BinaryIO,
    name: str,
    form: str | None,
    max_bytes: int = Limits().transcript_bytes,
    order: DateOrder | None = None,
) -> Generator[ParsedTranscript, None, None]:
    """Yield the transcripts of a file: at least one for each day, none above `max_bytes`."""
    reader = io.BufferedReader(cast("io.RawIOBase", file))
    empty = True
    try:
        turns = date_turns(_turns(reader, name, form, max_bytes), order or DateOrder())
        for transcript in _group(turns, name, max_bytes):
            empty = False
            yield transcript
    finally:
        reader.detach()  # the caller opened the file and closes it
    if empty:
        raise InvalidInput("path", f"{name} has no messages")


def _turns(
    reader: io.BufferedReader[io.RawIOBase], name: str, form: str | None, max_bytes: int
) -> Iterator[Turn]:
    start = reader.peek(_PEEK_BYTES)
    if is_zip(start):
        return _from_archive(reader.raw, name)
    kind = form or _detect_format(name, start)
    if kind == "json":
        return _from_list(reader, name)
    lines = Lines(reader, name)
    return _from_plain(lines, name, max_bytes) if kind == "plain" else _from_lines(lines, name)


def _detect_format(name: str, start: bytes) -> str:
    """Return the format of a file by its suffix, else by its first bytes."""
    for suffix, form in _SUFFIXES.items():
        if name.lower().endswith(suffix):
            return form
    if _LIST.match(start):
        return "json"
    return "jsonl" if _OBJECT.match(start) else "plain"


def _group(turns: Iterator[DatedTurn], name: str, max_bytes: int) -> Iterator[ParsedTranscript]:
    """Group messages of the same day, as long as they fit into a transcript."""
    group: list[DatedTurn] = []
    size, day = 0, None
    for dated in turns:
        message_size = dated.turn.size
        if message_size > max_bytes:
            raise InvalidInput(
                "path",
                f"{name} has a message of {message_size:,} bytes, and the limit is {max_bytes:,}",
            )
        message_day = dated.sent_at.date() if dated.sent_at else day
        is_new = day is not None and message_day != day
        if group and dated.turn.conversation is not None:
            is_new = dated.turn.conversation is not group[-1].turn.conversation
        if group and (size + message_size > max_bytes or is_new):
            yield _transcript(group)
            group, size = [], 0
        group.append(dated)
        size, day = size + message_size, message_day
    if group:
        yield _transcript(group)


def _transcript(group: Sequence[DatedTurn]) -> ParsedTranscript:
    contents = [dated.turn.content for dated in group]
    lines = [content for content in contents if isinstance(content, str)]
    messages = [content for content in contents if not isinstance(content, str)]
    headers = [dated.turn.header for dated in group if dated.turn.header is not None]
    times = [dated.sent_at for dated in group if dated.sent_at is not None]
    conversation = group[0].turn.conversation
    if conversation is not None and conversation.began_at is not None and not times:
        times = [conversation.began_at]
    return ParsedTranscript(
        messages or "".join(lines).rstrip("\r\n"),
        sum(1 for dated in group if dated.turn.is_message),
        times[0] if times else None,
        not times and any(header.stamp for header in headers),
        "" if conversation is None else conversation.title,
    )


def _from_plain(lines: Lines, name: str, max_bytes: int) -> Iterator[Turn]:
    """Yield the messages of a plain file, each with its continuation lines."""
    text, start = "", None
    for line in lines:
        lines.take()
        header = parse_header(line)
        if header is not None:
            if start is not None:
                yield Turn(text, len(text.encode()), *start)
                text = ""
            start = f"line {lines.number} of {name}", header
        elif line.strip() and start is None:
            raise lines.error("has no speaker: a message is `Name: text`")
        text += line
        if len(text) > max_bytes:
            raise lines.error(f"makes a message longer than {max_bytes:,} bytes")
    if start is not None:
        yield Turn(text, len(text.encode()), *start)


def _from_lines(lines: Lines, name: str) -> Iterator[Turn]:
    """Yield the messages of JSON Lines."""
    for line in lines:
        lines.take()
        if line.strip():
            try:
                message = json.loads(line)
            except json.JSONDecodeError as error:
                raise lines.error(f"is not JSON: {error.msg} at column {error.colno}") from error
            except (ValueError, RecursionError) as error:
                raise lines.error(f"is not JSON: {error!s:.80}") from error
            location = f"line {lines.number} of {name}"
            if isinstance(message, dict) and isinstance(message.get("messages"), list):
                yield from _from_conversation(conversation(message, lines.number, name))
            else:
                yield _turn(message, location)


def _from_archive(file: io.RawIOBase, name: str) -> Iterator[Turn]:
    with open_archive(cast("BinaryIO", file), name) as member:
        yield from _from_list(cast("BinaryIO", member), name)


def _from_conversation(conversation: ExportedConversation) -> Iterator[Turn]:
    """Yield the messages of a conversation; its title comes first, so that it can be searched."""
    if conversation.title and conversation.messages:
        title = {"role": "system", "name": "title", "content": conversation.title}
        yield replace(_turn(title, conversation.location), conversation=conversation)
    for location, message in conversation.messages:
        yield replace(_turn(message, location), conversation=conversation)


def _from_list(file: BinaryIO, name: str) -> Iterator[Turn]:
    """Yield the messages of one JSON list, of an object with `messages`, or of an export."""
    content = file.read(_MAX_LIST_BYTES + 1)
    if len(content) > _MAX_LIST_BYTES:
        raise InvalidInput(
            "path",
            f"{name} is a list of more than {_MAX_LIST_BYTES:,} bytes: give JSON Lines instead",
        )
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("path", f"{name} is not JSON: {error!s:.80}") from error
    conversations = exported(value, name)
    if conversations is not None:
        for item in conversations:
            yield from _from_conversation(item)
        return
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        raise InvalidInput("path", f"{name} is not a list of messages, and has no `messages`")
    for number, message in enumerate(messages, start=1):
        yield _turn(message, f"message {number} of {name}")


def _turn(value: object, location: str) -> Turn:
    """Return a message; its size is that of its JSON or its text, whichever is larger."""
    message = plain_message(location, value, Limits())
    parts_of(message, location)  # raises an error with the location if it cannot be read
    micros = check_time_of(message, location)
    size = max(len(encode([message])), len(render(MESSAGES, [message], location).text)) + 1
    return Turn(message, size, location, sent_at=None if micros is None else to_datetime(micros))
