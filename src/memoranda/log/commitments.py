"""Commitments: what stands for an operation in an event of chain version 2.

    name(namespace) = SHA-256( 0x06 ‖ salt ‖ text )
    name(agent)     = SHA-256( 0x07 ‖ salt ‖ text )
    slot            = SHA-256( 0x08 ‖ salt ‖ kind ‖ index ‖ bytes )
    item            = SHA-256( 0x09 ‖ salt ‖ bytes )
    list slot       = SHA-256( 0x0A ‖ kind ‖ index ‖ items )
    leaf(operation) = number of slots ‖ name(namespace) ‖ name(agent) ‖ slots

Kind, index and the number of slots are one byte each. The salts of an operation's slots come from
its own: one slot has it as it is, more have SHAKE-128 of it, 16 bytes each; so do a list's items
from the list's. An erasure drops a slot with its salt, and never leaves the one it came from.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from hashlib import sha256, shake_128
from struct import Struct
from typing import cast

import msgspec

from memoranda.errors import Corruption
from memoranda.model import slots
from memoranda.model.redacted import AnySlot, Blanked, Hidden, Kept, Listed, NameSlot, Redacted

SALT_SIZE = 16
HASH_SIZE = 32
SCOPE_SALTS = 2 * SALT_SIZE
"""The salts of a namespace and of an agent in it."""
_NAMESPACE, _AGENT, _SLOT, _ITEM, _LIST = (bytes([number]) for number in range(6, 11))
_ONE_SLOT = b"\x01"
_CUT = [Struct(f"{SALT_SIZE}s" * count).unpack for count in range(8)]
"""Cuts so many salts apart, as few as operations mostly have."""
_HEADS = [bytes([number]) for number in range(256)]

_MOST_SCOPES = 4096
_packed = msgspec.msgpack.Encoder().encode

OfScope = tuple[str, str, bytes, int, bytes]
"""Namespace, agent, the commitments to both, and where an operation's own fields begin; and what
the leaf of an operation with one slot begins with."""
Scopes = MutableMapping[bytes, OfScope]
"""What was computed for scopes, by their salts: a scope mostly has the same ones again."""


def of_scope(salts: bytes, namespace: str, agent_id: str, known: Scopes) -> OfScope:
    """Return the commitments to a namespace and an agent in it."""
    found = known.get(salts)
    if found is not None and found[0] == namespace and found[1] == agent_id:
        return found
    if len(known) >= _MOST_SCOPES:
        known.clear()
    names = of_name(_NAMESPACE, salts[:SALT_SIZE], namespace)
    names += of_name(_AGENT, salts[SALT_SIZE:], agent_id)
    fields = 2 + len(_packed(namespace)) + len(_packed(agent_id))
    known[salts] = found = (namespace, agent_id, names, fields, _ONE_SLOT + names)
    return found


def of_name(role: bytes, salt: bytes, name: str) -> bytes:
    """Return the commitment to a namespace or an agent."""
    return sha256(role + salt + name.encode()).digest()


def derived(salt: bytes, count: int) -> list[bytes]:
    """Return the salts of so many slots or items."""
    if count == 1:
        return [salt]
    made = shake_128(salt).digest(SALT_SIZE * count)
    if count < len(_CUT):
        return list(_CUT[count](made))
    return [made[first : first + SALT_SIZE] for first in range(0, len(made), SALT_SIZE)]


def of_whole(part: bytes, salt: bytes, scope: bytes) -> bytes:
    """Return the leaf of an operation of which nothing was erased."""
    values, kind = slots.values(part), part[1]
    leaf = [_HEADS[len(values)], scope]
    for index, own in enumerate(derived(salt, len(values))):
        value, place = values[index], bytes((kind, index))
        if type(value) is bytes:
            leaf.append(sha256(_SLOT + own + place + value).digest())
        else:
            items = map(_of_item, derived(own, len(value)), cast("list[bytes]", value))
            leaf.append(sha256(b"".join((_LIST, place, *items))).digest())
    return b"".join(leaf)


def opened(part: bytes, salt: bytes) -> list[Kept | Listed]:
    """Return the slots of a whole operation with a salt each, from which any can be dropped."""
    values = slots.values(part)
    return [
        Kept(own, value)
        if isinstance(value, bytes)
        else Listed(tuple(map(Kept, derived(own, len(value)), value)))
        for own, value in zip(derived(salt, len(values)), values, strict=True)
    ]


def of_redacted(left: Redacted) -> bytes:
    """Return the leaf of an operation of which something was erased."""
    if not 0 <= left.kind < len(_HEADS) or len(left.slots) >= len(_HEADS):
        raise Corruption("what is left of an operation has not the slots of any kind")
    own = (of_slot(left.kind, index, slot) for index, slot in enumerate(left.slots))
    return b"".join((_HEADS[len(left.slots)], *name_commitments(left), *own))


def of_slot(kind: int, index: int, slot: AnySlot) -> bytes:
    """Return the commitment to a slot, from what is left of it."""
    if isinstance(slot, bytes):
        return _checked(slot)
    place = _HEADS[kind] + _HEADS[index]
    if isinstance(slot, Kept):
        return sha256(_SLOT + _salt(slot.salt) + place + slot.value).digest()
    if isinstance(slot, Listed):
        return sha256(b"".join((_LIST, place, *map(of_item, slot.items)))).digest()
    return _checked(slot.commitment)


def of_item(item: Kept | Blanked) -> bytes:
    """Return the commitment to an item of a list, from what is left of it."""
    if isinstance(item, Blanked):
        return _checked(item.commitment)
    return _of_item(_salt(item.salt), item.value)


def _of_item(salt: bytes, value: bytes) -> bytes:
    return sha256(_ITEM + salt + value).digest()


def _of_name_slot(role: bytes, slot: NameSlot, name: str) -> bytes:
    if isinstance(slot, Hidden):
        return _checked(slot.commitment)
    return of_name(role, _salt(slot), name)


def name_commitments(left: Redacted) -> tuple[bytes, bytes]:
    """Return the commitments to an operation's namespace and agent, from what is left of them."""
    first, second = left.scope_slots
    namespace = _of_name_slot(_NAMESPACE, first, left.namespace)
    return namespace, _of_name_slot(_AGENT, second, left.agent_id)


def _salt(found: bytes) -> bytes:
    if len(found) != SALT_SIZE or not any(found):
        raise Corruption("what is left of an operation has no salt")
    return found


def _checked(found: bytes) -> bytes:
    if len(found) != HASH_SIZE:
        raise Corruption("what was erased of an operation has left no commitment")
    return found
