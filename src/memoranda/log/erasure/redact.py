"""Redaction: what is left in the place of an operation of which something is erased.

Whoever decides that says what is to apply there (`Left`). Here it becomes slots that stay, opened,
and commitments to those that are dropped; nothing that was not said in the place can be left there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from memoranda.log import commitments
from memoranda.log.commitments import SALT_SIZE
from memoranda.model import codec, slots
from memoranda.model.operations import AnyOperation, Begun, Continued, Mentioned, Redacted, Rest
from memoranda.model.redacted import (
    NAMING,
    AnySlot,
    Blanked,
    Hidden,
    Kept,
    Listed,
    NameSlot,
    Renamed,
    blanked,
    fields_of,
)
from memoranda.model.refs import Ref
from memoranda.model.slots import BECAUSE, Slot

_NAMES: Final = ("subject", "relation", "object")
_GONE: Final = object()
"""Stands for a field that is not left."""


class Left(msgspec.Struct, frozen=True):
    """What is to stay of an operation: whose it was, and what applies in its place."""

    namespace: str
    agent_id: str
    rest: Rest | None = None


def redacted(
    before: AnyOperation, salts: tuple[bytes, bytes], left: Left, erasure: int, salt: bytes
) -> Redacted:
    """Return what is left of an operation; `salts` are its scope's and its own, if it is whole."""
    whole = before if isinstance(before, Redacted) else _opened(before, salts)
    there = fields_of(whole)
    wanted = _wanted(there, left.rest)
    kept = tuple(
        _slot(whole, index, slot, there, wanted, erasure)
        for index, slot in enumerate(_layout(whole))
    )
    some = any(not isinstance(slot, bytes) for slot in kept)
    made = Redacted(
        left.namespace,
        left.agent_id,
        erasure,
        salt,
        _scope_slots(whole, left, erasure),
        whole.kind if some else 0,
        kept,
        _numbers(left.rest),
    )
    assert made.rest == _unsalted(left.rest), "something would be left that was not said there"
    return made


def _opened(before: AnyOperation, salts: tuple[bytes, bytes]) -> Redacted:
    """Return a whole operation as one of which nothing is dropped yet."""
    (scope, own), part = salts, codec.encode(before)
    names = (scope[:SALT_SIZE], scope[SALT_SIZE:])
    opened = tuple(commitments.opened(part, own))
    return Redacted(before.namespace, before.agent_id, 0, b"", names, part[1], opened)


def _layout(whole: Redacted) -> slots.Layout:
    if not whole.kind:
        return tuple(() for _ in whole.slots)
    return slots.layout(slots.KINDS[whole.kind], listed=len(whole.slots) > 1)


def _wanted(there: Mapping[str, Any], rest: Rest | None) -> Mapping[str, Any]:
    """Return the fields that are to be left, by name."""
    if rest is None:
        return {}
    if isinstance(rest, Mentioned):
        return {name: there.get(name) for name in _NAMES if there.get(name) in (None, *rest.names)}
    if isinstance(rest, Continued):
        gone = {"content": rest.without_content, "details": rest.without_details}
        return {name: value for name, value in asdict(rest.base).items() if not gone.get(name)}
    found = asdict(rest)
    if isinstance(rest, Begun) and rest.details is None:
        del found["details"]
    return found


def _slot(
    whole: Redacted,
    index: int,
    slot: Slot,
    there: Mapping[str, Any],
    wanted: Mapping[str, Any],
    erasure: int,
) -> AnySlot:
    """Return what is left of a slot: all of it, a pseudonym, some items, or its commitment."""
    stood = whole.slots[index]
    if isinstance(stood, bytes):
        return stood
    if all(wanted.get(name, _GONE) == there[name] for name in slot):
        return stood
    if isinstance(stood, Listed) and BECAUSE in wanted:
        return _listed(stood, there[BECAUSE], wanted[BECAUSE])
    dropped = commitments.of_slot(whole.kind, index, stood)
    if NAMING.issuperset(slot) and isinstance(wanted.get(slot[0]), str):
        return Renamed(dropped, erasure, wanted[slot[0]])
    return dropped


def _listed(stood: Listed, before: Sequence[Ref], after: Sequence[Ref]) -> Listed:
    """Return a list with those references blanked that name something forgotten."""
    return Listed(
        tuple(
            item if old == new else _blanked(item, new)
            for item, old, new in zip(stood.items, before, after, strict=True)
        )
    )


def _blanked(item: Kept | Blanked, ref: Ref) -> Blanked:
    return blanked(commitments.of_item(item), ref)


def _scope_slots(whole: Redacted, left: Left, erasure: int) -> tuple[NameSlot, NameSlot]:
    """Return what is left of the names of a scope: their salts, or that pseudonyms stand there."""
    first, second = whole.scope_slots
    for_namespace, for_agent = commitments.name_commitments(whole)
    if left.namespace != whole.namespace:
        first = Hidden(for_namespace, erasure)
    if left.agent_id != whole.agent_id:
        second = Hidden(for_agent, erasure)
    return first, second


def _numbers(rest: Rest | None) -> tuple[int | None, ...]:
    if not isinstance(rest, Continued):
        return ()
    return rest.expires_at, rest.depth, rest.access_count, rest.last_accessed_at


def _unsalted(rest: Rest | None) -> Rest | None:
    """Return what is to be left without the salt that it has where nothing else salts it."""
    return replace(rest, salt=b"") if isinstance(rest, Begun | Mentioned) else rest
