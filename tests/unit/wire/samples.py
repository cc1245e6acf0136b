"""Random values of the types that calls and records declare."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from random import Random
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from memoranda.audit.keys import PublicKey
from memoranda.calls import transactions, within
from memoranda.calls.call import Call, WriteCall, answer_type
from memoranda.calls.transactions import AnsweredWithin, AskWithin, ListWithin
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import Limits
from memoranda.model.operations import Delete, Write

TEXTS = ("", "a", "k/1", "default", "x" * 300, "é漢𝄞", "\0", "2026-01-01T00:00:00Z")
INTEGERS = (0, 1, -1, 7, 2**31, 2**63 - 1, -(2**63))
NUMBERS = (0.0, -0.0, 1.0, 0.85, -1.5e300, 5e-324)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DOCUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"a": None, "b": [1, 1.0, True, "x", {}], "": -(2**63)},
    {"z": 1, "a": {"é": [[], [[]]]}},
)


class Sampler:
    """Makes values of types by chance; `size` bounds how deep they nest."""

    def __init__(self, seed: str) -> None:
        self._chance = Random(seed)

    def call(self, kind: type[Call[Any]]) -> Call[Any]:
        arguments = {}
        for field in msgspec.structs.fields(kind):
            if field.required or self._chance.random() < 0.7:
                arguments[field.name] = self._argument(kind, field.name, field.type)
        return kind(**arguments)

    def _argument(self, kind: Any, name: str, declared: Any) -> Any:
        if kind in (AskWithin, ListWithin) and name == "read":
            reads = [read for read in within.READS if read.shape == kind.shape]
            return self.call(self._chance.choice(reads))
        return self.value(declared)

    def answer(self, kind: type[Call[Any]]) -> tuple[Call[Any], Any]:
        """Return a call of the kind, and an answer of it, or a page of its items."""
        call = self.call(kind)
        if kind is AskWithin:
            read, answer = self.answer(type(call.read))  # type: ignore[attr-defined]
            reads = (self._chance.choice(DOCUMENTS), self._chance.choice(DOCUMENTS))
            return msgspec.structs.replace(call, read=read), AnsweredWithin(answer, reads)
        if kind is ListWithin:
            read, answer = self.answer(type(call.read))  # type: ignore[attr-defined]
            return msgspec.structs.replace(call, read=read), answer
        declared = answer_type(kind)
        if kind.shape == "value":
            return call, self.value(declared)
        return call, [self.value(declared) for _ in range(self._chance.randrange(3))]

    def value(self, declared: Any, levels: int = 4) -> Any:
        if declared in (None, NoneType):
            return None
        if declared is UnsetType:
            return UNSET
        if declared == dict[str, Any]:
            return self._chance.choice(DOCUMENTS)
        scalars: Mapping[Any, Sequence[Any]] = {
            str: TEXTS, int: INTEGERS, float: NUMBERS, bool: (True, False), bytes: (b"", b"\xff\0"),
            date: (date(2026, 2, 7), date.min, date.max),
        }  # fmt: skip
        if declared in scalars:
            return self._chance.choice(scalars[declared])
        if declared is datetime:
            micros = (0, self._chance.randrange(-(2**55), 2**57))
            return EPOCH + timedelta(microseconds=self._chance.choice(micros))
        return self._composite(declared, levels)

    def _composite(self, declared: Any, levels: int) -> Any:
        origin, arguments = typing.get_origin(declared), get_args(declared)
        if origin in (Union, UnionType):
            return self.value(self._chance.choice(arguments), levels)
        if origin is Annotated:
            return self._annotated(arguments[1])
        if origin is typing.Literal:
            return self._chance.choice(arguments)
        if isinstance(declared, type) and issubclass(declared, Enum):
            return self._chance.choice(list(declared))
        if origin in (dict, Mapping):
            return {self.value(arguments[0]): self.value(arguments[1], levels) for _ in range(3)}
        if origin is tuple and arguments[-1] is not Ellipsis:
            return tuple(self.value(part, levels) for part in arguments)
        if origin in (tuple, list, Sequence):
            count = self._chance.randrange(3) if levels else 0
            items = [self.value(arguments[0], levels - 1) for _ in range(count)]
            return tuple(items) if origin is tuple else items
        return self._record(declared, levels)

    def _record(self, declared: Any, levels: int) -> Any:
        if declared is ReplayEvent:
            return self._event()
        if declared is Limits:
            return Limits(key_bytes=self._chance.randrange(1, 9), value_depth=3)
        if declared is PublicKey:
            return PublicKey("name", self._chance.randbytes(32), 3, None)
        kind = typing.get_origin(declared) or declared
        if issubclass(kind, WriteCall) and kind is WriteCall:
            return self.call(self._chance.choice([*transactions.STAGED]))
        if issubclass(kind, Call):
            return self.call(kind)
        hints = get_type_hints(kind)
        return kind(**{name: self.value(hints[name], levels) for name in _names(kind)})

    def _annotated(self, name: str) -> Any:
        times: tuple[Any, ...] = (self._chance.choice(TEXTS), self.value(datetime))
        choices = {
            "moment": (*times, self._chance.choice(INTEGERS)),
            "instant": times,
            "duration": (3, 1.5, "30s"),
        }
        return self._chance.choice(choices[name])

    def _event(self) -> ReplayEvent:
        operations = (Write("n", "a", "k", 1, b'{"x": 1}'), Delete("n", "b", "k", 2))
        return ReplayEvent(
            self._chance.randrange(9),
            self._chance.randrange(2**50),
            self._chance.choice(TEXTS),
            self._chance.choice(TEXTS),
            operations[: self._chance.randrange(3)],
            b"\x01" * 32,
            "log",
            self._chance.random() < 0.5,
            self._chance.choice([None, "ab" * 32]),
            self._chance.random() < 0.5,
        )


def _names(kind: Any) -> Sequence[str]:
    names: Sequence[str] = kind._fields if issubclass(kind, tuple) else kind.__struct_fields__
    return names
