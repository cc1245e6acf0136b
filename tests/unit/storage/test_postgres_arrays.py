"""Arrays that are encoded here: PostgreSQL reads what was meant."""

from __future__ import annotations

from contextlib import closing

import pytest

from memoranda.storage.postgres.arrays import encode_array
from memoranda.storage.postgres.connection import connect
from tests.postgres_server import database_url


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("BIGINT", [0, 1, -1, 2**63 - 1, -(2**63), None, 7]),
        ("TEXT", ["", "a", None, "é ☃ \U0001f40d", "x" * 70_000, "NULL", '"{},']),
        ("BYTEA", [b"", b"\x00\xff", None, b"y" * 70_000]),
        ("BIGINT", [None]),
        ("TEXT", ["alone"]),
    ],
)
def test_an_array_arrives(kind: str, values: list[object]) -> None:
    with closing(connect(database_url())) as database:
        cursor = database.cursor(binary=True)
        cursor.execute(f"SELECT UNNEST(CAST($1 AS {kind}[]))", [encode_array(kind, values)])
        assert [row[0] for row in cursor] == values
