"""Exporting facts, and that what is exported can be imported."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import Fact, Literal, Store
from tests.unit.cli.runner import Cli


@pytest.fixture
def employed(cli: Cli) -> Cli:
    """A command line on a store with a job that ended, one that holds, and a number."""
    cli("fact", "cardinality", "works_at", "single")
    cli("fact", "assert", "Ann", "works_at", "Initech", "--valid-from", "2018")
    cli("fact", "assert", "Ann", "works_at", "Acme", "--valid-from", "2020", "--confidence", 0.5)
    cli("fact", "assert", "Ann", "age", "42", "--literal", "number", "--valid-from", "2021")
    return cli


def test_csv_has_everything_there_was(employed: Cli) -> None:
    path = employed.home / "out.csv"
    result = employed.run("fact", "export", path)
    assert result.stdout == f"Exported 3 facts to {path}.\n"
    assert "'works at' is single-valued" in result.stderr
    assert path.read_text("utf-8").splitlines() == [
        "subject,relation,object,object_kind,valid_from,valid_to,confidence,visibility",
        "Ann,works_at,Initech,,2018-01-01T00:00:00.000000Z,2020-01-01T00:00:00.000000Z,1.0,namespace",
        "Ann,works_at,Acme,,2020-01-01T00:00:00.000000Z,,0.5,namespace",
        "Ann,age,42,number,2021-01-01T00:00:00.000000Z,,1.0,namespace",
    ]
    assert "FILE: " in employed.fails(2, "fact", "export", path)
    assert employed.row("fact", "export", path, "--overwrite") == {"path": str(path), "facts": 3}


def test_one_instant_and_what_was_known(employed: Cli) -> None:
    then = employed("fact", "export", "-", "--valid-at", "2019").splitlines()
    assert [line.split(",")[2] for line in then[1:]] == ["Initech"]
    lines = employed("fact", "export", "-", "--known-at", 2, "--format", "jsonl").splitlines()
    assert [json.loads(line)["object"] for line in lines] == ["Initech"]


def test_nothing_is_a_file_with_a_header(cli: Cli) -> None:
    cli("write", "k", "{}")
    assert cli("fact", "export", "-") == (
        "subject,relation,object,object_kind,valid_from,valid_to,confidence,visibility\n"
    )


def test_what_held_for_no_time_is_left_out(cli: Cli) -> None:
    cli("fact", "cardinality", "works_at", "single")
    for job in ("Initech", "Acme"):
        cli("fact", "assert", "Ann", "works_at", job, "--valid-from", "2020")
    lines = cli("fact", "export", "-").splitlines()
    assert [line.split(",")[2] for line in lines[1:]] == ["Acme"]


START = datetime(2020, 1, 1, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
OBJECTS = st.one_of(
    st.sampled_from(["Acme", "Globex, Inc.", 'the "Initech"']),
    st.sampled_from(["a,b", 'say "so"', "two\nlines", "cr\rcr", "\ufeff", " ", "x"]).map(Literal),
    TEXTS.map(lambda text: Literal(text[:50])),
    st.integers().map(Literal),
    st.floats(allow_nan=False, allow_infinity=False).map(Literal),
    st.booleans().map(Literal),
    st.dates(min_value=date(1000, 1, 1)).map(Literal),
    st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9000, 1, 1)).map(  # noqa: DTZ001
        lambda time: Literal(time.replace(tzinfo=UTC))
    ),
)
DAYS = st.integers(0, 6)
STEPS = st.tuples(
    st.sampled_from(["assert", "assert", "assert", "end", "end all"]),
    st.sampled_from(["Ann", "Bob"]),
    st.sampled_from(["works_at", "knows"]),
    OBJECTS,
    DAYS,
    st.none() | DAYS,
    st.sampled_from([1.0, 0.25, 1 / 3]),
    st.sampled_from(["namespace", "namespace", "private"]),
)


def take(store: Store, step: tuple[Any, ...], held: list[Any]) -> None:
    deed, subject, relation, thing, day, end, confidence, visibility = step
    at = START + timedelta(days=day)
    if deed == "assert":
        held.append(thing)
        store.assert_fact(
            subject=subject,
            relation=relation,
            object=thing,
            valid_from=at,
            valid_to=None if end is None or end <= day else START + timedelta(days=end),
            confidence=confidence,
            visibility=visibility,
        )
    else:
        ended = held[day % len(held)] if held and deed == "end" else None
        store.end_fact(
            subject=subject,
            relation=relation,
            object=ended,
            at=at,
            visibility=visibility,
            allow_unknown=True,
        )


def timelines(path: Path, viewer: str = "planner") -> list[Any]:
    def seen(fact: Fact) -> tuple[Any, ...]:
        return (fact.subject, fact.relation, fact.object, fact.valid_from, fact.valid_to,
                fact.confidence)  # fmt: skip

    with memoranda.open(path) as opened:
        store = opened.bind(agent_id=viewer)
        return [
            seen(fact)
            for subject in ("Ann", "Bob")
            for relation in ("works_at", "knows")
            for fact in store.timeline(agent_id="planner", subject=subject, relation=relation)
            if fact.valid_from != fact.valid_to
        ]


@settings(deadline=None, max_examples=60)
@example(
    steps=[("assert", "Ann", "knows", Literal("cr\rcr"), 0, None, 1.0, "namespace")], form="csv"
)
@example(
    steps=[("assert", "Ann", "knows", Literal("two\r\n"), 0, None, 1.0, "private")], form="csv"
)
@given(steps=st.lists(STEPS, min_size=1, max_size=14), form=st.sampled_from(["csv", "jsonl"]))
@pytest.mark.slow
def test_what_is_exported_and_imported_gives_the_same_timelines(
    steps: list[tuple[Any, ...]], form: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, other = Path(folder) / "home", Path(folder) / "other"
        home.mkdir()
        other.mkdir()
        here, there = Cli(home), Cli(other)
        with memoranda.open(here.db, durability="relaxed") as store:
            agent, stored_value = store.bind(agent_id="planner"), list[Any]()
            agent.set_cardinality(relation="works_at", cardinality="single")
            for step in steps:
                take(agent, step, stored_value)
        path = home / f"facts.{form}"
        here("fact", "export", path)
        there("fact", "import", path, "--batch", 3)
        seen_here = timelines(here.db, "other")
        assert timelines(there.db) == timelines(here.db)
        assert all(fact in seen_here for fact in timelines(there.db, "other"))
        there("fact", "cardinality", "works_at", "single")
        assert timelines(there.db) == timelines(here.db)
        assert all(fact in seen_here for fact in timelines(there.db, "other"))
