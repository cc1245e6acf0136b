"""Forgetting a fact: its statement is taken out of the graph, which equals a rebuild afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from memoranda import Store
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import entities
from memoranda.graph.removal import StatementRemoval
from memoranda.testing import memory_store
from tests.quick import only
from tests.work import counted

START = datetime(2020, 1, 1, tzinfo=UTC)


@contextmanager
def removals() -> Iterator[list[bool]]:
    """Note whether statements were taken out, or the graph was filled again."""
    outcomes: list[bool] = []
    real = StatementRemoval.run

    def run(self: StatementRemoval, *arguments: Any) -> bool:
        outcomes.append(real(self, *arguments))
        return outcomes[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StatementRemoval, "run", run)
        yield outcomes


def new_store() -> Store:
    return memory_store().bind(agent_id="ann")


def test_names_that_nothing_else_mentions_go() -> None:
    store = new_store()
    memory = store.remember("what was said")
    store.assert_fact(subject="Ann", relation="knows", object="Bob")
    store.assert_fact(subject="Carl", relation="likes", object="tea", source=memory.id)
    store.assert_fact(subject="Ann", relation="knows", object="Dora")
    with removals() as outcomes:
        store.forget(memory_id=memory.id)
    assert outcomes == [True]
    assert {entity.name for entity in store.entities()} == {"Ann", "Bob", "Dora"}
    store.verify(deep=True)


@pytest.mark.parametrize(
    ("later", "is_moved"),
    [
        ({"subject": "Carl", "relation": "has", "object": "a dog"}, True),
        ({"subject": "Bob", "relation": "has", "object": "Carl"}, True),
        ({"subject": "tea", "relation": "has", "object": "Carl"}, True),
        ({"subject": "Bob", "relation": "likes", "object": "a dog"}, False),
    ],
)
def test_a_name_that_others_mention_later_moves(later: dict[str, Any], *, is_moved: bool) -> None:
    store = new_store()
    fact = store.assert_fact(subject="Carl", relation="likes", object="tea")
    store.assert_fact(subject="Ann", relation="knows", object="Bob")
    store.assert_fact(**later)
    store.assert_fact(subject="Emil", relation="knows", object="Carl")
    with removals() as outcomes:
        store.forget(fact=fact.assertion_id)
    assert outcomes == [is_moved]
    store.verify(deep=True)


def test_a_name_that_only_a_retracted_end_mentions_stays() -> None:
    store = new_store()
    store.assert_fact(subject="Ann", relation="knows", object="Bob")
    fact = store.assert_fact(subject="Ann", relation="knows", object="Carl")
    end = store.end_fact(subject="Ann", relation="knows", object="Carl", at=START)
    store.retract_fact(assertion_id=end.assertion_id)
    with removals() as outcomes:
        store.forget(fact=fact.assertion_id)
    assert outcomes == [True]
    assert "Carl" in {entity.name for entity in store.entities()}
    store.verify(deep=True)


@pytest.mark.parametrize(("step", "is_moved"), [(1, False), (256, True)])
def test_where_there_is_no_room_the_graph_is_filled_again(
    step: int, *, is_moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older versions left none; filling the graph again makes it."""
    store = new_store()
    monkeypatch.setattr(entities, "NODE_ID_STEP", step)
    fact = store.assert_fact(subject="Ann", relation="knows", object="Bob")
    for number in range(5):
        store.assert_fact(subject=f"p{number}", relation="likes", object="tea")
    later = store.assert_fact(subject="Ann", relation="likes", object="Dora")
    store.assert_fact(subject="Emil", relation="likes", object="Ann")
    monkeypatch.undo()
    with removals() as outcomes:
        store.forget(fact=fact.assertion_id)
        store.verify(deep=True)
        store.forget(fact=later.assertion_id)
    assert outcomes == [is_moved, True]
    store.verify(deep=True)


@pytest.mark.slow
def test_forgetting_again_and_again_what_was_said_first() -> None:
    store = new_store()
    facts = [
        store.assert_fact(subject="Ann", relation=f"r{number % 2}", object=f"o{number % 3}")
        for number in range(30)
    ]
    for fact in facts[:-1]:
        store.forget(fact=fact.assertion_id)
        store.verify(deep=True)
    assert [entity.name for entity in store.entities()] == ["Ann", "o2"]


def test_a_name_of_an_alias_stays() -> None:
    store = new_store()
    store.assert_fact(subject="Ann", relation="knows", object="Bob")
    fact = store.assert_fact(subject="Carl", relation="knows", object="Bob")
    store.alias(alias="Charles", entity="Carl")
    with removals() as outcomes:
        store.forget(fact=fact.assertion_id)
    assert outcomes == [False]
    store.verify(deep=True)


