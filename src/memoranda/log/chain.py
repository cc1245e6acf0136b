"""The hash chain: the leaves of an event, and the bytes its hash covers.

    leaf(envelope)  = SHA-256( 0x01 ‖ salt ‖ bytes )
    request_hash    = SHA-256( 0x02 ‖ salts ‖ bytes )          is part of the envelope
    hash(event n)   = SHA-256( 0x0B ‖ n ‖ committed_at ‖ hash(event n-1) ‖ count ‖ leaves )
    hash(event 0)   = SHA-256( 0x04 ‖ log id )

Numbers are eight bytes, big-endian. The envelope's leaf comes first, then the operations' in order,
which are commitments to each of their fields; `count` is that of the operations. Every salt is
drawn for one field (field_commitments.py): content can be erased together with its salt. The
remaining fields must open their commitments, the chain still holds, and a guess of the erased
content cannot be confirmed.

That is chain version 2. Events of version 1, which older releases have written, stay as they are:

    leaf(operation) = SHA-256( 0x00 ‖ salt ‖ bytes )
    hash(event n)   = SHA-256( 0x03 ‖ n ‖ committed_at ‖ hash(event n-1) ‖ count ‖ leaves )

where `count` is that of all leaves, and the salts are those of the request, the envelope and each
operation. The residues of an erasure in them are attested by the erasing commit alone. None can
follow an event of version 2.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from hashlib import sha256
from struct import Struct

import msgspec

from memoranda.errors import ChainBroken, Corruption
from memoranda.log import field_commitments
from memoranda.log.field_commitments import (
    NO_SALT,
    SALT_SIZE,
    SCOPE_SALTS,
    Salts,
    ScopeCommitment,
    ScopeCommitments,
    is_version_2,
    leaf_of_new,
    scope_commitment,
)
from memoranda.model import codec
from memoranda.model.clock import LAST_MICROS
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import (
    AnyOperation,
    Erase,
    Erased,
    ErasedOperation,
    Redacted,
    Write,
    effective_operation,
)
from memoranda.model.operations.slots import ONE_SLOT
from memoranda.model.scope import DEFAULT_ACTOR
from memoranda.storage.port import Row

# Leaves: one hash or commitment for each part of an event, in either chain version.

EVENT, ENVELOPE, SLOT = b"\x0b", b"\x01", b"\x08"
FIRST_SLOTS = [bytes([kind, 0]) for kind in range(256)]
"""For each kind, the bytes of kind and index that the commitment to its first slot covers."""
_OPERATION, _EVENT_VERSION_1 = b"\x00", b"\x03"
_ENVELOPE_SALT_VERSION_1 = slice(SALT_SIZE, 2 * SALT_SIZE)
_NUMBER, _TWO_NUMBERS = Struct(">q").pack, Struct(">qq").pack


def has_one_slot(operation: AnyOperation) -> bool:
    """Return whether one commitment covers all fields of an operation."""
    return type(operation) in ONE_SLOT and not (isinstance(operation, Write) and operation.because)


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of an operation's leaf; a leaf of version 1 is a hash already."""
    return leaf if len(leaf) == field_commitments.HASH_SIZE else sha256(leaf).digest()


