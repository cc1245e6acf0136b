"""Salted commitments to the fields of operations, and where their salts are kept.

    name(namespace) = SHA-256( 0x06 ‖ salt ‖ text )
    name(agent)     = SHA-256( 0x07 ‖ salt ‖ text )
    slot            = SHA-256( 0x08 ‖ salt ‖ kind ‖ index ‖ bytes )
    item            = SHA-256( 0x09 ‖ salt ‖ bytes )
    list slot       = SHA-256( 0x0A ‖ kind ‖ index ‖ items )
    leaf(operation) = number of slots ‖ name(namespace) ‖ name(agent) ‖ slots

Kind, index and the number of slots are one byte each. The salts of an operation's slots are derived
from its own salt: a single slot has it as it is, several have SHAKE-128 of it, 16 bytes each. The
salts of a list's items are derived from the list's in the same way. An erasure drops a slot with
its salt, and always drops the salt that it was derived from.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from hashlib import sha256, shake_128
from operator import attrgetter
from struct import Struct
from typing import cast

import msgspec

from memoranda.errors import Corruption
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
    Erased,
    Remember,
    slots,
)
from memoranda.model.operations.redacted import (
    AnySlot,
    BlankedRef,
    HiddenName,
    ListSlot,
    NameSlot,
    OpenSlot,
    Redacted,
)

SALT_SIZE = 16
"""Bytes: 128 bits, which nobody can guess."""
HASH_SIZE = 32
"""Bytes of a SHA-256."""
SCOPE_SALTS = 2 * SALT_SIZE
"""Bytes of the two salts of a scope: of its namespace and of its agent."""
_NAMESPACE, _AGENT, _SLOT, _ITEM, _LIST = (bytes([number]) for number in range(6, 11))
_ONE_SLOT = b"\x01"
_SPLIT_SALTS = [Struct(f"{SALT_SIZE}s" * count).unpack for count in range(8)]
"""Split so many salts, indexed by their number; operations rarely have more slots."""
_BYTES = [bytes([number]) for number in range(256)]

_MAX_CACHED_COMMITMENTS = 4096
"""Scopes whose commitments are cached; the cache is emptied when it is full."""
_packed = msgspec.msgpack.Encoder().encode

ScopeCommitment = tuple[str, str, bytes, int, bytes]
"""Namespace, agent, the two commitments joined, the offset of an operation's own fields, and the
beginning of the leaf of an operation with one slot (the slot count and the commitments)."""
ScopeCommitments = MutableMapping[bytes, ScopeCommitment]
"""Cache: a scope's salts → its commitments. Most events of a scope have the same salts."""


def scope_commitment(
    salts: bytes, namespace: str, agent_id: str, cache: ScopeCommitments
) -> ScopeCommitment:
    """Return the commitments to a namespace and an agent in it, from the cache if possible.

    The names are compared, too: salts alone are no proof that the names are the same.
    """
    entry = cache.get(salts)
    if entry is not None and entry[0] == namespace and entry[1] == agent_id:
        return entry
    if len(cache) >= _MAX_CACHED_COMMITMENTS:
        cache.clear()
    names = name_commitment(_NAMESPACE, salts[:SALT_SIZE], namespace)
    names += name_commitment(_AGENT, salts[SALT_SIZE:], agent_id)
    fields = 2 + len(_packed(namespace)) + len(_packed(agent_id))
    cache[salts] = entry = (namespace, agent_id, names, fields, _ONE_SLOT + names)
    return entry


def name_commitment(role: bytes, salt: bytes, name: str) -> bytes:
    """Return the commitment to the name of a namespace or an agent."""
    return sha256(role + salt + name.encode()).digest()


def derive_salts(salt: bytes, count: int) -> list[bytes]:
    """Return the salts of so many slots or items."""
    if count == 1:
        return [salt]
    stream = shake_128(salt).digest(SALT_SIZE * count)
    if count < len(_SPLIT_SALTS):
        return list(_SPLIT_SALTS[count](stream))
    return [stream[first : first + SALT_SIZE] for first in range(0, len(stream), SALT_SIZE)]


