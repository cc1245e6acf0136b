"""What is left of an operation in whose place something was erased: the slots that stay, opened.

What applies there is not stored but follows from those slots (`rest`), so nothing can be put into
the place that was not said there. There are two exceptions, and neither can carry content: the
pseudonym of whoever was forgotten, which the erasing commit names, and the numbers that a
compaction leaves of a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from memoranda.errors import Corruption
from memoranda.model import slots
from memoranda.model.carried import Begun, Continued, Mentioned
from memoranda.model.graph_operations import (
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
)
from memoranda.model.memory_operations import KeepTranscript, Remember, Retract, Revise, Touch
from memoranda.model.operation import Operation, OperationType
from memoranda.model.refs import FactRef, KeyRef, Ref
from memoranda.model.slots import BECAUSE, Layout
from memoranda.model.state_operations import Write
from memoranda.model.stubs import MemoryStub, TranscriptStub

FORGOTTEN: Final = ""
"""Stands for a key, or for an assertion, in a reference to one that was forgotten."""
NAMING: Final = frozenset(("by", "agent"))
"""The fields that name an agent, beside whose operation it is: a pseudonym may stand there."""
_OPTIONAL: Final = frozenset(("note", "reason"))
"""Texts that can be dropped alone; the operation then has none."""
_KEY, _FACT = 1, 3
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError)
_read_ref: Final = msgspec.msgpack.Decoder(Ref).decode


class Kept(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A slot, or an item of a list, that stays: its salt and the bytes of its fields."""

    salt: bytes
    value: bytes


