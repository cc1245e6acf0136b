"""How values of one Python type travel: as a scalar, a message, or a list of either.

A form has the name of its type in the .proto, and turns values to what the constructor of a
protobuf message takes, and back. A form that is a message describes its fields, from which the
.proto is generated. Values are turned to nested dicts first, and one call then builds the message:
that is faster than to build each part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from memoranda.errors import InvalidInput
from memoranda.model.clock import to_datetime, to_micros

Value = TypeVar("Value")

MAX_INTEGER = 2**63 - 1
"""The largest integer of `int64`."""
MIN_INTEGER = -(2**63)
"""The smallest one."""


class Misfit(Exception):
    """A value has no place in its typed field; an argument then travels apart from the others."""


class NotUnderstood(Exception):
    """A message does not stand for a value."""


class FieldSpec:
    """A field of a message."""

    def __init__(
        self,
        name: str,
        form: Form[Any],
        label: str = "",
        *,
        oneof: str = "",
        about: str = "",
        attribute: tuple[Any, str] | None = None,
    ) -> None:
        self.name = name
        self.form = form
        self.label = label
        """Empty, `optional` or `repeated`."""
        self.oneof = oneof
        """The name of the group of which one field is set; empty: it is in none."""
        self.about = about
        self.attribute = attribute
        """The field of a struct that it is, and whose comment it has."""


class MessageSpec:
    """A message: its name, what it is, and its fields."""

    def __init__(self, name: str, about: str, fields: Sequence[FieldSpec]) -> None:
        self.name = name
        self.about = about
        self.fields = tuple(fields)


class Form(Generic[Value]):
    """How values of one type travel."""

    proto: str
    """The name of the type in the .proto."""
    suffix: ClassVar[str] = ""
    """What is added to the name of a field, for its unit."""
    is_message: ClassVar[bool] = False

    def to_wire(self, value: Any) -> Any:
        """Return what the constructor of a message takes; raise `Misfit` for other values."""
        raise NotImplementedError

    def from_wire(self, value: Any) -> Value:
        """Return the value of a field; raise `NotUnderstood` if it stands for none."""
        raise NotImplementedError

    def message(self) -> MessageSpec | None:
        """Describe the message that it is, if it is one."""
        return None


# Scalars.


class Scalar(Form[Value]):
    """Text, numbers, truth values and bytes, which stand for themselves."""

    def __init__(self, proto: str, kind: Callable[[Any], Value], zero: Value) -> None:
        self.proto = proto
        self.kind: Any = kind
        self.zero = zero
        """The value of a field that is not set."""

    def to_wire(self, value: Any) -> Any:
        """Return the value; a type that is derived from the form's loses what it adds."""
        kind = self.kind
        if type(value) is kind:
            return value
        if isinstance(value, kind) and type(value) is not bool:
            return str.__str__(value) if kind is str else kind(value)
        raise Misfit

    def from_wire(self, value: Any) -> Value:
        """Return the value."""
        return value  # type: ignore[no-any-return]


TEXT = Scalar("string", str, "")
INTEGER = Scalar("int64", int, 0)
NUMBER = Scalar("double", float, 0.0)
FLAG = Scalar("bool", bool, False)
BYTES = Scalar("bytes", bytes, b"")
POSITION = Scalar("uint32", int, 0)
NUMBERING = Scalar("uint64", int, 0)
SCALARS: Mapping[Any, Scalar[Any]] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    bool: FLAG,
    bytes: BYTES,
}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_SECONDS = 86_400
"""Seconds of a day of `timedelta`."""


class Micros(Form[datetime]):
    """A time, as microseconds since 1970 UTC."""

    proto = "int64"
    suffix = "_micros"
    zero = _EPOCH

    def to_wire(self, value: Any) -> int:
        """Return the microseconds."""
        if type(value) is datetime and value.tzinfo is UTC:  # as most are: the shortest way
            span = value - _EPOCH
            return (span.days * _DAY_SECONDS + span.seconds) * 1_000_000 + span.microseconds
        if not isinstance(value, datetime):
            raise Misfit
        try:
            return to_micros("time", value)
        except InvalidInput as error:  # naive, or outside of the years 1 to 9999
            raise Misfit from error

    def from_wire(self, value: Any) -> datetime:
        """Return the time."""
        try:
            return to_datetime(value)
        except OverflowError as error:
            raise NotUnderstood(f"{value} microseconds are outside the years 1 to 9999") from error


class IsoDate(Form[date]):
    """A day, as text such as 2026-02-07."""

    proto = "string"

    def to_wire(self, value: Any) -> str:
        """Return the text."""
        if type(value) is not date:
            raise Misfit
        return value.isoformat()

    def from_wire(self, value: Any) -> date:
        """Return the day."""
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise NotUnderstood(str(error)) from error


class DayAsText(IsoDate):
    """A day where a time is expected: it arrives as its text, which means the same."""

    def from_wire(self, value: Any) -> Any:
        """Return the text."""
        return value


class BigInteger(Form[int]):
    """An integer of more than 64 bits, as hexadecimal digits."""

    proto = "string"

    def to_wire(self, value: Any) -> str:
        """Return the digits."""
        return f"{value:x}"

    def from_wire(self, value: Any) -> int:
        """Return the integer."""
        try:
            return int(value, 16)
        except ValueError as error:
            raise NotUnderstood(str(error)) from error


class Choice(Form[Enum]):
    """A member of an enumeration, as its value."""

    proto = "string"

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind

    def to_wire(self, value: Any) -> Any:
        """Return the text."""
        if not isinstance(value, self._kind):
            raise Misfit
        return value.value

    def from_wire(self, value: Any) -> Enum:
        """Return the member."""
        try:
            return self._kind(value)
        except ValueError as error:
            raise NotUnderstood(str(error)) from error


MICROS = Micros()
ISO_DATE = IsoDate()
DAY_AS_TEXT = DayAsText()
BIG_INTEGER = BigInteger()
