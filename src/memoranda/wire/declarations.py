"""What structs declare: their fields, and the types of these, taken apart."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT, UnsetType

Kind: TypeAlias = Any
"""A type, or a type expression."""
MISSING: Any = object()
"""Stands for a value that there is not."""


class Declared(NamedTuple):
    """A field as a struct declares it."""

    name: str
    kind: Kind
    default: Any
    """`MISSING`: it has none."""
    owner: Any
    """The struct."""


def declared(kind: Kind) -> list[Declared]:
    """Return the fields of a struct or a named tuple."""
    if issubclass(kind, tuple):
        hints = get_type_hints(kind)
        return [Declared(name, hints[name], MISSING, kind) for name in kind._fields]
    return [
        Declared(
            field.name, field.type, MISSING if field.default is NODEFAULT else field.default, kind
        )
        for field in msgspec.structs.fields(kind)
    ]


def origin_of(kind: Kind) -> Any:
    """Return the generic type that a type is an application of; None: it is none."""
    return get_origin(kind)


def is_record(kind: Kind) -> bool:
    """Say whether a type is a struct or a named tuple."""
    if not isinstance(kind, type):
        return False
    return issubclass(kind, msgspec.Struct) or (
        issubclass(kind, tuple) and hasattr(kind, "_fields")
    )


def parts_of(kind: Kind) -> tuple[Kind, ...]:
    """Return the alternatives of a type."""
    return get_args(kind) if origin_of(kind) in (Union, UnionType) else (kind,)


def values_of(kind: Kind) -> list[Kind]:
    """Return the alternatives of a type but for None and what stands for a value not given."""
    return [part for part in parts_of(kind) if part not in (NoneType, UnsetType)]


def union(kinds: Sequence[Kind]) -> Kind:
    """Return the type whose alternatives these are."""
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def is_list(kind: Kind) -> bool:
    """Say whether values of a type are lists, or tuples of any length."""
    return origin_of(kind) is list or (origin_of(kind) is tuple and get_args(kind)[-1] is Ellipsis)


def is_nullable(kind: Kind) -> bool:
    """Say whether None is a value of a type."""
    return NoneType in parts_of(kind) or origin_of(kind) is Annotated


def summary(item: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(item) or "").split("\n\n")[0].split())
