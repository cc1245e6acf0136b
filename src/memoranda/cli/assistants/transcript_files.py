"""Transcripts that clients keep of their sessions: the messages that are new in a file.

Claude Code, Codex, Cursor and Gemini append a line of JSON for each message; older versions of
Gemini rewrite one JSON document. Only messages of the user and the assistant are read: no tool
calls, tool output, thinking, or text that the program itself adds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

MAX_READ_BYTES = 4 * 2**20
"""Bytes that one hook reads of a file; the next one continues from there."""
MAX_DOCUMENT_BYTES = 32 * 2**20
"""The longest document that is parsed as a whole."""
MAX_MESSAGE_CHARACTERS = 200_000
"""Characters of a message that are stored: a longer one is mostly a pasted file."""
_TAIL_BYTES = 256
"""Bytes before a position that tell whether the file is still the same."""
_RECENT = 32
"""Messages that are recognized if a file was rewritten."""
_FINGERPRINT_DIGITS = 16
"""Hexadecimal digits of a fingerprint: 64 bits."""
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gemini": "assistant",
          "model": "assistant"}  # fmt: skip
_TEXT_TYPES = (None, "text", "input_text", "output_text")
_SKIPPED_FLAGS = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_ADDED = re.compile(r"<(memoranda|system-reminder|timestamp)\b[^<>]{0,200}>")
"""The beginnings of blocks that programs add to a message, Memoranda among them."""
_QUERY = re.compile(r"\s*<user_query>(.*)</user_query>\s*", re.DOTALL)
_NOT_SAID = (
    *("<command-", "<local-command-", "<environment_context>", "<user_instructions>"),
    *("<bash-", "<user-prompt-submit-hook>", "# AGENTS.md instructions", "Caveat: The messages"),
)
"""The beginnings of messages that no person wrote."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Message(msgspec.Struct, frozen=True):
    """A message of the user or the assistant."""

    role: str
    content: str
    timestamp: str | None = None
    identity: str | None = None
    """The client's id of it."""

    @property
    def fingerprint(self) -> str:
        """The same for the same message of a session."""
        parts = (self.identity,) if self.identity else (self.role, self.timestamp, self.content)
        text = "\0".join(part or "" for part in parts)
        return sha256(text.encode()).hexdigest()[:_FINGERPRINT_DIGITS]


class Position(msgspec.Struct, frozen=True):
    """How far a file was read, and stored."""

    path: str = ""
    offset: int = 0
    tail: str = ""
    """A hash of the last bytes before the offset."""
    recent: tuple[str, ...] = ()
    """Fingerprints of the last messages, the newest last."""


class NewMessages(msgspec.Struct, frozen=True):
    """Messages that were not read before, and the position behind them."""

    messages: tuple[Message, ...]
    position: Position


def read_new(path: Path, position: Position, max_bytes: int = MAX_READ_BYTES) -> NewMessages:
    """Read messages that are new in a file; raise `OSError` if it cannot be read.

    A file that is shorter, or has other bytes before the position, was rewritten. Then the messages
    after the last known one are new, or all of them if none is known.
    """
    with path.open("rb") as file:
        if _is_document(path, file):
            return _read_document(path, file, position)
        is_continued = position.path == str(path) and _tail(file, position.offset) == position.tail
        start = position.offset if is_continued else 0
        file.seek(start)
        block = file.read(max_bytes)
        complete = block.rfind(b"\n") + 1
        if not complete and len(block) == max_bytes:
            complete = max_bytes + _rest_of_line(file, max_bytes)
            block = b""  # a line that is too long to be a message
        messages = list(_messages(_records(block[:complete])))
        messages = _unknown(messages, position.recent, is_continued=is_continued)
        end = start + complete
        return _result(messages, Position(str(path), end, _tail(file, end), position.recent))


def _result(messages: Sequence[Message], position: Position) -> NewMessages:
    recent = (*position.recent, *(message.fingerprint for message in messages))[-_RECENT:]
    return NewMessages(tuple(messages), msgspec.structs.replace(position, recent=recent))


def _tail(file: BinaryIO, offset: int) -> str:
    """Return a hash of the bytes before an offset; of fewer, if the file is shorter."""
    start = max(offset - _TAIL_BYTES, 0)
    file.seek(start)
    return sha256(file.read(offset - start)).hexdigest()[:_FINGERPRINT_DIGITS]


