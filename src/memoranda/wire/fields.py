"""The fields of records and the arguments of calls, as fields of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from memoranda.wire.composites import Items, Repeated, Wrapped
from memoranda.wire.declarations import (
    MISSING,
    Declared,
    Kind,
    is_list,
    is_nullable,
    origin_of,
    union,
    values_of,
)
from memoranda.wire.forms import POSITION, FieldSpec, Form, Misfit, Scalar
from memoranda.wire.records import Attribute


def positions_field(part: Declared) -> Attribute:
    """Describe the field of a record that has the positions of others, which a tree adds."""
    return _repeated(part, Items(tuple, POSITION))._replace(put=_put_nothing)


def _put_nothing(_: dict[str, Any], __: Any) -> None:
    """Leave a field to others."""


def record_field(part: Declared, form: Form[Any]) -> Attribute:
    """Describe a field of a record: all of them are sent, but for those that are None."""
    may_be_null = is_nullable(part.kind)
    if isinstance(form, Repeated):
        if may_be_null:
            return _single(part, Wrapped(form), label="", absent=None, zero=None)
        return _repeated(part, form)
    if may_be_null:
        label = "" if form.is_message else "optional"
        return _single(part, form, label=label, absent=None, zero=None)
    return _single(part, form, label="", zero=zero_of(form))


def _repeated(part: Declared, form: Repeated) -> Attribute:
    return _single(part, form, label="repeated", zero=form.from_wire(()))


def zero_of(form: Form[Any]) -> Any:
    """Return the value of a field that is not sent, since it is zero; `MISSING`: it has none."""
    return getattr(form, "zero", MISSING)


def _single(
    part: Declared, form: Form[Any], *, label: str, absent: Any = MISSING, zero: Any = MISSING
) -> Attribute:
    """Describe a field that travels in one field of a message."""
    name = part.name + form.suffix
    to_wire = form.to_wire

    def put(fields: dict[str, Any], value: Any) -> None:
        fields[name] = to_wire(value)

    exact = form.kind if isinstance(form, Scalar) else None
    specs = (FieldSpec(name, form, label, attribute=(part.owner, part.name)),)
    return Attribute(part.name, specs, absent, zero, exact, put)


FormOf: TypeAlias = Callable[[Kind], Form[Any]]
"""Returns the form of a type."""


def argument_field(part: Declared, form_of: FormOf) -> Attribute:
    """Describe an argument of a call; one that has its default is left out."""
    kinds = values_of(part.kind)
    may_be_null = is_nullable(part.kind)
    absent = part.default
    zero = MISSING
    if absent is MISSING and may_be_null:
        absent = zero = None
    if len(kinds) > 1:
        for kind in kinds:
            if is_list(kind):
                return _list_or_alone(part, kind, form_of)
    form = form_of(union(kinds))
    if isinstance(form, Repeated):
        if may_be_null or part.default not in (MISSING, ()):
            return _single(part, Wrapped(form), label="", absent=absent, zero=zero)
        return _repeated(part, form)._replace(absent=part.default)
    if form.is_message:
        return _single(part, form, label="", absent=absent, zero=zero)
    if absent is MISSING:
        return _single(part, form, label="", zero=zero_of(form))
    return _single(part, form, label="optional", absent=absent, zero=zero)


def _list_or_alone(part: Declared, listed: Kind, form_of: FormOf) -> Attribute:
    """Describe an argument that is a list or another value, each of which has a field."""
    items = form_of(listed)
    assert isinstance(items, Repeated), "it is a list"
    alone = form_of(union([kind for kind in values_of(part.kind) if kind is not listed]))
    label = "" if alone.is_message else "optional"
    if isinstance(alone, Repeated):
        list_name, alone_name, label = part.name, f"{part.name}_named", "repeated"
    elif items.item.proto == alone.proto:
        list_name, alone_name = part.name, f"{part.name}_alone"
    else:
        list_name, alone_name = f"{part.name}_items", part.name
    container = origin_of(listed)
    zero = container() if list_name == part.name else zero_of(alone)

    def put(fields: dict[str, Any], value: Any) -> None:
        if type(value) is container:
            fields[list_name] = items.to_wire(value)
        else:
            fields[alone_name] = alone.to_wire(value)
        if value != zero and value in ((), [], {}):
            raise Misfit  # it would arrive as if it were left out

    specs = (
        FieldSpec(list_name, items, "repeated", attribute=(part.owner, part.name)),
        FieldSpec(alone_name, alone, label, about="The same, where it is not a list."),
    )
    zero = zero if part.default is MISSING else MISSING
    return Attribute(part.name, specs, part.default, zero, None, put)
