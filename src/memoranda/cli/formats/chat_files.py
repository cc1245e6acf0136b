"""Files of conversations: plain transcripts, JSON lists and JSON Lines, as transcripts to keep.

A plain transcript is kept as it is, and messages in JSON are kept as messages. A file is
read line by line. Where the day changes another transcript begins, since each has one time; and
what is too long for one is cut between messages.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO, cast

import msgspec

from memoranda.cli.chat_days import Dated, Order, Turn, dated
from memoranda.cli.fact_rows import Lines
from memoranda.errors import InvalidInput
from memoranda.extract.heads import head_of
from memoranda.memory.chat_json import encode, plain_message
from memoranda.memory.chat_parts import check_time_of, parts_of
from memoranda.memory.rendering import MESSAGES, render
from memoranda.model.document import Document
from memoranda.model.instant import to_datetime
from memoranda.model.limits import Limits

FORMS = ("plain", "json", "jsonl")
_ENDINGS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_LIST = re.compile(rb"[\s\xef\xbb\xbf]*\[\s*[{\]]")
_OBJECT = re.compile(rb"[\s\xef\xbb\xbf]*\{")
_PEEKED = 4096
_MOST_LIST = 64 * 2**20


class Piece(msgspec.Struct, frozen=True):
    """So much of a file as becomes one transcript."""

    words: str | list[Document]
    messages: int
    began: datetime | None = None
    """When the first message that says so was said."""
    undated: bool = False
    """Whether messages have a time, and none a day."""


def pieces(
    file: BinaryIO,
    name: str,
    form: str | None,
    most: int = Limits().transcript_bytes,
    order: Order | None = None,
) -> Iterator[Piece]:
    """Yield what a file says, in as few transcripts as it fits in, a day in each at most."""
    reader = io.BufferedReader(cast("io.RawIOBase", file))
    found = False
    try:
        turns = dated(_turns(reader, name, form, most), order or Order())
        for piece in _gathered(turns, name, most):
            found = True
            yield piece
    finally:
        reader.detach()  # the file is its opener's to close
    if not found:
        raise InvalidInput("path", f"{name} has no messages")


def _turns(
    reader: io.BufferedReader[io.RawIOBase], name: str, form: str | None, most: int
) -> Iterator[Turn]:
    kind = form or _form(name, reader.peek(_PEEKED))
    if kind == "json":
        return _from_list(reader, name)
    lines = Lines(reader, name)
    return _from_plain(lines, name, most) if kind == "plain" else _from_lines(lines, name)


def _form(name: str, begin: bytes) -> str:
    """Return the form of a file: as its name ends, else as its text begins."""
    for ending, form in _ENDINGS.items():
        if name.lower().endswith(ending):
            return form
    if _LIST.match(begin):
        return "json"
    return "jsonl" if _OBJECT.match(begin) else "plain"


def _gathered(turns: Iterator[Dated], name: str, most: int) -> Iterator[Piece]:
    """Put messages together as long as they are of a day and fit into a transcript."""
    held: list[Dated] = []
    size, day = 0, None
    for each in turns:
        own = each.turn.size
        if own > most:
            raise InvalidInput(
                "path", f"{name} has a message of {own:,} bytes, and the limit is {most:,}"
            )
        today = each.at.date() if each.at else day
        if held and (size + own > most or (day is not None and today != day)):
            yield _piece(held)
            held, size = [], 0
        held.append(each)
        size, day = size + own, today
    if held:
        yield _piece(held)


def _piece(turns: Sequence[Dated]) -> Piece:
    lines = [each.turn.words for each in turns if isinstance(each.turn.words, str)]
    messages = [each.turn.words for each in turns if not isinstance(each.turn.words, str)]
    stamped = any(each.turn.head is not None and each.turn.head.stamp for each in turns)
    return Piece(
        messages or "".join(lines).rstrip("\r\n"),
        sum(1 for each in turns if each.turn.is_message),
        next((each.at for each in turns if each.at is not None), None),
        all(each.at is None for each in turns) and stamped,
    )


def _from_plain(lines: Lines, name: str, most: int) -> Iterator[Turn]:
    """Yield messages with the lines that belong to them."""
    held, begun = "", None
    for line in lines:
        lines.taken()
        head = head_of(line)
        if head is not None:
            if begun is not None:
                yield Turn(held, len(held.encode()), *begun)
                held = ""
            begun = f"line {lines.number} of {name}", head
        elif line.strip() and begun is None:
            raise lines.wrong("begins with no speaker: a message is `Name: text`")
        held += line
        if len(held) > most:
            raise lines.wrong(f"makes a message longer than {most:,} bytes")
    if begun is not None:
        yield Turn(held, len(held.encode()), *begun)


def _from_lines(lines: Lines, name: str) -> Iterator[Turn]:
    """Yield the messages of JSON Lines."""
    for line in lines:
        lines.taken()
        if line.strip():
            try:
                message = json.loads(line)
            except json.JSONDecodeError as error:
                raise lines.wrong(f"is no JSON: {error.msg} at column {error.colno}") from error
            except (ValueError, RecursionError) as error:
                raise lines.wrong(f"is no JSON: {error!s:.80}") from error
            yield _turn(message, f"line {lines.number} of {name}")


def _from_list(file: BinaryIO, name: str) -> Iterator[Turn]:
    """Yield the messages of one JSON list, or of an object with such a list as its `messages`."""
    content = file.read(_MOST_LIST + 1)
    if len(content) > _MOST_LIST:
        raise InvalidInput(
            "path", f"{name} is a list of more than {_MOST_LIST:,} bytes: give JSON Lines instead"
        )
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("path", f"{name} is no JSON: {error!s:.80}") from error
    listed = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise InvalidInput("path", f"{name} is neither a list of messages nor has one")
    for number, message in enumerate(listed, start=1):
        yield _turn(message, f"message {number} of {name}")


def _turn(given: object, where: str) -> Turn:
    """Return a message with what it takes up at most, be it as JSON or as text, with its end."""
    message = plain_message(where, given, Limits())
    parts_of(message, where)  # names the place of a message that cannot be read
    micros = check_time_of(message, where)
    size = max(len(encode([message])), len(render(MESSAGES, [message], where).text)) + 1
    return Turn(message, size, where, at=None if micros is None else to_datetime(micros))
