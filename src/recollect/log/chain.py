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

import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from recollect.errors import ChainBroken, Corruption
from recollect.model import codec
from recollect.model.event import Envelope, Head, SealedEvent
from recollect.model.instant import LAST_MICROS
from recollect.model.operations import AnyOperation, Erased
from recollect.model.scope import NOBODY
from recollect.storage.port import Row

SALT_SIZE = 16
NO_SALT = bytes(SALT_SIZE)
"""What stands in the place of a salt that was erased."""
Opened = tuple[Row, Envelope, tuple[AnyOperation, ...]]
"""A stored event's columns in the order of `SealedEvent`, and what they say."""
_ARRAY_OF_ONE = 0x91
"""The byte before the operation, where an event has one: so it need not be looked for."""
_OF_ONE = bytes([_ARRAY_OF_ONE])
_SALTS_OF_ONE = 3 * SALT_SIZE
_ENVELOPE_SALT, _FIRST_SALT = slice(SALT_SIZE, 2 * SALT_SIZE), slice(2 * SALT_SIZE, 3 * SALT_SIZE)
_NUMBER, _TWO_NUMBERS = Struct(">q").pack, Struct(">qq").pack
_WITH_ONE = Struct(">cqq32sq32s32s").pack
"""Joins what the hash of an event with one operation covers."""
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
    if len(operations) == 1:
        return _seal_one(previous, committed_at, salts, envelope, operations[0])
    parts = [*map(codec.encode, operations)]
    sealed = codec.encode(envelope)
    leaves, first = [_envelope_leaf(salts, sealed)], 2 * SALT_SIZE
    for part in parts:  # as `_operation_leaf` does, with nothing around it: all that is written
        salt = salts[first : first + SALT_SIZE]
        leaves.append(sha256(_OPERATION + salt + part).digest())
        first += SALT_SIZE
    commit_ts = previous.commit_ts + 1
    found = _event_hash(commit_ts, committed_at, previous.hash, leaves)
    return SealedEvent(commit_ts, committed_at, found, salts, sealed, codec.join(parts))


def _seal_one(
    previous: Head, committed_at: int, salts: bytes, envelope: Envelope, operation: AnyOperation
) -> SealedEvent:
    """Do the same where there is one operation, as mostly, and a commit waits for nothing else."""
    number, sealed, part = previous.commit_ts + 1, codec.encode(envelope), codec.encode(operation)
    first = sha256(_ENVELOPE + salts[_ENVELOPE_SALT] + sealed).digest()
    second = sha256(_OPERATION + salts[_FIRST_SALT] + part).digest()
    covered = _WITH_ONE(_EVENT, number, committed_at, previous.hash, 2, first, second)
    found = sha256(covered).digest()
    return SealedEvent(number, committed_at, found, salts, sealed, _OF_ONE + part)


def seal_again(previous: Head, event: SealedEvent) -> SealedEvent:
    """Return a stored event as the one that follows `previous` in another log."""
    commit_ts = previous.commit_ts + 1
    found = _event_hash(commit_ts, event.committed_at, previous.hash, leaves(event))
    return msgspec.structs.replace(event, commit_ts=commit_ts, hash=found)


