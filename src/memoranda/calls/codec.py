"""Calls and answers as bytes.

A call is encoded as its struct, with its name. An answer describes itself: it is a flat list of
values in postfix order, where a composite value comes after its parts and says how many they are.
So an answer can be nested deeper than Python recurses, as the reasons of a long chain of beliefs
are, and decoding needs no more than a stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from types import MappingProxyType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from memoranda.calls.call import Call, answer_type, call_name
from memoranda.calls.registry import CALLS, HANDLERS, WRITES
from memoranda.errors import InvalidInput
from memoranda.model import document
from memoranda.model.clock import to_datetime, to_micros
from memoranda.model.document import Document
from memoranda.model.limits import WIDEST, short_repr
from memoranda.model.suggestions import did_you_mean

# Calls. Only their form is decoded: handlers check arguments, and name the wrong one.


def encode_call(call: Call[Any]) -> bytes:
    """Return a call as bytes; raise `InvalidInput` if an argument is not plain data."""
    if call.local_only is not None:
        name = call_name(type(call))
        raise InvalidInput("call", f"{name} cannot be sent to another process: {call.local_only}")
    plain = _checked(call)
    try:
        return msgspec.msgpack.encode(plain, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError):
        for name in plain.__struct_fields__:
            _check_argument(name, getattr(plain, name))
        raise


def _checked(call: Call[Any]) -> Call[Any]:
    """Return a call whose arguments arrive as they are; raise `InvalidInput` for others."""
    changes: dict[str, Any] = {}
    for field in msgspec.structs.fields(call):
        value = getattr(call, field.name)
        if isinstance(value, Call):
            changes[field.name] = _checked(value)
        elif _holds_calls(value):
            changes[field.name] = tuple(map(_checked, value))
        elif type(value) is dict and Document in _union_of(field.type):
            document.check(field.name, value, WIDEST)
        elif _is_refused(value, is_time=field.type is Any):
            raise InvalidInput(
                field.name, f"{short_repr(value)} is {type(value).__name__}, which cannot be sent"
            )
    plain = call.plain()
    return msgspec.structs.replace(plain, **changes) if changes else plain


def _holds_calls(value: object) -> bool:
    return type(value) is tuple and bool(value) and all(isinstance(part, Call) for part in value)


def _is_refused(value: object, *, is_time: bool) -> bool:
    """Say whether an argument would arrive as something else, which a handler may accept."""
    if isinstance(value, (str, int, float)):  # also of an enumeration of such
        return False
    if type(value) is tuple:
        return any(_is_refused(item, is_time=False) for item in value)
    return isinstance(value, _REFUSED_TYPES) or (isinstance(value, date) and not is_time)


def _check_argument(name: str, value: object) -> None:
    if value is msgspec.UNSET:
        return
    try:
        msgspec.msgpack.encode(value, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise InvalidInput(name, f"{short_repr(value)} cannot be sent: {error}") from error


_MAX_NAME_CHARACTERS = 100
"""Characters of an unknown name that are compared with those of calls."""
_REFUSED_TYPES = (Enum, UUID, Decimal, time, timedelta, Set)
"""Types that msgspec would turn into text or a list, and that no handler takes."""
_PLAIN_TYPES: tuple[type[Any], ...] = (int, float, bytes, list, tuple, dict)


def _plain(value: object) -> object:
    """Return an argument of a type of the caller's own as what it is derived from."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, datetime):
        return datetime.combine(value.date(), value.timetz())
    for kind in _PLAIN_TYPES:
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is not plain data")


def decode_call(data: bytes) -> Call[Any]:
    """Return the call that bytes stand for; raise `InvalidInput` if they stand for none."""
    try:
        return _call_of(msgspec.msgpack.decode(data, type=dict[str, Any]))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidInput("call", f"it is not understood: {error}") from error


def _call_of(fields: dict[str, Any]) -> Call[Any]:
    name = fields.pop("call", None)
    kind = CALLS.get(name) if isinstance(name, str) else None
    if kind is None:
        hint = did_you_mean(name[:_MAX_NAME_CHARACTERS], CALLS) if isinstance(name, str) else ""
        raise InvalidInput("call", f"{short_repr(name)} is not a call{hint}")
    for field, decode in _decoders(kind).items():
        if isinstance(fields.get(field), (list, dict)):
            fields[field] = decode(field, fields[field])
    try:
        return kind(**fields)
    except TypeError as error:
        raise InvalidInput("call", f"{name}: {error}") from error


Decode: TypeAlias = Callable[[str, Any], object]
"""Makes an argument of the list or the map that it arrives as."""


@cache
def _decoders(kind: type[Call[Any]]) -> Mapping[str, Decode]:
    """Return how the arguments of a call are decoded that are calls or records, such as references.

    Others are plain data, and arrive as what they are.
    """
    decoders: dict[str, Decode] = {}
    for field in msgspec.structs.fields(kind):
        parts = _union_of(field.type)
        items = [get_args(part)[0] for part in parts if get_origin(part) is tuple]
        if any(map(_is_call, parts)):
            decoders[field.name] = _nested_call
        elif any(map(_is_call, items)):
            decoders[field.name] = _nested_calls
        elif records := [part for item in items for part in _union_of(item) if _is_record(part)]:
            decoders[field.name] = partial(_convert_all, record=Union[tuple(records)])  # noqa: UP007
        elif records := [part for part in parts if _is_record(part)]:
            decoders[field.name] = partial(_convert, record=Union[tuple(records)])  # noqa: UP007
    return MappingProxyType(decoders)