def _rest_of_line(file: BinaryIO, step: int) -> int:
    """Return how many bytes a line goes on; none if it is not complete yet."""
    count = 0
    while block := file.read(step):
        end = block.find(b"\n")
        if end >= 0:
            return count + end + 1
        count += len(block)
    return -step


def _unknown(
    messages: list[Message], recent: Sequence[str], *, is_continued: bool
) -> list[Message]:
    """Return the messages that are not known yet.

    Some clients append a message again when they change it, under the same id: its last version
    counts, unless an earlier one is stored already.
    """
    fingerprints = set(recent)
    if not is_continued:
        places = [
            number for number, item in enumerate(messages) if item.fingerprint in fingerprints
        ]
        messages = messages[places[-1] + 1 :] if places else messages
    latest = {item.fingerprint: item for item in messages if item.identity is not None}
    unknown: list[Message] = []
    for message in messages:
        if message.identity is None:
            unknown.append(message)
        elif message.fingerprint not in fingerprints:
            fingerprints.add(message.fingerprint)
            unknown.append(latest[message.fingerprint])
    return unknown


def _is_document(path: Path, file: BinaryIO) -> bool:
    """Say whether a file is one JSON document, and not a line for each message."""
    start = file.read(_TAIL_BYTES).lstrip()
    return (
        path.suffix == ".json" or start.startswith(b"[") or re.match(rb"\{\s*\n", start) is not None
    )


def _read_document(path: Path, file: BinaryIO, position: Position) -> NewMessages:
    file.seek(0)
    content = file.read(MAX_DOCUMENT_BYTES)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):  # too long, or being written
        return NewMessages((), position)
    records = value.get("messages") if isinstance(value, dict) else value
    messages = list(_messages(records if isinstance(records, list) else []))
    messages = _unknown(messages, position.recent, is_continued=False)
    return _result(messages, Position(str(path), recent=position.recent))


# Lines, and the messages in them.


def _records(block: bytes) -> Iterator[Any]:
    """Yield the JSON of each line; a line that is damaged is left out."""
    for line in block.splitlines():
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _messages(records: Sequence[Any] | Iterator[Any]) -> Iterator[Message]:
    for record in records:
        message = _message(record) if isinstance(record, dict) else None
        if message is not None:
            yield message


def _message(record: dict[str, Any]) -> Message | None:
    """Return what a record says; None if it is about something else."""
    if any(record.get(flag) for flag in _SKIPPED_FLAGS):
        return None
    inner = _inner(record)
    role = _ROLES.get(str(inner.get("role") or record.get("role") or record.get("type")))
    text = _text_of(inner.get("content") if "content" in inner else inner.get("parts"))
    if role is None or not text:
        return None
    identity = record.get("uuid") or record.get("id")
    timestamp = record.get("timestamp")
    return Message(
        role,
        text,
        timestamp if isinstance(timestamp, str) else None,
        identity if isinstance(identity, str) else None,
    )


def _inner(record: dict[str, Any]) -> dict[str, Any]:
    """Return the message in a record: of Claude Code and Cursor, of Codex, or the record itself."""
    if record.get("type") == "response_item" and isinstance(record.get("payload"), dict):
        payload: dict[str, Any] = record["payload"]
        return payload if payload.get("type") == "message" else {}
    message = record.get("message")
    return message if isinstance(message, dict) else record


def _text_of(content: Any) -> str:
    """Return the texts of a message, without blocks that programs added."""
    parts = content if isinstance(content, list) else [content]
    texts = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") in _TEXT_TYPES:
            part = part.get("text")
        if isinstance(part, str):
            texts.append(part)
    text = _without_added("\n".join(texts)).strip()
    query = _QUERY.fullmatch(text)
    text = query[1].strip() if query else text
    if text.startswith(_NOT_SAID):
        return ""
    return _UNSTORABLE.sub("\ufffd", text[:MAX_MESSAGE_CHARACTERS])


def _without_added(text: str) -> str:
    """Remove blocks that programs added, in linear time for any text."""
    parts: list[str] = []
    place, unclosed = 0, set[str]()
    for match in _ADDED.finditer(text):
        name = match[1]
        if match.start() < place or name in unclosed:
            continue
        end = text.find(f"</{name}>", match.end())
        if end < 0:
            unclosed.add(name)
            continue
        parts.append(text[place : match.start()])
        place = end + len(f"</{name}>")
    return "".join((*parts, text[place:]))
