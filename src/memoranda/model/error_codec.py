"""Errors as plain JSON objects, and back: what servers send and remote clients raise.

An object has the name of the error's class, its message, whether it is retryable, and the annotated
attributes that the error has. A class that is not in the tree of `errors.py` is sent as its nearest
base that is.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_type_hints

import msgspec

from memoranda.errors import ERROR_TABLE, InvalidInput, MemorandaError, public_class

_CLASSES: Mapping[str, type[MemorandaError]] = {kind.__name__: kind for kind in ERROR_TABLE}
_BYTES, _FLOAT = "base64", "float"
"""The only member of an object that stands for bytes, or for a number that JSON does not have."""


class EncodedError(msgspec.Struct, frozen=True, kw_only=True):
    """The form of an encoded error; other members are ignored."""

    error: str
    message: str
    retryable: bool = False
    attributes: dict[str, Any] = {}


class EncodedRead(msgspec.Struct, frozen=True):
    """The name of an encoded read's type; its fields stand beside it."""

    read: str


class ErrorCodec:
    """Encodes errors and decodes them to the same class, with the same attributes."""

    def __init__(self, read_types: Iterable[type[msgspec.Struct]] = ()) -> None:
        self._read_types = {kind.__name__: kind for kind in read_types}
        """The types of the reads that a `TransactionConflict` has."""

    def encode(self, error: MemorandaError) -> dict[str, object]:
        """Return an error as an object of plain JSON values."""
        kind, values = public_class(type(error)), vars(error)
        attributes = {
            name: _encode(values[name]) for name in _attribute_types(kind) if name in values
        }
        return {
            "error": kind.__name__,
            "message": _encode(str(error)),
            "retryable": error.retryable,
            "attributes": attributes,
        }

    def decode(self, encoded: object) -> MemorandaError:
        """Return the error that an object stands for.

        An unknown class, as a newer version may send, is decoded as `MemorandaError`. An object of
        another form raises `InvalidInput`.
        """
        try:
            fields = msgspec.convert(encoded, EncodedError)
            kind = _CLASSES.get(fields.error, MemorandaError)
            types = _attribute_types(kind)
            attributes = {
                name: self._decode(name, types[name], value)
                for name, value in fields.attributes.items()
                if name in types
            }
        except msgspec.ValidationError as error:
            raise InvalidInput("error", f"it is not an encoded error: {error}") from error
        decoded_error = kind.__new__(kind, fields.message)
        decoded_error.__dict__.update(attributes)
        if decoded_error.retryable != fields.retryable:
            decoded_error.retryable = fields.retryable
        return decoded_error

    def _decode(self, name: str, kind: Any, value: Any) -> object:
        if name == "reads":
            names = [read.read for read in msgspec.convert(value, list[EncodedRead])]
            return tuple(
                msgspec.convert(read, self._read_types[name])
                for name, read in zip(names, value, strict=True)
                if name in self._read_types  # others are of a newer version
            )
        decoded_value: object = msgspec.convert(value, kind)
        if isinstance(decoded_value, dict):
            return {member: _decode_scalar(part) for member, part in decoded_value.items()}
        return decoded_value


def _attribute_types(kind: type[MemorandaError]) -> Mapping[str, Any]:
    """Return the types of an error's attributes, in their order, but for `retryable`."""
    types = get_type_hints(kind)
    return {name: types[name] for name in types if name != "retryable"}


def _encode(value: object) -> object:
    """Return a value as plain JSON; text that is not Unicode, as of a path, is escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if isinstance(value, msgspec.Struct):
        return {"read": type(value).__name__, **_encode_fields(value)}
    if isinstance(value, tuple):
        return [*map(_encode, value)]
    if isinstance(value, dict):
        return {name: _encode(part) for name, part in value.items()}
    return value


def _encode_fields(struct: msgspec.Struct) -> dict[str, object]:
    fields: dict[str, Any] = msgspec.to_builtins(struct)
    return {name: _encode(value) for name, value in fields.items()}


def _decode_scalar(value: object) -> object:
    if isinstance(value, dict) and value.keys() == {_BYTES}:
        return msgspec.convert(value[_BYTES], bytes)
    if isinstance(value, dict) and value.keys() == {_FLOAT}:
        return float(msgspec.convert(value[_FLOAT], Literal["inf", "-inf", "nan"]))
    return value