def event_hash(
    salts: bytes, commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return the hash of an event from its leaves; `salts` tell its chain version."""
    return sha256(hashed_bytes(salts, commit_ts, committed_at, previous, leaves)).digest()


def leaves_of_event(
    salts: bytes,
    envelope: bytes,
    encoded: bytes,
    operations: Sequence[AnyOperation],
    scopes: ScopeCommitments,
) -> list[bytes]:
    """Return the leaves of a stored event; `operations` are the decoded `encoded`."""
    if is_version_2(salts):
        return leaves_of_version_2(salts, envelope, codec.split(encoded), operations, scopes)
    parts = [encoded[1:]] if len(operations) == 1 else codec.split(encoded)
    if len(salts) != SALT_SIZE * (2 + len(operations)):
        raise Corruption("its salts do not fit its operations")
    leaves = [_envelope_leaf(salts[_ENVELOPE_SALT_VERSION_1], envelope)]
    for index, (part, operation) in enumerate(zip(parts, operations, strict=True)):
        if isinstance(operation, Redacted):
            raise Corruption("a residue has another chain version than its event")
        first = (index + 2) * SALT_SIZE
        salt = salts[first : first + SALT_SIZE]
        if isinstance(operation, Erased):
            leaves.append(_check_leaf(operation.leaf))
        else:
            leaves.append(sha256(_OPERATION + salt + part).digest())
    return leaves


def leaves_of_version_2(
    salts: bytes,
    envelope: bytes,
    parts: Sequence[bytes],
    operations: Sequence[AnyOperation],
    scopes: ScopeCommitments,
) -> list[bytes]:
    """Return the leaves of a stored event of chain version 2."""
    parsed_salts = Salts(salts, operations)
    leaves = leaves_of_stored(parsed_salts, parts, operations, scopes)
    return [_envelope_leaf(parsed_salts.envelope, envelope), *leaves]


def leaves_of_new_event(
    salts: bytes,
    envelope: bytes,
    parts: Sequence[bytes],
    operations: Sequence[AnyOperation],
    cached_scopes: ScopeCommitments,
) -> list[bytes]:
    """Return the leaves of a new event, of which nothing can be erased.

    It walks the salts once, in the order of `Salts`, instead of parsing them.
    """
    leaves = [sha256(ENVELOPE + salts[1 : 1 + SALT_SIZE] + envelope).digest()]
    event_scopes: dict[tuple[str, str], ScopeCommitment] = {}
    first, at = 1 + SALT_SIZE, len(salts) - SALT_SIZE * len(operations)
    scope: ScopeCommitment | None = None
    for part, operation in zip(parts, operations, strict=True):
        if scope is None or scope[1] != operation.agent_id or scope[0] != operation.namespace:
            pair = (operation.namespace, operation.agent_id)
            scope = event_scopes.get(pair)
            if scope is None:
                event_scopes[pair] = scope = scope_commitment(
                    salts[first : first + SCOPE_SALTS], *pair, cached_scopes
                )
                first += SCOPE_SALTS
        salt = salts[at : at + SALT_SIZE]
        at += SALT_SIZE
        kind = type(operation)
        if kind in ONE_SLOT and not (kind is Write and operation.because):  # type: ignore[union-attr]
            slot = SLOT + salt + FIRST_SLOTS[part[1]] + part[scope[3] :]
            leaves.append(scope[4] + sha256(slot).digest())
        else:
            leaves.append(leaf_of_new(operation, part, salt, scope[2]))
    return leaves


def leaves_of_stored(
    salts: Salts,
    parts: Sequence[bytes],
    operations: Sequence[AnyOperation],
    scopes: ScopeCommitments,
) -> list[bytes]:
    """Return the leaf of each operation of an event of chain version 2."""
    leaves = []
    for salt, part, operation in zip(salts.operations, parts, operations, strict=False):
        if isinstance(operation, Redacted):
            leaves.append(field_commitments.redacted_leaf(operation))
            effective_operation(operation)  # raises if the open slots make no valid residue
            continue
        if isinstance(operation, Erased):
            raise Corruption("a residue has another chain version than its event")
        namespace, agent_id = operation.namespace, operation.agent_id
        scope = scope_commitment(salts.scopes[namespace, agent_id], namespace, agent_id, scopes)
        if has_one_slot(operation):
            slot = sha256(SLOT + salt + FIRST_SLOTS[part[1]] + part[scope[3] :]).digest()
            leaves.append(scope[4] + slot)
        else:
            leaves.append(field_commitments.operation_leaf(part, salt, scope[2]))
    return leaves


def _envelope_leaf(salt: bytes, envelope: bytes) -> bytes:
    residue = codec.decode_erased_envelope(envelope)
    if residue is not None:
        return _check_leaf(residue.leaf)
    return sha256(ENVELOPE + salt + envelope).digest()


def _check_leaf(leaf: bytes) -> bytes:
    if len(leaf) != field_commitments.HASH_SIZE:
        raise Corruption("an erased part has no leaf hash")
    return leaf


def hashed_bytes(
    salts: bytes, commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return the bytes that an event's hash covers; `salts` tell its chain version."""
    if is_version_2(salts):
        return hashed_bytes_of_version_2(commit_ts, committed_at, previous, leaves)
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves))
    return b"".join((_EVENT_VERSION_1, first, previous, second, *leaves))


