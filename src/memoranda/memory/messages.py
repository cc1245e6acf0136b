"""Messages as plain JSON: what programs hold as objects, brought to the form that is stored.

Nothing is dropped: fields that nobody here knows are kept as they are. Libraries are not imported;
an object is known by what it can do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from typing import Any, Final

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.limits import Limits, shown

_ATTRIBUTES: Final = (
    "role",
    "type",
    "name",
    "content",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "additional_kwargs",
    "id",
    "timestamp",
)
"""What is read of an object that cannot tell all of itself."""
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(list[dict[str, Any]])


def plain_messages(field: str, given: object, limits: Limits) -> list[Document]:
    """Return messages as plain JSON objects, or say what in which of them is none."""
    if isinstance(given, (str, bytes, bytearray, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInput(field, f"{shown(given)} is neither a text nor a list of messages")
    found = [
        plain_message(f"{field}, message {n}", each, limits) for n, each in enumerate(given, 1)
    ]
    if not found:
        raise InvalidInput(field, "has no messages: give at least one")
    return found


def plain_message(where: str, given: object, limits: Limits) -> Document:
    """Return a message as a plain JSON object."""
    found = _plain(where, given, limits.value_depth)
    if not isinstance(found, dict):
        raise InvalidInput(where, f"{shown(given)} is no object with a speaker and a text")
    document.check(where, found, limits)
    plain: Document = msgspec.json.decode(document.encoded(found))
    return plain


def encode(messages: Iterable[Document]) -> bytes:
    """Return the bytes to store: the same for the same messages, in whatever order their fields."""
    return _encoder.encode(list(messages))


def decode(content: bytes) -> list[Document]:
    """Return the messages in stored bytes."""
    try:
        return _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corruption(f"stored messages cannot be read: {error}") from error


def _plain(where: str, value: object, levels: int) -> object:
    """Return a value with its objects turned into members; the check says what is no JSON."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if not levels:
        raise InvalidInput(where, "is nested too deeply (or inside itself)")
    if isinstance(value, Mapping):
        return {name: _plain(where, item, levels - 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(where, item, levels - 1) for item in value]
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    told = _told(where, value)
    return value if told is None else _plain(where, told, levels - 1)


def _told(where: str, value: object) -> Mapping[str, object] | None:
    """Return what an object tells of itself, if it is of a kind that can be a message."""
    for dump in _dumps(value):
        try:
            told = dump()
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                where, f"{type(value).__name__} cannot be told as JSON: {error!s:.80}"
            ) from error
        return told if isinstance(told, Mapping) else None
    given = {name: getattr(value, name, None) for name in _ATTRIBUTES}
    known = {name: item for name, item in given.items() if item is not None and not callable(item)}
    return known if "content" in known and known.keys() & {"role", "type"} else None


def _dumps(value: object) -> Iterable[Callable[[], object]]:
    """Yield the way in which an object tells all of itself, if it has one."""
    if isinstance(value, type):
        return
    if isinstance(value, msgspec.Struct):
        yield lambda: msgspec.to_builtins(value)
    elif dataclasses.is_dataclass(value):
        yield lambda: {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    elif callable(dump := getattr(value, "model_dump", None)):
        yield partial(dump, mode="json")
    elif callable(dump := getattr(value, "dict", None)):
        yield dump