def operation_leaf(part: bytes, salt: bytes, scope: bytes) -> bytes:
    """Return the leaf of an unredacted operation, from its stored bytes."""
    values, kind = slots.values(part), part[1]
    leaf = [_BYTES[len(values)], scope]
    for index, slot_salt in enumerate(derive_salts(salt, len(values))):
        value, place = values[index], bytes((kind, index))
        if type(value) is bytes:
            leaf.append(sha256(_SLOT + slot_salt + place + value).digest())
        else:
            items = map(_item_hash, derive_salts(slot_salt, len(value)), cast("list[bytes]", value))
            leaf.append(sha256(b"".join((_LIST, place, *items))).digest())
    return b"".join(leaf)


# The leaf of a new operation, which a commit waits for. To encode a field once more takes less time
# than to find it in the operation's bytes, so the kinds that come in bulk have paths of their own.
# They hash the same bytes as `operation_leaf`; `tests/unit/log/test_chain.py` holds them to it.

_FIVE_SLOTS, _FOUR_SLOTS = b"\x05", b"\x04"
_ARRAY_HEADER = 1
"""Bytes before the items of a short msgpack array."""
_REMEMBER_PLACES = slots.places(Remember)
_STATEMENT_SLOTS = {
    kind: (slots.places(kind), attrgetter(*slots.ordered(kind, slots.LAYOUTS[kind][0])))
    for kind in (Assert, AssertPrivately, End, EndFrom, EndPrivately)
}
"""The places of a statement's slots, and the getter of the fields of its first slot."""


def leaf_of_new(operation: AnyOperation, part: bytes, salt: bytes, scope: bytes) -> bytes:
    """Return the leaf of a new operation with several slots; `part` is the encoded operation."""
    kind = type(operation)
    if kind is Remember:
        return _memory_leaf(cast("Remember", operation), salt, scope)
    if kind in _STATEMENT_SLOTS:
        return _statement_leaf(cast("Assert | End", operation), salt, scope)
    return operation_leaf(part, salt, scope)


def _memory_leaf(memory: Remember, salt: bytes, scope: bytes) -> bytes:
    first, second, third, fourth, fifth = _SPLIT_SALTS[5](shake_128(salt).digest(5 * SALT_SIZE))
    place = _REMEMBER_PLACES
    identity = _packed((memory.memory_id, memory.private))[_ARRAY_HEADER:]
    kind = _packed((memory.kind, memory.tier, memory.expiry))[_ARRAY_HEADER:]
    slot_hashes = (
        _FIVE_SLOTS,
        scope,
        sha256(_SLOT + first + place[0] + identity).digest(),
        sha256(_SLOT + second + place[1] + kind).digest(),
        sha256(_SLOT + third + place[2] + _packed(memory.title)).digest(),
        sha256(_SLOT + fourth + place[3] + _packed(memory.content)).digest(),
        sha256(_SLOT + fifth + place[4] + _packed(memory.details)).digest(),
    )
    return b"".join(slot_hashes)


def _statement_leaf(statement: Assert | End, salt: bytes, scope: bytes) -> bytes:
    first, second, third, fourth = _SPLIT_SALTS[4](shake_128(salt).digest(4 * SALT_SIZE))
    place, first_fields = _STATEMENT_SLOTS[type(statement)]
    fields = _packed(first_fields(statement))[_ARRAY_HEADER:]
    slot_hashes = (
        _FOUR_SLOTS,
        scope,
        sha256(_SLOT + first + place[0] + fields).digest(),
        sha256(_SLOT + second + place[1] + _packed(statement.subject)).digest(),
        sha256(_SLOT + third + place[2] + _packed(statement.relation)).digest(),
        sha256(_SLOT + fourth + place[3] + _packed(statement.object)).digest(),
    )
    return b"".join(slot_hashes)


def open_slots(part: bytes, salt: bytes) -> list[OpenSlot | ListSlot]:
    """Return the slots of an unredacted operation, each with its salt."""
    values = slots.values(part)
    return [
        OpenSlot(slot_salt, value)
        if isinstance(value, bytes)
        else ListSlot(tuple(map(OpenSlot, derive_salts(slot_salt, len(value)), value)))
        for slot_salt, value in zip(derive_salts(salt, len(values)), values, strict=True)
    ]


