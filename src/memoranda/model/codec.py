"""The stored bytes of operations, envelopes and details, and compression of long content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import compress
from typing import get_args

import msgspec
from backports import zstd

from memoranda.errors import Corruption
from memoranda.model.event import Envelope, ErasedEnvelope
from memoranda.model.memory import Details
from memoranda.model.operations import AnyOperation, OperationType, effective_operation
from memoranda.model.refs import Evidence

# Compression of long content. Stored bytes are not trusted when they are decompressed.

_COMPRESSION_LEVEL = 3
"""Zstandard's default: higher levels cost a commit more time than they save space."""


def digest_of(content: bytes) -> bytes:
    """Return the hash of content, which the log has in its place."""
    return sha256(content).digest()


def pack(content: bytes) -> bytes:
    """Compress content."""
    return zstd.compress(content, level=_COMPRESSION_LEVEL)


def unpacked_size(packed: bytes) -> int:
    """Return the size that packed content claims to have; it is not verified."""
    return zstd.get_frame_info(packed).decompressed_size or 0


def unpack(packed: bytes, *, size: int, digest: bytes) -> bytes:
    """Decompress content, and check it against the size and hash that the log has.

    A packed size may be wrong or hostile. So at most one byte over `size` is decompressed.
    """
    decompressor = zstd.ZstdDecompressor()
    try:
        content = decompressor.decompress(packed, max_length=size + 1)
    except zstd.ZstdError as error:
        raise Corruption(f"stored content cannot be unpacked: {error}") from error
    if len(content) > size or not decompressor.eof or decompressor.unused_data:
        raise Corruption(f"stored content does not unpack to the {size} bytes the log says it has")
    if len(content) != size or digest_of(content) != digest:
        raise Corruption("stored content does not have the hash the log says it has")
    return content


# The stored bytes of operations, envelopes and details. Once written, always readable.

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
INTEGER_END = 2**63
"""Integers of the log are below it: they fit into 64 bits with a sign."""
_ERASED_TAG = b"\0"
"""The second byte of an erased envelope, its tag; other envelopes have a text there."""

_WIDE, _WIDE_HEAD, _HEAD = 0xDC, 3, 1
"""The first byte of a long msgpack array, and the header sizes of a long and a short one."""
_SHORT, _SHORT_END, _WIDE_END = 0x90, 16, 1 << 16
"""The first byte of an empty msgpack array; the lengths that a short and a long one stay below."""
_FOUR_FIELDS = bytes((_SHORT | 4,))
"""The first byte of an envelope without a trace id, whose last byte, a nil, is left out."""
_ERASED_TAGS = frozenset(
    kind.__struct_config__.tag
    for kind in get_args(AnyOperation)
    if kind.type is OperationType.ERASED
)


class OperationHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The first fields of an operation, which say what kind it is and whose."""

    tag: int
    namespace: str
    agent_id: str


_encoder = msgspec.msgpack.Encoder()
encode: Callable[[msgspec.Struct], bytes] = _encoder.encode
"""Encode one operation or envelope."""
encode_all: Callable[[Sequence[msgspec.Struct]], bytes] = _encoder.encode
"""Encode a list of operations, as `join` does with their bytes."""
_operations = msgspec.msgpack.Decoder(tuple[AnyOperation, ...])
_operation = msgspec.msgpack.Decoder(AnyOperation)
_heads = msgspec.msgpack.Decoder(list[OperationHead])
_numbers = msgspec.msgpack.Decoder(list[int])
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw])
_anything = msgspec.msgpack.Decoder()
_envelope = msgspec.msgpack.Decoder(Envelope)
_erased_envelope = msgspec.msgpack.Decoder(ErasedEnvelope)
_details = msgspec.msgpack.Decoder(Details)
_evidence = msgspec.msgpack.Decoder(Evidence)


read_operations: Callable[[bytes], tuple[AnyOperation, ...]] = _operations.decode
"""As `decode_operations`, without translating errors: it raises `UNREADABLE`."""
read_envelope: Callable[[bytes], Envelope] = _envelope.decode
"""As `decode_envelope`, without translating errors: it raises `UNREADABLE`, for erased ones too."""


def check_canonical(data: bytes) -> None:
    """Raise `Corruption` unless the bytes are the canonical encoding of their value.

    Another decoder, such as an auditor's, must not read another number or text from them.
    """
    try:
        value = _anything.decode(data)
        canonical = _encoder.encode(value) == data
    except UNREADABLE as error:
        raise Corruption(f"an operation or an envelope cannot be read: {error}") from error
    if not canonical or not _fits(value):
        raise Corruption("a number, a text or a list is not in its canonical encoding")


def _fits(value: object) -> bool:
    """Say whether every integer in a value is below 2**63."""
    if isinstance(value, list):
        return all(map(_fits, value))
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    return not isinstance(value, int) or value < INTEGER_END


def join(parts: Sequence[bytes]) -> bytes:
    """Join the bytes of operations to those of an event's operations."""
    count = len(parts)
    if count < _SHORT_END:
        return b"".join((bytes((_SHORT | count,)), *parts))
    if count < _WIDE_END:
        return b"".join((bytes((_WIDE,)), count.to_bytes(2), *parts))
    return _encoder.encode([*map(msgspec.Raw, parts)])


def split(operations: bytes) -> list[bytes]:
    """Return the bytes of each operation, which its leaf hash covers."""
    return [bytes(part) for part in parts(operations)]


