"""Documents: the JSON objects that are state values, and their stored bytes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from recollect.errors import InvalidInput
from recollect.model.limits import Limits, encode_text

Document = dict[str, Any]
"""A JSON object: text keys; text, finite numbers, booleans, null, lists and objects inside."""

_LEAST_INTEGER = -(2**63)
_MOST_INTEGER = 2**63 - 1

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


def encode(field: str, document: object, limits: Limits) -> bytes:
    """Return the bytes to store, or say which part of `document` is not JSON.

    The members keep their order. These bytes are what is hashed, so they are made once.
    """
    if not isinstance(document, dict):
        raise InvalidInput(
            field, f"{_shown(document)} is {type(document).__name__}: give a JSON object (a dict)"
        )
    _check(field, document, limits.value_depth)
    encoded = _encoder.encode(document)
    if len(encoded) > limits.value_bytes:
        raise InvalidInput(
            field, f"has {len(encoded)} bytes as JSON, and the limit is {limits.value_bytes}"
        )
    return encoded


def decode(encoded: bytes) -> Document:
    """Return a new document from stored bytes."""
    return _decoder.decode(encoded)


def _check(path: str, value: object, levels: int) -> None:
    """Walk the value: the encoder alone would take NaN, sets and integer keys and change them."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        encode_text(path, value)
    elif isinstance(value, int):
        if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            raise InvalidInput(path, f"{value} does not fit in 64 bits: store it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(path, f"{value} is not finite, which JSON cannot say: use null")
    elif isinstance(value, (dict, list)):
        _check_members(path, value, levels)
    else:
        raise InvalidInput(
            path, f"{_shown(value)} is {type(value).__name__}, which JSON does not have"
        )


def _check_members(path: str, value: dict[Any, Any] | list[Any], levels: int) -> None:
    if not levels:
        raise InvalidInput(path, "is nested too deeply (or inside itself)")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check(f"{path}[{index}]", item, levels - 1)
        return
    for name, item in value.items():
        if not isinstance(name, str):
            raise InvalidInput(path, f"the member name {name!r} is {type(name).__name__}, not text")
        encode_text(path, name)
        _check(f"{path}.{name}", item, levels - 1)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
