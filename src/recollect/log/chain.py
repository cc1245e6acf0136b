"""The hash chain: what an event's hash covers.

    leaf(operation) = SHA-256( 0x00 ‖ salt ‖ bytes )
    leaf(envelope)  = SHA-256( 0x01 ‖ salt ‖ bytes )
    request_hash    = SHA-256( 0x02 ‖ salt ‖ bytes )          stands inside the envelope
    hash(event n)   = SHA-256( 0x03 ‖ n ‖ committed_at ‖ hash(event n-1) ‖ count ‖ leaves )
    hash(event 0)   = SHA-256( 0x04 ‖ log id )

Numbers are eight bytes, big-endian. The envelope's leaf comes first, then the operations' in order.
Every salt is its own: content can be erased together with its salt, the leaf hash stays in its
place, the chain still holds, and nobody can confirm a guess of what was erased. The request's salt
is covered by nothing, so that it can go as soon as any of the transaction's operations is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from recollect.errors import ChainBroken, Corruption
from recollect.model import codec
from recollect.model.event import Envelope, Head, SealedEvent
from recollect.model.operations import AnyOperation, Erased

SALT_SIZE = 16
_NUMBER, _TWO_NUMBERS = Struct(">q").pack, Struct(">qq").pack
_OPERATION, _ENVELOPE, _REQUEST, _EVENT, _GENESIS = (bytes([number]) for number in range(5))


def genesis(log_id: str) -> Head:
    """Return what the first event is chained to."""
    return Head(commit_ts=0, committed_at=0, hash=sha256(_GENESIS + log_id.encode()).digest())


def request_hash(salts: bytes, request: bytes) -> bytes:
    """Return the salted hash of what a transaction asked for."""
    return sha256(_REQUEST + salts[:SALT_SIZE] + request).digest()


def salt_count(operations: int) -> int:
    """Return how many salts an event of so many operations needs."""
    return operations + 2


def seal(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operations: Sequence[AnyOperation],
) -> SealedEvent:
    """Return the event that follows `previous`, ready to be stored."""
    parts = [*map(codec.encode, operations)]
    sealed = codec.encode(envelope)
    leaves = [_envelope_leaf(salts, sealed)]
    for index, part in enumerate(parts):
        leaves.append(_operation_leaf(salts, index, part))
    commit_ts = previous.commit_ts + 1
    found = _event_hash(commit_ts, committed_at, previous.hash, leaves)
    return SealedEvent(commit_ts, committed_at, found, salts, sealed, codec.join(parts))


def seal_again(previous: Head, event: SealedEvent) -> SealedEvent:
    """Return a stored event as the one that follows `previous` in another log."""
    commit_ts = previous.commit_ts + 1
    found = _event_hash(commit_ts, event.committed_at, previous.hash, _leaves(event))
    return msgspec.structs.replace(event, commit_ts=commit_ts, hash=found)


def check(previous: Head, event: SealedEvent) -> Head:
    """Return the head behind `event`, or raise `ChainBroken` if it does not follow `previous`."""
    expected = previous.commit_ts + 1
    if event.commit_ts != expected:
        raise ChainBroken(expected, f"it is missing, and the next one there is {event.commit_ts}")
    if event.committed_at <= previous.committed_at:
        raise ChainBroken(expected, "its time is not after the time of the one before it")
    try:
        leaves = _leaves(event)
    except Corruption as error:
        raise ChainBroken(expected, str(error)) from error
    found = _event_hash(expected, event.committed_at, previous.hash, leaves)
    if found != event.hash:
        raise ChainBroken(expected, "its content does not have its hash")
    return Head(event.commit_ts, event.committed_at, event.hash)


def _leaves(event: SealedEvent) -> list[bytes]:
    parts = codec.split(event.operations)
    operations = codec.decode_operations(event.operations)
    if len(event.salts) != SALT_SIZE * salt_count(len(parts)):
        raise Corruption("its salts do not fit its operations")
    codec.decode_envelope(event.envelope)
    erased = codec.decode_erased_envelope(event.envelope)
    leaves = [_envelope_leaf(event.salts, event.envelope) if erased is None else erased.leaf]
    for index, (part, operation) in enumerate(zip(parts, operations, strict=True)):
        if isinstance(operation, Erased):
            leaves.append(operation.leaf)
        else:
            leaves.append(_operation_leaf(event.salts, index, part))
    return leaves


def _envelope_leaf(salts: bytes, envelope: bytes) -> bytes:
    return sha256(_ENVELOPE + salts[SALT_SIZE : 2 * SALT_SIZE] + envelope).digest()


def leaves(event: SealedEvent) -> list[bytes]:
    """Return the hashes that stand for an event's envelope and for each of its operations."""
    return _leaves(event)


def operation_leaves(event: SealedEvent) -> list[bytes]:
    """Return the hash that stands for each operation of an event."""
    return _leaves(event)[1:]


def _operation_leaf(salts: bytes, index: int, part: bytes) -> bytes:
    first = (index + 2) * SALT_SIZE
    return sha256(_OPERATION + salts[first : first + SALT_SIZE] + part).digest()


def _event_hash(
    commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves))
    return sha256(b"".join((_EVENT, first, previous, second, *leaves))).digest()
