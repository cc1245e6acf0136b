"""The hash chain: what an event's hash covers.

    leaf(envelope)  = SHA-256( 0x01 ‖ salt ‖ bytes )
    request_hash    = SHA-256( 0x02 ‖ salts ‖ bytes )          stands inside the envelope
    hash(event n)   = SHA-256( 0x0B ‖ n ‖ committed_at ‖ hash(event n-1) ‖ count ‖ leaves )
    hash(event 0)   = SHA-256( 0x04 ‖ log id )

Numbers are eight bytes, big-endian. The envelope's leaf comes first, then the operations' in order,
which are commitments to each of their fields (commitments.py); `count` is that of the operations.
Every salt is its own (salting.py): content can be erased together with its salt, what stays must
open its commitment, the chain still holds, and nobody can confirm a guess of what was erased.

That is chain version 2. Events of version 1, which older releases have written, stay as they are:

    leaf(operation) = SHA-256( 0x00 ‖ salt ‖ bytes )
    hash(event n)   = SHA-256( 0x03 ‖ n ‖ committed_at ‖ hash(event n-1) ‖ count ‖ leaves )

where `count` is that of all leaves, and the salts are those of the request, the envelope and each
operation. What an erasure left in them is vouched for by the erasing commit alone. None can follow
an event of version 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from memoranda.errors import ChainBroken, Corruption
from memoranda.log import leaves
from memoranda.log.commitments import SALT_SIZE, Scopes, of_scope
from memoranda.log.leaves import ENVELOPE, EVENT, FIRST_SLOTS, SLOT
from memoranda.log.salting import NO_SALT, Salts, is_second
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.instant import LAST_MICROS
from memoranda.model.operations import (
    AnyOperation,
    Erase,
    ErasedOperation,
    Write,
)
from memoranda.model.scope import NOBODY
from memoranda.model.slots import ONE_SLOT
from memoranda.storage.port import Row

Opened = tuple[Row, Envelope, tuple[AnyOperation, ...]]
"""A stored event's columns in the order of `SealedEvent`, and what they say."""
FIRST_VERSION, SECOND_VERSION = 1, 2
_ARRAY_OF_ONE = 0x91
"""The byte before the operation, where an event has one: so it need not be looked for."""
_OF_ONE = bytes([_ARRAY_OF_ONE])
_SALTS_OF_ONE = 1 + 4 * SALT_SIZE
"""The size of the salts of an event with one operation: envelope, scope, operation."""
_WITH_ONE = Struct(">cqq32sq32s65s32s").pack
"""Joins what the hash of an event with one operation of one slot covers."""
_REQUEST, _GENESIS = b"\x02", b"\x04"


def genesis(log_id: str) -> Head:
    """Return what the first event is chained to."""
    return Head(commit_ts=0, committed_at=0, hash=sha256(_GENESIS + log_id.encode()).digest())


def request_hash(salts: bytes, request: bytes, operations: int) -> bytes:
    """Return the salted hash of what a transaction asked for that became so many operations."""
    own = salts[-SALT_SIZE * max(1, operations) :] if is_second(salts) else salts[:SALT_SIZE]
    return sha256(_REQUEST + own + request).digest()


def can_compare(event: SealedEvent, operations: Sequence[AnyOperation]) -> bool:
    """Say whether a request can still be compared with the one that an event came from.

    What an erasure asked for is not to be guessed either.
    """
    if not is_second(event.salts):
        return not event.salts.startswith(NO_SALT)
    if any(isinstance(each, Erase | ErasedOperation) for each in operations):
        return False
    return not event.salts.endswith(NO_SALT)


def seal(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operations: Sequence[AnyOperation],
    known: Scopes | None = None,
) -> SealedEvent:
    """Return the event that follows `previous`, ready to be stored.

    `salts` were drawn for these operations. A commit waits for this, so the commitments to scopes
    are taken from `known`, and what most events are is done in one go.
    """
    known = {} if known is None else known
    if len(operations) == 1 and leaves.has_one_slot(operations[0]):
        return _seal_one(previous, committed_at, salts, envelope, operations[0], known)
    parts = [*map(codec.encode, operations)]
    sealed = codec.encode(envelope)
    own = leaves.of_new(salts, sealed, parts, operations, known)
    commit_ts = previous.commit_ts + 1
    found = leaves.event_hash(salts, commit_ts, committed_at, previous.hash, own)
    return SealedEvent(commit_ts, committed_at, found, salts, sealed, codec.join(parts))


def _seal_one(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operation: AnyOperation,
    known: Scopes,
) -> SealedEvent:
    """Do the same where there is one operation of one slot."""
    number, sealed, part = previous.commit_ts + 1, codec.encode(envelope), codec.encode(operation)
    first = sha256(ENVELOPE + salts[1:17] + sealed).digest()
    scope = of_scope(salts[17:49], operation.namespace, operation.agent_id, known)
    place = FIRST_SLOTS[part[1]]
    slot = sha256(SLOT + salts[49:] + place + part[scope[3] :]).digest()
    covered = _WITH_ONE(EVENT, number, committed_at, previous.hash, 1, first, scope[4], slot)
    found = sha256(covered).digest()
    return SealedEvent(number, committed_at, found, salts, sealed, _OF_ONE + part)


