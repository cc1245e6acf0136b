"""Redaction: the residue of an operation when its content, or a name in it, is erased.

A residue has ids and no content. It applies in place of the operation, so that nothing else
changes: a link to a forgotten memory still leads to a tombstone. `rewrite_events.py` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from memoranda.log import field_commitments
from memoranda.log.field_commitments import HASH_SIZE, SALT_SIZE
from memoranda.model import codec
from memoranda.model.memory import inbox_of
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AddLink,
    AnyOperation,
    ChangeResidue,
    Cite,
    Classify,
    CloseLink,
    Configure,
    Erased,
    ErasedOperation,
    KeepTranscript,
    MemoryTombstone,
    NamesResidue,
    Notify,
    NotifyStale,
    Redacted,
    Remember,
    RememberResidue,
    Residue,
    Resolve,
    TranscriptTombstone,
    Write,
    slots,
)
from memoranda.model.operations.redacted import (
    AGENT_FIELDS,
    ERASED_REFERENT,
    AnySlot,
    BlankedRef,
    HiddenName,
    ListSlot,
    NameSlot,
    OpenSlot,
    PseudonymSlot,
    blank_ref,
    fields_of,
)
from memoranda.model.operations.slots import BECAUSE, Slot
from memoranda.model.refs import FactRef, KeyRef, Ref
from memoranda.model.scope import Scope

# Redaction: turn the decision what remains into slots.
#
# A caller decides what applies in the operation's place (`Replacement`). Here every slot of the
# operation becomes one of:
#
#   OpenSlot        salt and value: it remains, and opens its commitment
#   PseudonymSlot   a name was replaced: the commitment to the name, and the pseudonym
#   ListSlot        a list of which single items were blanked
#   bytes           it is erased: only the commitment remains
#
# A residue is computed from the slots that remain, so it cannot contain anything that the original
# operation did not commit to. `redact` asserts that it is the residue that was asked for.

_NAMES: Final = ("subject", "relation", "object")
_ABSENT: Final = object()
"""Marks a field that does not remain; None is a value a field can have."""


class Replacement(msgspec.Struct, frozen=True):
    """What takes an operation's place: its scope, perhaps with a pseudonym, and its residue."""

    namespace: str
    agent_id: str
    residue: Residue | None = None


def redact(
    before: AnyOperation,
    salts: tuple[bytes, bytes],
    replacement: Replacement,
    erasure: int,
    salt: bytes,
) -> Redacted:
    """Return the redacted form of an operation.

    `salts` are those of its scope and its own, if nothing of it was erased yet. `salt` is new and
    makes the redacted bytes unique.
    """
    has_scope = (before.namespace, before.agent_id) == (replacement.namespace, replacement.agent_id)
    if replacement.residue is None and has_scope and not isinstance(before, (Erased, Redacted)):
        return _drop_all_slots(before, salts, erasure, salt)
    source = before if isinstance(before, Redacted) else _open_all_slots(before, salts)
    fields = fields_of(source)
    target_fields = _residue_fields(fields, replacement.residue)
    new_slots = tuple(
        _redact_slot(source, index, slot, fields, target_fields, erasure)
        for index, slot in enumerate(_layout(source))
    )
    has_content = any(not isinstance(slot, bytes) for slot in new_slots)
    result = Redacted(
        replacement.namespace,
        replacement.agent_id,
        erasure,
        salt,
        _redact_scope(source, replacement, erasure),
        source.kind if has_content else 0,
        new_slots,
        _numbers(replacement.residue),
    )
    assert result.residue == _unsalted(replacement.residue), (
        "the residue would say what the operation did not"
    )
    return result


def _drop_all_slots(
    before: AnyOperation, salts: tuple[bytes, bytes], erasure: int, salt: bytes
) -> Redacted:
    """Return an operation of which only the scope and the commitments remain.

    A compaction erases most operations like this. The commitments are those of the leaf.
    """
    (scope, own), part = salts, codec.encode(before)
    leaf = field_commitments.operation_leaf(part, own, b"")
    commitments = tuple(
        [leaf[first : first + HASH_SIZE] for first in range(1, len(leaf), HASH_SIZE)]
    )
    names = (scope[:SALT_SIZE], scope[SALT_SIZE:])
    return Redacted(before.namespace, before.agent_id, erasure, salt, names, 0, commitments)


def _open_all_slots(before: AnyOperation, salts: tuple[bytes, bytes]) -> Redacted:
    """Return an unredacted operation in its redacted form, with every slot open."""
    (scope, own), part = salts, codec.encode(before)
    names = (scope[:SALT_SIZE], scope[SALT_SIZE:])
    open_slots = tuple(field_commitments.open_slots(part, own))
    return Redacted(before.namespace, before.agent_id, 0, b"", names, part[1], open_slots)


