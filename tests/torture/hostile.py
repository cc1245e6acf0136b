"""Hostile arguments: values of the wrong type, size, depth, encoding or behaviour."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import memoranda
import memoranda.testing
from memoranda import Literal

DEPTH = 100_000
"""Levels of nesting: far past what a recursive function survives."""
DIGITS = 5_000
"""Decimal digits: past the 4,300 that Python converts to text."""


class Provoked(Exception):
    """Raised by an argument's own code: it may pass through to the caller who gave it."""


class BadRepr:
    """Cannot be printed."""

    def __repr__(self) -> str:
        raise Provoked("repr")

    __str__ = __repr__


class BadEquality:
    """Can be neither compared nor hashed."""

    def __eq__(self, other: object) -> bool:
        raise Provoked("eq")

    def __hash__(self) -> int:
        raise Provoked("hash")


class Text(str):
    """Prints itself as something else."""

    __slots__ = ()

    def __str__(self) -> str:
        raise Provoked("str")

    def __repr__(self) -> str:
        raise Provoked("repr")


class Number(int):
    """Prints itself as something else."""

    def __repr__(self) -> str:
        raise Provoked("repr")

    def __str__(self) -> str:
        raise Provoked("str")


class Table(dict[str, Any]):
    """Raises when it is read."""

    def items(self) -> Any:
        raise Provoked("items")

    def __iter__(self) -> Iterator[str]:
        raise Provoked("iter")


class Colour(enum.Enum):
    """An enumeration that nothing asks for."""

    RED = "red"


def deep_list() -> list[Any]:
    """Return a list nested `DEPTH` levels deep."""
    nested: list[Any] = []
    for _ in range(DEPTH):
        nested = [nested]
    return nested


def deep_dict() -> dict[str, Any]:
    """Return a dictionary nested `DEPTH` levels deep."""
    nested: dict[str, Any] = {}
    for _ in range(DEPTH):
        nested = {"a": nested}
    return nested


def circular() -> list[Any]:
    """Return a list that contains itself."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


def raising() -> Iterator[Any]:
    """Yield one thing, then raise."""
    yield "x"
    raise Provoked("generator")


def endless_text() -> Iterator[str]:
    """Yield a bounded but long run of texts."""
    yield from ("x" for _ in range(20_000))


MAKERS: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: False,
    lambda: 0,
    lambda: 1,
    lambda: -1,
    lambda: 2**31,
    lambda: 2**63 - 1,
    lambda: 2**63,
    lambda: -(2**63),
    lambda: -(2**63) - 1,
    lambda: 10**DIGITS,
    lambda: [10**DIGITS],
    lambda: {"n": 10**DIGITS},
    lambda: 1.5,
    lambda: -0.0,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: -float("inf"),
    lambda: 1e308,
    lambda: 1e-320,
    lambda: Decimal("NaN"),
    lambda: 1 + 2j,
    lambda: "",
    lambda: " ",
    lambda: "\0",
    lambda: "a\0b",
    lambda: "\ud800",
    lambda: "\u202e\u2028\u0085",
    lambda: "\ufdfa" * 3_000,
    lambda: "e" + "\u0301" * 5_000,
    lambda: "x" * 100_000,
    lambda: "y" * 5_000,
    lambda: "🎉" * 600,
    lambda: "/".join("n" * 20),
    lambda: "..",
    lambda: ".",
    lambda: "_x",
    lambda: "a//b",
    lambda: "%s%n{0}{x}",
    lambda: "'; DROP TABLE event; --",
    lambda: "9" * DIGITS,
    lambda: "0000-00-00T00:00:00Z",
    lambda: "9999-12-31T23:59:59.999999-23:59",
    lambda: "0001-01-01T00:00:00+23:59",
    lambda: "2024-02-30T00:00:00Z",
    lambda: b"bytes",
    lambda: bytearray(b"x"),
    lambda: memoryview(b"x"),
    lambda: (),
    list,
    dict,
    lambda: set(),
    lambda: [None],
    lambda: [[]],
    lambda: (1, 2, 3),
    lambda: [(0, 1), (1, 0)],
    lambda: [(-1, 2**70)],
    lambda: [("a", "b")],
    lambda: {1: 2},
    lambda: {"a": float("nan")},
    lambda: {"a": b"x"},
    lambda: {"\ud800": 1},
    lambda: {"a": {"b": [1, "x", None, True, 1.5]}},
    lambda: {"k" * 70_000: 1},
    lambda: ["x"] * 20_000,
    deep_list,
    deep_dict,
    lambda: {"a": deep_list()},
    lambda: [deep_dict()],
    circular,
    lambda: {"a": circular()},
    raising,
    endless_text,
    lambda: iter(()),
    BadRepr,
    BadEquality,
    lambda: [BadRepr()],
    lambda: {"a": BadRepr()},
    lambda: Text("text"),
    lambda: Number(3),
    Table,
    lambda: Colour.RED,
    lambda: Colour,
    lambda: object,
    object,
    lambda: print,
    lambda: lambda: None,
    lambda: ...,
    lambda: datetime(2024, 1, 1),  # noqa: DTZ001 - a naive time is what is tried
    lambda: datetime.min,  # noqa: DTZ901
    lambda: datetime.max,  # noqa: DTZ901
    lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    lambda: datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
    lambda: datetime(1, 1, 1, tzinfo=UTC),
    lambda: date(2024, 1, 1),
    lambda: timedelta.max,
    lambda: timedelta.min,
    lambda: timedelta(0),
    lambda: Path("odd"),
    lambda: Path("a\0b"),
    lambda: memoranda.ALL_AGENTS,
    lambda: memoranda.ALL_NAMESPACES,
    lambda: memoranda.RETENTION,
    lambda: memoranda.KeyRef("k"),
    lambda: memoranda.KeyRef(5),  # type: ignore[arg-type]
    lambda: [memoranda.KeyRef("k", -1)],
    lambda: [memoranda.MemoryRef(None)],  # type: ignore[arg-type]
    lambda: [memoranda.FactRef("\ud800")],
    lambda: Literal(1.5),
    lambda: memoranda.Scope("default", "a"),
    lambda: memoranda.testing.FixedClock(5),
    lambda: memoranda.OperationType.WRITE,
)


def hostile(random: Random) -> Any:
    """Return one hostile value."""
    return random.choice(MAKERS)()


def raises_itself(value: object) -> bool:
    """Say whether code of the value itself may raise `Provoked`, on any level that is read.

    What has to be run to read a value is its owner's: an iterator, a mapping. To print, compare or
    hash a value is for messages and look-ups, which have to do without.
    """
    return _raises(value, 6)


def _raises(value: object, levels: int) -> bool:
    if isinstance(value, (Table, Iterator)) or hasattr(type(value), "model_dump"):
        return True
    inner = [*dict.values(value)] if isinstance(value, dict) else value
    inner = [*vars(value).values()] if isinstance(value, SimpleNamespace) else inner
    return (
        levels > 0
        and isinstance(inner, list | tuple)
        and any(_raises(part, levels - 1) for part in inner[:20])
    )
