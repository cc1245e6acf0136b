"""Leaves: what stands for the parts of an event in its hash, in either chain version."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from struct import Struct

from memoranda.errors import Corruption
from memoranda.log import commitments
from memoranda.log.commitments import SALT_SIZE, SCOPE_SALTS, OfScope, Scopes, of_scope
from memoranda.log.salting import Salts, is_second
from memoranda.model import codec
from memoranda.model.operations import AnyOperation, Erased, Redacted, Write, standing
from memoranda.model.slots import ONE_SLOT

EVENT, ENVELOPE, SLOT = b"\x0b", b"\x01", b"\x08"
FIRST_SLOTS = [bytes([kind, 0]) for kind in range(256)]
"""What the commitment to a kind's first slot says of where it stands."""
_OPERATION, _FIRST_EVENT = b"\x00", b"\x03"
_FIRST_ENVELOPE_SALT = slice(SALT_SIZE, 2 * SALT_SIZE)
_NUMBER, _TWO_NUMBERS = Struct(">q").pack, Struct(">qq").pack


def has_one_slot(operation: AnyOperation) -> bool:
    """Say whether one commitment stands for all of an operation's own fields."""
    return type(operation) in ONE_SLOT and not (isinstance(operation, Write) and operation.because)


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of what stands for an operation, which may be one already."""
    return leaf if len(leaf) == commitments.HASH_SIZE else sha256(leaf).digest()


def event_hash(
    salts: bytes, commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return the hash of an event, from what stands for its parts; `salts` tell its version."""
    return sha256(covered(salts, commit_ts, committed_at, previous, leaves)).digest()


def of_event(
    salts: bytes,
    envelope: bytes,
    encoded: bytes,
    operations: Sequence[AnyOperation],
    known: Scopes,
) -> list[bytes]:
    """Return what stands for an event's parts; `operations` are what `encoded` says."""
    if is_second(salts):
        return of_second(salts, envelope, codec.split(encoded), operations, known)
    parts = [encoded[1:]] if len(operations) == 1 else codec.split(encoded)
    if len(salts) != SALT_SIZE * (2 + len(operations)):
        raise Corruption("its salts do not fit its operations")
    leaves = [_envelope_leaf(salts[_FIRST_ENVELOPE_SALT], envelope)]
    for index, (part, operation) in enumerate(zip(parts, operations, strict=True)):
        if isinstance(operation, Redacted):
            raise Corruption("what is left of an operation is of another version than its event")
        first = (index + 2) * SALT_SIZE
        own = salts[first : first + SALT_SIZE]
        if isinstance(operation, Erased):
            leaves.append(_whole(operation.leaf))
        else:
            leaves.append(sha256(_OPERATION + own + part).digest())
    return leaves


def of_second(
    salts: bytes,
    envelope: bytes,
    parts: Sequence[bytes],
    operations: Sequence[AnyOperation],
    known: Scopes,
) -> list[bytes]:
    """Return the same for an event of chain version 2."""
    found = Salts(salts, operations)
    own = of_operations(found, parts, operations, known)
    return [_envelope_leaf(found.envelope, envelope), *own]


def of_new(
    salts: bytes,
    envelope: bytes,
    parts: Sequence[bytes],
    operations: Sequence[AnyOperation],
    known: Scopes,
) -> list[bytes]:
    """Return the same for an event that is being made: nothing of it was erased."""
    leaves = [sha256(ENVELOPE + salts[1 : 1 + SALT_SIZE] + envelope).digest()]
    scopes: dict[tuple[str, str], OfScope] = {}
    first, at = 1 + SALT_SIZE, len(salts) - SALT_SIZE * len(operations)
    for part, operation in zip(parts, operations, strict=True):
        pair = (operation.namespace, operation.agent_id)
        scope = scopes.get(pair)
        if scope is None:
            scopes[pair] = scope = of_scope(salts[first : first + SCOPE_SALTS], *pair, known)
            first += SCOPE_SALTS
        salt = salts[at : at + SALT_SIZE]
        at += SALT_SIZE
        kind = type(operation)
        if kind in ONE_SLOT and not (kind is Write and operation.because):  # type: ignore[union-attr]
            slot = sha256(SLOT + salt + FIRST_SLOTS[part[1]] + part[scope[3] :]).digest()
            leaves.append(scope[4] + slot)
        else:
            leaves.append(commitments.of_whole(part, salt, scope[2]))
    return leaves


def of_operations(
    salts: Salts, parts: Sequence[bytes], operations: Sequence[AnyOperation], known: Scopes
) -> list[bytes]:
    """Return what stands for each operation of an event of chain version 2."""
    leaves = []
    for salt, part, operation in zip(salts.operations, parts, operations, strict=False):
        if isinstance(operation, Redacted):
            leaves.append(commitments.of_redacted(operation))
            standing(operation)  # what is left must make an operation, or nothing
            continue
        if isinstance(operation, Erased):
            raise Corruption("what is left of an operation is of another version than its event")
        namespace, agent_id = operation.namespace, operation.agent_id
        scope = of_scope(salts.scopes[namespace, agent_id], namespace, agent_id, known)
        if has_one_slot(operation):
            slot = sha256(SLOT + salt + FIRST_SLOTS[part[1]] + part[scope[3] :]).digest()
            leaves.append(scope[4] + slot)
        else:
            leaves.append(commitments.of_whole(part, salt, scope[2]))
    return leaves


def _envelope_leaf(salt: bytes, envelope: bytes) -> bytes:
    erased = codec.decode_erased_envelope(envelope)
    if erased is not None:
        return _whole(erased.leaf)
    return sha256(ENVELOPE + salt + envelope).digest()


def _whole(leaf: bytes) -> bytes:
    if len(leaf) != commitments.HASH_SIZE:
        raise Corruption("what was erased has left no hash")
    return leaf


def covered(
    salts: bytes, commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return what an event's hash covers; `salts` tell its version."""
    if is_second(salts):
        return covered_in_second(commit_ts, committed_at, previous, leaves)
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves))
    return b"".join((_FIRST_EVENT, first, previous, second, *leaves))


def covered_in_second(
    commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return the same for an event of chain version 2."""
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves) - 1)
    return b"".join((EVENT, first, previous, second, *leaves))
