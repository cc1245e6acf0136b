"""Files of conversations: plain transcripts, JSON lists and JSON Lines, as transcripts to keep.

A plain transcript is kept as it is, a JSON one in the form in which it is read again. A file is
read line by line; what is too long for one transcript is cut between messages into several.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

import msgspec

from recollect.cli.fact_rows import Lines
from recollect.errors import InvalidInput
from recollect.extract.heads import head_of
from recollect.extract.rendering import turn
from recollect.model.limits import Limits

FORMS = ("plain", "json", "jsonl")
_ENDINGS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_LIST = re.compile(rb"[\s\xef\xbb\xbf]*\[\s*[{\]]")
_OBJECT = re.compile(rb"[\s\xef\xbb\xbf]*\{")
_PEEKED = 4096
_MOST_LIST = 64 * 2**20


class Piece(msgspec.Struct, frozen=True):
    """So much of a file as becomes one transcript."""

    text: str
    messages: int


def pieces(
    file: BinaryIO, name: str, form: str | None, most: int = Limits().transcript_bytes
) -> Iterator[Piece]:
    """Yield what a file says, in as few transcripts as it fits in."""
    reader = io.BufferedReader(cast("io.RawIOBase", file))
    found = False
    try:
        for piece in _gathered(_turns(reader, name, form, most), name, most):
            found = True
            yield piece
    finally:
        reader.detach()  # the file is its opener's to close
    if not found:
        raise InvalidInput("path", f"{name} has no messages")


def _turns(
    reader: io.BufferedReader[io.RawIOBase], name: str, form: str | None, most: int
) -> Iterator[str]:
    kind = form or _form(name, reader.peek(_PEEKED))
    if kind == "json":
        return _from_list(reader, name)
    lines = Lines(reader, name)
    return _from_plain(lines, most) if kind == "plain" else _from_lines(lines)


def _form(name: str, begin: bytes) -> str:
    """Return the form of a file: as its name ends, else as its text begins."""
    for ending, form in _ENDINGS.items():
        if name.lower().endswith(ending):
            return form
    if _LIST.match(begin):
        return "json"
    return "jsonl" if _OBJECT.match(begin) else "plain"


def _gathered(turns: Iterator[str], name: str, most: int) -> Iterator[Piece]:
    """Put messages together as long as they fit into a transcript."""
    held: list[str] = []
    size = 0
    for each in turns:
        own = len(each.encode())
        if own > most:
            raise InvalidInput(
                "path", f"{name} has a message of {own:,} bytes, and the limit is {most:,}"
            )
        if held and size + own > most:
            yield _piece(held)
            held, size = [], 0
        held.append(each)
        size += own
    if held:
        yield _piece(held)


def _piece(turns: Sequence[str]) -> Piece:
    return Piece("".join(turns).rstrip("\r\n"), len(turns))


def _from_plain(lines: Lines, most: int) -> Iterator[str]:
    """Yield messages with the lines that belong to them."""
    held, begun = "", False
    for line in lines:
        lines.taken()
        if head_of(line) is not None:
            if begun:
                yield held
                held = ""
            begun = True
        elif line.strip() and not begun:
            raise lines.wrong("begins with no speaker: a message is `Name: text`")
        held += line
        if len(held) > most:
            raise lines.wrong(f"makes a message longer than {most:,} bytes")
    if begun:
        yield held


def _from_lines(lines: Lines) -> Iterator[str]:
    """Yield the messages of JSON Lines."""
    for line in lines:
        lines.taken()
        if line.strip():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise lines.wrong(f"is no JSON: {error!s:.80}") from error
            yield _turn(message, f"line {lines.number}")


def _from_list(file: BinaryIO, name: str) -> Iterator[str]:
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
        yield _turn(message, f"message {number}")


def _turn(message: object, where: str) -> str:
    return turn(message, where) + "\n"