def test_a_name_in_the_residue_of_a_compaction_stays() -> None:
    store = new_store()
    with store.begin_transaction() as transaction:
        fact = transaction.assert_fact(subject="Ann", relation="knows", object="Bob")
        second = transaction.assert_fact(subject="Ann", relation="likes", object="Bob")
        transaction.assert_fact(subject="Carl", relation="knows", object="Dora")
    store.retract_fact(assertion_id=second)
    store.write(key="k", value={})
    store.compact(before=store.stats().commits, confirm=True)
    with removals() as outcomes:
        store.forget(fact=fact)
    assert outcomes == [False]
    store.verify(deep=True)


def test_what_a_forgotten_fact_had_closed_is_open_again() -> None:
    store = new_store()
    store.set_cardinality(relation="lives in", cardinality="single")
    about: dict[str, Any] = {"subject": "Ann", "relation": "lives in"}
    for year in range(20):
        start = START + timedelta(days=365 * year)
        store.assert_fact(**about, object=f"town {year % 7}", valid_from=start)
    middle = store.timeline(**about)[10]
    with removals() as outcomes:
        store.forget(fact=middle.assertions[0])
    assert outcomes == [True]
    store.verify(deep=True)


@pytest.mark.slow
def test_the_work_does_not_grow_with_the_graph() -> None:
    """Apart from the entries of one index, which are looked through for a name."""
    work_of = {}
    for count in (100, 1_000):
        store = new_store()
        memory = store.remember("what was said")
        store.assert_facts(
            {"subject": f"s{number}", "relation": "knows", "object": f"o{number}"}
            for number in range(count)
        )
        for number in range(count):
            store.write(key=f"k{number}", value={})
        store.assert_fact(subject="Carl", relation="knows", object="tea", source=memory.id)
        with counted(store) as work:
            store.forget(memory_id=memory.id, purge=False)
        work_of[count] = work
        store.verify(deep=True)
    assert work_of[1_000].decoded == work_of[100].decoded
    assert work_of[1_000].event_reads == work_of[100].event_reads
    assert work_of[1_000].steps < work_of[100].steps + 30 * 900


NAMES = ["Ann", "Bob", "Carl", "Dora", "Emil", "Fay"]
RELATIONS = ["knows", "likes", "lives in"]


def say_something(store: Store, random: Random, memories: list[str], ids: list[str]) -> None:
    """Commit something about facts, by chance."""
    about: dict[str, Any] = {
        "subject": random.choice(NAMES) + random.choice(["", "", "1", "2", "3"]),
        "relation": random.choice(RELATIONS),
    }
    at = START + timedelta(days=random.randrange(50))
    choice = random.randrange(10)
    if choice == 0:
        end = store.end_fact(**about, at=at, source=memories[-1], allow_unknown=True)
        ids.append(end.assertion_id or "")
    elif choice == 1 and ids:
        store.retract_fact(assertion_id=random.choice(ids))
    elif choice == 2:
        store.alias(alias=random.choice(NAMES), entity=random.choice(NAMES))
    elif choice == 3:
        with store.begin_transaction() as transaction:
            ids.extend(
                transaction.assert_fact(
                    **about, object=f"o{random.randrange(9)}", source=memories[-number]
                )
                for number in range(3)
            )
    elif choice == 4:
        single = random.choice(["single", "multi"])
        store.set_cardinality(relation=about["relation"], cardinality=single)
    elif choice == 5:
        store.compact(before=store.stats().commits, confirm=True)
    else:
        until = at + timedelta(days=random.randrange(1, 9)) if random.randrange(3) == 0 else None
        other = random.choice(NAMES) + str(random.randrange(9) or "")
        fact = store.assert_fact(
            **about, object=other, valid_from=at, valid_to=until, source=random.choice(memories)
        )
        ids.append(fact.assertion_id or "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0, 1], range(60)))
def test_random_histories_equal_a_rebuild(seed: int) -> None:
    random, store = Random(seed), new_store()
    memories, ids = [store.remember(f"source {number}").id for number in range(8)], list[str]()
    with removals() as outcomes:
        for _ in range(12):
            for _ in range(6):
                try:
                    say_something(store, random, memories, ids)
                except (NotFound, InvalidInput):
                    continue
            try:
                if random.randrange(2) and ids:
                    store.forget(fact=random.choice(ids), purge=False)
                else:
                    store.forget(memory_id=memories.pop(random.randrange(4)), purge=False)
                    memories.append(store.remember("another source").id)
            except NotFound:
                continue
            assert store.rebuild().identical, seed
    assert outcomes
