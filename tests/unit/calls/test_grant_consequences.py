"""What others do elsewhere shows in no conflict, retry, error, answer or feed under a grant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import LinkCycle, NotFound, PermissionDenied, ReflectionTooDeep, Store
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.erasure_writes import Forget
from memoranda.calls.extraction import GetCommittedItems
from memoranda.calls.fact_writes import AssertFact, RetractFact
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.key_writes import Write
from memoranda.calls.link_writes import Link, Supersede
from memoranda.calls.log import Replay
from memoranda.calls.memory_writes import Reflect, Remember, RetractMemory, Touch
from memoranda.calls.registry import handle
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit, PlainRead
from memoranda.model.operations import AddLink
from memoranda.sdk.local.calls import LocalCalls
from memoranda.testing import FixedClock, FixedIds
from tests.cores import core_of
from tests.grant_copies import answered, opened, whole, without
from tests.grant_worlds import ELSEWHERE, FAR, GRANTS, MARK, TEAM, World, comparable

GRANT = GRANTS["one agent in a namespace"]
HIDDEN = "(not yours to see)"


@pytest.fixture
def store() -> Iterator[Store]:
    with memoranda.open(":memory:", clock=FixedClock(), ids=FixedIds(), embedder=None) as opened:
        yield opened


def do(store: Store, call: WriteCall[Any], grant: Grant = GRANT) -> Any:
    return LocalCalls(core_of(store), grant).write(call)


def ask(store: Store, call: Call[Any], grant: Grant = GRANT) -> Any:
    return handle(core_of(store), grant, call)


def read(kind: str, **fields: Any) -> PlainRead:
    return {"read": kind, **fields}


def scope(namespace: str, agent_id: str) -> dict[str, str]:
    return {"namespace": namespace, "agent_id": agent_id}


CHANGES: dict[str, tuple[Callable[[World], PlainRead], Callable[[World], object]]] = {
    "the key of another agent": (
        lambda _: read("KeyRead", scope=scope(TEAM, "b"), key="plan"),
        lambda world: world.store.write(
            agent_id="b", namespace=TEAM, key="plan", value={"n": 9}
        ),
    ),
    "a key elsewhere": (
        lambda _: read("KeyRead", scope=scope(ELSEWHERE, "a"), key="plan"),
        lambda world: world.store.write(
            agent_id="a", namespace=ELSEWHERE, key="plan", value={"n": 9}
        ),
    ),
    "keys of another agent": (
        lambda _: read("PrefixRead", scope=scope(TEAM, "b"), prefix=""),
        lambda world: world.store.write(agent_id="b", namespace=TEAM, key="new", value={}),
    ),
    "a memory elsewhere": (
        lambda world: read("MemoryRead", memory_id=world.ids["x_home"]),
        lambda world: world.store.update_memory(
            memory_id=world.ids["x_home"], agent_id="b", content="other words"
        ),
    ),
    "a private memory": (
        lambda world: read("MemoryRead", memory_id=world.ids["x_diary"]),
        lambda world: world.store.update_memory(
            memory_id=world.ids["x_diary"], agent_id="b", content="other words"
        ),
    ),
    "links elsewhere": (
        lambda world: read("LinksRead", memory_id=world.ids["x_home"]),
        lambda world: world.store.link(
            source=world.ids["x_home"], target=world.ids["x_newer"], relation="related_to",
            agent_id="b",
        ),
    ),
    "a title elsewhere": (
        lambda _: read("TitleKey", namespace=ELSEWHERE, owner="", title="new"),
        lambda world: world.store.remember(
            "new", title="new", agent_id="b", namespace=ELSEWHERE
        ),
    ),
    "a private title": (
        lambda _: read("TitleKey", namespace=TEAM, owner="b", title="new"),
        lambda world: world.store.remember(
            "new", title="new", agent_id="b", namespace=TEAM, visibility="private"
        ),
    ),
    "private facts of another agent": (
        lambda _: read(
            "TimelineRead", scope=scope(TEAM, "b"), subject="ann", relation="lives in"
        ),
        lambda world: world.store.assert_fact(
            subject="Ann", relation="lives in", object="Ulm", agent_id="b", namespace=TEAM,
            visibility="private",
        ),
    ),
    "facts elsewhere": (
        lambda _: read(
            "TimelineRead", scope=scope(ELSEWHERE, "a"), subject="ann", relation="lives in"
        ),
        lambda world: world.store.assert_fact(
            subject="Ann", relation="lives in", object="Ulm", agent_id="a", namespace=ELSEWHERE
        ),
    ),
}  # fmt: skip
"""What is tracked, and a change of it."""


class TestConflicts:
    """A transaction conflicts with changes of what the grant covers, and with no others."""

    @pytest.mark.parametrize("name", CHANGES)
    def test_a_read_of_what_is_not_covered_never_changes(self, name: str, tmp_path: Path) -> None:
        tracked, change = CHANGES[name]
        call = Write("a", TEAM, "mine", {"n": 1})
        answers = []
        with opened(whole(), tmp_path) as world, opened(without(GRANT), tmp_path) as other:
            reads = (tracked(world),)
            for copy, changed in ((world, change), (other, _far)):
                since = core_of(copy.store).head()
                changed(copy)
                commit = Commit((call,), since, reads=reads, txn_id="t")
                answers.append(answered(copy, GRANT, commit))
                with pytest.raises(memoranda.TransactionConflict):
                    change_own(copy)
            answer_of_all = answered(
                world, EVERYTHING, Commit((call,), whole().head, reads=reads, txn_id="u")
            )
        assert answers[0] == answers[1]
        assert answers[0].changed
        assert answer_of_all[0] is memoranda.TransactionConflict

    @pytest.mark.parametrize("agent_id", ["a", "b"])
    def test_a_read_of_facts_that_everybody_may_see(self, store: Store, agent_id: str) -> None:
        agent = store.bind(agent_id=agent_id, namespace=TEAM)
        agent.assert_fact(subject="Ann", relation="lives in", object="Bonn")
        since = core_of(store).head()
        agent.assert_fact(subject="Ann", relation="lives in", object="Rome")
        tracked = scope(TEAM, agent_id)
        timeline = read("TimelineRead", scope=tracked, subject="ann", relation="lives in")
        commit = Commit((Write("a", TEAM, "k", {}),), since, reads=(timeline,), txn_id="t")
        with pytest.raises(memoranda.TransactionConflict):
            do(store, commit)


def change_own(world: World) -> None:
    """Commit a transaction that read a key of the agent's own, which has changed since."""
    reads = (read("KeyRead", scope=scope(TEAM, "a"), key="plan"),)
    since = core_of(world.store).head()
    world.store.write(agent_id="a", namespace=TEAM, key="plan", value={"n": 9})
    calls = (Write("a", TEAM, "mine", {"n": 2}),)
    do(world.store, Commit(calls, since, reads=reads, txn_id="own"))