def _layout(source: Redacted) -> slots.Layout:
    if not source.kind:
        return tuple(() for _ in source.slots)
    return slots.layout(slots.KINDS[source.kind], has_refs=len(source.slots) > 1)


def _residue_fields(fields: Mapping[str, Any], residue: Residue | None) -> Mapping[str, Any]:
    """Return the fields that remain, by name."""
    if residue is None:
        return {}
    if isinstance(residue, NamesResidue):
        return {
            name: fields.get(name) for name in _NAMES if fields.get(name) in (None, *residue.names)
        }
    if isinstance(residue, ChangeResidue):
        is_erased = {"content": residue.without_content, "details": residue.without_details}
        return {
            name: value for name, value in asdict(residue.base).items() if not is_erased.get(name)
        }
    target_fields = asdict(residue)
    if isinstance(residue, RememberResidue) and residue.details is None:
        del target_fields["details"]
    return target_fields


def _redact_slot(
    source: Redacted,
    index: int,
    slot: Slot,
    fields: Mapping[str, Any],
    target_fields: Mapping[str, Any],
    erasure: int,
) -> AnySlot:
    """Return a slot as it remains: open, pseudonym, list with blanked items, or commitment."""
    old_slot = source.slots[index]
    if isinstance(old_slot, bytes):
        return old_slot
    if all(target_fields.get(name, _ABSENT) == fields[name] for name in slot):
        return old_slot
    if isinstance(old_slot, ListSlot) and BECAUSE in target_fields:
        return _redact_list(old_slot, fields[BECAUSE], target_fields[BECAUSE])
    dropped = field_commitments.slot_commitment(source.kind, index, old_slot)
    if AGENT_FIELDS.issuperset(slot) and isinstance(target_fields.get(slot[0]), str):
        return PseudonymSlot(dropped, erasure, target_fields[slot[0]])
    return dropped


def _redact_list(old_slot: ListSlot, before: Sequence[Ref], after: Sequence[Ref]) -> ListSlot:
    """Return a list in which the references to something forgotten are blanked."""
    return ListSlot(
        tuple(
            item if old == new else _blank_item(item, new)
            for item, old, new in zip(old_slot.items, before, after, strict=True)
        )
    )


def _blank_item(item: OpenSlot | BlankedRef, ref: Ref) -> BlankedRef:
    return blank_ref(field_commitments.item_commitment(item), ref)


def _redact_scope(
    source: Redacted, replacement: Replacement, erasure: int
) -> tuple[NameSlot, NameSlot]:
    """Return the slots of the scope's names: their salts, or the commitments behind pseudonyms."""
    first, second = source.scope_slots
    if (replacement.namespace, replacement.agent_id) == (source.namespace, source.agent_id):
        return first, second
    for_namespace, for_agent = field_commitments.name_commitments(source)
    if replacement.namespace != source.namespace:
        first = HiddenName(for_namespace, erasure)
    if replacement.agent_id != source.agent_id:
        second = HiddenName(for_agent, erasure)
    return first, second


def _numbers(residue: Residue | None) -> tuple[int | None, ...]:
    if not isinstance(residue, ChangeResidue):
        return ()
    return residue.expires_at, residue.depth, residue.access_count, residue.last_accessed_at


def _unsalted(residue: Residue | None) -> Residue | None:
    """Return the residue without its own salt, which redacted slots do not need."""
    return (
        replace(residue, salt=b"")
        if isinstance(residue, RememberResidue | NamesResidue)
        else residue
    )


# Decisions: the residue of an operation whose content, or a name in it, is erased.

ENGINE_NAMESPACES = (ENGINE_SCOPE.namespace, AUDIT_SCOPE.namespace)


def _same(operation: Any) -> Any:
    return operation


_RESIDUES: Mapping[type, Callable[[Any], Residue]] = {
    Remember: lambda op: MemoryTombstone(op.namespace, op.agent_id, op.memory_id, op.private),
    RememberResidue: lambda op: MemoryTombstone(
        op.namespace, op.agent_id, op.memory_id, op.private
    ),
    KeepTranscript: lambda op: TranscriptTombstone(op.namespace, op.agent_id, op.transcript_id),
    Resolve: lambda op: replace(op, note=None),
    AddLink: _same,
    CloseLink: _same,
    Cite: _same,
    Notify: _same,
    NotifyStale: _same,
    Configure: _same,
    Classify: _same,
    MemoryTombstone: _same,
    TranscriptTombstone: _same,
}
"""The residue of each kind of operation; operations of other kinds have none."""


