"""JSON schemas of the arguments of requests."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from memoranda.calls.arguments import TypedText
from memoranda.calls.call import Call, call_name
from memoranda.calls.transactions import STAGED
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.server.http.arguments import NULL, Argument, arguments_of, is_call, union_of
from memoranda.server.http.schemas import Schema, SchemaBook, any_of, array_of, nullable

_TEXT: Schema = {"type": "string"}
_MOMENT: Schema = {
    "description": "A commit number, or a time as RFC 3339 text.",
    "type": ["integer", "string"],
}
_INSTANT: Schema = {"description": "A time as RFC 3339 text, or a date.", "type": "string"}
_DURATION: Schema = {
    "description": 'Seconds, or a text such as "6h".',
    "type": ["number", "string"],
}
_BASE64: Schema = {"type": "string", "contentEncoding": "base64"}
_SORTS: Mapping[str, Schema] = {"moment": _MOMENT, "instant": _INSTANT, "duration": _DURATION}
_REFS = (KeyRef, MemoryRef, FactRef, TranscriptRef)


def argument_schema(book: SchemaBook, argument: Argument, *, in_query: bool = False) -> Schema:
    """Return the schema of an argument; a query cannot express null."""
    schema = _schema(book, argument)
    if not argument.allows_null:
        return schema
    if not in_query:
        return nullable(schema)
    return any_of([schema, {"const": NULL}]) if argument.parts == (int,) else schema


def _schema(book: SchemaBook, argument: Argument) -> Schema:
    if argument.sort:
        return _SORTS[argument.sort]
    return any_of([_part(book, part) for part in argument.parts])


def _part(book: SchemaBook, part: Any) -> Schema:
    origin, items = get_origin(part), get_args(part)
    if is_call(part):
        return _call_schema(book, part)
    if origin is tuple and items[-1] is Ellipsis:
        return array_of(any_of([_part(book, item) for item in union_of(items[0])]))
    if part in _REFS:
        return book.named(part.__name__ + "Argument", lambda: _ref_schema(book, part))
    if part is bytes:
        return _BASE64
    if part is TypedText:
        members = {"kind": _TEXT, "text": _TEXT}
        return {
            "type": "object",
            "properties": members,
            "required": [*members],
            "additionalProperties": False,
        }
    if isinstance(part, type) and issubclass(part, msgspec.Struct):
        return book.named(part.__name__ + "Argument", lambda: _record_schema(book, part))
    return book.of(part)


def _ref_schema(book: SchemaBook, kind: type[msgspec.Struct]) -> Schema:
    return book.fields(kind) | {
        "required": [kind.__struct_fields__[0]],
        "additionalProperties": False,
    }


def _record_schema(book: SchemaBook, kind: type[msgspec.Struct]) -> Schema:
    properties = {field.name: _part(book, field.type) for field in msgspec.structs.fields(kind)}
    return {"type": "object", "properties": properties, "required": [*properties]}


def _call_schema(book: SchemaBook, part: Any) -> Schema:
    """Return the schema of a call inside another one."""
    kind = get_origin(part) or part
    if call_name(kind) not in ("write_call", "call"):  # one call, and not any
        return _named_call(book, kind)
    if call_name(kind) == "call":
        return {"type": "object", "properties": {"call": _TEXT}, "required": ["call"]}
    return book.named(
        "StagedCall",
        lambda: {
            "oneOf": [_named_call(book, staged) for staged in STAGED],
            "discriminator": {"propertyName": "call"},
        },
    )


def _named_call(book: SchemaBook, kind: type[Call[Any]]) -> Schema:
    name = call_name(kind)
    return book.named(
        kind.__name__ + "Call",
        lambda: body_schema(
            book, arguments_of(kind).values(), field_notes(kind), call={"const": name}
        ),
    )


def body_schema(
    book: SchemaBook, arguments: Iterable[Argument], notes: Mapping[str, str], **additions: Schema
) -> Schema:
    """Return the schema of a JSON object with some arguments."""
    properties, required = dict[str, Schema](additions), [*additions]
    for argument in arguments:
        schema = argument_schema(book, argument)
        if argument.name in notes:
            schema = {"description": notes[argument.name], **schema}
        properties[argument.name] = schema
        if is_required(argument):
            required.append(argument.name)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def is_required(argument: Argument) -> bool:
    """Say whether an argument is required; the token or a default supplies some."""
    return argument.required and argument.name not in ("namespace", "agent_id")


# What the source says of arguments.


def field_notes(kind: type[Call[Any]]) -> dict[str, str]:
    """Return the docstrings of the arguments of a call."""
    notes: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base is not Call and issubclass(base, Call):
            notes |= _notes_in(base.__module__).get(base.__name__, {})
    return notes


@cache
def _notes_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the notes of the fields of all classes of a module, by class and field."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {part.name: _class_notes(part) for part in tree.body if isinstance(part, ast.ClassDef)}


def _class_notes(definition: ast.ClassDef) -> Mapping[str, str]:
    notes: dict[str, str] = {}
    for field, following in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            text = " ".join(str(following.value.value).split())
            notes[field.target.id] = text.replace("None", "null")
    return notes
