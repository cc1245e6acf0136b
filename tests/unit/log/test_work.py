"""What reading costs in large transactions: it grows with what is read, not with its square."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memoranda import ALL_AGENTS, ALL_NAMESPACES, KeyRef, Store, ViewsDiffer
from memoranda.storage.port import Writer
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.work import Work, counted, grows_with

FEW, TIMES = 150, 10
MANY = FEW * TIMES


def filled(count: int) -> Store:
    """Return a store with two transactions over so many keys, each resting on the one before."""
    store = memory_store().bind(agent_id="a")
    for turn in (1, 2):
        with store.begin_transaction(timeout=300) as tx:
            for number in range(count):
                because = [KeyRef(key(number - 1), turn)] if number else []
                tx.write(key=key(number), value={"turn": turn, "n": number}, because=because)
    return store


def key(number: int) -> str:
    return f"key-{number:05}"


@pytest.fixture(scope="module")
def stores() -> Iterator[tuple[Store, Store]]:
    instance = filled(FEW), filled(MANY)
    yield instance
    for store in instance:
        store.close()


def work_of(stores: tuple[Store, Store], read: Callable[[Store, int], object]) -> list[Work]:
    done = []
    for store, count in zip(stores, (FEW, MANY), strict=True):
        with counted(store) as work:
            read(store, count)
        done.append(work)
    return done


def check(small: Work, large: Work) -> None:
    assert grows_with(small.decoded, large.decoded, TIMES), vars(large)
    assert grows_with(small.split, large.split, TIMES), vars(large)
    assert grows_with(small.steps, large.steps, TIMES), (vars(small), vars(large))


def test_a_difference(stores: tuple[Store, Store]) -> None:
    def read(store: Store, count: int) -> None:
        assert sum(1 for _ in store.diff(old=1, new=2)) == count

    small, large = work_of(stores, read)
    check(small, large)
    assert large.decoded == 2 * MANY, "each of both values once"


def test_a_scan_of_the_past(stores: tuple[Store, Store]) -> None:
    def read(store: Store, count: int) -> None:
        assert sum(1 for _ in store.scan_prefix(prefix="", at=1)) == count

    check(*work_of(stores, read))


@pytest.mark.parametrize("options", [{"version": 1}, {"at": 1}], ids=repr)
def test_one_key_decodes_one_operation(
    stores: tuple[Store, Store], options: dict[str, Any]
) -> None:
    small, large = work_of(stores, lambda store, _: store.get_state(key=key(7), **options))
    assert small.decoded == large.decoded == 1


def test_a_history_decodes_what_it_shows(stores: tuple[Store, Store]) -> None:
    small, large = work_of(stores, lambda store, _: list(store.history(key=key(7))))
    assert small.decoded == large.decoded == 2


def test_versions_of_one_transaction() -> None:
    done = []
    for count in (FEW, MANY):
        store = memory_store().bind(agent_id="a")
        with store.begin_transaction(timeout=300) as tx:
            for number in range(count):
                tx.write(key="k", value={"n": number})
        with counted(store) as work:
            assert len(list(store.history(key="k"))) == count
        done.append(work)
        store.close()
    check(*done)


def test_why_along_a_chain_in_one_transaction(stores: tuple[Store, Store]) -> None:
    def read(store: Store, count: int) -> None:
        reason = store.why(KeyRef(key(count - 1), 2))
        assert sum(1 for _ in reason.walk()) == count
        assert reason.branches() is not None

    check(*work_of(stores, read))


def test_a_deep_reason_is_drawn_as_far_as_it_can_be_read(stores: tuple[Store, Store]) -> None:
    reasons = [
        store.why(KeyRef(key(count - 1), 2))
        for store, count in zip(stores, (FEW, MANY), strict=True)
    ]
    drawing = [str(reason).splitlines() for reason in reasons]
    assert [len(lines) for lines in drawing] == [66, 66]
    assert drawing[0][-1].startswith(f"… and {FEW - 65:,} more, ")
    assert drawing[1][-1].startswith(f"… and {MANY - 65:,} more, ")
    assert max(len(branch.lasts) for branch in reasons[1].branches()) == 64


def test_what_is_erased_while_it_is_read_is_not_shown() -> None:
    """A large event is split once for all pages, but never shown as it was before an erasure."""
    store = memory_store().bind(agent_id="a")
    store.write(key="secret", value={})
    with store.begin_transaction() as tx:
        for number in range(FEW):
            tx.write(key="k", value={"n": number}, because=[KeyRef("secret", 1)])
    versions = iter(store.history(key="k"))
    assert next(versions).because == (KeyRef("secret", 1, "a", "default"),)
    store.forget(key="secret")
    *_, last = versions
    assert last.value == {"n": FEW - 1}
    assert "secret" not in repr(last)
    store.close()


def test_a_replay_of_all_decodes_each_once(stores: tuple[Store, Store]) -> None:
    def read(store: Store, count: int) -> None:
        events = store.replay(namespace=ALL_NAMESPACES)
        assert sum(len(event.operations) for event in events) == 2 * count

    check(*work_of(stores, read))


AGENTS = 40


def shared(commits: int = 5) -> Store:
    """Return a store with transactions of which each of many agents has a part."""
    store = memory_store()
    for turn in range(commits):
        with store.begin_transaction() as tx:
            for number in range(AGENTS):
                tx.write(agent_id=f"a{number}", key="k", value={"n": turn})
                tx.write(agent_id=f"a{number}", key=f"k{turn}", value={}, namespace="other")
            tx.remember("long " * 5_000, agent_id="a0", title=f"t{turn}")
    return store


def shown(store: Store, agent_id: str, **more: Any) -> list[list[tuple[str, str, object]]]:
    events = store.replay(agent_id=agent_id, **more)
    return [
        [(operation.agent_id, operation.key, operation.value) for operation in event.operations]
        for event in events
    ]


def test_a_replay_decodes_what_it_shows_of_transactions_that_many_share() -> None:
    with shared() as store:
        with counted(store) as work:
            assert shown(store, "a7") == [[("a7", "k", {"n": turn})] for turn in range(5)]
        assert work.decoded == 5
        everything = shown(store, "a7", namespace=ALL_NAMESPACES)
        assert [len(event) for event in everything] == [2] * 5
        assert len(shown(store, "a0")[0]) == 2


@pytest.mark.parametrize("target", [{"whole_agent": "a3"}, {"key": "k"}], ids=repr)
def test_what_is_erased_of_a_transaction_that_many_share_is_erased_for_all(
    target: dict[str, Any],
) -> None:
    with shared() as store:
        store.bind(agent_id="a3").forget(**target)
        for agent_id in ("a0", "a7", "a39"):
            part = shown(store, agent_id)
            assert [values[0] for values in part] == [
                (agent_id, "k", {"n": turn}) for turn in range(5)
            ]
        assert all(value is None for event in shown(store, "a3") for _, _, value in event)
        store.verify(deep=True)
        assert store.rebuild().identical


def test_a_part_of_a_transaction_is_of_the_same_event() -> None:
    with shared(1) as store:
        (event,) = store.replay(agent_id="a5")
        (whole,) = (item for item in store.replay(agent_id=ALL_AGENTS) if item.commit_ts == 1)
        assert (event.signature, event.hash, event.actor) == (
            whole.signature,
            whole.hash,
            whole.actor,
        )


def test_a_place_that_is_wrong_shows_nothing_of_others() -> None:
    with shared(1) as store:

        def misplace(writer: Writer) -> None:
            row = writer.row("scope_find", agent_id="a5", namespace="default")
            assert row is not None
            other = writer.row("scope_find", agent_id="a6", namespace="default")
            assert other is not None
            (places,) = [
                item[4]
                for item in writer.rows(
                    "event_places_of_scope", scope_id=other[0], after=0, through=1, limit=1
                )
            ]
            writer.put("event_scope_add", row[0], 1, places, None)

        core_of(store).engine.write(misplace)
        assert shown(store, "a5") == []
        with pytest.raises(ViewsDiffer, match="event_scope"):
            store.verify(deep=True)