def redacted_leaf(operation: Redacted) -> bytes:
    """Return the leaf of a redacted operation."""
    if not 0 <= operation.kind < len(_BYTES) or len(operation.slots) >= len(_BYTES):
        raise Corruption("a residue has the slots of no kind")
    slots = (
        slot_commitment(operation.kind, index, slot) for index, slot in enumerate(operation.slots)
    )
    return b"".join((_BYTES[len(operation.slots)], *name_commitments(operation), *slots))


def slot_commitment(kind: int, index: int, slot: AnySlot) -> bytes:
    """Return the commitment to a slot, from what remains of it."""
    if isinstance(slot, bytes):
        return _check_commitment(slot)
    place = _BYTES[kind] + _BYTES[index]
    if isinstance(slot, OpenSlot):
        return sha256(_SLOT + _check_salt(slot.salt) + place + slot.value).digest()
    if isinstance(slot, ListSlot):
        return sha256(b"".join((_LIST, place, *map(item_commitment, slot.items)))).digest()
    return _check_commitment(slot.commitment)


def item_commitment(item: OpenSlot | BlankedRef) -> bytes:
    """Return the commitment to an item of a list, from what remains of it."""
    if isinstance(item, BlankedRef):
        return _check_commitment(item.commitment)
    return _item_hash(_check_salt(item.salt), item.value)


def _item_hash(salt: bytes, value: bytes) -> bytes:
    return sha256(_ITEM + salt + value).digest()


def _name_slot_commitment(role: bytes, slot: NameSlot, name: str) -> bytes:
    if isinstance(slot, HiddenName):
        return _check_commitment(slot.commitment)
    return name_commitment(role, _check_salt(slot), name)


def name_commitments(operation: Redacted) -> tuple[bytes, bytes]:
    """Return the commitments to a redacted operation's namespace and agent."""
    first, second = operation.scope_slots
    namespace = _name_slot_commitment(_NAMESPACE, first, operation.namespace)
    return namespace, _name_slot_commitment(_AGENT, second, operation.agent_id)


def _check_salt(salt: bytes) -> bytes:
    if len(salt) != SALT_SIZE or not any(salt):
        raise Corruption("an open slot has no salt")
    return salt


def _check_commitment(commitment: bytes) -> bytes:
    if len(commitment) != HASH_SIZE:
        raise Corruption("an erased slot has no commitment")
    return commitment


# Salts: the layout of an event's salts in chain version 2.
#
#     salts = 0x02 ‖ envelope ‖ scopes ‖ operations
#     salts = 0x02 ‖ envelope ‖ request                 of an event without operations
#
# Each is 16 bytes; a scope has two, for its namespace and its agent. Scopes are those of the
# unredacted operations, each once, in order of first occurrence. A redacted operation has zeros
# here; the salts of its open slots are stored in the slots.
#
# The request's salt is that of all operations together, so it is erased with any of them. An event
# without operations has a request salt of its own. Its envelope's salt is a hash of that, so the
# request's can be erased alone.

VERSION_2 = b"\x02"
NO_SALT = bytes(SALT_SIZE)
"""Takes the place of an erased salt."""
_ENVELOPE_SALT_DOMAIN = b"\x0c"
_SCOPES_AT = len(VERSION_2) + SALT_SIZE
"""Offset of the salts that follow the envelope's."""
_ERASED_KINDS = frozenset((Erased, Redacted))
_MAX_CACHED_SALTS = 1024
"""Scopes whose salts are cached; the cache is emptied when it is full."""

Pair = tuple[str, str]
"""A namespace and an agent in it."""
_scope_of = attrgetter("namespace", "agent_id")


def is_version_2(salts: bytes) -> bool:
    """Return whether an event has chain version 2: its salts begin with that byte."""
    return len(salts) % SALT_SIZE == len(VERSION_2) and salts.startswith(VERSION_2)


