"""Forms of values that have parts: JSON objects, alternatives, lists, mappings and tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.limits import WIDEST
from memoranda.wire.classes import message_class
from memoranda.wire.forms import (
    MAX_INTEGER,
    MIN_INTEGER,
    FieldSpec,
    Form,
    MessageSpec,
    Misfit,
    NotUnderstood,
)

_documents = msgspec.json.Decoder(dict[str, Any])
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Json(Form[Document]):
    """A JSON object, as its UTF-8 bytes."""

    proto = "bytes"

    def __init__(self, argument: str = "") -> None:
        self._argument = argument
        """The argument that it is part of, which is checked; empty: it is part of an answer."""

    def to_wire(self, value: Any) -> bytes:
        """Return the bytes; raise `InvalidInput` if a part of an argument is not JSON."""
        if type(value) is not dict:
            raise Misfit
        if self._argument:
            document.check(self._argument, value, WIDEST)
        return document.encode_checked(value)

    def from_wire(self, value: Any) -> Document:
        """Return a new object."""
        try:
            return _documents.decode(value)
        except _UNREADABLE as error:
            raise NotUnderstood(f"it is not a JSON object: {error}") from error


class Member(NamedTuple):
    """An alternative: the name of its field, the type of its values, and their form."""

    name: str
    kind: type
    form: Form[Any]


class OneOf(Form[Any]):
    """A value of one of several types, as a message of which one field is set."""

    is_message = True

    def __init__(self, proto: str, about: str, members: Sequence[Member]) -> None:
        self.proto = proto
        self._about = about
        self._members = members
        self._by_type: dict[type, Member] = {}
        for member in members:
            self._by_type.setdefault(member.kind, member)

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the field of the value's type."""
        member = self._by_type.get(type(value))
        if member is None:
            member = self._nearest(value)
        return {member.name: member.form.to_wire(value)}

    def _nearest(self, value: Any) -> Member:
        """Return the alternative of a type that the value's is derived from."""
        for member in self._members:
            if isinstance(value, member.kind) and type(value) is not bool:
                return member
        raise Misfit

    def from_wire(self, value: Any) -> Any:
        """Return the value of the field that is set."""
        converters = self._converters
        for field, part in value.ListFields():
            return converters[field](part)
        names = ", ".join(dict.fromkeys(member.name for member in self._members))
        raise NotUnderstood(f"a {self.proto} has none of its fields: set one of {names}")

    @cached_property
    def _converters(self) -> Mapping[Any, Callable[[Any], Any]]:
        """By the descriptors of fields."""
        by_name = message_class(self.proto).DESCRIPTOR.fields_by_name
        return {by_name[member.name]: member.form.from_wire for member in self._members}

    def message(self) -> MessageSpec:
        """Describe the message."""
        forms = {member.name: member.form for member in self._members}  # two types may share one
        fields = [FieldSpec(name, form, oneof="value") for name, form in forms.items()]
        return MessageSpec(self.proto, self._about, fields)


class BigIntegers(OneOf):
    """Alternatives of which one is an integer of any size."""

    def __init__(self, proto: str, about: str, members: Sequence[Member], big: Member) -> None:
        super().__init__(proto, about, [*members, big])
        self._big = big

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the field of the value's type."""
        if type(value) is int and not MIN_INTEGER <= value <= MAX_INTEGER:
            return {self._big.name: self._big.form.to_wire(value)}
        return super().to_wire(value)


# Lists. A form of several values is the form of a repeated field.


class Repeated(Form[Any]):
    """Several values of one form; `item` is the form of each."""

    item: Form[Any]


class Items(Repeated):
    """A list or a tuple of any length."""

    def __init__(self, container: type, item: Form[Any]) -> None:
        self._container: Any = container
        self.item = item
        self.proto = item.proto

    def to_wire(self, value: Any) -> Any:
        """Return the items."""
        if type(value) is not self._container:
            raise Misfit
        return [*map(self.item.to_wire, value)]

    def from_wire(self, value: Any) -> Any:
        """Return the items in their container."""
        return self._container(map(self.item.from_wire, value))


class OptionalItems(Items):
    """A tuple of items that may be None, each as a message that is empty then."""

    def __init__(self, container: type, item: Form[Any]) -> None:
        super().__init__(container, Optional(item))