def hashed_bytes_of_version_2(
    commit_ts: int, committed_at: int, previous: bytes, leaves: Sequence[bytes]
) -> bytes:
    """Return the bytes that the hash of an event of chain version 2 covers."""
    first, second = _TWO_NUMBERS(commit_ts, committed_at), _NUMBER(len(leaves) - 1)
    return b"".join((EVENT, first, previous, second, *leaves))


# The chain: seal new events, and verify stored ones.
#
# The slow paths (`leaves_of_new_event`, `leaves_of_event`) work for every event. Nearly all events
# have one operation, mostly of one slot, for which there are two fast paths: `_seal_one` when
# writing, and the first branch of `verify_rows` when reading. They hash the same bytes:
#
# * The salts of such an event have a fixed layout of 65 bytes, so they are sliced and not parsed:
#   [0] version, [1:17] envelope, [17:49] scope (namespace, agent), [49:65] operation.
# * One slot has the operation's salt as it is (`derive_salts` of one), and covers all fields behind
#   the scope's names, which begin at `scope[3]` of the encoded operation.
# * The leaf is the number of slots (1), the commitments to the two names (`scope[4]` is these 65
#   bytes) and the slot. `_PACK_ONE_SLOT_EVENT` joins it with the number, the time, the previous
#   hash, the count (1) and the envelope's leaf in the order of `hashed_bytes`.
# * A stored envelope or operation that was erased does not take the fast path: it has no txn_id, or
#   is of a kind that is not in `ONE_SLOT`. Everything else that could be wrong changes the hash.
#
# `tests/unit/log/test_chain.py` holds both paths to the same hashes.


OpenedEvent = tuple[Row, Envelope, tuple[AnyOperation, ...]]
"""A stored event's columns in the order of `SealedEvent`, its envelope and operations."""
FIRST_VERSION, SECOND_VERSION = 1, 2
"""The chain versions: one leaf hash for each operation, and one commitment for each field."""
_ARRAY_OF_ONE = 0x91
"""The msgpack header of an array of one: the operation of such an event begins right behind it."""
_ONE_OPERATION = bytes([_ARRAY_OF_ONE])
_ONE_OPERATION_SALTS = 1 + 4 * SALT_SIZE
"""Bytes of the salts of an event with one operation: version, envelope, scope, operation."""
_PACK_EVENT_OF_ONE = Struct(">cqq32sq32s").pack
"""Joins the bytes before the leaf that the hash of an event with one operation covers."""
_PACK_ONE_SLOT_EVENT = Struct(">cqq32sq32s65s32s").pack
"""Joins the bytes that the hash of an event with one operation of one slot covers."""
_REQUEST, _GENESIS = b"\x02", b"\x04"


def genesis(log_id: str) -> Head:
    """Return the head that the first event is chained to."""
    return Head(commit_ts=0, committed_at=0, hash=sha256(_GENESIS + log_id.encode()).digest())


def request_hash(salts: bytes, request: bytes, operations: int) -> bytes:
    """Return the salted hash of a request that became so many operations."""
    return sha256(_REQUEST + request_salt(salts, operations) + request).digest()


def request_salt(salts: bytes, operations: int) -> bytes:
    """Return the salt of a request: the salts of its operations, gone with any of them."""
    return salts[-SALT_SIZE * max(1, operations) :] if is_version_2(salts) else salts[:SALT_SIZE]


