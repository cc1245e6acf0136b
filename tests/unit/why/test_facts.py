"""Facts as reasons: what speaks against one depends on when something came to rest on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoranda import FactRef, NotFound, Store
from memoranda.testing import FixedClock, memory_store


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(clock: FixedClock) -> Iterator[Store]:
    with memory_store(clock=clock) as opened:
        agent = opened.bind(agent_id="a")
        agent.set_cardinality(relation="lives in", cardinality="single")
        yield agent


def lives(store: Store, where: str, **more: object) -> FactRef:
    fact = store.assert_fact(subject="Ann", relation="lives in", object=where, **more)  # type: ignore[arg-type]
    assert fact.assertion_id is not None
    return FactRef(fact.assertion_id)


def decide(store: Store, ref: FactRef, key: str = "plan") -> int:
    return store.write(key=key, value={"to": "there"}, because=[ref]).commit_ts


def doubts(store: Store, key: str = "plan", at: int | None = None) -> tuple[str, ...]:
    reason = store.why(key, at=at)
    assert reason.is_stale == any(item.stale for item in reason.walk())
    return tuple(doubt for item in reason.walk() for doubt in item.stale)


def test_a_value_rests_on_a_fact_and_that_on_its_evidence(store: Store) -> None:
    talk = store.store_transcript("I moved to Oslo. In May.")
    memory = store.remember("Ann moved", transcript=talk.id, spans=[talk.find("I moved")])
    ref = lives(store, "Oslo", source=memory.id)
    other = lives(store, "oslo", source=talk.id, spans=[(0, 15), (17, 23)])
    decide(store, ref)
    decide(store, other, "other")
    reason = store.why("plan")
    assert [(item.relation, item.kind, item.summary) for item in reason.walk()] == [
        (None, "key", '{"to":"there"}'),
        ("because", "fact", "Ann lives in Oslo"),
        ("source", "memory", "Ann moved"),
        ("quotes", "transcript", "I moved"),
        ("source", "transcript", "I moved to Oslo"),
        ("source", "transcript", "In May"),
    ]
    assert reason.because[0].ref == ref
    before = store.stats().commits
    store.retract_memory(memory.id, reason="a joke")
    assert doubts(store) == ("retracted: a joke",)
    assert doubts(store, at=before) == ()


def test_a_fact_that_something_closes_is_stale_from_that_commit_on(store: Store) -> None:
    decided = decide(store, lives(store, "Oslo", valid_from="2025-01-01T00:00:00Z"))
    lives(store, "Rome", valid_from="2020-01-01T00:00:00Z")  # it takes its place in the past
    assert doubts(store) == ()
    closed = lives(store, "Bergen", valid_from="2025-06-01T00:00:00Z")
    commit = store.stats().commits
    assert doubts(store) == ("closed on 2025-06-01",)
    assert doubts(store, at=commit - 1) == doubts(store, at=decided) == ()
    store.retract_fact(assertion_id=closed.assertion_id)
    assert doubts(store) == ()
    assert doubts(store, at=commit) == ("closed on 2025-06-01",)


def test_an_end_that_is_to_come_is_told_when_it_is_known(store: Store, clock: FixedClock) -> None:
    decide(store, lives(store, "Oslo"))
    store.end_fact(subject="Ann", relation="lives in", at="2999-01-01T00:00:00Z")
    assert doubts(store) == ("closed: it ends on 2999-01-01",)


def test_an_end_that_was_known_counts_when_it_comes(store: Store, clock: FixedClock) -> None:
    day = 86_400
    ref = lives(store, "Oslo", valid_from="2025-01-01T00:00:00Z", valid_to="2026-01-11T00:00:00Z")
    commit = decide(store, ref)
    assert doubts(store) == ()
    clock.advance(11 * day)
    assert doubts(store) == ("ended on 2026-01-11",)
    assert doubts(store, at=commit) == (), "at that moment it held"
    decide(store, ref, "history")
    assert doubts(store, "history") == (), "it was relied on as what had been"
    assert store.why(ref).stale == ("ended on 2026-01-11",)


def test_a_retracted_fact_is_stale_and_says_why(store: Store) -> None:
    ref = lives(store, "Oslo")
    commit = decide(store, ref)
    store.retract_fact(assertion_id=ref.assertion_id, reason="a joke")
    (fact,) = store.why("plan").because
    assert (fact.summary, fact.stale) == ("Ann lives in Oslo", ("retracted: a joke",))
    assert doubts(store, at=commit) == ()
    with pytest.raises(NotFound, match="retracted"):
        decide(store, ref)


def test_a_fact_that_was_never_believed_is_gone(store: Store) -> None:
    with store.begin_transaction() as transaction:
        ref = FactRef(transaction.assert_fact(subject="a", relation="r", object="b"))
        transaction.write(key="plan", value={}, because=[ref])
        transaction.retract_fact(assertion_id=ref.assertion_id)
    assert doubts(store) == ("gone",)
    with pytest.raises(NotFound, match=ref.assertion_id):
        store.why(ref)
    with pytest.raises(NotFound, match="nothing"):
        store.why(FactRef("nothing"))


def test_keys_that_rest_on_a_closed_fact_are_listed(store: Store) -> None:
    decide(store, lives(store, "Oslo"))
    decide(store, lives(store, "Oslo"), "other")
    lives(store, "Rome")
    assert [reason.ref for reason in store.stale_keys()] == [
        store.why(key).ref for key in ("other", "plan")
    ]
