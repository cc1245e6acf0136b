"""Arrays as parameters, encoded here: psycopg encodes lists several times as slowly."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper

_HEADER = struct.Struct(">iiIii")
"""The dimensions, whether there are NULLs, the type of the elements, how many, the first index."""
_LENGTH = struct.Struct(">i")
_NUMBER = struct.Struct(">iq")
_NULL = _LENGTH.pack(-1)


class BigintArray(msgspec.Struct, frozen=True):
    """An encoded array of integers of 64 bits."""

    content: bytes


class ByteaArray(msgspec.Struct, frozen=True):
    """An encoded array of byte strings."""

    content: bytes


class TextArray(msgspec.Struct, frozen=True):
    """An encoded array of texts."""

    content: bytes


def _number(value: int) -> bytes:
    return _NUMBER.pack(8, value)


def _byte_string(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def _text(value: str) -> bytes:
    return _byte_string(value.encode())


class _Type(msgspec.Struct, frozen=True):
    """How PostgreSQL knows a type, and how an element of it is encoded."""

    array: type[BigintArray | ByteaArray | TextArray]
    array_oid: int
    element_oid: int
    encode: Callable[[Any], bytes]


_TYPES: Mapping[str, _Type] = {
    "BIGINT": _Type(BigintArray, 1016, 20, _number),
    "BYTEA": _Type(ByteaArray, 1001, 17, _byte_string),
    "TEXT": _Type(TextArray, 1009, 25, _text),
}
"""Types by their names in SQL; their numbers are the same in every PostgreSQL."""


def encode_array(kind: str, values: Sequence[object]) -> BigintArray | ByteaArray | TextArray:
    """Return an array of a type with some values, of which None is NULL."""
    own, has_nulls = _TYPES[kind], None in values
    encode = own.encode
    if has_nulls:
        elements = [_NULL if value is None else encode(value) for value in values]
    else:
        elements = [encode(value) for value in values]
    header = _HEADER.pack(1, has_nulls, own.element_oid, len(values), 1)
    return own.array(header + b"".join(elements))


class _ArrayDumper(Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: BigintArray | ByteaArray | TextArray) -> Buffer:
        return obj.content


def register_arrays(database: psycopg.Connection[Any]) -> None:
    """Let a connection take encoded arrays as parameters."""
    for own in _TYPES.values():
        dumper = type(f"{own.array.__name__}Dumper", (_ArrayDumper,), {"oid": own.array_oid})
        database.adapters.register_dumper(own.array, dumper)
