"""The order in which facts arrive does not matter, nor who says them, nor in how many pieces."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import Fact, Store, Transaction
from memoranda.graph import timeline_store
from tests.crash.kills import ROOT
from tests.patience import HANG_SECONDS
from tests.quick import often

OBJECTS = ("acme", "globex", "initech")
SINGLE, MULTI = "works at", "knows"


@pytest.fixture(
    scope="module",
    params=[timeline_store.SMALL_TIMELINE_STATEMENTS, 0],
    ids=["short", "long"],
    autouse=True,
)
def _timelines(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let timelines be derived as a whole, and let them be taken for too long for that."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timeline_store, "SMALL_TIMELINE_STATEMENTS", request.param)
        yield


class Said(NamedTuple):
    """An assertion or an end, by what is in it; no object: whatever holds then."""

    object: str | None
    asserts: bool
    day: int
    until: int | None

    def say(self, tx: Transaction, relation: str) -> None:
        at = _day(self.day)
        if not self.asserts:
            tx.end_fact(
                subject="alice", relation=relation, object=self.object, at=at, allow_unknown=True
            )
            return
        until = None if self.until is None else _day(self.until)
        assert self.object is not None
        tx.assert_fact(
            subject="alice", relation=relation, object=self.object, valid_from=at, valid_to=until
        )


def _day(number: int) -> datetime:
    return datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=number)


@st.composite
def histories(draw: st.DrawFn, most: int) -> list[Said]:
    """Some assertions and ends, no two of them at one instant."""
    days = draw(st.lists(st.integers(0, 60), min_size=2, max_size=2 * most, unique=True))
    text: list[Said] = []
    while days and len(text) < most:
        asserts = draw(st.sampled_from([True, True, False]))
        object_ = draw(st.sampled_from(OBJECTS if asserts else (*OBJECTS, None)))
        begin, until = days.pop(), None
        if asserts and days and days[-1] > begin and draw(st.booleans()):
            until = days.pop()
        text.append(Said(object_, asserts, begin, until))
    return text


Seen = list[tuple[object, datetime, datetime | None]]


def seen(store: Store) -> list[Seen]:
    """Return the timelines, as far as they do not say when anything arrived."""

    def spans(facts: list[Fact]) -> Seen:
        return [(fact.object, fact.valid_from, fact.valid_to) for fact in facts]

    return [
        sorted(spans(store.timeline(subject="alice", relation=relation)), key=repr)
        for relation in (SINGLE, MULTI)
    ]


def say(store: Store, statements: Sequence[Said]) -> None:
    with store.begin_transaction() as tx:
        for item in statements:
            for relation in (SINGLE, MULTI):
                item.say(tx, relation)


@contextmanager
def stores(count: int) -> Iterator[list[Store]]:
    """Open a new file several times; one opened once is in memory."""
    folder = Path(tempfile.mkdtemp(prefix="memoranda-"))
    path = folder / "store.db" if count > 1 else ":memory:"
    try:
        with ExitStack() as stack:
            opened = []
            for _ in range(count):
                store = memoranda.open(path, durability="relaxed")
                opened.append(stack.enter_context(store).bind(agent_id="a"))
            opened[0].set_cardinality(relation=SINGLE, cardinality="single")
            yield opened
    finally:
        shutil.rmtree(folder)


def arrive(statements: Sequence[Said], random: Random, count: int) -> list[Seen]:
    """Say things in this order, cut at random, each piece to one of several stores on one file."""
    with stores(count) as opened:
        remainder = list(statements)
        while remainder:
            size = random.randint(1, 3)
            say(random.choice(opened), remainder[:size])
            del remainder[:size]
        result = [seen(store) for store in opened]
        assert all(item == result[0] for item in result)
        assert opened[0].rebuild().identical
        return result[0]


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(4), st.randoms(use_true_random=False))
def test_every_order_of_a_few(statements: list[Said], random: Random) -> None:
    orders = list(permutations(statements))
    expected = arrive(orders[0], random, 1)
    for order in orders[1:]:
        assert arrive(order, random, 1) == expected, order


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(14), st.randoms(use_true_random=False))
def test_some_orders_of_many_said_to_several_stores(statements: list[Said], random: Random) -> None:
    expected = arrive(sorted(statements, key=lambda item: item.day), random, 1)
    for count in (1, 2, 3):
        order = random.sample(statements, len(statements))
        assert arrive(order, random, count) == expected, order


test_every_order_often = often(
    test_every_order_of_a_few, 8, histories(4), st.randoms(use_true_random=False)
)
test_some_orders_often = often(
    test_some_orders_of_many_said_to_several_stores,
    12,
    histories(14),
    st.randoms(use_true_random=False),
)


@pytest.mark.slow
def test_two_processes_say_it_by_halves(tmp_path: Path) -> None:
    random = Random(3)
    for turn in range(4):
        days = random.sample(range(1, 400), 120)
        text = [Said(random.choice(OBJECTS), random.random() < 0.7, day, None) for day in days]
        expected = arrive(sorted(text, key=lambda item: item.day), random, 1)
        path = tmp_path / f"{turn}.db"
        with memoranda.open(path) as store:
            store.set_cardinality(relation=SINGLE, cardinality="single", agent_id="a")
            halves = (text[::2], text[1::2])
            command = [sys.executable, "-m", "tests.property.test_graph_order", str(path)]
            children = [subprocess.Popen([*command, json.dumps(half)], cwd=ROOT) for half in halves]
            assert [child.wait(HANG_SECONDS) for child in children] == [0, 0]
            assert seen(store.bind(agent_id="a")) == expected
            assert store.rebuild().identical


def main() -> None:
    """Assert the facts in the argument one after the other, in a separate process."""
    path, facts = sys.argv[1:]
    with memoranda.open(path, durability="relaxed") as store:
        for item in json.loads(facts):
            say(store.bind(agent_id="a"), [Said(*item)])


if __name__ == "__main__":
    main()
