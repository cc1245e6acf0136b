"""A transaction that is sent as calls gives the event that staging it in process gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.msgpack import encode

import memoranda
from memoranda import (
    IdempotencyMismatch,
    InvalidInput,
    KeyRef,
    Limits,
    PermissionDenied,
    Store,
    Transaction,
    TransactionConflict,
    TransactionExpired,
)
from memoranda.calls.client_transaction import ClientTransaction
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.memory_writes import Configure
from memoranda.calls.registry import handle, stage_write
from memoranda.calls.transactions import AskWithin, Commit, CommittedTransaction, ListWithin
from memoranda.testing import FixedClock, memory_store
from memoranda.wire.codec import call_of
from memoranda.wire.methods import METHOD_OF
from tests.contract.loopback import through_loopback
from tests.cores import core_of

T = "txn-1"


def fill(store: Store) -> dict[str, str]:
    """Write what the transactions below refer to, and return the ids."""
    agent = store.bind(agent_id="a")
    words = agent.store_transcript("Ann: I live in Bonn.", txn_id="words")
    old = agent.remember("Ann lives in Bonn", title="home", transcript=words, txn_id="old")
    new = agent.remember("Ann lives in Oslo", txn_id="new")
    agent.reflect("she moves often", on=old, txn_id="thought")
    agent.write(key="k", value={"n": 1})
    return {"words": words.id, "old": old.id, "new": new.id}


def everything(transaction: Transaction, ids: dict[str, str]) -> list[str]:
    """Stage one of each call, and return the ids that were given out."""
    words = transaction.store_transcript([{"role": "user", "content": "I like tea"}])
    first = transaction.remember("Ann likes tea", transcript=words, spans=[(0, 4)])
    titled = transaction.remember("Ann lives somewhere", title="home", tags=["x"])
    fresh = transaction.remember("a new one", title="fresh", metadata={"a": 1}, ttl="1d")
    thought = transaction.reflect("likes and homes", on=[first, titled])
    transaction.update_memory(fresh, priority=9, event_time="2025-03")
    transaction.touch(ids["old"])
    transaction.promote(ids["new"])
    transaction.supersede(old=ids["old"], new=ids["new"])
    transaction.link(source=first, target=ids["new"], relation="related_to")
    transaction.unlink(source=first, target=ids["new"], relation="related_to")
    transaction.link_transcript(memory_id=first, transcript_id=ids["words"], spans=[(0, 3)])
    fact = transaction.assert_fact(
        subject="Ann", relation="likes", object="tea", source=first, valid_to="2031"
    )
    once = transaction.assert_fact(subject="Ann", relation="age", object="30", once="import")
    end = transaction.end_fact(subject="Ann", relation="likes", at="2030")
    transaction.retract_fact(assertion_id=once)
    transaction.set_cardinality(relation="lives in", cardinality="single")
    transaction.alias(entity="Ann", alias="Anna")
    transaction.merge_entities(source="tea", into="30")
    transaction.configure(max_reflection_depth=5)
    transaction.write(key="k", value={"n": 2}, expect_version=1, because=[KeyRef("k")])
    transaction.delete(key="j")
    transaction.retract_memory(fresh, reason="a test")
    return [words, first, titled, fresh, thought, fact, once, end]


@pytest.fixture
def pair() -> Iterator[tuple[Store, Store]]:
    """Two stores with equal clocks and ids; the calls of the second go through bytes."""
    with memory_store() as one, memory_store() as other:
        yield one, through_loopback(other)


def test_both_give_the_same_event(pair: tuple[Store, Store]) -> None:
    events = []
    for store in pair:
        ids = fill(store)
        agent = store.bind(agent_id="a")
        transaction = agent.begin_transaction(txn_id=T)
        given_out = everything(transaction, ids)
        commit_ts = transaction.commit()
        (event,) = agent.replay(after_commit=commit_ts - 1)
        events.append((given_out, event.txn_id, event.operations))
    (ids_here, *here), (ids_there, *there) = events
    assert len(ids_here) == len(set(ids_here))
    assert ids_here == ids_there
    assert here == there
    assert len(events[0][2]) > 20
    assert isinstance(pair[1].begin_transaction()._transaction, ClientTransaction)


def test_it_is_committed_once_however_often_it_is_sent(pair: tuple[Store, Store]) -> None:
    _, store = pair
    agent = store.bind(agent_id="a")
    for _ in range(3):
        with agent.begin_transaction(txn_id=T) as transaction:
            memory_id = transaction.remember("once")
        assert transaction.commit_ts == 1
        assert agent.get_memory(memory_id) is not None
    with (
        pytest.raises(IdempotencyMismatch),
        agent.begin_transaction(txn_id=T) as transaction,
    ):
        transaction.remember("something else")
    assert len(list(agent.list_memories())) == 1


def test_reads_are_compared_at_the_commit(pair: tuple[Store, Store]) -> None:
    reads: dict[str, Callable[[Transaction], Any]] = {
        "key": lambda transaction: transaction.get_state(key="k"),
        "prefix": lambda transaction: list(transaction.list_keys(prefix="k")),
    }
    _, store = pair
    agent = store.bind(agent_id="a")
    for number, read in enumerate(reads.values()):
        transaction = agent.begin_transaction()
        read(transaction)
        agent.write(key="k", value={"n": number})
        transaction.write(key="j", value={})
        with pytest.raises(TransactionConflict):
            transaction.commit()
    assert agent.get_state(key="j") is None


def commit(store: Store, grant: Grant, call: Commit) -> CommittedTransaction:
    staged = stage_write(core_of(store), grant, call)
    return staged.answer(core_of(store).committer.commit(staged.request))


class TestWhatIsSent:
    def test_a_part_with_a_txn_id_of_its_own_is_refused(self) -> None:
        part = Write("a", "default", "k", {}, txn_id="other")
        with memory_store() as store, pytest.raises(InvalidInput, match=r"txn_id: .*the commit"):
            commit(store, EVERYTHING, Commit((part,), txn_id=T))

    def test_a_commit_goes_into_no_other(self) -> None:
        inner = Commit((Write("a", "default", "k", {}),))
        with memory_store() as store, pytest.raises(InvalidInput, match=r"calls: .*can stage"):
            commit(store, EVERYTHING, Commit((inner,), txn_id=T))

    def test_each_part_needs_its_verb(self) -> None:
        grant = Grant("a", verbs=frozenset({"read", "write"}))
        part = Configure("default", max_reflection_depth=1)
        with memory_store() as store, pytest.raises(PermissionDenied, match="'admin'"):
            commit(store, grant, Commit((part,), txn_id=T))

    def test_a_commit_that_is_not_there_yet_is_no_beginning(self) -> None:
        part = Write("a", "default", "k", {})
        with memory_store() as store, pytest.raises(InvalidInput, match="since: 7"):
            commit(store, EVERYTHING, Commit((part,), 7, txn_id=T))

    def test_a_store_with_wider_limits_gets_what_it_accepts(self) -> None:
        deep: dict[str, object] = {}
        for _ in range(80):
            deep = {"in": deep}
        limits = Limits(value_depth=100, key_bytes=1500)
        with memoranda.open(":memory:", limits=limits, embedder=None) as opened:
            store = through_loopback(opened).bind(agent_id="a")
            store.write(key="k" * 1500, value=deep)
            store.write(key="j", value={}, because=KeyRef("k" * 1500))
            record = store.get_state(key="k" * 1500)
        assert record is not None
        assert record.value == deep

    @pytest.mark.parametrize("read", [5, {}, {"read": "x"}, {"read": []}, {"read": "KeyRead"}])
    def test_what_it_has_read_are_reads(self, read: Any) -> None:
        part = Write("a", "default", "k", {})
        with memory_store() as store, pytest.raises(InvalidInput, match=r"^reads: "):
            commit(store, EVERYTHING, Commit((part,), 0, reads=(read,), txn_id=T))

    @pytest.mark.parametrize("depth", [10, 300, 900, 100_000])
    def test_reads_inside_reads_are_refused_at_any_depth(self, depth: int) -> None:
        head = encode({"call": "ask_within", "txn_id": T, "since": 0, "era": 0, "calls": []})
        outer = bytes([head[0] + 1]) + head[1:] + encode("read")  # a map with one more member
        read = encode({"call": "get_state", "agent_id": "a", "namespace": "default", "key": "k"})
        apart = b"\x81" + encode("read") + outer * depth + read
        request = METHOD_OF[AskWithin].request(txn_id=T, unfit=apart)
        with memory_store() as store, pytest.raises(InvalidInput, match=r"^(unfit|read): "):
            handle(core_of(store), EVERYTHING, call_of(request))

    @pytest.mark.parametrize(
        ("kind", "read", "problem"),
        [
            (AskWithin, ListKeys("a", "default"), "send it with `list_within`"),
            (ListWithin, GetState("a", "default", "k"), "send it with `ask_within`"),
            (AskWithin, 5, "5 is not a call"),
        ],
    )
    def test_a_read_fits_its_answer(self, kind: Any, read: Any, problem: str) -> None:
        with memory_store() as store, pytest.raises(InvalidInput, match=f"^read: .*{problem}"):
            handle(core_of(store), EVERYTHING, kind(T, 0, 0, (), read))

    def test_its_time_is_a_duration(self) -> None:
        clock = FixedClock()
        with memory_store(clock=clock) as store:
            call = Commit((Write("a", "default", "k", {}),), timeout=5, txn_id=T)
            staged = stage_write(core_of(store), EVERYTHING, call)
            clock.advance(6)
            with pytest.raises(TransactionExpired):
                core_of(store).committer.commit(staged.request)

    def test_what_is_staged_is_answered_with_its_ids(self) -> None:
        part = Write("a", "default", "k", {})
        with memory_store() as store:
            answer = commit(store, EVERYTHING, Commit((part, part), txn_id=T))
        assert (answer.commit_ts, answer.changed, answer.ids) == (1, True, (None, None))
