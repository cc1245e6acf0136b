"""Memories inside transactions: one event, serializable reads, ids that a retry gives again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import (
    IdempotencyMismatch,
    InvalidInput,
    Limits,
    Memory,
    Store,
    TitleTaken,
    Transaction,
    TransactionClosed,
    TransactionConflict,
)
from tests.contract.opener import Opener

LONG = "long " * 2000


def test_everything_of_one_belief_in_one_event(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        words = transaction.store_transcript("I drink tea, said Ann.")
        tea = transaction.remember("drinks tea", transcript=words, spans=[(2, 11)])
        stored_item = transaction.remember("said by Ann", title="who")
        transaction.link_transcript(memory_id=stored_item, transcript_id=words, spans=[(18, 21)])
        top = transaction.reflect("Ann drinks tea", on=[tea, stored_item])
        better = transaction.reflect("Ann drinks green tea", on=[tea])
        transaction.supersede(old=top, new=better)
        transaction.update_memory(tea, tags=["drink"])
        transaction.touch(tea)
        transaction.promote(tea)
        transaction.write(key="belief", value={"memory": top})
        transaction.retract_memory(stored_item, reason="never mind")
    (event,) = agent.replay()
    names = [operation.type.name for operation in event.operations]
    assert names == [
        "TRANSCRIPT", "REMEMBER", "CITE", "REMEMBER", "CITE", "REMEMBER", "LINK", "LINK",
        "REMEMBER", "LINK", "LINK", "UPDATE", "TOUCH", "WRITE", "RETRACT",
    ]  # fmt: skip
    entries = agent.replay_transcripts(top)
    assert [entry.transcript.id for entry in entries] == [words]
    assert {anchor.memory_id for anchor in entries[0].anchors} == {tea, stored_item}
    memory = agent.get_memory(tea)
    assert memory is not None
    assert (memory.version, memory.access_count, memory.tags) == (2, 1, ("drink",))
    assert agent.rebuild().identical
    agent.verify()


def test_nothing_lands_if_anything_is_refused(agent: Store) -> None:
    transaction = agent.begin_transaction()
    one = transaction.remember(LONG)
    transaction.store_transcript("words")
    transaction.link(source=one, target=one, relation="derived_from")
    with pytest.raises(Exception, match="cycle"):
        transaction.commit()
    assert list(agent.list_memories()) == []
    assert list(agent.list_transcripts()) == []
    assert agent.remember("x").outcome == "created"
    assert agent.verify().commits == 2, "the refusal is noted, and x remembered"


CALLS: list[Callable[[Transaction], object]] = [
    lambda transaction: transaction.remember("x"),
    lambda transaction: transaction.reflect("x", on=["m"]),
    lambda transaction: transaction.update_memory("m", content="x"),
    lambda transaction: transaction.retract_memory("m"),
    lambda transaction: transaction.touch("m"),
    lambda transaction: transaction.promote("m"),
    lambda transaction: transaction.get_memory("m"),
    lambda transaction: transaction.link(source="a", target="b", relation="related_to"),
    lambda transaction: transaction.unlink(source="a", target="b", relation="related_to"),
    lambda transaction: transaction.supersede(old="a", new="b"),
    lambda transaction: transaction.links("m"),
    lambda transaction: transaction.store_transcript("x"),
    lambda transaction: transaction.link_transcript(memory_id="m", transcript_id="t"),
    lambda transaction: transaction.resolve_invalidation("n", decision="keep"),
    lambda transaction: transaction.configure(max_reflection_depth=1),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_finished_transaction_is_closed(
    agent: Store, call: Callable[[Transaction], object]
) -> None:
    transaction = agent.begin_transaction()
    transaction.abort()
    with pytest.raises(TransactionClosed):
        call(transaction)


class TestReads:
    def test_they_see_the_transactions_own_writes(self, agent: Store) -> None:
        old = agent.remember("x", title="t")
        transaction = agent.begin_transaction()
        new = transaction.remember(LONG, title="new", tags=["a"])
        transaction.update_memory(old.id, content="y")
        transaction.link(source=new, target=old.id, relation="reflects_on")
        observations = transaction.get_memory(new)
        assert isinstance(observations, Memory)
        assert (observations.content, observations.tags, observations.reflection_depth) == (
            LONG,
            ("a",),
            1,
        )
        assert (observations.created_at, observations.version) == (None, 1)
        changed = transaction.get_memory(title="t")
        assert changed is not None
        assert (changed.content, changed.version) == ("y", 2)
        assert [(link.source, link.target) for link in transaction.links(old.id)] == [(new, old.id)]
        assert transaction.remember("again", title="new") == new
        transaction.retract_memory(old.id)
        assert transaction.get_memory(old.id) is None
        transaction.unlink(source=new, target=old.id, relation="reflects_on")
        assert transaction.links(new) == []
        transaction.commit()
        memory = agent.get_memory(new)
        assert memory is not None
        assert (memory.content, memory.version, memory.reflection_depth) == ("again", 2, 0)

    def test_what_only_the_commit_can_grant_does_not_stop_them(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        late, other = agent.remember("late"), agent.remember("other")
        transaction.link(source=late.id, target=other.id, relation="related_to")
        staged = transaction.remember("x", title="t")
        memory = transaction.get_memory(title="t")
        assert memory is not None
        assert memory.id == staged
        transaction.commit()
        assert len(agent.links(late.id)) == 1

    def test_they_are_as_of_the_beginning(self, agent: Store) -> None:
        memory, other = agent.remember("x", title="t"), agent.remember("y")
        transaction = agent.begin_transaction()
        agent.update_memory(memory.id, content="later")
        agent.link(source=memory.id, target=other.id, relation="related_to")
        observations = transaction.get_memory(memory.id)
        assert observations is not None
        assert (observations.content, transaction.links(memory.id)) == ("x", [])

    @pytest.mark.parametrize(
        "change",
        [
            lambda store, memory, other: store.update_memory(memory, content="z"),
            lambda store, memory, other: store.retract_memory(memory),
            lambda store, memory, other: store.touch(memory),
            lambda store, memory, other: store.promote(memory),
            lambda store, memory, other: store.supersede(old=memory, new=other),
        ],
    )
    @pytest.mark.parametrize("by", ["id", "title"])
    def test_a_memory_that_changed_conflicts(
        self, agent: Store, change: Callable[..., Any], by: str
    ) -> None:
        memory, other = agent.remember("x", title="t", tier="mid"), agent.remember("y")
        transaction = agent.begin_transaction()
        if by == "id":
            transaction.get_memory(memory.id)
        else:
            transaction.get_memory(title="t")
        change(agent, memory.id, other.id)
        transaction.write(key="k", value={})
        with pytest.raises(TransactionConflict, match=memory.id):
            transaction.commit()

    def test_a_title_that_was_taken_conflicts(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        assert transaction.get_memory(title="t") is None
        agent.remember("x", title="t")
        transaction.write(key="k", value={})
        with pytest.raises(TransactionConflict, match="'t'"):
            transaction.commit()

    def test_a_title_that_was_given_up_conflicts(self, agent: Store) -> None:
        memory = agent.remember("x", title="t")
        transaction = agent.begin_transaction()
        assert transaction.remember("y", title="t") == memory.id
        agent.update_memory(memory.id, title=None)
        with pytest.raises(TransactionConflict, match="'t'"):
            transaction.commit()

    @pytest.mark.parametrize("change", ["link", "unlink"])
    def test_links_that_changed_conflict(self, agent: Store, change: str) -> None:
        one, other, third = (agent.remember(str(number)) for number in range(3))
        ends = {"source": one.id, "target": other.id, "relation": "related_to"}
        agent.link(**ends)
        transaction = agent.begin_transaction()
        transaction.links(other.id)
        if change == "unlink":
            agent.unlink(**ends)
        else:
            agent.link(source=third.id, target=other.id, relation="derived_from")
        transaction.write(key="k", value={})
        with pytest.raises(TransactionConflict, match="link"):
            transaction.commit()

    def test_other_memories_do_not_conflict(self, agent: Store) -> None:
        one, other = agent.remember("x", title="t"), agent.remember("y")
        transaction = agent.begin_transaction()
        transaction.get_memory(one.id)
        transaction.links(one.id)
        agent.update_memory(other.id, content="z")
        agent.remember("new", title="u")
        transaction.write(key="k", value={})
        assert transaction.commit() == agent.stats().commits

    def test_a_blind_change_never_conflicts(self, agent: Store) -> None:
        memory = agent.remember("x")
        transaction = agent.begin_transaction()
        transaction.update_memory(memory.id, content="mine")
        transaction.remember("untitled")
        agent.update_memory(memory.id, content="theirs", priority=9)
        transaction.commit()
        result = agent.get_memory(memory.id)
        assert result is not None
        assert (result.content, result.priority, result.version) == ("mine", 9, 3)

    def test_two_who_remember_one_title_become_one_memory(self, agent: Store) -> None:
        observations: list[str] = []

        def work(transaction: Transaction) -> str:
            staged = transaction.remember("mine", title="t")
            if not observations:
                agent.remember("theirs", title="t")
            observations.append(staged)
            return staged

        memory_id = agent.transact(work)
        assert len(observations) == 2
        assert [memory.content for memory in agent.memory_history(memory_id)] == ["theirs", "mine"]


class TestExactlyOnce:
    def test_a_retry_names_the_same_ids(self, agent: Store) -> None:
        first = agent.remember("x", title="t", txn_id="t-1")
        again = agent.remember("x", title="t", txn_id="t-1")
        assert again.id == first.id
        transcript = agent.store_transcript("x", txn_id="t-2")
        assert agent.store_transcript("x", txn_id="t-2").id == transcript.id
        top = agent.reflect("r", on=[first.id], txn_id="t-3")
        assert agent.reflect("r", on=[first.id], txn_id="t-3").id == top.id
        assert len(list(agent.replay())) == 3

    def test_also_after_the_title_went_on(self, agent: Store) -> None:
        first = agent.remember("one", title="t", txn_id="t-1")
        agent.remember("two", title="t")
        again = agent.remember("one", title="t", txn_id="t-1")
        assert (again.id, again.content) == (first.id, "one")
        current = agent.get_memory(title="t")
        assert current is not None
        assert current.content == "two"

    def test_ids_differ_within_a_transaction_and_between_agents(self, store: Store) -> None:
        ids = []
        for name in ("a", "b"):
            with store.bind(agent_id=name).begin_transaction(txn_id="t") as transaction:
                ids += [transaction.remember("x"), transaction.remember("x")]
                ids += [transaction.store_transcript("x")]
        assert len(set(ids)) == 6

    @pytest.mark.parametrize("content", ["other", LONG])
    def test_the_same_name_for_something_else_is_refused(self, agent: Store, content: str) -> None:
        agent.remember(LONG + "!", txn_id="t-1")
        with pytest.raises(IdempotencyMismatch):
            agent.remember(content, txn_id="t-1")

    def test_links_and_resolutions_too(self, agent: Store) -> None:
        old, new, dependent = (
            agent.remember(name, kind="reflection") for name in ("old", "new", "d")
        )
        agent.link(source=dependent.id, target=old.id, relation="reflects_on", txn_id="l")
        first = agent.supersede(old=old.id, new=new.id, txn_id="s")
        assert first.notified == (dependent.id,)
        assert agent.supersede(old=old.id, new=new.id, txn_id="s") == first


def test_a_title_can_be_refused_inside_a_transaction(agent: Store) -> None:
    transaction = agent.begin_transaction()
    transaction.remember("x", title="t")
    transaction.remember("y", title="t", on_conflict="error")
    with pytest.raises(TitleTaken):
        transaction.commit()


def test_long_content_counts_towards_a_transactions_size(open_store: Opener) -> None:
    agent = open_store(limits=Limits(transaction_bytes=2000)).bind(agent_id="a")
    transaction = agent.begin_transaction()
    noise = "".join(chr(0x4E00 + (number * 7919) % 20000) for number in range(3000))
    with pytest.raises(InvalidInput, match="limit is 2000"):
        transaction.store_transcript(noise)
    with pytest.raises(InvalidInput, match="limit is 2000"):
        transaction.remember(noise)


@pytest.mark.parametrize("stage", ["remember", "store_transcript"])
def test_it_counts_as_what_it_unpacks_to(open_store: Opener, stage: str) -> None:
    agent = open_store(limits=Limits(transaction_bytes=20_000)).bind(agent_id="a")
    transaction = agent.begin_transaction()
    getattr(transaction, stage)("a" * 10_000)
    with pytest.raises(InvalidInput, match="limit is 20000"):
        getattr(transaction, stage)("b" * 10_000)
    transaction.commit()


class TestWhatBelongsTogether:
    """A memory is staged with its links and its citation, or not at all."""

    def test_a_reflection_that_passes_the_operations(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transaction_operations=3)).bind(agent_id="a")
        ground = agent.remember("ground").id
        transaction = agent.begin_transaction()
        transaction.touch(ground)
        transaction.touch(ground)
        with pytest.raises(InvalidInput, match="over 3 operations"):
            transaction.reflect("half", on=[ground], title="half")
        assert transaction.get_memory(title="half") is None
        transaction.commit()
        assert [memory.id for memory in agent.list_memories()] == [ground]

    def test_a_citation_that_passes_the_operations(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transaction_operations=2)).bind(agent_id="a")
        transaction = agent.begin_transaction()
        words = transaction.store_transcript("words")
        with pytest.raises(InvalidInput, match="over 2 operations"):
            transaction.remember("half", transcript=words)
        transaction.commit()
        assert list(agent.list_memories()) == []

    def test_links_that_pass_the_size(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transaction_bytes=1000)).bind(agent_id="a")
        ground = [agent.remember(str(number)).id for number in range(30)]
        transaction = agent.begin_transaction()
        with pytest.raises(InvalidInput, match="limit is 1000"):
            transaction.reflect("half", on=ground)
        transaction.touch(ground[0])
        transaction.commit()
        assert len(list(agent.list_memories())) == 30


def test_a_fork_takes_long_content_along(agent: Store, tmp_path: Any) -> None:
    memory = agent.remember(LONG)
    words = agent.store_transcript(LONG + "!")
    agent.link_transcript(memory_id=memory.id, transcript_id=words.id)
    agent.fork(tmp_path / "fork.db", at=agent.stats().commits)
    import memoranda

    with memoranda.open(tmp_path / "fork.db") as fork:
        result = fork.get_memory(memory.id)
        assert result is not None
        assert result.content == LONG
        assert [entry.text() for entry in fork.replay_transcripts(memory.id)] == [LONG + "!"]
        assert fork.rebuild().identical
        assert fork.verify().commits == 3


class TestCitedSpans:
    def test_of_every_transcript_that_is_staged(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            first = transaction.store_transcript("first words")
            second = transaction.store_transcript("second")
            memory = transaction.remember("m", transcript=first, spans=[(0, 5)])
            transaction.link_transcript(memory_id=memory, transcript_id=second, spans=[(0, 6)])
            transaction.link_transcript(memory_id=memory, transcript_id=first, spans=[(6, 11)])
        cited = {item.transcript_id: item.spans for item in agent.transcripts_for(memory)}
        assert cited == {first: ((0, 5), (6, 11)), second: ((0, 6),)}

    def test_they_are_checked_in_each_of_them(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        first = transaction.store_transcript("first")
        transaction.store_transcript("much longer than the first")
        with pytest.raises(InvalidInput, match="ends past the text, which has 5 bytes"):
            transaction.remember("m", transcript=first, spans=[(0, 9)])

    @pytest.mark.parametrize("spans", [None, [(0, 5)]])
    def test_of_a_transcript_that_was_stored_meanwhile(self, agent: Store, spans: Any) -> None:
        with agent.begin_transaction() as transaction:
            words = agent.store_transcript("other words")
            memory = transaction.remember("m", transcript=words.id, spans=spans)
        (cited,) = agent.transcripts_for(memory)
        assert cited.transcript_id == words.id
