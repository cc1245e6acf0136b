"""Conversations in exports: of ChatGPT, of Claude, and objects with a list of `messages`.

An export holds many conversations, each with a title and a time. A conversation of ChatGPT is a
tree, since a message can be edited and an answer repeated; the branch that ends in `current_node`
is read, which is the one its user sees.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.clock import to_datetime
from memoranda.model.limits import short_repr

Members = Mapping[str, Any]
_MEMBER = "conversations.json"
_ROLES = {"human": "user"}
"""Names of senders in an export -> the roles of messages."""
_HIDDEN = "is_visually_hidden_from_conversation"
_INTERNAL = frozenset(
    ("model_editable_context", "reasoning_recap", "thoughts", "user_editable_context")
)
"""Content types that were not said in the conversation."""


class ExportedConversation(msgspec.Struct, frozen=True):
    """A conversation of an export."""

    location: str
    """Its number and title, for error messages."""
    title: str
    began_at: datetime | None
    messages: list[tuple[str, dict[str, Any]]]
    """Each message, with its location for error messages."""


def exported(value: object, name: str) -> Iterator[ExportedConversation] | None:
    """Return the conversations of a parsed file; None if it is a list of messages."""
    conversations = value if isinstance(value, list) else [value]
    first = _members(conversations[0]) if conversations else {}
    is_export = bool({"mapping", "chat_messages"} & first.keys())
    has_messages = isinstance(value, list) and isinstance(first.get("messages"), list)
    if not is_export and not has_messages:
        return None
    return (conversation(item, number, name) for number, item in enumerate(conversations, 1))


def conversation(value: object, number: int, name: str) -> ExportedConversation:
    """Read a conversation; raise `InvalidInput` that names it and the message."""
    location = f"conversation {number} of {name}"
    if not isinstance(value, dict):
        raise InvalidInput("path", f"{location} is not an object: {short_repr(value)}")
    title = value.get("title") or value.get("name") or ""
    title = title if isinstance(title, str) else ""
    location = f"conversation {number} {title!r} of {name}" if title else location
    if "mapping" in value:
        messages, began = _of_chatgpt(value, location), value.get("create_time")
    elif "chat_messages" in value:
        messages, began = _of_claude(value, location), value.get("created_at")
    else:
        messages, began = _plain(value, location), value.get("created_at")
    return ExportedConversation(location, title, _time(began, location), list(messages))


def _plain(value: Members, location: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, message in enumerate(_list(value, "messages", location), 1):
        yield f"message {number} of {location}", message


# ChatGPT.


def _of_chatgpt(value: Members, location: str) -> Iterator[tuple[str, dict[str, Any]]]:
    mapping = value["mapping"]
    if not isinstance(mapping, dict):
        raise InvalidInput("path", f"{location} has a `mapping` that is not an object")
    for number, node in enumerate(_branch(mapping, value.get("current_node"), location), 1):
        message = node.get("message")
        message_location = f"message {number} of {location}"
        if message is None:  # the root has none
            continue
        if not isinstance(message, dict):
            raise InvalidInput(
                "path", f"{message_location} is not an object: {short_repr(message)}"
            )
        text = _chatgpt_text(message, message_location)
        if text:
            author = message.get("author")
            role = author.get("role") if isinstance(author, dict) else None
            if not isinstance(role, str):
                raise InvalidInput("path", f"{message_location} has no `author` with a `role`")
            yield (
                message_location,
                _message(role, text, message.get("create_time"), message_location),
            )


def _branch(mapping: Members, leaf: object, location: str) -> list[Members]:
    """Return the nodes from the root to the current node; without one, to the newest leaf."""
    name = leaf if isinstance(leaf, str) and leaf in mapping else _newest_leaf(mapping)
    nodes: dict[str, Members] = {}
    while name is not None:
        node = mapping.get(name)
        if not isinstance(node, dict) or name in nodes:
            problem = "comes twice" if name in nodes else "is missing"
            raise InvalidInput("path", f"{location} is not a tree: node {name!r} {problem}")
        nodes[name] = node
        name = node.get("parent")
    return list(reversed(nodes.values()))


def _newest_leaf(mapping: Members) -> str | None:
    """Return the leaf that the last children lead to from the root."""
    roots = [name for name, node in mapping.items() if not _members(node).get("parent")]
    name = roots[-1] if roots else None
    for _ in mapping:
        children = _members(mapping.get(name or "")).get("children")
        if not isinstance(children, list) or not children or children[-1] not in mapping:
            break
        name = children[-1]
    return name


def _members(value: object) -> Members:
    return value if isinstance(value, dict) else {}


def _chatgpt_text(message: Members, location: str) -> str:
    """Return the text of a message; empty if it has none, or its user did not see it."""
    content = message.get("content")
    if not isinstance(content, dict):
        raise InvalidInput("path", f"{location} has no `content`")
    if content.get("content_type") in _INTERNAL or _members(message.get("metadata")).get(_HIDDEN):
        return ""
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(filter(None, (_part_text(part) for part in parts))).strip()
    text = content.get("text") or content.get("result") or ""
    return text.strip() if isinstance(text, str) else ""


def _part_text(part: object) -> str:
    """Return the text of a part; a picture or a file is named by its type."""
    if isinstance(part, str):
        return part
    members = _members(part)
    text = members.get("text")
    return text if isinstance(text, str) else f"[{members.get('content_type', 'attachment')}]"


# Claude.


def _of_claude(value: Members, location: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, message in enumerate(_list(value, "chat_messages", location), 1):
        message_location = f"message {number} of {location}"
        if not isinstance(message, dict):
            raise InvalidInput(
                "path", f"{message_location} is not an object: {short_repr(message)}"
            )
        sender = message.get("sender")
        if not isinstance(sender, str):
            raise InvalidInput("path", f"{message_location} has no `sender`")
        content = _claude_content(message)
        if content:
            yield (
                message_location,
                _message(sender, content, message.get("created_at"), message_location),
            )


def _claude_content(message: Members) -> object:
    """Return the parts of a message, or its text if it has none; then the names of its files."""
    parts = message.get("content")
    text = message.get("text")
    blocks = [part for part in parts if not _is_blank(part)] if isinstance(parts, list) else []
    content = blocks or text
    names = [
        str(file["file_name"])
        for list_name in ("attachments", "files")
        for file in message.get(list_name) or ()
        if isinstance(file, dict) and file.get("file_name")
    ]
    if not names:
        return content
    if not blocks and text:
        blocks = [{"type": "text", "text": text}]
    return [*blocks, *({"type": "text", "text": f"[attachment {name}]"} for name in names)]


def _is_blank(part: object) -> bool:
    members = _members(part)
    return members.get("type") == "text" and not str(members.get("text") or "").strip()


# Both.


def _message(role: str, content: object, time: object, location: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": _ROLES.get(role, role), "content": content}
    sent_at = _time(time, location)
    if sent_at is not None:
        message["timestamp"] = sent_at.isoformat()
    return message


def _list(value: Members, member: str, location: str) -> list[Any]:
    items = value.get(member)
    if not isinstance(items, list):
        raise InvalidInput("path", f"{location} has no list of `{member}`")
    return items


def _time(value: object, location: str) -> datetime | None:
    """Return a time: seconds since 1970 in exports of ChatGPT, RFC 3339 text in others."""
    if value is None:
        return None
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return to_datetime(round(value * 1_000_000))
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput("path", f"{location} has the time {short_repr(value)}, which is none")


# Archives.


def is_zip(start: bytes) -> bool:
    """Say whether a file begins as a zip archive does."""
    return start.startswith(b"PK\x03\x04")


@contextmanager
def open_archive(file: BinaryIO, name: str) -> Iterator[IO[bytes]]:
    """Open the conversations of a zipped export."""
    if not file.seekable():
        raise InvalidInput("path", f"{name} is a zip archive in a pipe: give it as a file")
    try:
        with zipfile.ZipFile(file) as archive:
            members = [item for item in archive.namelist() if item.split("/")[-1] == _MEMBER]
            if not members:
                raise InvalidInput("path", f"{name} has no {_MEMBER}: unzip it, and give its files")
            with archive.open(min(members, key=len)) as member:
                yield member
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvalidInput("path", f"{name} cannot be unzipped: {error}") from error
