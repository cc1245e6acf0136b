"""Whatever is done to a store's file is found, and the right commit named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from tests.quick import only
from tests.tamper.attacks import ATTACKS, LOG, Deed, flip
from tests.tamper.campaign import (
    FOUND,
    Missed,
    attempt,
    campaign,
    fresh_copy,
    is_empty,
    judge,
    look,
)
from tests.tamper.harmless import FREE
from tests.tamper.tables import opened, tables_of

PARTS, EACH = 10, 30
TRIES = 2


@pytest.mark.slow
@pytest.mark.parametrize("part", only([0], range(PARTS)))
def test_no_tampering_is_missed(folder: Path, pristine: Path, part: int) -> None:
    observations = campaign(folder, pristine, f"test/{part}", EACH)
    assert observations[FOUND] > EACH / 2


def test_every_table_has_rows_to_attack(pristine: Path) -> None:
    with opened(pristine) as database:
        empty = {table.name for table in tables_of(database) if is_empty(database, table)}
    assert empty == set()


def columns() -> list[Any]:
    """Return every column there is, without asking a store that is made for a test.

    The last of each table is quick.
    """
    from memoranda.sdk.open import load_queries
    from memoranda.storage.sqlite.engine import SqliteEngine

    engine = SqliteEngine(None, queries=load_queries())
    with engine.reading() as reader:
        tables = tables_of(reader.database)
    engine.close()
    return [
        pytest.param(table.name, column, marks=pytest.mark.slow if number else ())
        for table in tables
        for number, column in enumerate([*table.columns][::-1])
    ]


@pytest.mark.parametrize(("table", "column"), columns())
def test_a_flipped_bit_in_any_column_is_found(
    folder: Path, pristine: Path, table: str, column: str
) -> None:
    result = 0
    for number in range(20):
        random = Random(f"{table}.{column}/{number}")
        with fresh_copy(folder, pristine) as database:
            (choice,) = (item for item in tables_of(database) if item.name == table)
            deed = attempt(partial(flip, column=column), database, choice, random)
        result += deed is not None and judge(folder / "copy.db", deed) == FOUND
        if result == TRIES:
            return
    assert result or FREE.get(table, ("",))[0] == column, "every change of it was harmless"


@pytest.mark.parametrize(
    ("table", "column", "condition"),
    [
        ("graph_statement", "author", "WHERE author = 0"),
        ("notice", "dependent", "WHERE dependent IS NULL"),
        ("notice", "invalidated", "WHERE invalidated IS NULL"),
        ("notice", "invalidating", "WHERE invalidating IS NULL"),
    ],
)
def test_a_row_that_is_not_there_is_not_taken_for_none(
    path: Path, table: str, column: str, condition: str
) -> None:
    with opened(path) as database:
        database.execute(f"UPDATE {table} SET {column} = {10**6} {condition}")
        assert database.changes() > 0
    assert look(path) is not None


def test_a_row_number_is_spelled_in_one_way(path: Path) -> None:
    with opened(path) as database:
        database.execute("UPDATE state_because SET target = '0' || target WHERE kind = 1")
        assert database.changes() > 0
    assert look(path) is not None


def test_what_is_missed_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign itself can fail: a check that looks at nothing misses everything."""
    from memoranda.log.verify.compare_views import _Comparison

    with opened(path) as database:
        deed = _change(database, "state")
    monkeypatch.setattr(_Comparison, "compare", lambda *_: None)
    with pytest.raises(Missed, match="not found: flip state"):
        judge(path, deed)


def test_a_wrong_commit_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.errors import ChainBroken

    with opened(path) as database:
        deed = _change(database, "event")
    monkeypatch.setattr("tests.tamper.campaign.look", lambda _: ChainBroken(10**6, "it is bad"))
    with pytest.raises(Missed, match="commit 1000000 was named"):
        judge(path, deed)


def _change(database: apsw.Connection, name: str) -> Deed:
    (table,) = (item for item in tables_of(database) if item.name == name)
    deed = flip(database, table, Random(1), "commit_ts" if name == "state" else "hash")
    assert deed is not None
    return deed


def test_the_attacks_are_of_many_kinds() -> None:
    assert len(set(ATTACKS)) == 8
    assert {"event", "blob", "erased"} == LOG