def without_content(operation: AnyOperation) -> Residue | None:
    """Return the residue of an operation without its content; None: nothing remains."""
    make_residue = _RESIDUES.get(type(operation))
    return None if make_residue is None else make_residue(operation)


def replacement_if_changed(
    operation: AnyOperation, residue: AnyOperation | None, scope: tuple[str, str]
) -> Replacement | None:
    """Return the replacement of an operation, or None if it stays as it is."""
    if residue == operation:
        return None
    same = scope == (operation.namespace, operation.agent_id)
    if same and isinstance(operation, ErasedOperation):
        return None
    assert not isinstance(residue, ErasedOperation), "a residue is an operation or None"
    return Replacement(*scope, residue)


class Names(msgspec.Struct, frozen=True):
    """A name that is erased wherever it occurs: of an agent, a namespace or a key.

    Also the assertion ids that are derived from the content of erased assertions: they would
    confirm a guess of it.
    """

    agent_id: str | None = None
    namespace: str | None = None
    children: bool = False
    """Whether the child namespaces are erased too, all under the same pseudonym."""
    key: tuple[Scope, str] | None = None
    pseudonym: str | None = None
    facts: frozenset[str] = frozenset()

    @property
    def namespaces(self) -> list[str]:
        """The namespace, and its inbox namespace, which has its notices."""
        if self.namespace is None:
            return []
        return list(dict.fromkeys((self.namespace, inbox_of(self.namespace))))

    def covers_namespace(self, namespace: str) -> bool:
        """Return whether a namespace is erased."""
        if self.namespace is not None and self.children:
            return f"{namespace}/".startswith(f"{self.namespace}/")
        return namespace in self.namespaces

    def owns(self, operation: AnyOperation) -> bool:
        """Return whether an operation belongs to the agent or namespace; the engine's never do."""
        if operation.namespace in ENGINE_NAMESPACES:
            return False
        if self.agent_id is not None:
            return operation.agent_id == self.agent_id
        return self.covers_namespace(operation.namespace)

    def replacement_of(self, operation: AnyOperation) -> Replacement | None:
        """Return the replacement of an operation: without the name, and its owner's content."""
        scope = self._scope_without_name(operation)
        if not self.owns(operation):
            return replacement_if_changed(operation, self._without_name(operation), scope)
        residue = without_content(operation)
        if residue is not None and self.namespace and isinstance(residue, (Configure, Classify)):
            residue = None
        nameless = None if residue is None else self._without_name(residue)
        return replacement_if_changed(operation, nameless, scope)

    def _scope_without_name(self, operation: AnyOperation) -> tuple[str, str]:
        """Return the operation's scope with the pseudonym in place of the name."""
        namespace, agent_id = operation.namespace, operation.agent_id
        if self.pseudonym is None or namespace in ENGINE_NAMESPACES:
            return namespace, agent_id
        if agent_id == self.agent_id:
            return namespace, self.pseudonym
        if self.namespace is not None and self.covers_namespace(namespace):
            return self._namespace_without_name(namespace, self.pseudonym), agent_id
        return namespace, agent_id

    def _namespace_without_name(self, namespace: str, pseudonym: str) -> str:
        """Return the pseudonym of a namespace; the pseudonym of an inbox is an inbox too."""
        is_inbox = namespace != self.namespace and namespace == inbox_of(namespace)
        return inbox_of(pseudonym) if is_inbox else pseudonym

    def _without_name(self, operation: AnyOperation) -> AnyOperation:
        namespace, agent_id = self._scope_without_name(operation)
        changes: dict[str, Any] = {}
        if (namespace, agent_id) != (operation.namespace, operation.agent_id):
            changes = {"namespace": namespace, "agent_id": agent_id}
        for field in AGENT_FIELDS if self.agent_id is not None else ():
            if getattr(operation, field, None) == self.agent_id:
                changes[field] = self.pseudonym
        if isinstance(operation, Write) and operation.because:
            because = tuple(map(self._ref_without_name, operation.because))
            if because != operation.because:
                changes["because"] = because
        return replace(operation, **changes) if changes else operation

    def _ref_without_name(self, ref: Ref) -> Ref:
        if isinstance(ref, FactRef) and ref.assertion_id in self.facts:
            return FactRef(ERASED_REFERENT)
        if not isinstance(ref, KeyRef) or ref.key == ERASED_REFERENT:
            return ref
        if self.key is not None:
            scope, key = self.key
            names_target = (ref.namespace, ref.agent_id, ref.key) == (
                scope.namespace,
                scope.agent_id,
                key,
            )
        elif self.agent_id is not None:
            names_target = ref.agent_id == self.agent_id
        else:
            names_target = ref.namespace is not None and self.covers_namespace(ref.namespace)
        return KeyRef(ERASED_REFERENT, ref.version) if names_target else ref
