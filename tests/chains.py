"""Events that are changed by hand: what tests of the chain share."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memoranda.log.erasure.redact_operations import Replacement, redact
from memoranda.log.erasure.rewrite_events import _remaining_salts
from memoranda.log.field_commitments import Salts
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import Redacted

SALT = bytes(range(16))


def left_of(event: SealedEvent, position: int, left: Replacement | None, erasure: int) -> Redacted:
    """Return what is left of an operation; no left: nothing but whose it was."""
    operations = codec.decode_operations(event.operations)
    salts, before = Salts(event.salts, operations), operations[position]
    left = left or Replacement(before.namespace, before.agent_id)
    scope = salts.scopes.get((before.namespace, before.agent_id), b"")
    return redact(before, (scope, salts.operations[position]), left, erasure, SALT)


def erased(
    event: SealedEvent, places: Mapping[int, Replacement | None], erasure: int = 99
) -> SealedEvent:
    """Return an event of which operations were erased."""
    parts = codec.split(event.operations)
    for position, remainder in places.items():
        parts[position] = codec.encode(left_of(event, position, remainder, erasure))
    return rewritten(event, parts)


def rewritten(event: SealedEvent, parts: list[bytes]) -> SealedEvent:
    """Return an event with other operations in its places, without the salts of those erased."""
    new = msgspec.structs.replace(event, operations=codec.join(parts))
    before, after = (
        codec.decode_operations(event.operations),
        codec.decode_operations(new.operations),
    )
    return msgspec.structs.replace(new, salts=_remaining_salts(event, before, new, after))
