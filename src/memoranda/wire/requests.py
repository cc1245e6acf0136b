"""Requests: a call as a message, with what a server has to know beside its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Any, get_args

from memoranda.calls import transactions, within
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.call_encoding import check_can_leave, encode_arguments
from memoranda.calls.erasure_writes import Forget, Sweep
from memoranda.calls.registry import CALLS
from memoranda.calls.transactions import Commit
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.wire import unfit
from memoranda.wire.classes import message_class
from memoranda.wire.composites import Items, Json, Member, OneOf
from memoranda.wire.declarations import (
    MISSING,
    Declared,
    Kind,
    declared,
    is_list,
    is_nullable,
    origin_of,
    summary,
)
from memoranda.wire.derive import form_of
from memoranda.wire.fields import argument_field
from memoranda.wire.forms import (
    BYTES,
    FLAG,
    TEXT,
    FieldSpec,
    Form,
    MessageSpec,
    Misfit,
    NotUnderstood,
)
from memoranda.wire.records import Attribute, Attributes

REMOTE_CALLS: Mapping[str, type[Call[Any]]] = MappingProxyType(
    {name: kind for name, kind in CALLS.items() if kind.local_only is None}
)
"""The calls that can be sent to another process, by name."""
_UNBUILDABLE = (TypeError, ValueError)
"""What protobuf raises for values that do not fit a field, such as text that is not Unicode."""

_STORE = FieldSpec("store", TEXT, about="The store; empty: the server's only one.")
_ACTING_AGENT = FieldSpec(
    "acting_agent",
    TEXT,
    about="The agent in whose name the call is made; empty: none. A token that names an agent "
    "decides instead.",
)
_NULLS = FieldSpec(
    "nulls",
    TEXT,
    "repeated",
    about="The names of arguments that are null, where leaving them out means something else.",
)
_UNFIT = FieldSpec(
    "unfit",
    BYTES,
    "optional",
    about="Arguments that fit no field, as a msgpack map; a client that sends what the fields "
    "say has none.",
)
_STORED = FieldSpec(
    "stored", FLAG, about="Whether operations are wanted as their stored bytes, not as fields."
)
_IS_NAMED = FieldSpec(
    "is_named",
    FLAG,
    "optional",
    about="Whether the caller chose the txn_id, and so wants a write without effect recorded too; "
    "left out: it did.",
)
EVENT_CALLS = frozenset(("replay", "subscribe"))


class Request(Form[Call[Any]]):
    """A call as the message of its request."""

    is_message = True

    def __init__(self, kind: type[Call[Any]]) -> None:
        self.kind = kind
        self.name = call_name(kind)
        self.proto = f"{kind.__name__}Request"

    @cached_property
    def _attributes(self) -> Attributes:
        return Attributes(
            self.proto,
            [argument_field(part, partial(_form_of, part.name)) for part in declared(self.kind)],
        )

    @cached_property
    def _class(self) -> Any:
        return message_class(self.proto)

    @cached_property
    def _nullable(self) -> frozenset[str]:
        """The arguments that may be None, although leaving them out means something else."""
        return frozenset(part.name for part in declared(self.kind) if _is_null_apart(part))

    def to_wire(self, value: Any) -> dict[str, Any]:
        """Return the fields of a call."""
        call = plain(value)
        try:
            return self._attributes.to_wire(call)
        except Misfit:
            return self.checked(call)

    def checked(self, call: Any) -> dict[str, Any]:
        """Return the fields of a call; arguments that fit none of them are sent apart."""
        fields: dict[str, Any] = {}
        misfits: dict[str, Any] = {}
        nulls = []
        for part in self._attributes.all:
            value = getattr(call, part.name)
            if value is part.absent:
                continue
            try:
                fields |= self._checked_field(part, value)
            except (Misfit, *_UNBUILDABLE):
                if value is None and part.name in self._nullable:
                    nulls.append(part.name)
                else:
                    misfits[part.name] = value
        if nulls:
            fields[_NULLS.name] = nulls
        if misfits:
            fields[_UNFIT.name] = encode_arguments(self.kind, misfits)
        return fields

    def _checked_field(self, part: Attribute, value: Any) -> dict[str, Any]:
        """Return the field of an argument; raise `Misfit`, or what protobuf raises."""
        form = part.specs[0].form
        fields: dict[str, Any] = {}
        if isinstance(form, AnyCall):
            fields[part.name] = form.checked(value)
        elif isinstance(form, Items) and isinstance(form.item, AnyCall):
            if type(value) is not tuple:
                raise Misfit
            fields[part.name] = [*map(form.item.checked, value)]
        else:
            part.put(fields, value)
        self._class(**fields)
        return fields

    def build(self, fields: Mapping[str, Any], call: Any) -> Any:
        """Return the message with these fields, which are those of a call and of its envelope."""
        try:
            return self._class(**fields)
        except _UNBUILDABLE:
            extra = {name: fields[name] for name in fields.keys() & _ENVELOPE}
        for name, value in extra.items():
            self._check_extra(name, value)
        return self._class(**self.checked(plain(call)), **extra)

    def _check_extra(self, name: str, value: Any) -> None:
        try:
            self._class(**{name: value})
        except _UNBUILDABLE as error:
            raise InvalidInput(name, f"{short_repr(value)} cannot be sent: {error}") from error

    def from_wire(self, value: Any) -> Call[Any]:
        """Return the call; raise `InvalidInput`."""
        try:
            arguments = self._attributes.from_wire(value)
        except NotUnderstood as error:
            raise InvalidInput(*_field_and_problem(str(error))) from error
        if value.unfit:
            arguments |= unfit.decode(self.kind, value.unfit)
        if self._nullable:
            for name in value.nulls:
                if name not in self._nullable:
                    raise InvalidInput("nulls", f"{name!r} is no argument that can be null so")
                arguments[name] = None
        return unfit.build(self.kind, arguments)

    def message(self) -> MessageSpec:
        """Describe the message."""
        fields = [_STORE, _ACTING_AGENT, *self._attributes.specs]
        if self.name in EVENT_CALLS:
            fields.append(_STORED)
        if issubclass(self.kind, WriteCall) and not issubclass(self.kind, Commit):
            fields.append(_IS_NAMED)
        if self._nullable:
            fields.append(_NULLS)
        return MessageSpec(self.proto, summary(self.kind), [*fields, _UNFIT])


_ENVELOPE = frozenset(spec.name for spec in (_STORE, _ACTING_AGENT, _STORED, _IS_NAMED))


def _is_null_apart(part: Declared) -> bool:
    return is_nullable(part.kind) and part.default is not None and part.default is not MISSING


def _field_and_problem(text: str) -> tuple[str, str]:
    field, _, problem = text.partition(": ")
    return field, problem


def plain(call: Any) -> Call[Any]:
    """Return a call with plain data only; raise `InvalidInput` if it cannot be sent."""
    check_can_leave(call)
    plain_call: Call[Any] = call.plain()
    return plain_call


@cache
def request(kind: type[Call[Any]]) -> Request:
    """Return the form of a kind of call."""
    return Request(kind)


# Calls inside of calls.


class AnyCall(OneOf):
    """One of several calls, each as its request, which names no store."""

    def __init__(self, proto: str, about: str, kinds: Sequence[type[Call[Any]]]) -> None:
        self._requests = {kind: request(kind) for kind in kinds}
        members = [Member(form.name, kind, form) for kind, form in self._requests.items()]
        super().__init__(proto, about, members)

    def checked(self, value: Any) -> dict[str, Any]:
        """Return the field of a call; arguments that do not fit are sent apart in it."""
        form = self._requests.get(type(value))
        if form is None:
            raise Misfit
        return {form.name: form.checked(plain(value))}


def _form_of(argument: str, kind: Kind) -> Form[Any]:
    """Return the form of an argument of a type; JSON objects are checked under its name."""
    if kind in _forms():
        return _forms()[kind]
    if kind == dict[str, Any]:
        return Json(argument)
    if is_list(kind) and get_args(kind)[0] == dict[str, Any]:
        return Items(origin_of(kind), Json(argument))
    return form_of(kind)


@cache
def _forms() -> Mapping[Any, Form[Any]]:
    staged = AnyCall("StagedCall", "A call that a transaction stages.", tuple(transactions.STAGED))
    read = AnyCall("ReadCall", "A call that reads inside a transaction.", tuple(within.READS))
    erasure = AnyCall("ErasureCall", "A call that erases.", (Forget, Sweep))
    return MappingProxyType(
        {
            tuple[WriteCall[Any], ...]: Items(tuple, staged),
            Call[Any]: read,
            Forget | Sweep: erasure,
        }
    )