def seal_again(previous: Head, event: SealedEvent) -> SealedEvent:
    """Return a stored event as the one that follows `previous` in another log."""
    commit_ts = previous.commit_ts + 1
    found = leaves.event_hash(
        event.salts, commit_ts, event.committed_at, previous.hash, leaves_in(event)
    )
    return msgspec.structs.replace(event, commit_ts=commit_ts, hash=found)


def follow(
    previous: Head,
    rows: Iterable[Row],
    quiet: Container[type] = frozenset(),
    at_end: Callable[[Head], object] = bool,
    known: Scopes | None = None,
) -> Iterator[Opened]:
    """Yield stored events with what they say, or raise `ChainBroken` for the first bad one.

    Most have one operation of one slot. If it is of a `quiet` kind, its own agent's and unsigned,
    the event is checked and not yielded; `at_end` is told where the walk has come to. `known`
    remembers scopes from one stretch of the log to the next.
    """
    number, time, last = previous.commit_ts, previous.committed_at, previous.hash
    version, known = previous.version, {} if known is None else known
    read_envelope, read_operations = codec.read_envelope, codec.read_operations
    for row in rows:
        number += 1
        commit_ts, committed_at, found, salts, envelope, operations = row
        try:
            if commit_ts != number or not time < committed_at <= LAST_MICROS:
                raise _refused(number, time, row)
            try:
                who, what = read_envelope(envelope), read_operations(operations)
            except codec.UNREADABLE:  # or erased
                who, what = codec.decode_envelope(envelope), codec.decode_operations(operations)
            plain = False
            if (
                len(salts) == _SALTS_OF_ONE
                and operations[0] == _ARRAY_OF_ONE
                and salts[0] == SECOND_VERSION
                and who.txn_id
                and (kind := type(only := what[0])) in ONE_SLOT
                and not (kind is Write and only.because)  # type: ignore[union-attr]
            ):
                scope = known.get(salts[17:49])
                if scope is None or scope[1] != only.agent_id or scope[0] != only.namespace:
                    scope = of_scope(salts[17:49], only.namespace, only.agent_id, known)
                own = who.actor == scope[1] or who.actor == NOBODY
                plain = own and kind in quiet and who.signature is None
                version = SECOND_VERSION
                first = sha256(ENVELOPE + salts[1:17] + envelope).digest()
                slot = SLOT + salts[49:] + FIRST_SLOTS[operations[2]] + operations[scope[3] + 1 :]
                slot = sha256(slot).digest()
                covered = _WITH_ONE(EVENT, number, committed_at, last, 1, first, scope[4], slot)
            else:
                version = _next_version(version, salts)
                parts = leaves.of_event(salts, envelope, operations, what, known)
                covered = leaves.covered(salts, number, committed_at, last, parts)
        except Corruption as error:
            raise _at(number, error) from error
        except (TypeError, struct.error) as error:  # SQLite can be made to hold anything anywhere
            raise ChainBroken(number, "a column has another type than an event's") from error
        if sha256(covered).digest() != found:
            raise ChainBroken(number, "its content does not have its hash")
        time, last = committed_at, found
        if not plain:
            yield row, who, what
    at_end(Head(number, time, last, version))


def _next_version(version: int, salts: bytes) -> int:
    """Return the chain version of an event, which is not older than of those before it."""
    found = SECOND_VERSION if is_second(salts) else FIRST_VERSION
    if found < version:
        raise Corruption("it has an older form than the events before it")
    return found


def check(previous: Head, event: SealedEvent) -> Head:
    """Return the head behind `event`, or raise `ChainBroken` if it does not follow `previous`."""
    for row, _, _ in follow(previous, (msgspec.structs.astuple(event),)):
        return head_behind(row)
    raise AssertionError("an event is followed or refused")


def head_behind(row: Row) -> Head:
    """Return the log's end behind a stored event."""
    version = SECOND_VERSION if is_second(row[3]) else FIRST_VERSION
    return Head(row[0], row[1], row[2], version)


def leaves_in(event: SealedEvent) -> list[bytes]:
    """Return what stands for an event's envelope and for each of its operations."""
    return leaves.of_event(event.salts, event.envelope, event.operations, _decoded(event), {})


def leaves_of(
    salts: bytes, operations: Sequence[AnyOperation], known: Scopes | None = None
) -> list[bytes]:
    """Return what stands for each operation of an event that is being made."""
    parts = [*map(codec.encode, operations)]
    return leaves.of_operations(
        Salts(salts, operations), parts, operations, {} if known is None else known
    )


def operation_leaves(event: SealedEvent) -> list[bytes]:
    """Return what stands for each operation of an event."""
    return leaves_in(event)[1:]


def _refused(expected: int, time: int, row: Row) -> ChainBroken:
    """Return what is wrong with a row that cannot be the next event."""
    commit_ts, committed_at, *_ = row
    if commit_ts != expected:
        problem = f"it is missing, and the next one there is {commit_ts}"
    elif committed_at <= time:
        problem = "its time is not after the time of the one before it"
    else:
        problem = "its time is beyond the year 9999"
    return ChainBroken(expected, problem)


def _at(number: int, error: Corruption) -> ChainBroken:
    return error if isinstance(error, ChainBroken) else ChainBroken(number, str(error))


def _decoded(event: SealedEvent) -> tuple[AnyOperation, ...]:
    codec.decode_envelope(event.envelope)
    return codec.decode_operations(event.operations)
