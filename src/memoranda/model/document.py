"""Documents: the JSON objects that are state values, and their stored bytes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.model.limits import Limits, short_repr

Document = dict[str, Any]
"""A JSON object: text keys; text, finite numbers, booleans, null, lists and objects inside."""

_TOO_DEEP = "is nested too deeply (or inside itself)"
_MIN_INTEGER = -(2**63)
"""The smallest integer of 64 bits, as databases and other languages read it."""
_MAX_INTEGER = 2**63 - 1
"""The largest one."""

_encoder = msgspec.json.Encoder(enc_hook=lambda value: _plain(value))
_canonical = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(dict[str, Any])


def encode(field: str, document: object, limits: Limits) -> bytes:
    """Return the bytes to store, or raise `InvalidInput` with the path of a part that is not JSON.

    The members keep their order. The hash covers these bytes, so they are encoded only once.
    """
    if not isinstance(document, dict):
        raise InvalidInput(
            field,
            f"{short_repr(document)} is {type(document).__name__}: give a JSON object (a dict)",
        )
    check(field, document, limits)
    data = encode_checked(document)
    if len(data) > limits.value_bytes:
        raise InvalidInput(
            field, f"has {len(data)} bytes as JSON, and the limit is {limits.value_bytes}"
        )
    return data


def check(field: str, document: Document, limits: Limits) -> None:
    """Raise `InvalidInput` with the path of a part that is not JSON."""
    try:
        _check(document, limits.value_depth)
    except _InvalidPart as flaw:
        path = "".join((field, *reversed(flaw.steps)))
        raise InvalidInput(path, flaw.problem) from None
    except RecursionError:  # the limit is wider than what Python has left here
        raise InvalidInput(field, _TOO_DEEP) from None


def encode_checked(document: Document) -> bytes:
    """Encode a document that was checked."""
    return _encoder.encode(document)


def decode(data: bytes) -> Document:
    """Decode stored bytes to a new document."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corruption(f"a stored value cannot be read: {error}") from error


def canonical(value: Any) -> bytes:
    """Return JSON in one form for equal values, as `equal_json` compares them."""
    return _canonical.encode(value)


def equal_json(first: Document | None, second: Document | None) -> bool:
    """Say whether two documents are the same JSON; unlike in Python, 1, 1.0 and true differ."""
    return _canonical.encode(first) == _canonical.encode(second)


class _InvalidPart(Exception):
    """A part of a document that is not JSON; each level adds its step of the path."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.steps: list[str] = []


def _check(value: dict[Any, Any] | list[Any], levels: int) -> None:
    """Check each part; the encoder would accept NaN, sets and integer keys and change them."""
    if not levels:
        raise _InvalidPart(_TOO_DEEP)
    is_object = isinstance(value, dict)
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if is_object and not (isinstance(step, str) and step.isascii() and "\0" not in step):
            _check_name(step)
        if isinstance(item, str) and item.isascii() and "\0" not in item:
            continue
        if isinstance(item, int) and _MIN_INTEGER <= item <= _MAX_INTEGER:
            continue
        try:
            _check_uncommon(item, levels)
        except _InvalidPart as flaw:
            flaw.steps.append(f".{step}" if is_object else f"[{step}]")
            raise


def _check_uncommon(item: object, levels: int) -> None:
    """Check a part that is neither ASCII text nor an integer in range, which most parts are."""
    if isinstance(item, (dict, list)):
        _check(item, levels - 1)
    elif isinstance(item, str):
        _check_text(item)
    elif isinstance(item, int):
        raise _InvalidPart(f"{short_repr(item)} does not fit in 64 bits: store it as text")
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise _InvalidPart(f"{item} is not finite, and JSON has no such number: use null")
    elif item is not None:
        raise _InvalidPart(f"{short_repr(item)} is {type(item).__name__}, which JSON does not have")


def _check_name(name: object) -> None:
    """Check a member's name that is not plain ASCII."""
    if not isinstance(name, str):
        raise _InvalidPart(f"the member name {short_repr(name)} is {type(name).__name__}, not text")
    _check_text(name)


def _check_text(text: str) -> None:
    """Check text that is not plain ASCII."""
    if "\0" in text:
        raise _InvalidPart(f"{short_repr(text)} has the character U+0000: leave it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _InvalidPart(f"{short_repr(text)} has a lone surrogate") from error


def _plain(value: object) -> object:
    """Return the builtin value of a subclass, which the encoder does not know."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]
