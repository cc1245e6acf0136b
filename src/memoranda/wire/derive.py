"""Derive the forms of values from their Python types, as calls and records declare them."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Union,
    get_args,
)

from memoranda.calls.arguments import TypedText
from memoranda.graph.edge_resolver import ExistingEdge
from memoranda.graph.entities import Literal
from memoranda.graph.records import Fact
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.wire.composites import (
    BigIntegers,
    Entries,
    Items,
    Json,
    Member,
    OneOf,
    OptionalItems,
    Parts,
    Repeated,
    Wrapped,
)
from memoranda.wire.declarations import (
    Kind,
    declared,
    is_record,
    origin_of,
    parts_of,
    summary,
    values_of,
)
from memoranda.wire.fields import positions_field, record_field
from memoranda.wire.forms import (
    BIG_INTEGER,
    DAY_AS_TEXT,
    FLAG,
    INTEGER,
    ISO_DATE,
    MICROS,
    NUMBER,
    SCALARS,
    TEXT,
    Choice,
    Form,
)
from memoranda.wire.records import Attribute, Record, Tree


@cache
def form_of(kind: Kind) -> Form[Any]:
    """Return the form of values of a type; raise `TypeError` if it has none."""
    if kind in SCALARS:
        return SCALARS[kind]
    if kind is datetime:
        return MICROS
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Choice(kind)
    origin = origin_of(kind)
    if origin is typing.Literal:
        return TEXT
    if origin in (Union, UnionType):
        return _union(kind)
    if origin is Annotated:
        return _ANNOTATED[get_args(kind)[1]]
    if kind == dict[str, Any]:
        return Json()
    if origin in (tuple, list, dict) or origin in _ABSTRACT:
        return _container(kind)
    if is_record(kind):
        return _record(kind)
    raise TypeError(f"{kind} has no form on the wire: give it one in {__name__}")


_ABSTRACT: Mapping[Any, type] = {Sequence: list, Mapping: dict}
"""Abstract container -> what its values are after they were sent."""


def _union(kind: Kind) -> Form[Any]:
    kinds = values_of(kind)
    if len(kinds) == 1:
        return form_of(kinds[0])
    if _REFS.issuperset(kinds):
        return _refs_form()
    return _named_union(frozenset(kinds))


@cache
def _refs_form() -> OneOf:
    return _refs()


@cache
def _named_union(kinds: frozenset[Kind]) -> OneOf:
    if kinds not in _UNIONS:
        raise TypeError(f"the union of {kinds} has no name on the wire: give it one in {__name__}")
    return _UNIONS[kinds]()


def _container(kind: Kind) -> Form[Any]:
    origin, arguments = origin_of(kind), get_args(kind)
    if origin in (dict, Mapping):
        is_optional = NoneType in parts_of(arguments[1])
        return Entries(form_of(arguments[0]), form_of(arguments[1]), is_optional=is_optional)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _fixed_tuple(arguments)
    item = arguments[0]
    container: type = _ABSTRACT.get(origin, origin)
    if NoneType in parts_of(item):
        return OptionalItems(container, as_item(item))
    return Items(container, as_item(item))


def as_item(kind: Kind) -> Form[Any]:
    """Return the form of values that are themselves items of a list."""
    form = form_of(kind)
    return Wrapped(form) if isinstance(form, Repeated) else form


def _fixed_tuple(kinds: tuple[Kind, ...]) -> Form[Any]:
    if kinds not in _TUPLES:
        raise TypeError(f"a tuple of {kinds} has no name on the wire: give it one in {__name__}")
    name, about, fields = _TUPLES[kinds]
    return Parts(name, about, [*zip(fields, map(form_of, kinds), strict=True)])


def _record(kind: Kind) -> Form[Any]:
    children = [
        part.name
        for part in declared(kind)
        if origin_of(part.kind) is tuple and get_args(part.kind)[0] is kind
    ]
    about = summary(kind)
    if not children:
        return Record(kind.__name__, kind, about, partial(_record_attributes, kind))
    (name,) = children
    return Tree(Record(kind.__name__, kind, about, partial(_record_attributes, kind, name)), name)


def _record_attributes(kind: Kind, positions: str = "") -> list[Attribute]:
    """Describe the fields of a record; one of them may be positions in a list of records."""
    attributes = []
    for part in declared(kind):
        if part.name == positions:
            attributes.append(positions_field(part))
        else:
            attributes.append(record_field(part, form_of(part.kind)))
    return attributes


# Alternatives and tuples have no name of their own in Python, so they get one here.


def _refs() -> OneOf:
    members = [
        Member("key", KeyRef, form_of(KeyRef)),
        Member("memory", MemoryRef, form_of(MemoryRef)),
        Member("fact", FactRef, form_of(FactRef)),
        Member("transcript", TranscriptRef, form_of(TranscriptRef)),
    ]
    return OneOf("Ref", "What a value rests on, or a belief that rests on something.", members)


def _literal_value() -> OneOf:
    members = [
        Member("text", str, TEXT),
        Member("integer", int, INTEGER),
        Member("number", float, NUMBER),
        Member("flag", bool, FLAG),
        Member("time_micros", datetime, MICROS),
        Member("day", date, ISO_DATE),
    ]
    big = Member("big_integer", int, BIG_INTEGER)
    return BigIntegers(
        "LiteralValue",
        "The value of a literal; a day is text such as 2026-02-07, a "
        "big integer hexadecimal digits.",
        members,
        big,
    )


_REFS = frozenset((KeyRef, MemoryRef, FactRef, TranscriptRef))
_UNIONS: Mapping[frozenset[Kind], Callable[[], OneOf]] = {
    frozenset((int, str)): lambda: OneOf(
        "NumberOrText",
        "A number, such as that of a commit, or a text, such as a resume token.",
        [Member("number", int, INTEGER), Member("text", str, TEXT)],
    ),
    frozenset((str, TypedText)): lambda: OneOf(
        "NameOrLiteral",
        "The object of a fact, as an argument: the name of an entity, or a literal.",
        [Member("name", str, TEXT), Member("literal", TypedText, form_of(TypedText))],
    ),
    frozenset((str, Literal)): lambda: OneOf(
        "FactObject",
        "The object of a fact: the name of an entity, or a literal.",
        [Member("name", str, TEXT), Member("literal", Literal, form_of(Literal))],
    ),
    frozenset((str, MemoryRef, TranscriptRef)): lambda: OneOf(
        "FactSource",
        "The source of a fact: the id of a memory, or a reference.",
        [
            Member("id", str, TEXT),
            Member("memory", MemoryRef, form_of(MemoryRef)),
            Member("transcript", TranscriptRef, form_of(TranscriptRef)),
        ],
    ),
    frozenset((str, int, float, bytes)): lambda: OneOf(
        "SqlValue",
        "A value of a row; none of its fields stands for NULL.",
        [Member(name, kind, SCALARS[kind]) for name, kind in _SQL_KINDS.items()],
    ),
    frozenset((str, int, float, bool, date, datetime)): _literal_value,
}
_SQL_KINDS: Mapping[str, type] = {"text": str, "integer": int, "number": float, "blob": bytes}
_TUPLES: Mapping[tuple[Kind, ...], tuple[str, str, tuple[str, ...]]] = {
    (int, int): ("Span", "A range of bytes of a text, without its end.", ("start", "end")),
    (str, int): (
        "CursorPosition",
        "A cursor, and the last commit that it has acknowledged.",
        ("cursor", "commit_ts"),
    ),
    (str, str): ("TextAround", "The text before and after another.", ("before", "after")),
    (Fact, str): ("SharedFact", "A fact and its visibility.", ("fact", "visibility")),
    (ExistingEdge, ExistingEdge): (
        "EdgeChange",
        "An edge as it was and as it is.",
        ("before", "after"),
    ),
}
_ANNOTATED: Mapping[str, OneOf] = {
    "moment": OneOf(
        "Moment",
        "A moment: a commit, or a time, as microseconds since 1970 UTC or as RFC 3339 text.",
        [
            Member("commit", int, INTEGER),
            Member("text", str, TEXT),
            Member("micros", datetime, MICROS),
            Member("text", date, DAY_AS_TEXT),
        ],
    ),
    "instant": OneOf(
        "Instant",
        "A time, as microseconds since 1970 UTC or as RFC 3339 text.",
        [
            Member("text", str, TEXT),
            Member("micros", datetime, MICROS),
            Member("text", date, DAY_AS_TEXT),
        ],
    ),
    "duration": OneOf(
        "Duration",
        "A length of time: seconds, or text such as 30s, 15m, 6h, 1d or 2w.",
        [
            Member("seconds", float, NUMBER),
            Member("whole_seconds", int, INTEGER),
            Member("text", str, TEXT),
        ],
    ),
}