def can_compare(event: SealedEvent, operations: Sequence[AnyOperation]) -> bool:
    """Return whether an event's request can still be compared with another one.

    An erasure's request never can: the salt of its hash is not kept.
    """
    if not is_version_2(event.salts):
        return not event.salts.startswith(NO_SALT)
    if any(isinstance(operation, Erase | ErasedOperation) for operation in operations):
        return False
    return not event.salts.endswith(NO_SALT)


def seal(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operations: Sequence[AnyOperation],
    scopes: ScopeCommitments | None = None,
) -> SealedEvent:
    """Return the event that follows `previous`, ready to be stored.

    `salts` were drawn for these operations. `scopes` caches the commitments to scopes. A commit
    waits for this, so events with one operation have a fast path.
    """
    scopes = {} if scopes is None else scopes
    if len(operations) == 1:
        return _seal_one(previous, committed_at, salts, envelope, operations[0], scopes)
    parts = [*map(codec.encode, operations)]
    sealed = codec.encode_envelope(envelope)
    leaves = leaves_of_new_event(salts, sealed, parts, operations, scopes)
    commit_ts = previous.commit_ts + 1
    digest = event_hash(salts, commit_ts, committed_at, previous.hash, leaves)
    return SealedEvent(commit_ts, committed_at, digest, salts, sealed, codec.join(parts))


def _seal_one(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operation: AnyOperation,
    scopes: ScopeCommitments,
) -> SealedEvent:
    """Seal an event with one operation: the fast path of `seal`."""
    number, part = previous.commit_ts + 1, codec.encode(operation)
    sealed = codec.encode_envelope(envelope)
    envelope_leaf = sha256(ENVELOPE + salts[1:17] + sealed).digest()
    scope = scope_commitment(salts[17:49], operation.namespace, operation.agent_id, scopes)
    kind = type(operation)
    if kind in ONE_SLOT and not (kind is Write and operation.because):  # type: ignore[union-attr]
        slot = sha256(SLOT + salts[49:] + FIRST_SLOTS[part[1]] + part[scope[3] :]).digest()
        leaf = scope[4] + slot
    else:
        leaf = leaf_of_new(operation, part, salts[49:], scope[2])
    covered = _PACK_EVENT_OF_ONE(EVENT, number, committed_at, previous.hash, 1, envelope_leaf)
    digest = sha256(covered + leaf).digest()
    return SealedEvent(number, committed_at, digest, salts, sealed, _ONE_OPERATION + part)


def seal_again(previous: Head, event: SealedEvent) -> SealedEvent:
    """Return a stored event as the one that follows `previous` in another log."""
    commit_ts = previous.commit_ts + 1
    digest = event_hash(event.salts, commit_ts, event.committed_at, previous.hash, leaves_in(event))
    return msgspec.structs.replace(event, commit_ts=commit_ts, hash=digest)