class Optional(Form[Any]):
    """A value or None, as a message with a field that may be left out."""

    is_message = True

    def __init__(self, value: Form[Any]) -> None:
        self._value = value
        self.proto = f"Optional{title(value.proto)}"

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the field, if there is a value."""
        return {} if value is None else {"value": self._value.to_wire(value)}

    def from_wire(self, value: Any) -> Any:
        """Return the value, or None."""
        return self._value.from_wire(value.value) if value.HasField("value") else None

    def message(self) -> MessageSpec:
        """Describe the message."""
        label = "" if self._value.is_message else "optional"
        field = FieldSpec("value", self._value, label)
        return MessageSpec(self.proto, "A value, or none if it is left out.", [field])


class Entries(Repeated):
    """A mapping, as a list of its keys with their values: a map of protobuf has no order."""

    def __init__(self, key: Form[Any], value: Form[Any], *, is_optional: bool = False) -> None:
        self.item = Entry(key, value, is_optional=is_optional)
        self.proto = self.item.proto

    def to_wire(self, value: Any) -> list[dict[str, Any]]:
        """Return the entries."""
        if not isinstance(value, Mapping):
            raise Misfit
        return [*map(self.item.to_wire, value.items())]

    def from_wire(self, value: Any) -> dict[Any, Any]:
        """Return the mapping."""
        return dict(map(self.item.from_wire, value))


class Entry(Form[tuple[Any, Any]]):
    """A key and its value."""

    is_message = True

    def __init__(self, key: Form[Any], value: Form[Any], *, is_optional: bool) -> None:
        self._key = key
        self._value = value
        self._is_optional = is_optional
        self.proto = f"{title(value.proto)}Entry"

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return both; a value that is None is left out."""
        key, part = value
        fields = {"key": self._key.to_wire(key)}
        if part is not None or not self._is_optional:
            fields["value"] = self._value.to_wire(part)
        return fields

    def from_wire(self, value: Any) -> tuple[Any, Any]:
        """Return both."""
        key = self._key.from_wire(value.key)
        if self._is_optional and not value.HasField("value"):
            return key, None
        return key, self._value.from_wire(value.value)

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [FieldSpec("key", self._key), FieldSpec("value", self._value)]
        return MessageSpec(self.proto, "An entry of a mapping.", fields)


class Wrapped(Form[Any]):
    """A list as a message of its own, since a repeated field that is empty looks left out."""

    is_message = True

    def __init__(self, items: Repeated, proto: str = "") -> None:
        self._items = items
        self.proto = proto or f"{title(items.item.proto)}List"

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the items."""
        return {"items": self._items.to_wire(value)}

    def from_wire(self, value: Any) -> Any:
        """Return the list."""
        return self._items.from_wire(value.items)

    def message(self) -> MessageSpec:
        """Describe the message."""
        field = FieldSpec("items", self._items, "repeated")
        return MessageSpec(
            self.proto, "A list that may be empty, unlike one that is left out.", [field]
        )


class Parts(Form[tuple[Any, ...]]):
    """A tuple of a fixed length, as a message with a field for each part."""

    is_message = True

    def __init__(self, proto: str, about: str, parts: Sequence[tuple[str, Form[Any]]]) -> None:
        self.proto = proto
        self._about = about
        self._parts = tuple(parts)

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the fields."""
        if type(value) is not tuple or len(value) != len(self._parts):
            raise Misfit
        return {
            name: form.to_wire(part) for (name, form), part in zip(self._parts, value, strict=True)
        }

    def from_wire(self, value: Any) -> tuple[Any, ...]:
        """Return the tuple."""
        return tuple(form.from_wire(getattr(value, name)) for name, form in self._parts)

    def message(self) -> MessageSpec:
        """Describe the message."""
        return MessageSpec(self.proto, self._about, [FieldSpec(*part) for part in self._parts])


_TITLES = {
    "string": "Text",
    "int64": "Integer",
    "uint32": "Position",
    "double": "Number",
    "bool": "Flag",
    "bytes": "Bytes",
}


def title(proto: str) -> str:
    """Return the name of a type as a part of the name of a message."""
    return _TITLES.get(proto, proto)
