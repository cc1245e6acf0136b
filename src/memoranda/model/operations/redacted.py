"""Redacted operations: the slots of an operation that an erasure left, each opened by its salt.

The operation that applies in its place (`residue`) is not stored but computed from those slots, so
an erasure cannot insert content that the operation never had. There are two exceptions, and neither
can carry content: the pseudonym of an erased agent, which the erasing commit names, and the
counters of a memory, which a compaction leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from memoranda.errors import Corruption
from memoranda.model.operations import slots
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.operations.graph import (
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
)
from memoranda.model.operations.memory import KeepTranscript, Remember, Retract, Revise, Touch
from memoranda.model.operations.residue import (
    ChangeResidue,
    MemoryTombstone,
    NamesResidue,
    RememberResidue,
    TranscriptTombstone,
)
from memoranda.model.operations.slots import BECAUSE, Layout
from memoranda.model.operations.state import Write
from memoranda.model.refs import FactRef, KeyRef, Ref

ERASED_REFERENT: Final = ""
"""The key or assertion id in a reference whose target was erased."""
AGENT_FIELDS: Final = frozenset(("by", "agent"))
"""The fields with an agent's name, besides `agent_id`; an erasure may replace it by a pseudonym."""
_OPTIONAL: Final = frozenset(("note", "reason"))
"""Texts that an erasure can drop alone; the residue then has None."""
_KEY, _FACT = 1, 3
"""The tags of references to keys and to facts."""
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError)
_read_ref: Final = msgspec.msgpack.Decoder(Ref).decode