def verify_rows(
    previous: Head,
    rows: Iterable[Row],
    quiet_kinds: Container[type] = frozenset(),
    at_end: Callable[[Head], object] = bool,
    scopes: ScopeCommitments | None = None,
) -> Iterator[OpenedEvent]:
    """Yield stored events decoded, or raise `ChainBroken` for the first bad one.

    An event with one operation of a kind in `quiet_kinds`, by its own agent and unsigned, is
    verified and not yielded. `at_end` gets the head that was reached. `scopes` caches commitments
    from call to call.
    """
    number, time, last = previous.commit_ts, previous.committed_at, previous.hash
    version, scopes = previous.version, {} if scopes is None else scopes
    read_envelope, read_operations = codec.read_envelope, codec.read_operations
    for row in rows:
        number += 1
        commit_ts, committed_at, stored_hash, salts, envelope, operations = row
        try:
            if commit_ts != number or not time < committed_at <= LAST_MICROS:
                raise _order_error(number, time, row)
            try:
                sender, decoded = read_envelope(envelope), read_operations(operations)
            except codec.UNREADABLE:  # damaged, or partly erased
                sender, decoded = (
                    codec.decode_envelope(envelope),
                    codec.decode_operations(operations),
                )
            is_quiet = False
            if (
                len(salts) == _ONE_OPERATION_SALTS
                and operations[0] == _ARRAY_OF_ONE
                and salts[0] == SECOND_VERSION
                and sender.txn_id
                and (kind := type(only := decoded[0])) in ONE_SLOT
                and not (kind is Write and only.because)  # type: ignore[union-attr]
            ):
                scope = scopes.get(salts[17:49])
                if scope is None or scope[1] != only.agent_id or scope[0] != only.namespace:
                    scope = scope_commitment(salts[17:49], only.namespace, only.agent_id, scopes)
                is_own = sender.actor == scope[1] or sender.actor == DEFAULT_ACTOR
                is_quiet = is_own and kind in quiet_kinds and sender.signature is None
                version = SECOND_VERSION
                envelope_leaf = sha256(ENVELOPE + salts[1:17] + envelope).digest()
                slot = SLOT + salts[49:] + FIRST_SLOTS[operations[2]] + operations[scope[3] + 1 :]
                slot = sha256(slot).digest()
                covered = _PACK_ONE_SLOT_EVENT(
                    EVENT, number, committed_at, last, 1, envelope_leaf, scope[4], slot
                )
            else:
                version = _next_version(version, salts)
                parts = leaves_of_event(salts, envelope, operations, decoded, scopes)
                covered = hashed_bytes(salts, number, committed_at, last, parts)
        except Corruption as error:
            raise _as_chain_broken(number, error) from error
        except (TypeError, struct.error) as error:  # a damaged column can hold any type
            raise ChainBroken(number, "a column has another type than an event's") from error
        if sha256(covered).digest() != stored_hash:
            raise ChainBroken(number, "its content does not have its hash")
        time, last = committed_at, stored_hash
        if not is_quiet:
            yield row, sender, decoded
    at_end(Head(number, time, last, version))


def _next_version(version: int, salts: bytes) -> int:
    """Return the chain version of an event, which is never older than those before it."""
    own_version = SECOND_VERSION if is_version_2(salts) else FIRST_VERSION
    if own_version < version:
        raise Corruption("it has an older chain version than the events before it")
    return own_version


def check(previous: Head, event: SealedEvent) -> Head:
    """Return the head after `event`, or raise `ChainBroken` if it does not follow `previous`."""
    for row, _, _ in verify_rows(previous, (msgspec.structs.astuple(event),)):
        return head_after(row)
    raise AssertionError("an event is verified or refused")


def head_after(row: Row) -> Head:
    """Return the head of a log that ends with a stored event."""
    version = SECOND_VERSION if is_version_2(row[3]) else FIRST_VERSION
    return Head(row[0], row[1], row[2], version)


def leaves_in(event: SealedEvent) -> list[bytes]:
    """Return the leaves of an event's envelope and of each operation."""
    return leaves_of_event(event.salts, event.envelope, event.operations, _decode_all(event), {})


def leaves_of(
    salts: bytes, operations: Sequence[AnyOperation], scopes: ScopeCommitments | None = None
) -> list[bytes]:
    """Return the leaf of each operation of a new event."""
    parts = [*map(codec.encode, operations)]
    return leaves_of_stored(
        Salts(salts, operations), parts, operations, {} if scopes is None else scopes
    )


def operation_leaves(event: SealedEvent) -> list[bytes]:
    """Return the leaf of each operation of an event."""
    return leaves_in(event)[1:]


def _order_error(number: int, time: int, row: Row) -> ChainBroken:
    """Return the error for a row that cannot be the next event."""
    commit_ts, committed_at, *_ = row
    if commit_ts != number:
        problem = f"it is missing, and the next one there is {commit_ts}"
    elif committed_at <= time:
        problem = "its time is not after the time of the one before it"
    else:
        problem = "its time is beyond the year 9999"
    return ChainBroken(number, problem)


def _as_chain_broken(number: int, error: Corruption) -> ChainBroken:
    return error if isinstance(error, ChainBroken) else ChainBroken(number, str(error))


def _decode_all(event: SealedEvent) -> tuple[AnyOperation, ...]:
    codec.decode_envelope(event.envelope)
    return codec.decode_operations(event.operations)
