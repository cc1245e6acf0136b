"""Parameters of a user's SQL: what can stand for a placeholder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, shown
from memoranda.storage.port import Parameters

_FIELD = "parameters"
_MOST = 32_766
"""As many placeholders as SQLite takes in one statement."""
_LEAST_NUMBER, _MOST_NUMBER = -(2**63), 2**63 - 1


def check_parameters(given: object) -> Parameters:
    """Return parameters that SQLite can take, by place or by name, or raise `InvalidInput`."""
    if isinstance(given, Mapping):
        _check_count(len(given))
        return {plain_text(_FIELD, name): _check(value) for name, value in given.items()}
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes, bytearray, memoryview)):
        problem = f"{shown(given)} is neither a list of values nor a mapping of names to values"
        raise InvalidInput(_FIELD, problem)
    _check_count(len(given))
    return tuple(map(_check, given))


def _check_count(count: int) -> None:
    if count > _MOST:
        raise InvalidInput(_FIELD, f"are {count}, and the most there can be is {_MOST}")


def _check(value: object) -> Any:
    if value is None or isinstance(value, (bytes, bytearray, memoryview)):
        return value
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, int) and _LEAST_NUMBER <= value <= _MOST_NUMBER:
        return int(value)
    if isinstance(value, float) and value == value:
        return float(value)
    raise InvalidInput(
        _FIELD, f"{shown(value)} is no text, bytes, None, number of 64 bits or finite number"
    )


def _check_text(value: str) -> str:
    """Return text that can be encoded; unlike what is stored, it may hold U+0000."""
    exact = str.__str__(value)
    try:
        exact.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(_FIELD, f"{shown(exact)} has a lone surrogate") from error
    return exact