class OpenSlot(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A slot, or an item of a list, that was not erased: its salt and the bytes of its fields."""

    salt: bytes
    value: bytes


class PseudonymSlot(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A slot whose name was replaced by the pseudonym of the erasing commit."""

    commitment: bytes
    erasure: int
    name: str


class ListSlot(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A slot with a list of references, some of which were blanked."""

    items: tuple[OpenSlot | BlankedRef, ...]


class BlankedRef(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """A reference without its target: only its type, a key or a fact, and its version."""

    commitment: bytes
    kind: int
    version: int | None = None


class HiddenName(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """The commitment to a namespace or agent that was replaced by a pseudonym."""

    commitment: bytes
    erasure: int


NameSlot = bytes | HiddenName
"""The salt of the operation's namespace or agent, or the commitment to the original name."""
AnySlot = bytes | OpenSlot | PseudonymSlot | ListSlot
"""A slot, or the commitment to one that was dropped."""


class Redacted(Operation, frozen=True, tag=43, gc=False):
    """An erased operation in an event of chain version 2."""

    type = OperationType.ERASED

    erasure: int
    """The last commit that erased a part of it."""
    salt: bytes
    """Dropped when more is erased, so that an older hash of this cannot confirm a guess."""
    scope_slots: tuple[NameSlot, NameSlot]
    kind: int
    """The operation's tag; 0 if all its slots were dropped."""
    slots: tuple[AnySlot, ...]
    numbers: tuple[int | None, ...] = ()
    """The counters of a memory that a compaction leaves: see `ChangeResidue`."""

    @property
    def residue(self) -> Operation | None:
        """The operation that applies in its place, if any."""
        if not self.kind:
            if self.numbers or not all(isinstance(slot, bytes) for slot in self.slots):
                raise Corruption("a redacted operation has slots and no kind")
            return None
        return _RemainingFields(self).residue()


def fields_of(redacted: Redacted) -> dict[str, Any]:
    """Return the remaining fields of an operation by name, without its scope."""
    return _RemainingFields(redacted).fields if redacted.kind else {}


class _RemainingFields:
    """The remaining fields of a redacted operation, decoded from its slots."""

    def __init__(self, redacted: Redacted) -> None:
        kind = slots.KINDS.get(redacted.kind)
        if kind is None:
            raise Corruption(f"a redacted operation has the unknown kind {redacted.kind}")
        self._kind = kind
        self._redacted = redacted
        has_refs = kind is Write and len(redacted.slots) > 1
        layout = slots.layout(kind, has_refs=has_refs)
        if len(layout) != len(redacted.slots):
            raise Corruption("a redacted operation does not have the slots of its kind")
        self.fields: dict[str, Any] = {}
        self.dropped: set[str] = set()
        for index, (slot, value) in enumerate(zip(layout, redacted.slots, strict=True)):
            self._read(layout, index, slot, value)

    def _read(self, layout: Layout, index: int, slot: slots.Slot, value: AnySlot) -> None:
        if isinstance(value, OpenSlot) and slot != (BECAUSE,):
            fields = _decoder(self._kind, layout, index)(slots.packed(slot, value.value))
            self.fields.update(zip(slots.ordered(self._kind, slot), fields, strict=True))
        elif isinstance(value, PseudonymSlot) and AGENT_FIELDS.issuperset(slot):
            self.fields[slot[0]] = value.name
        elif isinstance(value, ListSlot) and slot == (BECAUSE,):
            self.fields[BECAUSE] = tuple(map(_ref, value.items))
        elif isinstance(value, bytes):
            self.dropped.update(slot)
        else:
            raise Corruption("a slot of a redacted operation has another form than its kind allows")

    def residue(self) -> Operation:
        """Return the operation that the remaining fields make."""
        if self._redacted.numbers:
            return self._change_residue()
        optional = self.dropped & _OPTIONAL
        if self.dropped == optional:
            return self._build(self._kind, dict.fromkeys(optional))
        partial = _PARTIAL.get(self._kind)
        operation = (
            None if partial is None else partial(self._scope_names(), self.fields, self.dropped)
        )
        if operation is None:
            raise Corruption("the remaining fields of a redacted operation do not make one")
        return operation

    def _scope_names(self) -> tuple[str, str]:
        return self._redacted.namespace, self._redacted.agent_id

    def _build(self, kind: type[Operation], extra: Mapping[str, Any]) -> Operation:
        namespace, agent_id = self._scope_names()
        return kind(namespace=namespace, agent_id=agent_id, **self.fields, **extra)

    def _change_residue(self) -> ChangeResidue:
        """Return a change of a memory whose earlier operations are compacted."""
        numbers, dropped = self._redacted.numbers, self.dropped
        replaced = dropped & {"content", "details"}
        if self._kind not in (Revise, Retract, Touch) or dropped != replaced or len(numbers) != 4:
            raise Corruption("a redacted operation has counters that its kind does not have")
        base = self._build(self._kind, dict.fromkeys(replaced))
        assert isinstance(base, Revise | Retract | Touch), "no other kind leaves numbers"
        _, depth, count, _ = numbers
        if depth is None or count is None:
            raise Corruption("a redacted operation lacks some of its counters")
        return ChangeResidue(
            *self._scope_names(),
            base,
            numbers[0],
            depth,
            count,
            numbers[3],
            "content" in replaced,
            "details" in replaced,
        )


@cache
def _decoder(kind: type[Operation], layout: Layout, index: int) -> Callable[[bytes], Any]:
    read = slots.decoder(kind, layout[index]).decode

    def decode(data: bytes) -> Any:
        try:
            return read(data)
        except _UNREADABLE as error:
            raise Corruption(f"a redacted operation cannot be read: {error}") from error

    return decode


def _ref(item: OpenSlot | BlankedRef) -> Ref:
    if isinstance(item, OpenSlot):
        try:
            ref: Ref = _read_ref(item.value)
        except _UNREADABLE as error:
            raise Corruption(f"a reference cannot be read: {error}") from error
        return ref
    if item.kind == _FACT and item.version is None:
        return FactRef(ERASED_REFERENT)
    if item.kind == _KEY:
        return KeyRef(ERASED_REFERENT, item.version)
    raise Corruption("a blanked reference has another form than its type allows")


def blank_ref(commitment: bytes, ref: Ref) -> BlankedRef:
    """Return a reference without its target, which was erased."""
    if isinstance(ref, KeyRef):
        return BlankedRef(commitment, _KEY, ref.version)
    return BlankedRef(commitment, _FACT)


Scope = tuple[str, str]


def _memory_residue(scope: Scope, fields: dict[str, Any], dropped: set[str]) -> Operation | None:
    if fields.keys() == {"memory_id", "private"}:
        return MemoryTombstone(*scope, **fields)
    if "content" not in dropped or dropped & {"memory_id", "kind"}:
        return None
    return RememberResidue(
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


def _transcript_residue(scope: Scope, fields: dict[str, Any], _: set[str]) -> Operation | None:
    return TranscriptTombstone(*scope, **fields) if fields.keys() == {"transcript_id"} else None


def _names_residue(scope: Scope, fields: dict[str, Any], dropped: set[str]) -> NamesResidue | None:
    if "assertion_id" not in dropped:
        return None
    return NamesResidue(*scope, tuple(name for name in fields.values() if name is not None), b"")


def _private_names_residue(
    scope: Scope, fields: dict[str, Any], dropped: set[str]
) -> NamesResidue | None:
    residue = _names_residue(scope, fields, dropped)
    return None if residue is None else msgspec.structs.replace(residue, private=True)


_PARTIAL: Final[
    Mapping[type[Operation], Callable[[Scope, dict[str, Any], set[str]], Operation | None]]
] = {
    Remember: _memory_residue,
    KeepTranscript: _transcript_residue,
    Assert: _names_residue,
    End: _names_residue,
    EndFrom: _names_residue,
    AssertPrivately: _private_names_residue,
    EndPrivately: _private_names_residue,
}
"""The functions that make the residue of a partly dropped operation, by its kind."""