def parts(operations: bytes) -> list[msgspec.Raw]:
    """Return each operation undecoded and uncopied, for `decode_operation`."""
    try:
        return _parts.decode(operations)
    except UNREADABLE as error:
        raise Corruption(f"an event's operations cannot be read: {error}") from error


def spans(operations: bytes) -> list[tuple[int, int]] | None:
    """Return the start and end of each operation; None if one was erased."""
    places, operation_parts = [], parts(operations)
    start = len(operations) - sum(map(len, operation_parts))
    for part in operation_parts:
        end = start + len(part)
        head = start + (_WIDE_HEAD if operations[start] == _WIDE else _HEAD)
        if operations[head] in _ERASED_TAGS:
            return None
        places.append((start, end))
        start = end
    return places


def pack_spans(spans: Iterable[tuple[int, int]]) -> bytes:
    """Encode spans of an event's operations."""
    return _encoder.encode([place for span in spans for place in span])


def join_spans(packed: Sequence[bytes]) -> bytes | None:
    """Merge encoded lists of spans, in order; None if one of them cannot be read."""
    try:
        spans = sorted(span for part in packed for span in _unpack_spans(part))
    except UNREADABLE:
        return None
    return pack_spans(spans)


def read_spans(operations: bytes, packed: bytes) -> tuple[AnyOperation, ...]:
    """Decode the operations at some spans of an event; it raises `UNREADABLE`."""
    return tuple(_operation.decode(operations[start:end]) for start, end in _unpack_spans(packed))


def cut_spans(operations: bytes, packed: bytes) -> bytes:
    """Return the operations at some spans of an event as bytes; it raises `UNREADABLE`."""
    return join([operations[start:end] for start, end in _unpack_spans(packed)])


def cut_matching(operations: bytes, includes: Callable[[OperationHead], bool]) -> bytes | None:
    """Return those operations of an event that a function includes, as bytes; empty: none.

    None if one of the event's operations was erased: what readers see of it is not what is stored.
    It raises `UNREADABLE`.
    """
    heads = _heads.decode(operations)
    if len(heads) == 1:  # as most events have
        if heads[0].tag in _ERASED_TAGS:
            return None
        return operations if includes(heads[0]) else b""
    if any(head.tag in _ERASED_TAGS for head in heads):
        return None
    matches = [includes(head) for head in heads]
    if not any(matches):  # also if it has no operations, as a transaction without effect
        return b""
    if all(matches):
        return operations
    return join([bytes(part) for part in compress(parts(operations), matches)])


def is_erased_envelope(envelope: bytes) -> bool:
    """Say whether only the residue of an envelope is left."""
    return envelope[1:2] == _ERASED_TAG


def _unpack_spans(packed: bytes) -> Iterable[tuple[int, int]]:
    numbers = _numbers.decode(packed)
    return zip(numbers[::2], numbers[1::2], strict=False)


def decode_operations(operations: bytes) -> tuple[AnyOperation, ...]:
    """Decode an event's operations."""
    try:
        return _operations.decode(operations)
    except UNREADABLE as error:
        raise Corruption(f"an event's operations cannot be read: {error}") from error


def decode_at(operations: bytes, places: bytes | None) -> tuple[AnyOperation, ...]:
    """Decode the operations at some spans of an event, or all without spans."""
    if places is None:
        return decode_operations(operations)
    try:
        return read_spans(operations, places)
    except UNREADABLE:
        return decode_operations(operations)


def decode_operation(operation: bytes | msgspec.Raw) -> AnyOperation:
    """Decode one operation."""
    try:
        decoded: AnyOperation = _operation.decode(operation)
    except UNREADABLE as error:
        raise Corruption(f"an operation cannot be read: {error}") from error
    return decoded


def decode_effective(operations: bytes) -> tuple[AnyOperation, ...]:
    """Decode an event's operations, each erased one replaced by its residue."""
    return tuple(map(effective_operation, decode_operations(operations)))


def encode_envelope(envelope: Envelope) -> bytes:
    """Encode an envelope; without a trace id, in the four fields that it always had."""
    encoded = _encoder.encode(envelope)
    return encoded if envelope.trace_id is not None else _FOUR_FIELDS + encoded[1:-1]


def decode_envelope(envelope: bytes) -> Envelope:
    """Decode an event's envelope; an erased one has its pseudonym and retry token only."""
    try:
        if not is_erased_envelope(envelope):
            return _envelope.decode(envelope)
        return _erased_envelope.decode(envelope).envelope
    except UNREADABLE as error:
        raise Corruption(f"an event's envelope cannot be read: {error}") from error


def decode_erased_envelope(envelope: bytes) -> ErasedEnvelope | None:
    """Decode the residue of an erased envelope; None if it was not erased."""
    if not is_erased_envelope(envelope):
        return None
    try:
        return _erased_envelope.decode(envelope)
    except UNREADABLE as error:
        raise Corruption(f"an event's envelope cannot be read: {error}") from error


def decode_details(details: bytes) -> Details:
    """Decode a memory's details."""
    try:
        return _details.decode(details)
    except UNREADABLE as error:
        raise Corruption(f"a memory's details cannot be read: {error}") from error


def decode_evidence(evidence: bytes) -> Evidence:
    """Decode a fact's source."""
    try:
        decoded: Evidence = _evidence.decode(evidence)
    except UNREADABLE as error:
        raise Corruption(f"a fact's source cannot be read: {error}") from error
    return decoded