def follow(
    previous: Head,
    rows: Iterable[Row],
    quiet: Container[type] = frozenset(),
    at_end: Callable[[Head], None] | None = None,
) -> Iterator[Opened]:
    """Yield stored events with what they say, or raise `ChainBroken` for the first bad one.

    Most have one operation, and take most of the time. If it is of a `quiet` kind, its own agent's
    and unsigned, the event is checked and not yielded; `at_end` is told where the walk has come to.
    """
    number, time, last = previous.commit_ts, previous.committed_at, previous.hash
    for row in rows:
        number += 1
        commit_ts, committed_at, found, salts, envelope, operations = row
        try:
            if commit_ts != number or not time < committed_at <= LAST_MICROS:
                raise _refused(number, time, row)
            try:
                who, what = codec.read_envelope(envelope), codec.read_operations(operations)
            except codec.UNREADABLE:  # or erased
                who, what = codec.decode_envelope(envelope), codec.decode_operations(operations)
            plain = False
            if (
                len(salts) == _SALTS_OF_ONE
                and who.txn_id
                and operations[0] == _ARRAY_OF_ONE
                and (kind := type(what[0])) is not Erased
            ):
                own = who.actor == what[0].agent_id or who.actor == NOBODY
                plain = kind in quiet and own and who.signature is None
                plain = plain and not salts.startswith(NO_SALT)
                first = sha256(_ENVELOPE + salts[_ENVELOPE_SALT] + envelope).digest()
                second = sha256(_OPERATION + salts[_FIRST_SALT] + operations[1:]).digest()
                covered = _WITH_ONE(_EVENT, number, committed_at, last, 2, first, second)
            else:
                parts = _leaves(salts, envelope, operations, what)
                covered = _covered(number, committed_at, last, parts)
        except Corruption as error:
            raise _at(number, error) from error
        except (TypeError, struct.error) as error:  # SQLite can be made to hold anything anywhere
            raise ChainBroken(number, "a column has another type than an event's") from error
        if sha256(covered).digest() != found:
            raise ChainBroken(number, "its content does not have its hash")
        time, last = committed_at, found
        if not plain:
            yield row, who, what
    if at_end is not None:
        at_end(Head(number, time, last))


def check(previous: Head, event: SealedEvent) -> Head:
    """Return the head behind `event`, or raise `ChainBroken` if it does not follow `previous`."""
    for row, _, _ in follow(previous, (msgspec.structs.astuple(event),)):
        return head_behind(row)
    raise AssertionError("an event is followed or refused")


def head_behind(row: Row) -> Head:
    """Return the log's end behind a stored event."""
    return Head(row[0], row[1], row[2])


def leaves(event: SealedEvent) -> list[bytes]:
    """Return the hashes that stand for an event's envelope and for each of its operations."""
    return _leaves(event.salts, event.envelope, event.operations, _decoded(event))


def leaves_of(salts: bytes, operations: Sequence[AnyOperation]) -> list[bytes]:
    """Return the hash that stands for each operation of an event that is being made."""
    return [
        _operation_leaf(salts, index, codec.encode(operation))
        for index, operation in enumerate(operations)
    ]


def operation_leaves(event: SealedEvent) -> list[bytes]:
    """Return the hash that stands for each operation of an event."""
    return leaves(event)[1:]


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


def _leaves(
    salts: bytes, envelope: bytes, encoded: bytes, operations: Sequence[AnyOperation]
) -> list[bytes]:
    """Return the hashes of an event's parts; `operations` are what `encoded` says."""
    if len(salts) != SALT_SIZE * salt_count(len(operations)):
        raise Corruption("its salts do not fit its operations")
    erased = codec.decode_erased_envelope(envelope)
    leaves = [_envelope_leaf(salts, envelope) if erased is None else erased.leaf]
    for index, (part, operation) in enumerate(zip(codec.split(encoded), operations, strict=True)):
        if isinstance(operation, Erased):
            leaves.append(operation.leaf)
        else:
            leaves.append(_operation_leaf(salts, index, part))
    return leaves


def _envelope_leaf(salts: bytes, envelope: bytes) -> bytes:
    return sha256(_ENVELOPE + salts[_ENVELOPE_SALT] + envelope).digest()


def _operation_leaf(salts: bytes, index: int, part: bytes) -> bytes:
    first = (index + 2) * SALT_SIZE
    return sha256(_OPERATION + salts[first : first + SALT_SIZE] + part).digest()


def _event_hash(
    commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    return sha256(_covered(commit_ts, committed_at, previous, leaves)).digest()


def _covered(commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]) -> bytes:
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves))
    return b"".join((_EVENT, first, previous, second, *leaves))
