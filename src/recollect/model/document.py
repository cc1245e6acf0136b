"""Documents: the JSON objects that are state values, and their stored bytes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from recollect.errors import Corruption, InvalidInput
from recollect.model.limits import Limits, shown

Document = dict[str, Any]
"""A JSON object: text keys; text, finite numbers, booleans, null, lists and objects inside."""

_LEAST_INTEGER = -(2**63)
_MOST_INTEGER = 2**63 - 1

_encoder = msgspec.json.Encoder(enc_hook=lambda value: _plain(value))
_canonical = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(dict[str, Any])


def encode(field: str, document: object, limits: Limits) -> bytes:
    """Return the bytes to store, or say which part of `document` is not JSON.

    The members keep their order. These bytes are what is hashed, so they are made once.
    """
    if not isinstance(document, dict):
        raise InvalidInput(
            field, f"{shown(document)} is {type(document).__name__}: give a JSON object (a dict)"
        )
    try:
        _check(document, limits.value_depth)
    except _Flaw as flaw:
        path = "".join((field, *reversed(flaw.steps)))
        raise InvalidInput(path, flaw.problem) from None
    encoded = _encoder.encode(document)
    if len(encoded) > limits.value_bytes:
        raise InvalidInput(
            field, f"has {len(encoded)} bytes as JSON, and the limit is {limits.value_bytes}"
        )
    return encoded


def decode(encoded: bytes) -> Document:
    """Return a new document from stored bytes."""
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption(f"a stored value cannot be read: {error}") from error


def same(one: Document | None, other: Document | None) -> bool:
    """Say whether two documents are the same JSON: unlike to Python, 1, 1.0 and true differ."""
    return _canonical.encode(one) == _canonical.encode(other)


class _Flaw(Exception):
    """What is wrong inside a document; the path to it is put together on the way out."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.steps: list[str] = []


def _check(value: object, levels: int) -> None:
    """Walk the value: the encoder alone would take NaN, sets and integer keys and change them."""
    if isinstance(value, str):
        if not value.isascii() or "\0" in value:
            _check_text(value)
    elif value is None or value is True or value is False:
        return
    elif isinstance(value, int):
        if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            raise _Flaw(f"{shown(value)} does not fit in 64 bits: store it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _Flaw(f"{value} is not finite, which JSON cannot say: use null")
    elif isinstance(value, dict):
        _check_object(value, levels)
    elif isinstance(value, list):
        _check_list(value, levels)
    else:
        raise _Flaw(f"{shown(value)} is {type(value).__name__}, which JSON does not have")


def _check_object(value: dict[Any, Any], levels: int) -> None:
    _check_depth(levels)
    for name, item in value.items():
        if not isinstance(name, str):
            raise _Flaw(f"the member name {shown(name)} is {type(name).__name__}, not text")
        if not name.isascii() or "\0" in name:
            _check_text(name)
        try:
            _check(item, levels - 1)
        except _Flaw as flaw:
            flaw.steps.append(f".{name}")
            raise


def _check_list(value: list[Any], levels: int) -> None:
    _check_depth(levels)
    for index, item in enumerate(value):
        try:
            _check(item, levels - 1)
        except _Flaw as flaw:
            flaw.steps.append(f"[{index}]")
            raise


def _check_depth(levels: int) -> None:
    if not levels:
        raise _Flaw("is nested too deeply (or inside itself)")


def _check_text(text: str) -> None:
    """Look closer at text that is not plain ASCII."""
    if "\0" in text:
        raise _Flaw(f"{shown(text)} has the character U+0000: leave it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Flaw(f"{shown(text)} has a lone surrogate") from error


def _plain(value: object) -> object:
    """Return the plain form of a subclass, which the encoder does not know."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
