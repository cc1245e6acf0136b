"""The stored bytes of operations, envelopes and details. Once written, always readable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

import msgspec

from memoranda.errors import Corruption
from memoranda.model.event import Envelope, ErasedEnvelope
from memoranda.model.memory import Details
from memoranda.model.operations import AnyOperation, OperationType, standing
from memoranda.model.refs import Evidence

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
MOST_INTEGER = 2**63
_ERASED = b"\0"
"""Where a whole envelope has a text, behind the byte that says how many fields it has."""

_WIDE, _WIDE_HEAD, _HEAD = 0xDC, 3, 1
"""How a long array begins in msgpack, and how many bytes stand before the first item of either."""
_ERASED_TAGS = frozenset(
    kind.__struct_config__.tag
    for kind in get_args(AnyOperation)
    if kind.type is OperationType.ERASED
)

_encoder = msgspec.msgpack.Encoder()
encode: Callable[[msgspec.Struct], bytes] = _encoder.encode
"""Returns the bytes of one operation or envelope."""
encode_all: Callable[[Sequence[msgspec.Struct]], bytes] = _encoder.encode
"""Returns what `join` makes of the bytes of each."""
_operations = msgspec.msgpack.Decoder(tuple[AnyOperation, ...])
_operation = msgspec.msgpack.Decoder(AnyOperation)
_numbers = msgspec.msgpack.Decoder(list[int])
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw])
_anything = msgspec.msgpack.Decoder()
_envelope = msgspec.msgpack.Decoder(Envelope)
_erased_envelope = msgspec.msgpack.Decoder(ErasedEnvelope)
_details = msgspec.msgpack.Decoder(Details)
_evidence = msgspec.msgpack.Decoder(Evidence)


read_operations: Callable[[bytes], tuple[AnyOperation, ...]] = _operations.decode
"""As `decode_operations`, at once: what it raises is `UNREADABLE`."""
read_envelope: Callable[[bytes], Envelope] = _envelope.decode
"""As `decode_envelope`, at once: what it raises is `UNREADABLE`, also for one that was erased."""


def check_canonical(data: bytes) -> None:
    """Raise `Corruption` unless bytes are what this engine writes for what they say.

    Whoever reads them in another way must not find another number or another text.
    """
    try:
        found = _anything.decode(data)
        canonical = _encoder.encode(found) == data
    except UNREADABLE as error:
        raise Corruption(f"an operation or an envelope cannot be read: {error}") from error
    if not canonical or not _fits(found):
        raise Corruption("a number, a text or a list is not spelled as an event spells it")


def _fits(found: object) -> bool:
    """Say whether every number in it has at most 64 bits."""
    if isinstance(found, list):
        return all(map(_fits, found))
    if isinstance(found, dict):
        return all(map(_fits, found.values()))
    return not isinstance(found, int) or found < MOST_INTEGER


def join(parts: Sequence[bytes]) -> bytes:
    """Return the bytes of an event's operations from the bytes of each."""
    return _encoder.encode([*map(msgspec.Raw, parts)])


def split(operations: bytes) -> list[bytes]:
    """Return the bytes of each operation: what its leaf hash covers."""
    return [bytes(part) for part in parts(operations)]


def parts(operations: bytes) -> list[msgspec.Raw]:
    """Return each operation undecoded, without a copy: `decode_operation` takes one."""
    try:
        return _parts.decode(operations)
    except UNREADABLE as error:
        raise Corruption(f"an event's operations cannot be read: {error}") from error


def spans(operations: bytes) -> list[tuple[int, int]] | None:
    """Return where each operation begins and ends; None: something was erased."""
    found, whole = [], parts(operations)
    start = len(operations) - sum(map(len, whole))
    for part in whole:
        end = start + len(part)
        head = start + (_WIDE_HEAD if operations[start] == _WIDE else _HEAD)
        if operations[head] in _ERASED_TAGS:
            return None
        found.append((start, end))
        start = end
    return found


def pack_spans(spans: Iterable[tuple[int, int]]) -> bytes:
    """Return the bytes of some places in an event's operations."""
    return _encoder.encode([place for span in spans for place in span])


def read_spans(operations: bytes, packed: bytes) -> tuple[AnyOperation, ...]:
    """Return the operations at some places of an event: what it raises is `UNREADABLE`."""
    numbers = _numbers.decode(packed)
    places = zip(numbers[::2], numbers[1::2], strict=False)
    return tuple(_operation.decode(operations[start:end]) for start, end in places)


def decode_operations(operations: bytes) -> tuple[AnyOperation, ...]:
    """Return an event's operations."""
    try:
        return _operations.decode(operations)
    except UNREADABLE as error:
        raise Corruption(f"an event's operations cannot be read: {error}") from error


def decode_operation(operation: bytes | msgspec.Raw) -> AnyOperation:
    """Return one operation."""
    try:
        found: AnyOperation = _operation.decode(operation)
    except UNREADABLE as error:
        raise Corruption(f"an operation cannot be read: {error}") from error
    return found


def decode_standing(operations: bytes) -> tuple[AnyOperation, ...]:
    """Return what applies at the places of an event's operations: what is left of those erased."""
    return tuple(map(standing, decode_operations(operations)))


def decode_envelope(envelope: bytes) -> Envelope:
    """Return an event's envelope; of one that was erased, what is left."""
    try:
        if envelope[1:2] != _ERASED:
            return _envelope.decode(envelope)
        return _erased_envelope.decode(envelope).envelope
    except UNREADABLE as error:
        raise Corruption(f"an event's envelope cannot be read: {error}") from error


def decode_erased_envelope(envelope: bytes) -> ErasedEnvelope | None:
    """Return what is left of an envelope that was erased; None if it is whole."""
    if envelope[1:2] != _ERASED:
        return None
    try:
        return _erased_envelope.decode(envelope)
    except UNREADABLE as error:
        raise Corruption(f"an event's envelope cannot be read: {error}") from error


def decode_details(details: bytes) -> Details:
    """Return what is said of a memory beside its content."""
    try:
        return _details.decode(details)
    except UNREADABLE as error:
        raise Corruption(f"a memory's details cannot be read: {error}") from error


def decode_evidence(evidence: bytes) -> Evidence:
    """Return what a fact comes from."""
    try:
        found: Evidence = _evidence.decode(evidence)
    except UNREADABLE as error:
        raise Corruption(f"a fact's source cannot be read: {error}") from error
    return found
