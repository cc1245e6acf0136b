"""Whatever is done to a store's file is found, and the right commit named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import apsw
import pytest

from tests.tamper.attacks import ATTACKS, LOG, Deed, flip
from tests.tamper.campaign import FOUND, Missed, attempt, campaign, fresh_copy, is_empty, judge
from tests.tamper.harmless import FREE
from tests.tamper.tables import opened, tables_of

PARTS, EACH = 10, 30
TRIES = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_no_tampering_is_missed(folder: Path, pristine: Path, part: int) -> None:
    seen = campaign(folder, pristine, f"test/{part}", EACH)
    assert seen[FOUND] > EACH / 2


def test_every_table_has_rows_to_attack(pristine: Path) -> None:
    with opened(pristine) as database:
        empty = {table.name for table in tables_of(database) if is_empty(database, table)}
    assert empty == set()


def columns() -> list[tuple[str, str]]:
    """Return every column there is, without asking a store that is made for a test."""
    from memoranda.sdk.open import load_queries
    from memoranda.storage.sqlite.engine import SqliteEngine

    engine = SqliteEngine(None, queries=load_queries())
    with engine.reading() as reader:
        tables = tables_of(reader.database)
    engine.close()
    return [(each.name, column) for each in tables for column in each.columns]


@pytest.mark.parametrize(("table", "column"), columns())
def test_a_flipped_bit_in_any_column_is_found(
    folder: Path, pristine: Path, table: str, column: str
) -> None:
    found = 0
    for number in range(20):
        random = Random(f"{table}.{column}/{number}")
        with fresh_copy(folder, pristine) as database:
            (chosen,) = (each for each in tables_of(database) if each.name == table)
            deed = attempt(partial(flip, column=column), database, chosen, random)
        found += deed is not None and judge(folder / "copy.db", deed) == FOUND
        if found == TRIES:
            return
    assert found or FREE.get(table, ("",))[0] == column, "every change of it was harmless"


def test_what_is_missed_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign itself can fail: a check that looks at nothing misses everything."""
    from memoranda.log.comparison import _Comparison

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
    (table,) = (each for each in tables_of(database) if each.name == name)
    deed = flip(database, table, Random(1), "commit_ts" if name == "state" else "hash")
    assert deed is not None
    return deed


def test_the_attacks_are_of_many_kinds() -> None:
    assert len(set(ATTACKS)) == 8
    assert {"event", "blob", "erased"} == LOG
