"""What it costs to find stale keys: it grows with the keys, whatever they share."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from memoranda import FactRef, KeyRef, MemoryRef, NotFound, Store
from memoranda.graph.fact_explanation import BeliefReader
from memoranda.search.index import background_indexer
from memoranda.testing import memory_store
from memoranda.why import stale
from tests.work import Work, counted, grows_with

FEW, TIMES = 30, 8
START = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_indexing() -> Iterator[None]:
    """Indexing is not what is counted."""
    with mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize):
        yield


def key(number: int) -> str:
    return f"key-{number:05}"


def named(assertion_id: str | None) -> str:
    assert assertion_id is not None
    return assertion_id


def chained(store: Store, count: int) -> None:
    """Let each key rest on the one before."""
    with store.begin_transaction(timeout=300) as tx:
        for number in range(count):
            because = [KeyRef(key(number - 1), 1)] if number else []
            tx.write(key=key(number), value={"n": number}, because=because)


def rest_on_facts(store: Store, count: int, *, single: bool, apart: bool) -> None:
    """Let each key rest on a fact of one timeline, said right before it."""
    if single:
        store.set_cardinality(relation="knows", cardinality="single")
    for number in range(count):
        fact = store.assert_fact(
            subject="Ann",
            relation="knows",
            object=f"o{number % 2 if single else number}",
            valid_from=START + timedelta(hours=number if apart else 0),
            valid_to=None if single else START + timedelta(days=400),
        )
        store.write(key=key(number), value={}, because=[FactRef(named(fact.assertion_id))])


def many_at_once(store: Store, count: int) -> None:
    rest_on_facts(store, count, single=False, apart=False)


def one_at_a_time(store: Store, count: int) -> None:
    rest_on_facts(store, count, single=True, apart=True)


def look(shape: Callable[[Store, int], None], count: int) -> tuple[Work, int]:
    with memory_store().bind(agent_id="a") as store:
        shape(store, count)
        with counted(store) as work:
            number = sum(1 for _ in store.stale_keys())
        return work, number


@pytest.mark.parametrize(
    ("shape", "most"), [(chained, 0), (many_at_once, 0), (one_at_a_time, FEW * TIMES - 1)]
)
@pytest.mark.slow
def test_it_grows_with_the_number_of_keys(shape: Callable[[Store, int], None], most: int) -> None:
    small, _ = look(shape, FEW)
    large, number = look(shape, FEW * TIMES)
    assert number == most
    assert grows_with(small.decoded, large.decoded, TIMES), (vars(small), vars(large))
    assert large.decoded <= 2 * FEW * TIMES, "each value once, and once more as a ground"
    assert grows_with(small.steps, large.steps, TIMES), (vars(small), vars(large))


@pytest.mark.slow
def test_what_is_held_is_bounded_and_found_again() -> None:
    with memory_store().bind(agent_id="a") as store:
        store.write(key="ground", value={})
        chained(store, FEW * 4)
        store.write(key=key(0), value={"n": "other"}, because=[KeyRef("ground", 1)])
        whole = [(stale_key.ref, str(stale_key)) for stale_key in store.stale_keys()]
        with mock.patch.object(stale, "_MAX_CACHED_NODES", 1), counted(store) as work:
            assert [(stale_key.ref, str(stale_key)) for stale_key in store.stale_keys()] == whole
        assert len(whole) == FEW * 4 - 1
        assert work.decoded <= 4 * FEW * 4, "dropped ever more seldom, as more is needed"


def test_what_is_erased_meanwhile_is_not_shown() -> None:
    with memory_store().bind(agent_id="a") as store:
        memory = store.remember("the secret ground")
        for number in range(80):
            store.write(key=key(number), value={}, because=[MemoryRef(memory.id, 1)])
        store.update_memory(memory.id, content="another ground")
        reasons = iter(store.stale_keys())
        assert "secret" in str(next(reasons))
        store.forget(memory_id=memory.id)
        *_, last = reasons
        assert "secret" not in str(last)
        assert "forgotten" in str(last)


def scribble(store: Store, seed: int) -> None:
    """Say, end and take back facts of one timeline, and let keys rest on them."""
    draw = random.Random(seed)
    about: dict[str, Any] = {"subject": "Ann", "relation": "knows"}
    ids: list[str] = []
    if draw.random() < 0.5:
        store.set_cardinality(relation="knows", cardinality="single")
    for number in range(40):
        at = START + timedelta(days=draw.randrange(6))
        thing = f"o{draw.randrange(3)}"
        deed = draw.random()
        if deed < 0.6 or not ids:
            until = at + timedelta(days=draw.randrange(1, 5)) if draw.random() < 0.5 else None
            fact = store.assert_fact(**about, object=thing, valid_from=at, valid_to=until)
            ids.append(named(fact.assertion_id))
        elif deed < 0.7:
            store.end_fact(
                **about,
                object=thing if draw.random() < 0.7 else None,
                at=at,
                allow_unknown=True,
            )
        elif deed < 0.74:
            store.retract_fact(assertion_id=ids.pop(draw.randrange(len(ids))))
        elif deed < 0.76:
            single = draw.random() < 0.5
            store.set_cardinality(relation="knows", cardinality="single" if single else "multi")
        else:
            store.write(key=key(number), value={}, because=[FactRef(draw.choice(ids))])


@pytest.mark.parametrize("seed", range(12))
def test_what_changed_since_tells_the_same_as_deriving_it(seed: int) -> None:
    with memory_store().bind(agent_id="a") as store:
        scribble(store, seed)
        reports = [str(stale_key) for stale_key in store.stale_keys()]
        with mock.patch.object(BeliefReader, "_ends_sooner", return_value=None):
            assert reports == [str(stale_key) for stale_key in store.stale_keys()]


def test_an_explanation_decodes_what_was_said_for_its_fact() -> None:
    with memory_store().bind(agent_id="a") as store:
        store.assert_facts(
            {"subject": "Ann", "relation": "knows", "object": f"o{number}"} for number in range(FEW)
        )
        fact = store.facts(subject="Ann", object="o7")[0]
        with counted(store) as work:
            (text,) = store.explain(fact).assertions
        assert (text.object, work.decoded) == ("o7", 1)
        with pytest.raises(NotFound):
            store.explain("no such")
