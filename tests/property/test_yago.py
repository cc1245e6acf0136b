"""Reading YAGO11k: what a date covers, and which rows can be used."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.property.graph_oracle import GraphOracle
from tests.property.yago import FOLDER, DatedFact, read_facts, read_names, read_yago

ENTITIES = read_names(["<Ada_(poet)>\t7\t1815-12-10\t####-##-##", "<London>\t8\t####-##-##"])
RELATIONS = read_names(["<wasBornIn>\t0"])


def utc(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def read(start: str, end: str) -> list[tuple[datetime, datetime | None]]:
    facts = read_facts([f"7\t0\t8\t{start}\t{end}"], ENTITIES, RELATIONS)
    return [(fact.valid_from, fact.valid_to) for fact in facts]


def test_a_row_has_names() -> None:
    rows = ["7\t0\t8\t1815-12-10\t####-##-##"]
    fact = DatedFact("Ada_(poet)", "wasBornIn", "London", utc(1815, 12, 10), None)
    assert list(read_facts(rows, ENTITIES, RELATIONS)) == [fact]


@pytest.mark.parametrize(
    ("start", "end", "since", "until"),
    [
        ("1815-12-10", "1852-11-27", utc(1815, 12, 10), utc(1852, 11, 28)),
        ("1815-12-##", "1852-11-##", utc(1815, 12), utc(1852, 12)),
        ("1815-##-##", "1852-##-##", utc(1815), utc(1853)),
        ("1815-##-##", "1852-12-##", utc(1815), utc(1853)),
        ("1815-##-##", "1852-12-31", utc(1815), utc(1853)),
        ("1852-05-05", "1852-##-##", utc(1852, 5, 5), utc(1853)),
        ("1852-05-05", "1852-05-05", utc(1852, 5, 5), utc(1852, 5, 6)),
        ("307-##-##", "308-02-##", utc(307), utc(308, 3)),
    ],
)
def test_a_fact_holds_to_the_end_of_its_last_day(
    start: str, end: str, since: datetime, until: datetime
) -> None:
    assert read(start, end) == [(since, until)]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("####-##-##", "1852-##-##"),
        ("-431-##-##", "####-##-##"),
        ("19##-##-##", "####-##-##"),
        ("1963-64-65", "####-##-##"),
        ("307-13047-09", "####-##-##"),
        ("1815-02-30", "####-##-##"),
        ("1815-##-##", "18##-##-##"),
        ("1852-##-##", "1851-##-##"),
        ("1852-05-05", "1852-05-04"),
    ],
)
def test_what_cannot_be_dated_is_left_out(start: str, end: str) -> None:
    assert read(start, end) == []


def test_without_the_data_there_is_nothing(tmp_path: Path) -> None:
    assert read_yago(tmp_path / "none") is None


@pytest.mark.slow
def test_what_there_is_of_it() -> None:
    facts = read_yago()
    if facts is None:
        pytest.skip(f"YAGO11k is not beside this checkout, in {FOLDER}")
    assert len(facts) == len(set(facts)) == 20_414
    assert len({fact.relation for fact in facts}) == 10
    assert sum(fact.valid_to is None for fact in facts) == 8_976

    oracle = GraphOracle()
    oracle.begin()
    for fact in facts:
        oracle.assert_fact(*fact[:4], valid_to=fact.valid_to)
    stored_value = [fact for fact in facts if fact.valid_to is None or fact.valid_to > utc(1900)]
    stored_value = [fact for fact in stored_value if fact.valid_from <= utc(1900)]
    assert len(oracle.facts(utc(1900))) == len({fact[:3] for fact in stored_value})