def _union_of(part: Any) -> tuple[Any, ...]:
    return get_args(part) if get_origin(part) in (Union, UnionType) else (part,)


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


# Answers.

_LIST, _TUPLE, _DICT, _SET, _TIME, _DATE, _ENUM, _STRUCT, _INTEGER = range(9)
"""Kinds of composite values. A node is a list of the kind, the number of parts, and a name."""


class _Node(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    kind: int
    size: int
    name: str = ""


def encode_answer(answer: object) -> bytes:
    """Return an answer as bytes."""
    tokens: list[object] = []
    pending = [answer]
    while pending:
        value = pending.pop()
        if _is_token(value):
            tokens.append(value)
            continue
        node, parts = _taken_apart(value)
        pending.append(node)
        pending.extend(reversed(parts))
    return msgspec.msgpack.encode(tokens)


_DECODING_ERRORS = (
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""What wrong bytes raise, here and in the types of records."""


def _is_token(value: object) -> bool:
    """Say whether a value stands for itself."""
    if isinstance(value, Enum):
        return False
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, (_Node, str, float, bytes))


def decode_answer(data: bytes) -> Any:
    """Return the answer that bytes stand for; raise `InvalidInput` if they stand for none."""
    stack: list[Any] = []
    try:
        for token in msgspec.msgpack.decode(data, type=list[Any]):
            if isinstance(token, list):
                node = msgspec.convert(token, _Node)
                first = len(stack) - node.size
                if not 0 <= first <= len(stack):
                    raise ValueError(f"a value of {node.size} parts has {len(stack)}")
                stack[first:] = [_put_together(node, stack[first:])]
            else:
                stack.append(token)
        (answer,) = stack
    except _DECODING_ERRORS as error:
        raise InvalidInput("answer", f"it is not understood: {error}") from error
    return answer


def _taken_apart(value: object) -> tuple[_Node, Sequence[Any]]:
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        node = _Node(_STRUCT, len(names), type(value).__name__)
        return node, [getattr(value, name) for name in names]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _Node(_STRUCT, len(value), type(value).__name__), value
    if isinstance(value, (tuple, list)):
        return _Node(_TUPLE if isinstance(value, tuple) else _LIST, len(value)), value
    if isinstance(value, Mapping):
        parts = [part for item in value.items() for part in item]
        return _Node(_DICT, len(parts)), parts
    if isinstance(value, (set, frozenset)):
        return _Node(_SET, len(value)), sorted(value)
    kind, part = _scalar(value)
    return _Node(kind, 1, type(value).__name__ if kind == _ENUM else ""), [part]


def _scalar(value: object) -> tuple[int, object]:
    """Return the kind of a value that msgpack does not have, and what it has instead."""
    if isinstance(value, Enum):
        return _ENUM, value.name
    if isinstance(value, int):
        return _INTEGER, f"{value:x}"
    if isinstance(value, datetime):
        return _TIME, to_micros("time", value)
    if isinstance(value, date):
        return _DATE, value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be part of an answer")


def _put_together(node: _Node, parts: list[Any]) -> object:
    if node.kind == _STRUCT:
        record = record_types()[node.name]
        if issubclass(record, Enum):
            raise TypeError(f"{node.name} is not a record")
        names = record._fields if issubclass(record, tuple) else record.__struct_fields__
        return record(**dict(zip(names, parts, strict=True)))
    if node.kind == _ENUM:
        return _enumeration(node.name)[parts[0]]
    if node.kind == _INTEGER:
        return int(parts[0], 16)
    if node.kind == _DICT:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    if node.kind == _TIME:
        return to_datetime(*parts)
    if node.kind == _DATE:
        return date.fromisoformat(*parts)
    return {_LIST: list, _TUPLE: tuple, _SET: frozenset}[node.kind](parts)


def _enumeration(name: str) -> type[Enum]:
    kind: type[Any] = record_types()[name]
    if not issubclass(kind, Enum):
        raise TypeError(f"{name} is not an enumeration")
    return kind


@cache
def record_types() -> Mapping[str, Any]:
    """Return every type of record that an answer can hold, by its name."""
    types: dict[str, Any] = {}
    pending = [answer_type(kind) for kind in (*HANDLERS, *WRITES)]
    while pending:
        part = pending.pop()
        pending.extend(get_args(part))
        kind = type(part) if isinstance(part, Enum) else part
        if not isinstance(kind, type) or not _is_composite(kind):
            continue
        if kind.__name__ not in types:
            pending.extend(get_type_hints(kind).values())
        if types.setdefault(kind.__name__, kind) is not kind:
            raise TypeError(f"two types of records have the name {kind.__name__}")
    return MappingProxyType(types)


def _is_composite(kind: type) -> bool:
    return issubclass(kind, (msgspec.Struct, Enum)) or hasattr(kind, "_fields")
