"""Literals: one form for one value, and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from memoranda import InvalidInput, Literal
from memoranda.graph.entities import Value, decode_literal, literal_name

MOST = 4096
EAST = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1, "number", "1"),
        (1.0, "number", "1"),
        (-0.0, "number", "0"),
        (-2.5, "number", "-2.5"),
        (1e22, "number", "10000000000000000000000"),
        (True, "boolean", "true"),
        (False, "boolean", "false"),
        ("Acme", "text", "Acme"),
        (" a  b ", "text", " a  b "),
        (date(307, 1, 2), "date", "0307-01-02"),
        (datetime(307, 1, 2, tzinfo=UTC), "time", "0307-01-02T00:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "time", "0001-01-01T00:00:00.000000Z"),
        (datetime(2026, 1, 1, 9, tzinfo=EAST), "time", "2026-01-01T00:00:00.000000Z"),
        (datetime.max.replace(tzinfo=UTC), "time", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_value_has_one_form_and_comes_back_from_it(value: Value, kind: str, text: str) -> None:
    name = literal_name(Literal(value), MOST)
    assert (name.kind, name.key) == (kind, text)
    back = decode_literal(kind, text)
    assert back == Literal(value)
    assert isinstance(back.value, bool) == isinstance(value, bool)
    assert literal_name(back, MOST) == name
    assert str(back) == text


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), 10**640, -(10**5000), 1 << 10**6),
        *("", "x" * (MOST + 1), "a\0b", "\ud800", datetime(2026, 1, 1), None, b"x", [1]),  # noqa: DTZ001
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_value_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^object: "):
        literal_name(Literal(value), MOST)  # type: ignore[arg-type]


def test_the_longest_number_fits() -> None:
    longest = 10**640 - 1
    assert literal_name(Literal(longest), MOST).text == "9" * 640
    assert decode_literal("number", "9" * 640) == Literal(longest)
