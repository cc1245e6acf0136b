"""Forms of records: a struct, or a named tuple, as a message with a field for each of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from memoranda.wire.classes import message_class
from memoranda.wire.declarations import MISSING
from memoranda.wire.forms import FieldSpec, Form, MessageSpec, Misfit, NotUnderstood


class Attribute(NamedTuple):
    """A field of a struct, and the field or fields of the message that it travels in."""

    name: str
    specs: tuple[FieldSpec, ...]
    absent: Any
    """The value that is not sent; `MISSING`: every value is."""
    zero: Any
    """The value if nothing was sent; `MISSING`: the default of the struct."""
    exact: type | None
    """The type whose values are sent as they are; None: none are."""
    put: Callable[[dict[str, Any], Any], None]
    """Adds a value to the fields of a message; raises `Misfit`."""


class Attributes:
    """The fields of a struct, with what converting them needs, prepared once."""

    def __init__(self, message: str, attributes: Sequence[Attribute]) -> None:
        self.all = tuple(attributes)
        self._message = message
        self._plan = [
            (part.name, part.absent, part.exact or MISSING, part.specs[0].name, part.put)
            for part in attributes
        ]
        self._zeros = {part.name: part.zero for part in attributes if part.zero is not MISSING}
        containers = {name: type(zero) for name, zero in self._zeros.items()}
        self._containers = [pair for pair in containers.items() if pair[1] in (list, dict)]

    @property
    def specs(self) -> list[FieldSpec]:
        """The fields of the message."""
        return [spec for part in self.all for spec in part.specs]

    def to_wire(self, struct: Any) -> dict[str, Any]:
        """Return the fields of the message; raise `Misfit` if a value does not fit its own."""
        fields: dict[str, Any] = {}
        for name, absent, exact, wire_name, put in self._plan:
            value = getattr(struct, name)
            if value is absent:
                continue
            if type(value) is exact:
                fields[wire_name] = value
            else:
                put(fields, value)
        return fields

    def from_wire(self, message: Any) -> dict[str, Any]:
        """Return the arguments of the struct that a message stands for.

        Raises `NotUnderstood`. Fields that are of the message alone are left out.
        """
        arguments = self._zeros.copy()
        for name, container in self._containers:  # the caller may change it
            arguments[name] = container()
        converters = self._converters
        for field, value in message.ListFields():
            entry = converters.get(field)
            if entry is not None:
                name, convert = entry
                try:
                    arguments[name] = value if convert is None else convert(value)
                except NotUnderstood as error:
                    raise NotUnderstood(f"{name}: {error}") from error
        return arguments

    @cached_property
    def _converters(self) -> Mapping[Any, tuple[str, Callable[[Any], Any] | None]]:
        """By the descriptor of a field; while these exist, a message need not make them anew."""
        by_name = message_class(self._message).DESCRIPTOR.fields_by_name
        return {
            by_name[spec.name]: (part.name, None if part.exact else spec.form.from_wire)
            for part in self.all
            for spec in part.specs
        }


class Record(Form[Any]):
    """A record, as a message with its fields."""

    is_message = True

    def __init__(
        self, proto: str, kind: Any, about: str, describe: Callable[[], Sequence[Attribute]]
    ) -> None:
        self.proto = proto
        self._kind = kind
        self._about = about
        self._describe = describe

    @cached_property
    def attributes(self) -> Attributes:
        """The fields of the record."""
        return Attributes(self.proto, self._describe())

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the fields."""
        if type(value) is not self._kind:
            raise Misfit
        return self.attributes.to_wire(value)

    def from_wire(self, value: Any) -> Any:
        """Return the record."""
        return self.build(self.attributes.from_wire(value))

    def build(self, arguments: Mapping[str, Any]) -> Any:
        """Return the record with these fields."""
        try:
            return self._kind(**arguments)
        except (TypeError, ValueError) as error:
            raise NotUnderstood(f"{self._kind.__name__}: {error}") from error

    def message(self) -> MessageSpec:
        """Describe the message."""
        return MessageSpec(self.proto, self._about, self.attributes.specs)


class Tree(Form[Any]):
    """A record that holds others of its kind, as the list of all of them.

    A record names those that it holds by their positions in the list, which are after its own. So
    a tree can be deeper than protobuf, and Python, can nest.
    """

    is_message = True

    def __init__(self, node: Record, children: str) -> None:
        self._node = node
        self._children = children
        self.proto = f"{node.proto}Tree"

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the records, the root first."""
        records, nodes = [value], []
        for record in records:  # grows on the way
            fields = self._node.to_wire(record)
            children = getattr(record, self._children)
            fields[self._children] = range(len(records), len(records) + len(children))
            records.extend(children)
            nodes.append(fields)
        return {"nodes": nodes}

    def from_wire(self, value: Any) -> Any:
        """Return the root."""
        nodes = value.nodes
        records: list[Any] = [None] * len(nodes)
        for position in range(len(nodes) - 1, -1, -1):
            arguments = self._node.attributes.from_wire(nodes[position])
            children = arguments[self._children]
            if any(not position < child < len(nodes) for child in children):
                raise NotUnderstood(
                    f"record {position} of a {self.proto} holds one that is not after it"
                )
            arguments[self._children] = tuple(records[child] for child in children)
            records[position] = self._node.build(arguments)
        if not records:
            raise NotUnderstood(f"a {self.proto} has no records")
        return records[0]

    def message(self) -> MessageSpec:
        """Describe the message."""
        about = (
            f"A tree of records, the root first. Each names those below it, in `{self._children}`, "
            "by their positions in this list, counted from 0."
        )
        return MessageSpec(self.proto, about, [FieldSpec("nodes", self._node, "repeated")])
