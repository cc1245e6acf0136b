"""Replay: everything an agent did, in order, once, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import ALL_AGENTS, ALL_NAMESPACES, InvalidInput, LogForked, OperationType, Store
from memoranda.testing import FixedClock
from tests.contract.opener import Opener

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def minutes(agent: Store, clock: FixedClock) -> Store:
    """Ten commits, one at each full minute, the even ones by another agent."""
    for minute in range(10):
        agent.write(key="k", value={"minute": minute}, agent_id="a1" if minute % 2 else "a2")
        clock.advance(60)
    return agent


def minutes_of(store: Store, **bounds: Any) -> list[int]:
    events = store.replay(**bounds)
    return [op.value["minute"] for event in events for op in event.operations]  # type: ignore[index]


def test_an_event_tells_everything(agent: Store) -> None:
    with agent.begin_transaction(txn_id="t-1") as transaction:
        transaction.write(key="k1", value={"x": 1})
        transaction.delete(key="k2")
    (event,) = agent.replay()
    assert (event.commit_ts, event.txn_id, event.actor) == (1, "t-1", "a1")
    assert event.committed_at == START
    assert event.timestamp == "2026-01-01T00:00:00.000000Z"
    write, delete = event.operations
    assert (write.type, write.key, write.value, write.version) == (
        OperationType.WRITE,
        "k1",
        {"x": 1},
        1,
    )
    assert (delete.type, delete.key, delete.value, delete.version) == (
        OperationType.DELETE,
        "k2",
        None,
        1,
    )


def test_no_events_is_an_empty_replay(agent: Store) -> None:
    assert list(agent.replay()) == []
    assert list(agent.replay(namespace=ALL_NAMESPACES)) == []


def test_a_shared_event_shows_each_agent_its_own_part(store: Store) -> None:
    with store.begin_transaction() as transaction:
        for number in range(6):
            transaction.write(agent_id=f"a{number % 3}", key=f"k{number}", value={})
    for agent in range(3):
        (event,) = store.replay(agent_id=f"a{agent}")
        assert [op.key for op in event.operations] == [f"k{agent}", f"k{agent + 3}"]
        assert {op.agent_id for op in event.operations} == {f"a{agent}"}


def test_all_agents_are_everybody_but_the_engine(store: Store) -> None:
    with store.begin_transaction() as transaction:
        transaction.write(agent_id="a", key="k", value={})
        transaction.write(agent_id="b", key="j", value={}, namespace="team")
    store.write(agent_id="c", key="i", value={}, namespace="team")

    def seen(**where: Any) -> list[tuple[int, list[str]]]:
        events = store.replay(agent_id=ALL_AGENTS, **where)
        return [(event.commit_ts, [op.key for op in event.operations]) for event in events]

    assert seen() == [(1, ["k"])]
    assert seen(namespace="team") == [(1, ["j"]), (2, ["i"])]
    assert seen(namespace=ALL_NAMESPACES) == [(1, ["k", "j"]), (2, ["i"])]
    assert seen(namespace=ALL_NAMESPACES, after_commit=1) == [(2, ["i"])]


class TestBounds:
    @pytest.mark.parametrize(
        ("first", "last", "wanted"),
        [
            (1, 5, [1, 3]),
            (1.001, 5, [3]),
            (1, 5.001, [1, 3, 5]),
            (0, 99, [1, 3, 5, 7, 9]),
            (6, 6, []),
        ],
    )
    def test_times_include_the_first_and_not_the_last(
        self, minutes: Store, first: float, last: float, wanted: list[int]
    ) -> None:
        begin, end = (START + timedelta(minutes=moment) for moment in (first, last))
        assert minutes_of(minutes, from_timestamp=begin, to_timestamp=end) == wanted
        texts = {"from_timestamp": begin.isoformat(), "to_timestamp": end.isoformat()}
        assert minutes_of(minutes, **texts) == wanted

    def test_commits_exclude_the_first_and_include_the_last(self, minutes: Store) -> None:
        assert minutes_of(minutes, after_commit=2, through_commit=6) == [3, 5]
        assert minutes_of(minutes, after_commit=4) == [5, 7, 9]
        assert minutes_of(minutes, through_commit=4) == [1, 3]
        assert minutes_of(minutes, after_commit=99) == []
        assert minutes_of(minutes, after_commit=2**70) == []
        assert minutes_of(minutes, through_commit=2**70) == [1, 3, 5, 7, 9]
        assert minutes_of(minutes, through_commit=0) == []
        assert minutes_of(minutes, through_commit=99) == [1, 3, 5, 7, 9]

    def test_all_bounds_hold_at_once(self, minutes: Store) -> None:
        bounds: dict[str, Any] = {
            "after_commit": 2,
            "through_commit": 8,
            "from_timestamp": START + timedelta(minutes=4),
            "to_timestamp": START + timedelta(minutes=99),
        }
        assert minutes_of(minutes, **bounds) == [5, 7]

    @pytest.mark.parametrize(
        ("field", "bad"),
        [
            ("after_commit", -1),
            ("after_commit", "nonsense"),
            ("after_commit", "a.b.c"),
            ("after_commit", 1.5),
            ("after_commit", "9" * 5000),
            ("through_commit", -1),
            ("through_commit", True),
            ("from_timestamp", "2026-01-01T00:00"),
            ("to_timestamp", datetime(2026, 1, 1)),  # noqa: DTZ001
            ("to_timestamp", 5),
            ("kinds", ["SCRIBBLE"]),
            ("kinds", [7]),
            ("kinds", 7),
            ("namespace", "a//b"),
        ],
    )
    def test_a_bad_bound_is_refused_at_the_call(self, minutes: Store, field: str, bad: Any) -> None:
        with pytest.raises(InvalidInput, match=field):
            minutes.replay(**{field: bad})


class TestTheEnd:
    def test_it_is_fixed_at_the_call_not_at_the_first_event(self, agent: Store) -> None:
        agent.write(key="k", value={"minute": 0})
        replay = agent.replay()
        agent.write(key="k", value={"minute": 1})
        assert [event.commit_ts for event in replay] == [1]
        assert minutes_of(agent) == [0, 1]

    def test_it_is_fixed_for_an_agent_not_seen_before(self, agent: Store) -> None:
        replay = agent.replay()
        agent.write(key="k", value={})
        assert list(replay) == []


class TestResuming:
    def test_from_every_event(self, minutes: Store) -> None:
        for index, event in enumerate(minutes.replay()):
            assert minutes_of(minutes, after_commit=event.token) == [3, 5, 7, 9][index:]
            assert minutes_of(minutes, after_commit=str(event.commit_ts)) == [3, 5, 7, 9][index:]

    def test_across_a_restart(self, reopen: Opener) -> None:
        first = reopen().bind(agent_id="a")
        for number in range(3):
            first.write(key="k", value={"minute": number})
        token = next(iter(first.replay())).token
        first.close()
        assert minutes_of(reopen().bind(agent_id="a"), after_commit=token) == [1, 2]

    def test_not_in_another_log(self, agent: Store) -> None:
        agent.write(key="k", value={})
        token = next(iter(agent.replay())).token
        log_id, commit_ts, event_hash = token.split(".")
        for forged in (
            f"{log_id[::-1]}.{commit_ts}.{event_hash}",
            f"{log_id}.{commit_ts}.{event_hash[::-1]}",
            f"{log_id}.99.{event_hash}",
            f"{log_id}.{2**70}.{event_hash}",
            f"{log_id}.-1.{event_hash}",
        ):
            with pytest.raises(LogForked, match="start again"):
                agent.replay(after_commit=forged)


class TestKinds:
    def test_only_some_kinds(self, agent: Store) -> None:
        agent.write(key="k", value={})
        with agent.begin_transaction() as transaction:
            transaction.delete(key="k")
            transaction.write(key="j", value={})
        agent.delete(key="j")

        def seen(*kinds: OperationType | str) -> list[tuple[int, list[str]]]:
            events = agent.replay(kinds=kinds)
            return [(event.commit_ts, [op.key for op in event.operations]) for event in events]

        assert seen(OperationType.WRITE) == [(1, ["k"]), (2, ["j"])]
        assert seen("delete") == [(2, ["k"]), (3, ["j"])]
        assert seen("WRITE", OperationType.DELETE) == [(1, ["k"]), (2, ["k", "j"]), (3, ["j"])]
        assert seen() == []
        assert [event.commit_ts for event in agent.replay(kinds="delete")] == [2, 3]


class TestNamespaces:
    def test_each_is_its_own(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number, namespace in enumerate(["dev", "prod", "default", "dev", "prod"], start=1):
            agent.write(key="k", value={"minute": number}, namespace=namespace)
        assert minutes_of(agent) == [3]
        assert minutes_of(agent, namespace="dev") == [1, 4]
        assert minutes_of(agent.bind(namespace="prod")) == [2, 5]
        assert minutes_of(agent, namespace="nowhere") == []
        assert minutes_of(agent, namespace=ALL_NAMESPACES) == [1, 2, 3, 4, 5]

    def test_all_of_them_give_each_event_once(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        with agent.begin_transaction() as transaction:
            for namespace in ("z", "a", "m"):
                transaction.write(key="k", value={}, namespace=namespace)
            transaction.write(key="k", value={}, agent_id="other", namespace="z")
        (event,) = agent.replay(namespace=ALL_NAMESPACES)
        assert [op.namespace for op in event.operations] == ["z", "a", "m"]

    def test_many_of_them_stay_in_commit_order(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(600):
            agent.write(key="k", value={"minute": number}, namespace=f"n{number * 7 % 40}")
        assert minutes_of(agent, namespace=ALL_NAMESPACES) == [*range(600)]
        assert minutes_of(agent, namespace=ALL_NAMESPACES, after_commit=300) == [*range(300, 600)]


def test_a_long_replay_comes_in_pages(agent: Store) -> None:
    for number in range(700):
        agent.write(key=f"k{number % 7}", value={"minute": number})
    assert minutes_of(agent) == [*range(700)]


def test_large_events_do_not_pile_up_in_a_page(agent: Store) -> None:
    for number in range(5):
        agent.write(key="k", value={"minute": number, "text": "x" * 900_000})
    assert minutes_of(agent) == [*range(5)]


def test_applying_a_replay_gives_the_state(agent: Store) -> None:
    for number in range(60):
        if number % 4:
            agent.write(key=f"k{number % 7}", value={"n": number})
        else:
            agent.delete(key=f"k{number % 5}")
    state: dict[str, Any] = {}
    for event in agent.replay():
        for operation in event.operations:
            if operation.type is OperationType.WRITE:
                state[operation.key] = (operation.value, operation.version)
            else:
                state.pop(operation.key, None)
    scanned = {entry.key: (entry.value, entry.version) for entry in agent.scan_prefix(prefix="")}
    assert state == scanned


def test_a_value_in_hand_cannot_change_the_log(agent: Store) -> None:
    agent.write(key="k", value={"x": 1})
    (event,) = agent.replay()
    value = event.operations[0].value
    assert value is not None
    value["x"] = 2
    assert event.operations[0].value == {"x": 1}
    record = agent.get_state(key="k")
    assert record is not None
    record.value["x"] = 3
    again = agent.get_state(key="k")
    assert again is not None
    assert again.value == {"x": 1}