class Renamed(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A slot that held a name, and now a pseudonym: that of the commit that erased the name."""

    commitment: bytes
    erasure: int
    name: str


class Listed(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A slot that is a list, of which some items stay."""

    items: tuple[Kept | Blanked, ...]


class Blanked(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """A reference that says no longer what it names: only whether a key or a fact, at a version."""

    commitment: bytes
    kind: int
    version: int | None = None


class Hidden(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """A namespace or an agent in whose place a pseudonym stands."""

    commitment: bytes
    erasure: int


NameSlot = bytes | Hidden
"""The salt of a name that stands beside it, or what became of the name."""
AnySlot = bytes | Kept | Renamed | Listed
"""A slot that stays, or the commitment to one that was dropped."""


class Redacted(Operation, frozen=True, tag=43, gc=False):
    """What is left of an operation in an event of chain version 2."""

    type = OperationType.ERASED

    erasure: int
    """The commit that erased something here last."""
    salt: bytes
    """Goes when more of it is erased: the hash of what stood here then confirms no guess of it."""
    scope_slots: tuple[NameSlot, NameSlot]
    kind: int
    """The operation's number; 0 if none of its slots stays."""
    slots: tuple[AnySlot, ...]
    numbers: tuple[int | None, ...] = ()
    """What a compaction leaves of a memory: see `Continued`."""

    @property
    def rest(self) -> Operation | None:
        """What applies in its place; None: nothing."""
        if not self.kind:
            if self.numbers or not all(isinstance(slot, bytes) for slot in self.slots):
                raise Corruption("something is left of an operation of no kind")
            return None
        return _Reading(self).rest()


def fields_of(left: Redacted) -> dict[str, Any]:
    """Return the fields that are left of an operation, by name, but for its scope."""
    return _Reading(left).fields if left.kind else {}


class _Reading:
    """The fields that are left of an operation."""

    def __init__(self, left: Redacted) -> None:
        kind = slots.KINDS.get(left.kind)
        if kind is None:
            raise Corruption(f"something is left of an operation of the unknown kind {left.kind}")
        self._kind = kind
        self._left = left
        listed = kind is Write and len(left.slots) > 1
        layout = slots.layout(kind, listed=listed)
        if len(layout) != len(left.slots):
            raise Corruption("what is left of an operation has not the slots of its kind")
        self.fields: dict[str, Any] = {}
        self.dropped: set[str] = set()
        for index, (slot, value) in enumerate(zip(layout, left.slots, strict=True)):
            self._read(layout, index, slot, value)

    def _read(self, layout: Layout, index: int, slot: slots.Slot, value: AnySlot) -> None:
        if isinstance(value, Kept) and slot != (BECAUSE,):
            fields = _decoder(self._kind, layout, index)(slots.packed(slot, value.value))
            self.fields.update(zip(slots.ordered(self._kind, slot), fields, strict=True))
        elif isinstance(value, Renamed) and NAMING.issuperset(slot):
            self.fields[slot[0]] = value.name
        elif isinstance(value, Listed) and slot == (BECAUSE,):
            self.fields[BECAUSE] = tuple(map(_ref, value.items))
        elif isinstance(value, bytes):
            self.dropped.update(slot)
        else:
            raise Corruption("what is left of an operation is not in its form")

    def rest(self) -> Operation:
        """Return what the fields that are left say."""
        if self._left.numbers:
            return self._continued()
        optional = self.dropped & _OPTIONAL
        if self.dropped == optional:
            return self._whole(self._kind, dict.fromkeys(optional))
        partial = _PARTIAL.get(self._kind)
        found = None if partial is None else partial(self._own(), self.fields, self.dropped)
        if found is None:
            raise Corruption("what is left of an operation does not make one")
        return found

    def _own(self) -> tuple[str, str]:
        return self._left.namespace, self._left.agent_id

    def _whole(self, kind: type[Operation], more: Mapping[str, Any]) -> Operation:
        namespace, agent_id = self._own()
        return kind(namespace=namespace, agent_id=agent_id, **self.fields, **more)

    def _continued(self) -> Continued:
        """Return a memory's state, where what was said of it goes on from what is gone."""
        numbers, gone = self._left.numbers, self.dropped
        without = gone & {"content", "details"}
        if self._kind not in (Revise, Retract, Touch) or gone != without or len(numbers) != 4:
            raise Corruption("numbers are left of an operation that can leave none")
        base = self._whole(self._kind, dict.fromkeys(without))
        assert isinstance(base, Revise | Retract | Touch), "no other kind leaves numbers"
        _, depth, count, _ = numbers
        if depth is None or count is None:
            raise Corruption("numbers are left of an operation, and some are missing")
        return Continued(
            *self._own(),
            base,
            numbers[0],
            depth,
            count,
            numbers[3],
            "content" in without,
            "details" in without,
        )


@cache
def _decoder(kind: type[Operation], layout: Layout, index: int) -> Callable[[bytes], Any]:
    read = slots.decoder(kind, layout[index]).decode

    def decode(data: bytes) -> Any:
        try:
            return read(data)
        except _UNREADABLE as error:
            raise Corruption(f"what is left of an operation cannot be read: {error}") from error

    return decode


def _ref(item: Kept | Blanked) -> Ref:
    if isinstance(item, Kept):
        try:
            found: Ref = _read_ref(item.value)
        except _UNREADABLE as error:
            raise Corruption(f"a reference cannot be read: {error}") from error
        return found
    if item.kind == _FACT and item.version is None:
        return FactRef(FORGOTTEN)
    if item.kind == _KEY:
        return KeyRef(FORGOTTEN, item.version)
    raise Corruption("what is left of a reference is not in its form")


def blanked(commitment: bytes, ref: Ref) -> Blanked:
    """Return what is left of a reference to something that was forgotten."""
    if isinstance(ref, KeyRef):
        return Blanked(commitment, _KEY, ref.version)
    return Blanked(commitment, _FACT)


Scope = tuple[str, str]


def _memory(scope: Scope, fields: dict[str, Any], dropped: set[str]) -> Operation | None:
    if fields.keys() == {"memory_id", "private"}:
        return MemoryStub(*scope, **fields)
    if "content" not in dropped or dropped & {"memory_id", "kind"}:
        return None
    return Begun(
        *scope,
        fields["memory_id"],
        fields["private"],
        fields["kind"],
        fields["tier"],
        fields.get("title"),
        fields["expiry"],
        b"",
        fields.get("details"),
    )


def _transcript(scope: Scope, fields: dict[str, Any], _: set[str]) -> Operation | None:
    return TranscriptStub(*scope, **fields) if fields.keys() == {"transcript_id"} else None


def _names(scope: Scope, fields: dict[str, Any], dropped: set[str]) -> Operation | None:
    if "assertion_id" not in dropped:
        return None
    return Mentioned(*scope, tuple(name for name in fields.values() if name is not None), b"")


_PARTIAL: Final[
    Mapping[type[Operation], Callable[[Scope, dict[str, Any], set[str]], Operation | None]]
] = {
    Remember: _memory,
    KeepTranscript: _transcript,
    Assert: _names,
    End: _names,
    EndFrom: _names,
    AssertPrivately: _names,
    EndPrivately: _names,
}
"""What applies where only some slots are left, by the kind of operation."""