def _far(world: World) -> None:
    world.store.write(agent_id="z", namespace=FAR, key="k", value={"n": 9})


class TestRetries:
    """A call that is sent again under its `txn_id` has one effect, and the same answer."""

    def test_of_a_retraction_by_name(self, store: Store) -> None:
        do(store, AssertFact("a", TEAM, "Ann", "lives in", "Bonn"))
        call = RetractFact("a", TEAM, None, "Ann", "lives in", "Bonn", txn_id="t")
        first = do(store, call)
        assert do(store, call).commit_ts == first.commit_ts

    def test_of_an_erasure(self, store: Store) -> None:
        memory = do(store, Remember("a", TEAM, "Ann lives in Bonn"))
        call = Forget(memory_id=memory.id, txn_id="t")
        first = do(store, call)
        assert do(store, call) == first

    def test_after_what_it_named_is_gone(self, store: Store) -> None:
        memory = do(store, Remember("a", TEAM, "Ann lives in Bonn"))
        call = Commit((Touch(memory.id), Write("a", TEAM, "k", {})), txn_id="t")
        first = do(store, call)
        do(store, RetractMemory(memory.id))
        assert do(store, call) == first

    def test_of_what_was_done_elsewhere_finds_nothing(self, store: Store) -> None:
        memory = store.remember("Ann lives in Bonn", agent_id="a", namespace=ELSEWHERE)
        call = Touch(memory.id, txn_id="t")
        do(store, call, Grant("a"))
        with pytest.raises(NotFound) as caught:
            do(store, call)
        with pytest.raises(NotFound) as missing:
            do(store, Touch(memory.id, txn_id="other"))
        assert str(caught.value) == str(missing.value)

    def test_what_a_transaction_wrote_elsewhere_is_not_told(self, store: Store) -> None:
        own, foreign = Remember("a", TEAM, "here"), Remember("a", ELSEWHERE, "there")
        here, _ = do(store, Commit((own, foreign), txn_id="both"), Grant("a")).ids
        do(store, Commit((foreign,), txn_id="elsewhere"), Grant("a"))
        assert ask(store, GetCommittedItems("both")).memories == (here,)
        assert ask(store, GetCommittedItems("elsewhere")) is None
        assert ask(store, GetCommittedItems("elsewhere"), Grant("a")) is not None


