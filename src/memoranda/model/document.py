"""Documents: the JSON objects that are state values, and their stored bytes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.model.limits import Limits, shown

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
    check(field, document, limits)
    stored = encoded(document)
    if len(stored) > limits.value_bytes:
        raise InvalidInput(
            field, f"has {len(stored)} bytes as JSON, and the limit is {limits.value_bytes}"
        )
    return stored


def check(field: str, document: Document, limits: Limits) -> None:
    """Say which part of a document is not JSON, if any is."""
    try:
        _check(document, limits.value_depth)
    except _Flaw as flaw:
        path = "".join((field, *reversed(flaw.steps)))
        raise InvalidInput(path, flaw.problem) from None


def encoded(document: Document) -> bytes:
    """Return the bytes of a document that was checked."""
    return _encoder.encode(document)


def decode(stored: bytes) -> Document:
    """Return a new document from stored bytes."""
    try:
        return _decoder.decode(stored)
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


def _check(value: dict[Any, Any] | list[Any], levels: int) -> None:
    """Walk the value: the encoder alone would take NaN, sets and integer keys and change them."""
    if not levels:
        raise _Flaw("is nested too deeply (or inside itself)")
    named = isinstance(value, dict)
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if named and not (isinstance(step, str) and step.isascii() and "\0" not in step):
            _check_name(step)
        if isinstance(item, str) and item.isascii() and "\0" not in item:
            continue
        if isinstance(item, int) and _LEAST_INTEGER <= item <= _MOST_INTEGER:
            continue
        try:
            _check_closer(item, levels)
        except _Flaw as flaw:
            flaw.steps.append(f".{step}" if named else f"[{step}]")
            raise


def _check_closer(item: object, levels: int) -> None:
    """Check what is neither plain ASCII nor a number that fits, as most of what is stored is."""
    if isinstance(item, (dict, list)):
        _check(item, levels - 1)
    elif isinstance(item, str):
        _check_text(item)
    elif isinstance(item, int):
        raise _Flaw(f"{shown(item)} does not fit in 64 bits: store it as text")
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise _Flaw(f"{item} is not finite, which JSON cannot say: use null")
    elif item is not None:
        raise _Flaw(f"{shown(item)} is {type(item).__name__}, which JSON does not have")


def _check_name(name: object) -> None:
    """Look closer at a member's name that is not plain ASCII."""
    if not isinstance(name, str):
        raise _Flaw(f"the member name {shown(name)} is {type(name).__name__}, not text")
    _check_text(name)


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