class Salts:
    """The salts of one event of chain version 2, parsed."""

    def __init__(self, salts: bytes, operations: Sequence[AnyOperation]) -> None:
        scopes = scope_pairs(operations)
        operations_at = _SCOPES_AT + SCOPE_SALTS * len(scopes)
        if len(salts) != operations_at + SALT_SIZE * max(1, len(operations)):
            raise Corruption("its salts do not fit its operations")
        self.envelope = salts[len(VERSION_2) : _SCOPES_AT]
        self.scopes: dict[Pair, bytes] = {}
        for index, pair in enumerate(scopes):
            first = _SCOPES_AT + SCOPE_SALTS * index
            self.scopes[pair] = salts[first : first + SCOPE_SALTS]
        self.operations = [
            salts[first : first + SALT_SIZE]
            for first in range(operations_at, len(salts), SALT_SIZE)
        ]
        self._check(operations)

    def _check(self, operations: Sequence[AnyOperation]) -> None:
        if not operations:
            (request,) = self.operations
            if request != NO_SALT and self.envelope != envelope_salt(request):
                raise Corruption("its request's salt was changed")
        for salt, operation in zip(self.operations, operations, strict=False):
            if (type(operation) in _ERASED_KINDS) != (salt == NO_SALT):
                raise Corruption(
                    "a salt of an erased operation exists, or one of another operation is missing"
                )


def join_salts(
    envelope: bytes,
    scopes: dict[Pair, bytes],
    salts: Iterable[bytes],
    operations: Iterable[AnyOperation],
) -> bytes:
    """Return an event's salts, with those of the scopes that its operations still have."""
    return b"".join(
        (VERSION_2, envelope, *(scopes[pair] for pair in scope_pairs(operations)), *salts)
    )


def scope_pairs(operations: Iterable[AnyOperation]) -> list[Pair]:
    """Return the scopes of unredacted operations, each once, in order of first occurrence."""
    return [
        *dict.fromkeys(
            (operation.namespace, operation.agent_id)
            for operation in operations
            if type(operation) not in _ERASED_KINDS
        )
    ]


def envelope_salt(request: bytes) -> bytes:
    """Return the envelope's salt, derived from the request's, of an event without operations."""
    return sha256(_ENVELOPE_SALT_DOMAIN + request).digest()[:SALT_SIZE]


def salts_without_request(salts: bytes) -> bytes:
    """Return the salts of an event without operations, with the request's salt zeroed."""
    if is_version_2(salts):
        return salts[:_SCOPES_AT] + NO_SALT
    return NO_SALT + salts[SALT_SIZE:]


class SaltSource:
    """Draws salts for new events.

    A scope gets the same salts again: that reveals no more than its names, or its pseudonym, do,
    and saves two hashes per event. All of them are dropped as soon as anything was erased: a name
    that is used again must not have the salts of the erased one.
    """

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self._scopes: dict[Pair, bytes] = {}
        self.commitments: ScopeCommitments = {}

    def draw(self, operations: Sequence[AnyOperation]) -> bytes:
        """Return the salts of an event with these operations."""
        if not operations:
            request = self._ids.entropy(SALT_SIZE)
            return VERSION_2 + envelope_salt(request) + request
        entropy = self._ids.entropy(SALT_SIZE * (1 + len(operations)))
        if len(operations) == 1:
            pair = (operations[0].namespace, operations[0].agent_id)
            scope = self._scopes.get(pair) or self._scope(pair)
            return VERSION_2 + entropy[:SALT_SIZE] + scope + entropy[SALT_SIZE:]
        pairs = dict.fromkeys(map(_scope_of, operations))
        scopes = [self._scopes.get(pair) or self._scope(pair) for pair in pairs]
        return b"".join((VERSION_2, entropy[:SALT_SIZE], *scopes, entropy[SALT_SIZE:]))

    def _scope(self, pair: Pair) -> bytes:
        if len(self._scopes) >= _MAX_CACHED_SALTS:
            self.drop_caches()
        salts = self._scopes[pair] = self._ids.entropy(SCOPE_SALTS)
        return salts

    def drop_caches(self) -> None:
        """Drop the salts of all scopes: something was erased, or may have been."""
        self._scopes.clear()
        self.commitments.clear()
