"""Literals: objects that are values, not entities. They are never resolved or merged."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.graph_operations import Name
from memoranda.model.instant import to_datetime, to_micros, to_rfc3339
from memoranda.model.limits import check_text, shown

_DIGITS = 640
"""What Python turns into a number, and back, however it is set up."""
_TOO_LARGE = 10**_DIGITS

Value = str | int | float | bool | date | datetime


KINDS = ("number", "boolean", "date", "time", "text")
_FORMS = {
    "number": re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE),
    "boolean": re.compile(r"true|false"),
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "time": re.compile(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)",
        re.ASCII | re.IGNORECASE,
    ),
}
_EXAMPLES = {
    "number": "42 or 3.14",
    "boolean": "true or false",
    "date": "2020-01-31",
    "time": "2020-01-31T10:00:00Z",
}


class Literal(msgspec.Struct, frozen=True):
    """A number, a truth value, a date, a time or a text as the object of a fact."""

    value: Value

    def __str__(self) -> str:
        return _form(self.value)[1]


def name_of(literal: Literal, most_bytes: int) -> Name:
    """Return a literal as the log keeps it: 1 and 1.0 are the same number."""
    value = literal.value
    if isinstance(value, str):
        text = check_text("object", value, most_bytes=most_bytes)
        return Name(text, text, "text")
    if isinstance(value, datetime):
        value = to_datetime(to_micros("object", value))
    elif not isinstance(value, (bool, int, float, date)):
        raise InvalidInput(
            "object", f"{shown(value)} is no literal: give text, a number, a date or a time"
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("object", f"{value} is not a finite number")
    elif isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise InvalidInput("object", f"{shown(value)} has over {_DIGITS} digits: give it as text")
    kind, text = _form(value)
    return Name(check_text("object", text, most_bytes=most_bytes), text, kind)


def parse_literal(kind: str, text: str) -> Literal:
    """Return the literal of a kind that somebody wrote down; it is checked when it is used."""
    if kind == "text":
        return Literal(text)
    form = _FORMS.get(kind)
    if form is None:
        raise InvalidInput(
            "object_kind", f"{shown(kind)} is none of {', '.join(KINDS)}: leave it out for a name"
        )
    exact = text.strip()
    if not form.fullmatch(exact):
        raise InvalidInput("object", f"{shown(text)} is no {kind}, such as {_EXAMPLES[kind]}")
    try:
        literal = literal_of(kind, exact.upper() if kind == "time" else exact)
    except ValueError as error:
        raise InvalidInput("object", f"{shown(text)} is no {kind}: {error!s:.80}") from error
    return literal


def kind_of(literal: Literal) -> str:
    """Return what kind of value a literal is."""
    return _form(literal.value)[0]


def literal_of(kind: str, text: str) -> Literal:
    """Return the literal that the log keeps so."""
    if kind == "boolean":
        return Literal(text == "true")
    if kind == "number":
        return Literal(int(text) if text.lstrip("-").isdigit() else float(text))
    if kind == "date":
        return Literal(date.fromisoformat(text))
    if kind == "time":
        return Literal(datetime.fromisoformat(text).astimezone(UTC))
    return Literal(text)


def _form(value: Value) -> tuple[str, str]:
    """Return a value's kind and its one form."""
    if isinstance(value, bool):
        return "boolean", "true" if value else "false"
    if isinstance(value, datetime):
        return "time", to_rfc3339(to_micros("object", value))
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, str):
        return "text", value
    whole = isinstance(value, int) or value.is_integer()
    return "number", str(int(value) if whole else value)