class TestChains:
    """Errors about chains of links are told without what is not covered on the way."""

    def test_a_cycle_through_what_is_not_covered(self, store: Store) -> None:
        first, last = (do(store, Remember("a", TEAM, text)).id for text in ("first", "last"))
        between = store.remember("between", agent_id="b", namespace=ELSEWHERE).id
        for source, target in ((first, between), (between, last)):
            store.link(source=source, target=target, relation="derived_from")
        with pytest.raises(LinkCycle) as caught:
            do(store, Link(last, first, "derived_from"))
        assert caught.value.path == (last, first, None, last)
        assert between not in str(caught.value)
        assert HIDDEN in str(caught.value)
        assert caught.value.__cause__ is None

    def test_a_cycle_through_a_draft_is_told(self, store: Store) -> None:
        memory = do(store, Remember("a", TEAM, "first")).id
        title = Remember("a", TEAM, "second", "second")
        draft = do(store, Commit((title,), txn_id="t")).ids[0]
        with pytest.raises(LinkCycle) as caught:
            do(
                store,
                Commit((Link(draft, memory, "derived_from"), Link(memory, draft, "derived_from")),
                       txn_id="u"),
            )  # fmt: skip
        assert None not in caught.value.path

    def test_reflections_that_are_too_deep_elsewhere(self, store: Store) -> None:
        store.configure(namespace=ELSEWHERE, max_reflection_depth=1)
        base, upper = (do(store, Remember("a", TEAM, text)).id for text in ("base", "upper"))
        store.reflect("on it", on=[upper], agent_id="b", namespace=ELSEWHERE)
        with pytest.raises(ReflectionTooDeep) as caught:
            do(store, Link(upper, base, "reflects_on"))
        error = caught.value
        assert (error.namespace, error.depth, error.limit) == (None, None, None)
        assert error.memory_ids == (upper, base)
        assert ELSEWHERE not in str(error)

    def test_reflections_that_are_too_deep_here(self, store: Store) -> None:
        store.configure(namespace=TEAM, max_reflection_depth=1)
        base = do(store, Remember("a", TEAM, "base")).id
        upper = do(store, Reflect("a", TEAM, "upper", on=(base,))).id
        with pytest.raises(ReflectionTooDeep) as caught:
            do(store, Reflect("a", TEAM, "too high", on=(upper,)))
        assert (caught.value.namespace, caught.value.limit) == (TEAM, 1)


class TestLinks:
    def test_dependents_elsewhere_get_notices_that_are_not_told(self, store: Store) -> None:
        base = do(store, Remember("a", TEAM, "base")).id
        old = do(store, Reflect("a", TEAM, "old", on=(base,))).id
        new = do(store, Remember("a", TEAM, "new", kind="reflection")).id
        own = do(store, Reflect("a", TEAM, "on it", on=(old,))).id
        foreign = store.reflect("on it", on=[old], agent_id="b", namespace=ELSEWHERE).id
        assert do(store, Supersede(old, new)).notified == (own,)
        (notice,) = store.invalidations(agent_id="b")
        assert notice.dependent_id == foreign

    def test_a_replayed_link_names_no_dependents_elsewhere(self, store: Store) -> None:
        base, upper = (do(store, Remember("a", TEAM, text)).id for text in ("base", "upper"))
        foreign = store.reflect("on it", on=[upper], agent_id="b", namespace=ELSEWHERE).id
        do(store, Link(upper, base, "reflects_on"))

        def deepened(grant: Grant) -> set[str]:
            events = ask(store, Replay("a", TEAM), grant).next_page()
            links = (op for event in events for op in event.operations if isinstance(op, AddLink))
            return {change.memory_id for link in links for change in link.depths}

        assert deepened(EVERYTHING) == {upper, foreign}
        assert deepened(GRANT) == {upper}


class TestErasures:
    def test_a_certificate_counts_what_is_covered(self, store: Store) -> None:
        memory = do(store, Remember("a", TEAM, "Ann lives in Bonn"))
        store.bind(agent_id="b", namespace=ELSEWHERE).assert_fact(
            subject="Ann", relation="lives in", object=MARK, source=memory
        )
        certificate = do(store, Forget(memory_id=memory.id))
        assert (certificate.operations, certificate.events) == (1, 1)
        (stored,) = store.erasures()
        assert (stored.operations, stored.events) == (2, 2)

    def test_what_is_derived_is_not_forgotten_elsewhere(self, store: Store) -> None:
        words = store.store_transcript("Ann: I live in Bonn.", agent_id="a", namespace=TEAM)
        store.remember("Ann lives in Bonn", transcript=words, agent_id="b", namespace=ELSEWHERE)
        for transcript_id in (words.id, "00000000-0000-7000-8000-000000000000"):
            with pytest.raises(PermissionDenied, match="what is derived"):
                do(store, Forget(transcript_id=transcript_id, derived=True))


class TestFeeds:
    def test_a_feed_shows_covered_events_as_they_come(self, tmp_path: Path) -> None:
        pages = []
        with opened(whole(), tmp_path) as world, opened(without(GRANT), tmp_path) as other:
            for copy, foreign in ((world, True), (other, False)):
                feed: Any = ask(copy.store, Subscribe(None, None))
                for number in range(6):
                    if number % 2:
                        answered(copy, GRANT, Write("a", TEAM, "mine", {"n": number}), number)
                    elif foreign:
                        copy.store.write(agent_id="b", namespace=TEAM, key="k", value={"v": MARK})
                    else:
                        _far(copy)
                    pages.append((copy is world, number, comparable(feed.next_page())))
        seen, alone = ([page[1:] for page in pages if page[0] is side] for side in (True, False))
        assert seen == alone
        assert [len(events) for _, events in seen] == [0, 1] * 3

    def test_a_cursor_needs_everything(self, store: Store) -> None:
        for name in ("there", "new"):
            if name == "there":
                list_all = ask(store, Subscribe(None, None, 0, cursor=name), EVERYTHING)
                list_all.next_page()
            with pytest.raises(PermissionDenied, match="a subscription with a cursor"):
                ask(store, Subscribe("a", TEAM, 0, cursor=name))
