"""Slots: groups of an operation's fields, each with a commitment of its own in the leaf hash.

An erasure drops slots as a whole and opens every slot that it leaves. Each slot costs a hash in
every commit, so fields share a slot unless an erasure separates them. A field never moves to
another slot. A new field of an operation is added to its last slot here and, by its position, in
`memoranda_verify.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from memoranda.errors import Corruption
from memoranda.model.operations.audit import Erase, Refuse, RetireKey, Summary, TrustKey
from memoranda.model.operations.base import Operation
from memoranda.model.operations.graph import (
    Alias,
    Assert,
    AssertPrivately,
    Classify,
    End,
    EndFrom,
    EndPrivately,
    Merge,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.operations.memory import (
    AddLink,
    Cite,
    CloseLink,
    Configure,
    KeepTranscript,
    Notify,
    NotifyStale,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
)
from memoranda.model.operations.state import Delete, Epoch, Write

Slot = tuple[str, ...]
Layout = tuple[Slot, ...]

BECAUSE: Final = "because"
_SCOPE: Final = 3
"""The number of items before an operation's own fields: tag, namespace, agent."""
_NAMES: Final[Layout] = (("subject",), ("relation",), ("object",))
_SINGLE_SLOT: Final = (
    Delete,
    Epoch,
    Touch,
    AddLink,
    CloseLink,
    Cite,
    Configure,
    Classify,
    Alias,
    Merge,
    Summary,
)
"""Kinds whose fields are always erased together."""
_SEPARATED: Final[Mapping[type[Operation], Layout]] = {
    Remember: (
        ("memory_id", "private"),
        ("kind", "tier", "expiry"),
        ("title",),
        ("content",),
        ("details",),
    ),
    Revise: (
        ("memory_id", "version", "kind", "tier", "title", "expiry", "private"),
        ("content",),
        ("details",),
    ),
    Retract: (("memory_id", "version", "private"), ("reason",)),
    KeepTranscript: (
        ("transcript_id",),
        ("blob", "size", "occurred_at", "expiry", "form", "text_size"),
    ),
    Notify: (
        ("memory_id", "dependent_id", "invalidated_id", "invalidating_id", "private"),
        ("by",),
    ),
    NotifyStale: (
        (
            "memory_id",
            "dependent_kind",
            "dependent",
            "evidence_kind",
            "evidence",
            "change",
            "invalidating_id",
            "private",
        ),
        ("by",),
    ),
    Resolve: (("memory_id", "decision", "expiry", "replacement", "private"), ("by",), ("note",)),
    Assert: (("assertion_id", "valid_from", "confidence", "source"), *_NAMES),
    End: (("assertion_id", "at"), *_NAMES),
    EndFrom: (("assertion_id", "at", "source"), *_NAMES),
    Withdraw: (("assertion_id",), ("reason",)),
    AssertPrivately: (("assertion_id", "valid_from", "confidence", "source"), *_NAMES),
    EndPrivately: (("assertion_id", "at", "source"), *_NAMES),
    WithdrawPrivately: (("assertion_id",), ("reason",)),
    Erase: (
        ("erasure_id", "target", "count", "digest", "pseudonym", "pseudonyms"),
        ("by",),
        ("reason",),
    ),
    TrustKey: (("name", "public_key"), ("agent",)),
    RetireKey: (("name", "public_key"), ("reason",)),
    Refuse: (("what", "about", "left_out"), ("by",)),
}
_WRITE: Final[Layout] = (("key", "version", "encoded", BECAUSE),)
_WRITE_BECAUSE: Final[Layout] = (("key", "version", "encoded"), (BECAUSE,))
"""Each reference has a commitment of its own, so that it can be blanked alone."""


def _own_fields(kind: type[Operation]) -> tuple[str, ...]:
    return kind.__struct_fields__[2:]


def _tag(kind: type[Operation]) -> int:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, int), "an operation begins with its tag"
    return tag


LAYOUTS: Final[Mapping[type[Operation], Layout]] = {
    **{kind: (_own_fields(kind),) for kind in _SINGLE_SLOT},
    **_SEPARATED,
    Write: _WRITE,
}
"""The slots of each kind of operation; a write with references has another layout."""
KINDS: Final[Mapping[int, type[Operation]]] = {_tag(kind): kind for kind in LAYOUTS}
"""The kinds of operation by their tags."""
ONE_SLOT: Final = frozenset(kind for kind, layout in LAYOUTS.items() if len(layout) == 1)
"""Kinds with one slot, which has all their fields in order."""

_PLACES: Final[Mapping[int, tuple[tuple[int, ...], ...]]] = {
    _tag(kind): tuple(
        tuple(sorted(_own_fields(kind).index(field) + _SCOPE for field in slot)) for slot in layout
    )
    for kind, layout in LAYOUTS.items()
}
_COUNTS: Final = {tag: _SCOPE + sum(map(len, places)) for tag, places in _PLACES.items()}
"""The number of items of each kind of operation, by its tag."""
_NO_ITEMS: Final = b"\x90"
_BECAUSE_AT: Final = _own_fields(Write).index(BECAUSE) + _SCOPE
_items: Final = msgspec.msgpack.Decoder(list[msgspec.Raw])
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError)


def layout(kind: type[Operation], *, has_refs: bool = False) -> Layout:
    """Return the slots of a kind of operation; `has_refs` is for a write with references."""
    return _WRITE_BECAUSE if has_refs and kind is Write else LAYOUTS[kind]


def ordered(kind: type[Operation], slot: Slot) -> Slot:
    """Return the fields of a slot in their stored order."""
    return tuple(field for field in kind.__struct_fields__ if field in slot)


def places(kind: type[Operation]) -> tuple[bytes, ...]:
    """Return, for each slot of a kind, the bytes of kind and index that its commitment covers."""
    return tuple(bytes((_tag(kind), index)) for index in range(len(LAYOUTS[kind])))


def values(part: bytes) -> list[bytes | list[bytes]]:
    """Return the stored bytes of each slot of an operation; of a list, those of each item."""
    try:
        items, tag = _items.decode(part), part[1]
        if tag == 1 and len(items) > _BECAUSE_AT and bytes(items[_BECAUSE_AT]) != _NO_ITEMS:
            refs = [bytes(item) for item in _items.decode(items[_BECAUSE_AT])]
            return [b"".join(items[_SCOPE:_BECAUSE_AT]), refs]
        places = _PLACES[tag]
    except (*_UNREADABLE, LookupError) as error:
        raise Corruption(f"an operation cannot be read: {error}") from error
    if len(items) == _COUNTS[tag]:
        return [b"".join([items[at] for at in slot]) for slot in places]
    if len(items) > _COUNTS[tag]:
        raise Corruption("an operation has more fields than its kind")
    return [b"".join([items[at] for at in slot if at < len(items)]) for slot in places]


def decoder(kind: type[Operation], slot: Slot) -> msgspec.msgpack.Decoder[tuple[Any, ...]]:
    """Return a decoder for the fields of a slot, which `packed` has made an array."""
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    shape: Any = tuple[tuple(types[field] for field in ordered(kind, slot))]  # type: ignore[misc]
    return msgspec.msgpack.Decoder(shape)


def packed(slot: Slot, value: bytes) -> bytes:
    """Return the bytes of a slot's fields as a msgpack array."""
    assert len(slot) < 16, "a short msgpack array has a header of one byte"
    return bytes([0x90 | len(slot)]) + value
