"""Parameters of `sql`: whatever cannot be one is refused by name."""

from __future__ import annotations

import pytest

import memoranda
from memoranda import InvalidInput
from memoranda.storage.port import Parameters


def ask(query: str, parameters: Parameters) -> object:
    with memoranda.open(":memory:") as store:
        (row,) = store.sql(query, parameters)
        return row["x"]


@pytest.mark.parametrize("value", [None, 1, -(2**63), 1.5, "text", "\0", b"bytes", True])
def test_a_value_is_itself(value: object) -> None:
    assert ask("SELECT ? AS x", [value]) == value
    assert ask("SELECT :a AS x", {"a": value}) == value


@pytest.mark.parametrize(
    "bad",
    [
        *(5, "abc", b"abc", None, {1}, iter([1]), [2**63], [-(2**63) - 1], [[1]], [{}]),
        *(["\ud800"], [float("nan")], [object()], [1] * 40_000, [1, 2], []),
        *({1: 2}, {"\ud800": 1}, {"b": 1}, {"a": []}, {"a\0": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_none_is_refused(bad: Parameters) -> None:
    query = "SELECT :a AS x" if isinstance(bad, dict) else "SELECT ? AS x"
    with pytest.raises(InvalidInput, match="parameters: "):
        ask(query, bad)


def test_a_deep_one_is_refused() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="parameters: "):
        ask("SELECT ? AS x", deep)
