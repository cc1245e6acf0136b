"""Facts: what it costs to say one, and to be right about the order they arrive in."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import apsw

import memoranda
from memoranda import Store, Transaction
from memoranda.search.index import background_indexer
from memoranda.storage.sqlite.connection import Connection
from tests.cores import core_of
from tests.property.yago import DatedFact, read_yago

BATCH_SIZE = 500
"""Facts, or state writes, in one transaction."""
LENGTHS = (10, 1_000, 100_000)
"""How many edges a timeline has before one more is asserted."""
EDGES = 1_000
_BEGIN = datetime(1900, 1, 1, tzinfo=UTC)


def dated_facts(most: int | None = None) -> list[DatedFact]:
    """Return YAGO11k where it is there, and else as many facts of the same kind."""
    return (read_yago() or list(_made_up(20_000)))[:most]


class Rates(NamedTuple):
    """What can be taken in a second."""

    states: float
    many: float
    """Facts of relations that have many objects at a time: each is only appended."""
    one: float
    """Facts of relations that have one: each takes its place in a timeline."""


def imports(folder: Path, facts: Sequence[DatedFact]) -> Rates:
    """Return the rates in the middle of three, in turns, so that a busy moment falls on all."""
    turns = []
    for turn in range(3):
        place = folder / str(turn)
        place.mkdir()
        turns.append(
            (
                written(place, facts),
                imported(place, facts, single=False),
                imported(place, facts, single=True),
            )
        )
    return Rates(*(sorted(rates)[1] for rates in zip(*turns, strict=True)))


def imported(folder: Path, facts: Sequence[DatedFact], *, single: bool) -> float:
    """Return how many facts a second are asserted, in transactions of 500."""

    def stage(transaction: Transaction, fact: DatedFact) -> None:
        transaction.assert_fact(
            subject=fact.subject,
            relation=fact.relation,
            object=fact.object,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
        )

    with memoranda.open(folder / f"facts-{single}.db") as store:
        agent = store.bind(agent_id="a")
        for relation in {fact.relation for fact in facts} if single else ():
            agent.set_cardinality(relation=relation, cardinality="single")
        return _rate(agent, facts, stage)


def written(folder: Path, facts: Sequence[DatedFact]) -> float:
    """Return how many state writes a second of the same content there are."""

    def stage(transaction: Transaction, fact: DatedFact) -> None:
        value = {
            "object": fact.object,
            "valid_from": str(fact.valid_from),
            "valid_to": str(fact.valid_to),
        }
        transaction.write(key=f"{fact.subject}/{fact.relation}", value=value)

    with memoranda.open(folder / "state.db") as store:
        return _rate(store.bind(agent_id="a"), facts, stage)


def fill_star(path: Path) -> None:
    """Give a node many neighbours with neighbours of their own, all of which changed since."""
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for day, suffix in ((0, "then"), (100, "now")):
            with agent.begin_transaction() as transaction:
                for number in range(EDGES):
                    _hold(transaction, "centre", f"n{number} {suffix}", day)
                    _hold(transaction, f"n{number} {suffix}", f"m{number % 50}", day)
        agent.end_fact(subject="centre", relation="r", at=_day(50))


def _hold(transaction: Transaction, subject: str, object_: str, day: int) -> None:
    transaction.assert_fact(subject=subject, relation="r", object=object_, valid_from=_day(day))


def neighbourhood(path: Path) -> tuple[int, int]:
    """Return the reads of edges that a neighbourhood of two hops takes, and its hops."""
    queries: list[str] = []
    rows = Connection.rows

    def noted(self: Connection, query: str, /, **values: Any) -> Any:
        queries.append(query)
        return rows(self, query, **values)

    with memoranda.open(path) as store, mock.patch.object(Connection, "rows", noted):
        neighbors = store.neighbors("centre", hops=2, valid_at=_day(20), agent_id="a")
    assert len(neighbors) == EDGES + 50, "those of that day, and none of later ones"
    return sum(query.startswith("graph_edges") for query in queries), 2


def steps_of_an_assertion(folder: Path, edges: int, *, single: bool) -> float:
    """Return how many steps SQLite's machine takes to assert into a timeline of so many edges.

    What indexing takes, behind the commits, is not counted among them.
    """
    path = folder / f"long-{edges}-{single}.db"
    unindexed = mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize)
    with unindexed, memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        if single:
            agent.set_cardinality(relation="r", cardinality="single")
        for first in range(0, edges, 5_000):
            numbers = range(first, min(first + 5_000, edges))
            with agent.begin_transaction() as transaction:
                _extend(transaction, numbers)
        counted = _count_steps(store)
        for number in range(20):
            at = _day(edges * (number + 1) // 21) + timedelta(
                hours=1
            )  # all along it, and backdated
            with agent.begin_transaction() as transaction:
                transaction.assert_fact(
                    subject="s", relation="r", object=f"late {number}", valid_from=at
                )
        return counted() / 20


def _extend(transaction: Transaction, numbers: Iterable[int]) -> None:
    for number in numbers:
        transaction.assert_fact(
            subject="s", relation="r", object=f"o{number}", valid_from=_day(number)
        )


def _count_steps(store: Store) -> Callable[[], int]:
    """Count the steps of the connection that writes from here on."""
    taken = 0

    def note(event: dict[str, object]) -> None:
        nonlocal taken
        status = event["stmt_status"]
        assert isinstance(status, dict)
        taken += status["SQLITE_STMTSTATUS_VM_STEP"]

    database: apsw.Connection = core_of(store).engine._writer.database  # type: ignore[attr-defined]  # noqa: SLF001
    database.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    return lambda: taken


def _rate(
    agent: Store,
    facts: Sequence[DatedFact],
    stage: Callable[[Transaction, DatedFact], None],
) -> float:
    start = time.perf_counter()
    for first in range(0, len(facts), BATCH_SIZE):
        with agent.begin_transaction() as transaction:
            for fact in facts[first : first + BATCH_SIZE]:
                stage(transaction, fact)
    return len(facts) / (time.perf_counter() - start)


def _made_up(count: int) -> Iterator[DatedFact]:
    for number in range(count):
        begin = _day(number * 37 % 30_000)
        yield DatedFact(
            f"person {number % 9_000}",
            f"relation {number % 10}",
            f"thing {number % 700}",
            begin,
            begin + timedelta(days=number % 900 + 1) if number % 3 else None,
        )


def _day(number: int) -> datetime:
    return _BEGIN + timedelta(days=number)
