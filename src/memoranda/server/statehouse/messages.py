"""Answers of the wire as bytes.

A replay sends one event a message, so the cost of making a message counts. Building a Struct takes
more than twice as long as writing its bytes, which are simple: each field is its tag, and its size
where it has one, before its content. Fields and their numbers are those of
`proto/statehouse/v1/statehouse.proto`; tests compare with what the generated messages write.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import Write
from memoranda.state.reads import StateRecord

_SIZED, _VARINT = 2, 0
"""Wire types: a field of some bytes after their size, and a whole number."""
_KEPT = 4096
"""How many first bytes of fields are kept, and how many names."""
_KEPT_NAME_BYTES = 64
"""Bytes of a name that is kept: longer ones seldom come again."""


def _varint(number: int) -> bytes:
    """Return a whole number in groups of seven bits, lowest first."""
    if number < 0x4000:  # most are sizes
        high = number >> 7
        return bytes((number & 0x7F | 0x80, high)) if high else bytes((number,))
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


class _Heads(dict[int, bytes]):
    """The first bytes of a field: its tag, and then the size of its content, or its number.

    Those of small numbers are kept, since nearly all are small.
    """

    def __init__(self, field: int, wire_type: int) -> None:
        super().__init__()
        self._tag = _varint(field << 3 | wire_type)

    def __missing__(self, number: int) -> bytes:
        head = self._tag + _varint(number)
        if number < _KEPT:
            self[number] = head
        return head


# google.protobuf.Struct: a map of names to Values, which is a list of entries on the wire. A Value
# is in field 2 of an entry, or in field 1 of a list; it has one field itself, by its kind.


class _ValueHeads(dict[int, bytes]):
    """The first bytes of a Value, and of the field that it is in, by the size of its content."""

    def __init__(self, field: int, kind: int) -> None:
        super().__init__()
        self._outer, self._inner = _Heads(field, _SIZED), _Heads(kind, _SIZED)

    def __missing__(self, size: int) -> bytes:
        inner = self._inner[size]
        head = self._outer[len(inner) + size] + inner
        if size < _KEPT:
            self[size] = head
        return head


_TEXT_KIND, _OBJECT_KIND, _LIST_KIND = 3, 5, 6
"""Field numbers of a text, an object and a list in `google.protobuf.Value`."""
_MEMBER, _NAME = _Heads(1, _SIZED), _Heads(1, _SIZED)
_MEMBER_TEXT, _MEMBER_OBJECT, _MEMBER_LIST = (
    _ValueHeads(2, kind) for kind in (_TEXT_KIND, _OBJECT_KIND, _LIST_KIND)
)
_ITEM_TEXT, _ITEM_OBJECT, _ITEM_LIST = (
    _ValueHeads(1, kind) for kind in (_TEXT_KIND, _OBJECT_KIND, _LIST_KIND)
)
_MEMBER_NUMBER, _ITEM_NUMBER = b"\x12\x09\x11", b"\x0a\x09\x11"
_MEMBER_TRUE, _MEMBER_FALSE, _MEMBER_NULL = (
    b"\x12\x02\x20\x01",
    b"\x12\x02\x20\x00",
    b"\x12\x02\x08\x00",
)
_ITEM_TRUE, _ITEM_FALSE, _ITEM_NULL = b"\x0a\x02\x20\x01", b"\x0a\x02\x20\x00", b"\x0a\x02\x08\x00"
_pack_number = struct.Struct("<3sd").pack


class _Names(dict[str, bytes]):
    """Names of members as they are written; short ones are kept, since they come again."""

    def __missing__(self, name: str) -> bytes:
        text = name.encode()
        data = _NAME[len(text)] + text
        if len(text) <= _KEPT_NAME_BYTES and len(self) < _KEPT:
            self[name] = data
        return data


_names = _Names()

# Members and items are encoded by the same code, written twice: a call for each would take half of
# the time.


def encode_struct(value: Document) -> bytes:
    """Return a JSON object as a Struct."""
    members = []
    for name, item in value.items():
        kind = type(item)
        if kind is str:
            text = item.encode()
            content = _MEMBER_TEXT[len(text)] + text
        elif kind is int or kind is float:
            content = _pack_number(_MEMBER_NUMBER, item)
        elif kind is dict:
            inner = encode_struct(item)
            content = _MEMBER_OBJECT[len(inner)] + inner
        elif kind is list:
            inner = _encode_items(item)
            content = _MEMBER_LIST[len(inner)] + inner
        elif kind is bool:
            content = _MEMBER_TRUE if item else _MEMBER_FALSE
        else:
            content = _MEMBER_NULL
        member = _names[name] + content
        members.append(_MEMBER[len(member)] + member)
    return b"".join(members)


def _encode_items(items: list[Any]) -> bytes:
    """Return a JSON list as a ListValue."""
    values = []
    for item in items:
        kind = type(item)
        if kind is str:
            text = item.encode()
            values.append(_ITEM_TEXT[len(text)] + text)
        elif kind is int or kind is float:
            values.append(_pack_number(_ITEM_NUMBER, item))
        elif kind is dict:
            inner = encode_struct(item)
            values.append(_ITEM_OBJECT[len(inner)] + inner)
        elif kind is list:
            inner = _encode_items(item)
            values.append(_ITEM_LIST[len(inner)] + inner)
        elif kind is bool:
            values.append(_ITEM_TRUE if item else _ITEM_FALSE)
        else:
            values.append(_ITEM_NULL)
    return b"".join(values)


def has_few_parts(value: Document, limit: int) -> bool:
    """Say whether an object has at most so many members and items, at all depths."""
    count, containers = 0, [value]
    while containers:
        container: Any = containers.pop()
        count += len(container)
        if count > limit:
            return False
        items = container.values() if type(container) is dict else container
        containers += [item for item in items if type(item) in (dict, list)]
    return True


# Events of a replay.

_TXN_ID, _OPERATION = _Heads(1, _SIZED), _Heads(3, _SIZED)
_COMMIT_TAG = b"\x10"
_KEY, _VALUE, _VERSION = _Heads(1, _SIZED), _Heads(2, _SIZED), _Heads(3, _VARINT)


def encode_events(events: Iterable[ReplayEvent]) -> list[bytes]:
    """Return events of state operations, each as a `ReplayEvent`."""
    return [_encode_event(event) for event in events]


def size_of(event: ReplayEvent) -> int:
    """Return the stored bytes of the values of an event."""
    return sum([len(part.encoded) for part in event.operations if isinstance(part, Write)])


def parts_of(events: Iterable[ReplayEvent], size: int) -> Iterator[list[ReplayEvent]]:
    """Yield events in parts with values of so many bytes at most; a larger one is a part alone."""
    part: list[ReplayEvent] = []
    space = size
    for event in events:
        space -= size_of(event)
        if space < 0 and part:
            yield part
            part, space = [], size - size_of(event)
        part.append(event)
    if part:
        yield part


def _encode_event(event: ReplayEvent) -> bytes:
    txn_id = event.txn_id.encode()
    parts = [_TXN_ID[len(txn_id)], txn_id, _COMMIT_TAG, _varint(event.commit_ts)]
    for operation in event.operations:
        key = operation.key.encode()
        content = [_KEY[len(key)], key]
        if isinstance(operation, Write):
            value = encode_struct(document.decode(operation.encoded))
            content += (_VALUE[len(value)], value)
        content.append(_VERSION[operation.version])
        data = b"".join(content)
        parts += (_OPERATION[len(data)], data)
    return b"".join(parts)


# Answers of reads.

_STATE_VALUE, _STATE_VERSION, _STATE_COMMIT = (
    _Heads(1, _SIZED),
    _Heads(2, _VARINT),
    _Heads(3, _VARINT),
)
_STATE_EXISTS = b"\x20\x01"
_ENTRY = _Heads(1, _SIZED)
_ENTRY_KEY, _ENTRY_VALUE = _Heads(1, _SIZED), _Heads(2, _SIZED)
_ENTRY_VERSION, _ENTRY_COMMIT = _Heads(3, _VARINT), _Heads(4, _VARINT)
_LISTED_KEY = _Heads(1, _SIZED)


def encode_state(record: StateRecord | None) -> bytes:
    """Return a `GetStateResponse`, or a `GetStateAtVersionResponse`, which has the same fields."""
    if record is None:
        return b""
    value = encode_struct(record.value)
    version, commit = _STATE_VERSION[record.version], _STATE_COMMIT[record.commit_ts or 0]
    return _STATE_VALUE[len(value)] + value + version + commit + _STATE_EXISTS


def encode_entries(records: Iterable[StateRecord]) -> bytes:
    """Return entries of a `ScanPrefixResponse`; parts of a message can be joined."""
    parts: list[bytes] = []
    for record in records:
        key, value = record.key.encode(), encode_struct(record.value)
        content = b"".join(
            (
                _ENTRY_KEY[len(key)],
                key,
                _ENTRY_VALUE[len(value)],
                value,
                _ENTRY_VERSION[record.version],
                _ENTRY_COMMIT[record.commit_ts or 0],
            )
        )
        parts += (_ENTRY[len(content)], content)
    return b"".join(parts)


def encode_keys(keys: Iterable[str]) -> bytes:
    """Return keys of a `ListKeysResponse`; parts of a message can be joined."""
    texts = [key.encode() for key in keys]
    return b"".join([_LISTED_KEY[len(text)] + text for text in texts])
