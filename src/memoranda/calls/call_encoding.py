"""Arguments of calls as bytes: only plain data, which decodes to equal values.

A call can be encoded in one canonical way, whatever the order of its fields. Encoding a decoded
call gives the same bytes, so a client can sign them, and the store can check its signature
(`calls/signing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import msgspec

from memoranda.calls.call import Call, call_name
from memoranda.errors import InvalidInput
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.limits import WIDEST, short_repr

_UNSENDABLE = (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError)
"""The exceptions of msgspec for values that are not plain data."""
_REFUSED_TYPES = (Enum, UUID, Decimal, date, time, timedelta, Set)
"""Types that msgspec would turn into text or a list, and that no handler takes."""
_SCALARS = frozenset((str, int, float, bool, bytes))
_PLAIN_TYPES: tuple[type[Any], ...] = (int, float, bytes, list, tuple, dict)


def check_can_leave(call: Call[Any]) -> None:
    """Raise `InvalidInput` for a call that cannot be sent to another process."""
    if call.local_only is not None:
        name = call_name(type(call))
        raise InvalidInput("call", f"{name} cannot be sent to another process: {call.local_only}")


def encode_canonically(call: Call[Any]) -> bytes:
    """Return the one encoding of a call, which has the fields of every mapping in order."""
    check_can_leave(call)
    plain = _checked(call)
    try:
        return msgspec.msgpack.encode(plain, enc_hook=_plain, order="sorted")
    except _UNSENDABLE:
        for name in plain.__struct_fields__:
            _check_argument(name, getattr(plain, name), "sorted")
        raise


def encode_arguments(kind: type[Call[Any]], arguments: Mapping[str, Any]) -> bytes:
    """Return some arguments of a call as bytes; raise `InvalidInput` if one is not plain data."""
    types = dict(_fields(kind))
    for name, value in arguments.items():
        _check_type(name, types[name], value)
    try:
        return msgspec.msgpack.encode(arguments, enc_hook=_plain)
    except _UNSENDABLE:
        for name, value in arguments.items():
            _check_argument(name, value)
        raise


def _checked(call: Call[Any]) -> Call[Any]:
    """Return a call whose arguments decode to equal values; raise `InvalidInput` for any other."""
    changes: dict[str, Any] = {}
    for name, kind in _fields(type(call)):
        value = getattr(call, name)
        if isinstance(value, Call):
            changes[name] = _checked(value)
        elif _holds_calls(value):
            changes[name] = tuple(map(_checked, value))
        elif type(value) is dict and Document in union_of(kind):
            document.check(name, value, WIDEST)
        else:
            _check_type(name, kind, value)
    plain = call.plain()
    return msgspec.structs.replace(plain, **changes) if changes else plain


@cache
def _fields(kind: type[Call[Any]]) -> tuple[tuple[str, Any], ...]:
    """Return the arguments of a call and their types; cached, since reading annotations is slow."""
    return tuple((field.name, field.type) for field in msgspec.structs.fields(kind))


def _holds_calls(value: object) -> bool:
    return type(value) is tuple and bool(value) and all(isinstance(part, Call) for part in value)


def _check_type(name: str, declared: Any, value: object) -> None:
    if value is None or type(value) in _SCALARS:
        return
    is_time = isinstance(value, date) and get_origin(declared) is Annotated
    if not is_time and _is_refused(value, is_record=_declares_records(declared)):
        raise InvalidInput(
            name, f"{short_repr(value)} is {type(value).__name__}, which cannot be sent"
        )


@cache
def _declares_records(declared: Any) -> bool:
    """Say whether structs are values of an argument, or items of it."""
    parts = union_of(declared)
    items = [item for part in parts for item in get_args(part)]
    kinds = [get_origin(kind) or kind for part in (*parts, *items) for kind in union_of(part)]
    return any(isinstance(kind, type) and issubclass(kind, msgspec.Struct) for kind in kinds)


def _is_refused(value: object, *, is_record: bool) -> bool:
    """Say whether an argument would decode to another type, which a handler might accept."""
    pending, lists = [value], set[int]()
    while pending:
        part = pending.pop()
        if isinstance(part, (list, tuple)):
            if id(part) not in lists:  # it may be inside itself
                lists.add(id(part))
                pending.extend(part)
        elif isinstance(part, msgspec.Struct):
            if not is_record:
                return True
        elif isinstance(part, _REFUSED_TYPES) and not isinstance(part, (str, int, float)):
            return True  # an enumeration of text or numbers is sent as such
    return False


def _check_argument(name: str, value: object, order: Literal["sorted"] | None = None) -> None:
    if value is msgspec.UNSET:
        return
    try:
        msgspec.msgpack.encode(value, enc_hook=_plain, order=order)
    except _UNSENDABLE as error:
        raise InvalidInput(name, f"{short_repr(value)} cannot be sent: {error}") from error


def _plain(value: object) -> object:
    """Return an argument of a caller's subclass as a value of its builtin base class."""
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


def union_of(part: Any) -> tuple[Any, ...]:
    """Return the types that a type of an argument is a union of, or the type alone."""
    return get_args(part) if get_origin(part) in (Union, UnionType) else (part,)
