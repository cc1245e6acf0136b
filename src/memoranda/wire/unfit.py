"""Arguments that have no place in a typed field, as msgpack: those of a wrong type, for instance.

They are sent all the same (`calls/call_encoding.py`), so that the handler refuses them in its own
words, as it does in the process of the store. Calls and references among them are built here;
other arguments stay lists, maps and scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any, TypeAlias, Union, get_args, get_origin

import msgspec

from memoranda.calls.call import Call, call_name
from memoranda.calls.call_encoding import union_of
from memoranda.calls.registry import CALLS
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.model.suggestions import did_you_mean

_MAX_NAME_CHARACTERS = 100
"""Characters of an unknown name that are compared with those of calls."""


def decode(kind: type[Call[Any]], data: bytes) -> dict[str, Any]:
    """Return the arguments of a call; raise `InvalidInput` if the bytes are none."""
    try:
        return _converted(kind, msgspec.msgpack.decode(data, type=dict[str, Any]))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidInput("unfit", f"it is not understood: {error}") from error


def _converted(kind: type[Call[Any]], fields: dict[str, Any]) -> dict[str, Any]:
    for field, convert in _converters(kind).items():
        if isinstance(fields.get(field), (list, dict)):
            fields[field] = convert(field, fields[field])
    return fields


def _call_of(fields: dict[str, Any]) -> Call[Any]:
    name = fields.pop("call", None)
    kind = CALLS.get(name) if isinstance(name, str) else None
    if kind is None:
        hint = did_you_mean(name[:_MAX_NAME_CHARACTERS], CALLS) if isinstance(name, str) else ""
        raise InvalidInput("call", f"{short_repr(name)} is not a call{hint}")
    return build(kind, _converted(kind, fields))


def build(kind: type[Call[Any]], arguments: dict[str, Any]) -> Call[Any]:
    """Return a call; raise `InvalidInput` if it lacks an argument, or has one too many."""
    try:
        return kind(**arguments)
    except TypeError as error:
        raise InvalidInput("call", f"{call_name(kind)}: {error}") from error


Convert: TypeAlias = Callable[[str, Any], object]
"""Makes an argument of the list or the map that it arrives as."""


@cache
def _converters(kind: type[Call[Any]]) -> Mapping[str, Convert]:
    """Return how arguments of a call are built that are calls or records, such as references."""
    converters: dict[str, Convert] = {}
    for field in msgspec.structs.fields(kind):
        parts = union_of(field.type)
        items = [get_args(part)[0] for part in parts if get_origin(part) is tuple]
        if any(map(_is_call, parts)):
            converters[field.name] = _nested_call
        elif any(map(_is_call, items)):
            converters[field.name] = _nested_calls
        elif records := [part for item in items for part in union_of(item) if _is_record(part)]:
            converters[field.name] = partial(_convert_all, record=Union[tuple(records)])  # noqa: UP007
        elif records := [part for part in parts if _is_record(part)]:
            converters[field.name] = partial(_convert, record=Union[tuple(records)])  # noqa: UP007
    return MappingProxyType(converters)


def _is_call(part: Any) -> bool:
    kind = get_origin(part) or part
    return isinstance(kind, type) and issubclass(kind, Call)


def _nested_call(field: str, value: Any) -> object:
    if not isinstance(value, dict):
        raise InvalidInput(field, f"{short_repr(value)} is not a call")
    return _call_of(value)


def _nested_calls(field: str, value: Any) -> object:
    if not isinstance(value, list):
        raise InvalidInput(field, f"{short_repr(value)} is not a list of calls")
    return tuple(_nested_call(field, part) for part in value)


def _convert_all(field: str, value: Any, record: Any) -> object:
    """Return records, or the one that is given without a list: it begins with its number."""
    if isinstance(value, list) and not (value and isinstance(value[0], int)):
        return tuple(_convert(field, part, record) for part in value)
    return _convert(field, value, record)


def _is_record(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, msgspec.Struct)


def _convert(field: str, value: object, record: Any) -> object:
    try:
        converted: object = msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        raise InvalidInput(field, f"{short_repr(value)} is not understood: {error}") from error
    return converted
