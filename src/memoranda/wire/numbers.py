"""The numbers of the fields: once given, a number is never changed, nor used for another field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from memoranda.wire.forms import MessageSpec

Numbers: TypeAlias = dict[str, dict[str, int]]
"""Message -> field -> number. It keeps what was removed, so that its numbers are not used again."""


class NumberChanged(Exception):
    """A number was changed or used again, which programs of other versions would not understand."""


def assign(numbers: Mapping[str, Mapping[str, int]], specs: Mapping[str, MessageSpec]) -> Numbers:
    """Return the numbers, with new ones for the fields that have none."""
    complete: Numbers = {name: dict(fields) for name, fields in numbers.items()}
    for name, spec in specs.items():
        fields = complete.setdefault(name, {})
        for field in spec.fields:
            if field.name not in fields:
                fields[field.name] = max(fields.values(), default=0) + 1
    check(complete)
    return dict(sorted(complete.items()))


def check(numbers: Numbers) -> None:
    """Raise `NumberChanged` if two fields of a message have one number, or one that cannot be."""
    for message, fields in numbers.items():
        by_number: dict[int, str] = {}
        for field, number in fields.items():
            if not 0 < number < _RESERVED:
                raise NumberChanged(f"{message}.{field} has the number {number}")
            if number in by_number:
                raise NumberChanged(
                    f"{message}.{field} and {message}.{by_number[number]} have the number {number}"
                )
            by_number[number] = field


_RESERVED = 19_000
"""From here on, numbers are protobuf's own."""


def check_unchanged(old: Numbers, new: Numbers) -> None:
    """Raise `NumberChanged` if a number of old messages is another, or another field's, now."""
    for message, fields in old.items():
        now = new.get(message, {})
        for field, number in fields.items():
            if now.get(field) != number:
                raise NumberChanged(
                    f"{message}.{field} has the number {now.get(field)}, and had {number}: numbers "
                    "stay, also those of removed fields"
                )
    check(new)


def numbers_in(descriptors: Mapping[str, Any]) -> Numbers:
    """Return the numbers of generated messages, by their descriptors."""
    return {
        name: {field.name: field.number for field in descriptor.fields}
        for name, descriptor in descriptors.items()
    }
