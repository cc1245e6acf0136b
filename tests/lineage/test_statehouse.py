"""Every Python block of Statehouse's replay document, with its calls and what it claims of them.

A test's docstring names the section and the block. What had to be put otherwise is in
`corrections.py`; that no block is missing is checked in `test_statehouse_complete.py`.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Barrier
from typing import Any, cast

import pytest

from memoranda import ALL_NAMESPACES, InvalidInput, Operation, OperationType, ReplayEvent, Store
from memoranda.model.clock import to_micros
from memoranda.testing import FixedClock, memory_store, same_behaviour
from tests.lineage.corrections import corrected
from tests.patience import HANG_SECONDS


def keys(events: Iterable[ReplayEvent]) -> list[str]:
    """Return the keys of all operations, in order."""
    return [operation.key for event in events for operation in event.operations]


@corrected("one-event-many-operations")
def test_overview_1_replay_tells_what_an_agent_did(client: Store) -> None:
    """Overview, block 1: a line for each thing the agent did, in the order it was done."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="agent-1", key="plan", value={"steps": 2})
        tx.delete(agent_id="agent-1", key="draft")
    client.write(agent_id="agent-1", key="plan", value={"steps": 3})

    reports = [
        f"[{event.timestamp}] {operation.type.name} {operation.key}"
        for event in client.replay(agent_id="agent-1")
        for operation in event.operations
    ]

    assert reports == [
        "[2026-01-01T00:00:00.000000Z] WRITE plan",
        "[2026-01-01T00:00:00.000000Z] DELETE draft",
        "[2026-01-01T00:00:00.000001Z] WRITE plan",
    ]


def test_completeness_1_what_was_committed_and_nothing_else(client: Store) -> None:
    """1. Completeness, block 1: the committed write appears, the aborted one does not."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k", value={"x": 1})
    tx = client.begin_transaction()
    tx.write(agent_id="a1", key="k", value={"x": 2})
    tx.abort()

    (event,) = client.replay(agent_id="a1")

    assert [operation.value for operation in event.operations] == [{"x": 1}]


@corrected("comments-are-no-body")
def test_ordering_1_the_order_of_commits_not_of_beginnings(client: Store) -> None:
    """2. Ordering, block 1: B began second and committed first, so B comes before A."""
    for number in range(9):
        client.write(agent_id="somebody-else", key="n", value={"n": number})
    tx_a = client.begin_transaction()
    tx_a.write(agent_id="a1", key="ka", value={"x": 1})
    tx_b = client.begin_transaction()
    tx_b.write(agent_id="a1", key="kb", value={"y": 2})

    assert tx_b.commit() == 10
    assert tx_a.commit() == 11

    replayed = [(event.commit_ts, *keys([event])) for event in client.replay(agent_id="a1")]
    assert replayed == [(10, "kb"), (11, "ka")]


def test_atomicity_1_one_event_with_three_operations(client: Store) -> None:
    """3. Atomicity, block 1: a transaction of three operations is one event."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k1", value={"x": 1})
        tx.write(agent_id="a1", key="k2", value={"y": 2})
        tx.delete(agent_id="a1", key="k3")

    (event,) = client.replay(agent_id="a1")

    assert [(operation.type, operation.key) for operation in event.operations] == [
        (OperationType.WRITE, "k1"),
        (OperationType.WRITE, "k2"),
        (OperationType.DELETE, "k3"),
    ]


def test_isolation_1_an_agent_sees_its_own_events(client: Store) -> None:
    """4. Isolation, block 1: of two agents that use one key, each has its own event."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="agent-1", key="k", value={"x": 1})
    with client.begin_transaction() as tx:
        tx.write(agent_id="agent-2", key="k", value={"x": 2})

    events = list(client.replay(agent_id="agent-1"))

    assert len(events) == 1
    assert all(event.operations[0].agent_id == "agent-1" for event in events)
    assert events[0].operations[0].value == {"x": 1}


def test_consistency_1_the_last_event_is_the_state(client: Store) -> None:
    """5. Consistency, block 1: both writes are replayed, and the last one is the state."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k1", value={"x": 1})
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k1", value={"x": 2})

    events = list(client.replay(agent_id="a1"))
    assert len(events) == 2

    state = client.get_state(agent_id="a1", key="k1")
    assert state is not None
    assert state.value == events[-1].operations[0].value == {"x": 2}


@corrected("frozen-values")
def test_event_structure_1_the_fields_of_an_event(client: Store) -> None:
    """Event Structure, block 1: which transaction, its number, its time, what it did."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k", value={"x": 1})

    (event,) = client.replay(agent_id="a1")

    assert isinstance(event, ReplayEvent)
    assert event.txn_id == tx.txn_id
    assert event.commit_ts == tx.commit_ts == 1
    assert datetime.fromisoformat(event.timestamp) == event.committed_at
    assert all(isinstance(operation, Operation) for operation in event.operations)
    assert [event] == list(client.replay(agent_id="a1"))
    for name in ("txn_id", "commit_ts", "timestamp", "operations"):
        with pytest.raises(AttributeError):
            setattr(event, name, None)


@corrected("frozen-values")
def test_event_structure_2_the_fields_of_an_operation(client: Store) -> None:
    """Event Structure, block 2: what was done, to whose key, the value, the key's version."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", namespace="team/eng", key="k", value={"x": 1})
        tx.delete(agent_id="a1", namespace="team/eng", key="k")

    (event,) = client.replay(agent_id="a1", namespace="team/eng")
    fields = ("type", "namespace", "agent_id", "key", "value", "version")
    write, delete = (
        [getattr(operation, name) for name in fields] for operation in event.operations
    )

    assert write == [OperationType.WRITE, "team/eng", "a1", "k", {"x": 1}, 1]
    assert delete == [OperationType.DELETE, "team/eng", "a1", "k", None, 2]
    for name in fields:
        with pytest.raises(AttributeError):
            setattr(event.operations[0], name, None)


@corrected("end-bounds")
def test_by_time_range_1_from_is_in_and_to_is_out(client: Store, clock: FixedClock) -> None:
    """By Time Range, block 1: the hour from ten, with ten o'clock and without eleven."""
    for moment in ("09:59:59.999999", "10:00:00", "10:59:59.999999", "11:00:00"):
        instant = f"2026-02-07T{moment}Z"
        clock.step((to_micros("moment", instant) - clock.now()) / 1_000_000)
        client.write(agent_id="a1", key=moment, value={})

    within = client.replay(
        agent_id="a1",
        from_timestamp="2026-02-07T10:00:00Z",
        to_timestamp="2026-02-07T11:00:00Z",
    )

    assert keys(within) == ["10:00:00", "10:59:59.999999"]


def test_by_namespace_1_only_that_namespace(client: Store) -> None:
    """By Namespace, block 1: what the agent did elsewhere is left out."""
    for namespace in ("production", "production/canary", "staging", "default"):
        client.write(agent_id="a1", namespace=namespace, key="k", value={})

    events = list(client.replay(agent_id="a1", namespace="production"))

    assert [operation.namespace for event in events for operation in event.operations] == [
        "production"
    ]


def test_by_agent_1_all_namespaces_of_an_agent(client: Store) -> None:
    """By Agent, block 1: asked one by one, the namespaces give all events of the agent."""
    for namespace in ("prod", "dev", "staging", "dev"):
        client.write(agent_id="a1", namespace=namespace, key=namespace, value={})
        client.write(agent_id="a2", namespace=namespace, key="not mine", value={})

    result = [
        event
        for namespace in ("dev", "staging", "prod")
        for event in client.replay(agent_id="a1", namespace=namespace)
    ]

    assert keys(result) == ["dev", "dev", "staging", "prod"]
    in_order = sorted(result, key=lambda event: event.commit_ts)
    assert list(client.replay(agent_id="a1", namespace=ALL_NAMESPACES)) == in_order


@pytest.mark.slow
@corrected("names-left-open")
def test_streaming_1_memory_does_not_grow_with_the_history(client: Store) -> None:
    """Streaming, block 1: each event is processed at once, and its memory is free again."""
    size, count = 2_048, 3_000
    for number in range(count):
        client.write(agent_id="a1", key=f"{number}", value={"text": "x" * size})
    seen = 0

    def process(event: ReplayEvent) -> None:
        nonlocal seen
        assert event.operations[0].key == f"{seen}"
        seen += 1

    tracemalloc.start()
    try:
        for event in client.replay(agent_id="a1"):
            process(event)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert seen == count
    assert peak < size * count / 2


def test_debugging_1_find_the_wrong_decision(client: Store) -> None:
    """1. Debugging, block 1: all the agent did, then the writes of one key among it."""
    agent = client.bind(agent_id="problematic-agent")
    agent.write(key="input", value={"score": 0.4})
    agent.write(key="decision", value={"approve": True})

    output = [
        f"[{event.timestamp}] {event.operations}"
        for event in client.replay(agent_id="problematic-agent")
    ]
    decisions = [
        f"Decision at {event.timestamp}: {operation.value}"
        for event in client.replay(agent_id="problematic-agent")
        for operation in event.operations
        if operation.key == "decision"
    ]

    assert len(output) == 2
    assert "write('input', version=1, value={'score': 0.4}" in output[0]
    assert decisions == ["Decision at 2026-01-01T00:00:00.000001Z: {'approve': True}"]


def test_auditing_1_export_what_an_agent_did(client: Store, tmp_path: Path) -> None:
    """2. Auditing, block 1: a line of JSON for each transaction."""
    with client.begin_transaction(txn_id="approval") as tx:
        tx.write(agent_id="audit-agent", key="decision", value={"approve": True})
        tx.delete(agent_id="audit-agent", key="draft")

    with (tmp_path / "audit.jsonl").open("w") as file:
        for event in client.replay(agent_id="audit-agent"):
            line = {
                "timestamp": event.timestamp,
                "txn_id": event.txn_id,
                "operations": [
                    {"type": operation.type.name, "key": operation.key, "value": operation.value}
                    for operation in event.operations
                ],
            }
            file.write(json.dumps(line) + "\n")

    (exported,) = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert json.loads(exported) == {
        "timestamp": "2026-01-01T00:00:00.000000Z",
        "txn_id": "approval",
        "operations": [
            {"type": "WRITE", "key": "decision", "value": {"approve": True}},
            {"type": "DELETE", "key": "draft", "value": None},
        ],
    }


def test_state_reconstruction_1_from_nothing_to_now(client: Store) -> None:
    """3. State Reconstruction, block 1: replayed writes and deletes give the current state."""
    client.write(agent_id="a1", key="kept", value={"x": 1})
    client.write(agent_id="a1", key="gone", value={"x": 1})
    client.write(agent_id="a1", key="kept", value={"x": 2})
    client.delete(agent_id="a1", key="gone")
    client.delete(agent_id="a1", key="never there")
    state: dict[str, Any] = {}

    for event in client.replay(agent_id="a1"):
        for operation in event.operations:
            if operation.type == OperationType.WRITE:
                state[operation.key] = operation.value
            elif operation.type == OperationType.DELETE:
                state.pop(operation.key, None)

    assert state == {"kept": {"x": 2}}
    now = client.scan_prefix(agent_id="a1", prefix="")
    assert state == {entry.key: entry.value for entry in now}


class CountingAgent:
    """Counts the words and the letters of what it is given, in two transactions."""

    id = "counting-agent"

    def __init__(self, client: Store) -> None:
        self._store = client.bind(agent_id=self.id)

    def run(self, input: str) -> None:  # noqa: A002
        """Write what was found, and how it was found."""
        with self._store.begin_transaction() as tx:
            tx.write(key="input", value={"text": input})
            tx.write(key="words", value={"count": len(input.split())})
        with self._store.begin_transaction() as tx:
            tx.write(key="letters", value={"count": sum(map(str.isalpha, input))})

    def reset(self) -> None:
        """Forget the last run; its history stays."""
        with self._store.begin_transaction() as tx:
            for key in list(self._store.list_keys()):
                tx.delete(key=key)


@corrected("determinism", "names-left-open")
def test_testing_1_two_runs_that_do_the_same(client: Store) -> None:
    """4. Testing, block 1: run, reset, run again: what was done is the same."""
    agent = CountingAgent(client)
    agent.run(input="test input")
    events_1 = list(client.replay(agent_id=agent.id))

    agent.reset()
    *_, reset = client.replay(agent_id=agent.id)
    agent.run(input="test input")
    events_2 = list(client.replay(agent_id=agent.id, after_commit=reset.token))

    assert len(events_1) == len(events_2) == 2
    assert same_behaviour(events_1, events_2)
    assert events_1 != events_2


@corrected("determinism")
def test_testing_1_a_run_that_does_something_else_is_told(client: Store) -> None:
    """4. Testing, block 1, the other way round: the comparison says where two runs part."""
    agent = CountingAgent(client)
    agent.run(input="one thing")
    events_1 = list(client.replay(agent_id=agent.id))
    agent.run(input="one thought")
    events_2 = list(client.replay(agent_id=agent.id, after_commit=events_1[-1].token))

    result = same_behaviour(events_1, events_2)

    assert not result
    assert "event 1" in str(result.difference)
    assert "one thought" in str(result.difference)


@corrected("determinism")
def test_testing_1_two_stores_are_equal_to_the_last_byte() -> None:
    """4. Testing, block 1, as it is written: with equal clocks and ids, replays are equal."""

    def events() -> list[ReplayEvent]:
        with memory_store() as client:
            CountingAgent(client).run(input="test input")
            return list(client.replay(agent_id=CountingAgent.id))

    events_1, events_2 = events(), events()
    assert len(events_1) == 2
    assert events_1 == events_2


def test_provenance_tracking_1_from_the_answer_to_its_sources(client: Store) -> None:
    """5. Provenance Tracking, block 1: the step and the answer, each with what it rests on."""
    with client.begin_transaction() as tx:
        tx.write(
            agent_id="research-agent",
            key="step:1",
            value={"action": "search", "query": "replay", "sources": ["doc1.pdf", "doc2.pdf"]},
        )
        tx.write(
            agent_id="research-agent",
            key="answer",
            value={"text": "From the log.", "based_on": ["step:1"]},
        )

    reports: list[str] = []
    for event in client.replay(agent_id="research-agent"):
        for operation in event.operations:
            assert operation.value is not None
            if "answer" in operation.key:
                reports.append(f"Answer: {operation.value['text']}")
                reports.append(f"Based on: {operation.value['based_on']}")
            elif "step:" in operation.key:
                reports.append(f"Step: {operation.value['action']}")
                reports.append(f"Sources: {operation.value['sources']}")

    assert reports == [
        "Step: search",
        "Sources: ['doc1.pdf', 'doc2.pdf']",
        "Answer: From the log.",
        "Based on: ['step:1']",
    ]


def test_empty_replay_1_is_empty_and_no_error(client: Store) -> None:
    """Empty Replay, block 1: an agent nobody has heard of has done nothing."""
    client.write(agent_id="old-agent", key="k", value={})

    events = list(client.replay(agent_id="new-agent"))

    assert events == []


def test_concurrent_replay_1_two_threads_see_the_same(connect: Callable[[], Store]) -> None:
    """Concurrent Replay, block 1: two clients, the same agent, the same time."""
    client1, client2 = connect(), connect()
    with client1.begin_transaction() as tx:
        tx.write(agent_id="a1", key="first", value={})
    for number in range(600):
        client1.write(agent_id="a1", key="n", value={"n": number})
    together = Barrier(2)

    def replay(client: Store) -> list[ReplayEvent]:
        together.wait(timeout=HANG_SECONDS)
        return list(client.replay(agent_id="a1"))

    with ThreadPoolExecutor(2) as threads:
        seen1, seen2 = threads.map(replay, (client1, client2))

    assert len(seen1) == 601
    assert seen1 == seen2


def test_replay_during_writes_1_ends_where_it_began(client: Store) -> None:
    """Replay During Writes, block 1: what is committed behind the call is not in it."""
    client.write(agent_id="a1", key="old", value={})

    replay_iter = client.replay(agent_id="a1")
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="new", value={"x": 1})

    assert keys(replay_iter) == ["old"]


def test_replay_during_writes_2_a_new_replay_has_the_new_write(client: Store) -> None:
    """Replay During Writes, block 2: whoever wants the new events asks again."""
    client.write(agent_id="a1", key="old", value={})
    client.replay(agent_id="a1")
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="new", value={"x": 1})

    assert keys(client.replay(agent_id="a1")) == ["old", "new"]


def write_then_delete(client: Store) -> None:
    """Do what the section on deleted keys does."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="temp", value={"x": 1})
    with client.begin_transaction() as tx:
        tx.delete(agent_id="a1", key="temp")


def test_deleted_keys_1_the_deletion_is_an_event(client: Store) -> None:
    """Deleted Keys, block 1: the write and the delete are both replayed."""
    write_then_delete(client)

    events = list(client.replay(agent_id="a1"))

    assert len(events) == 2
    assert events[0].operations[0].type == OperationType.WRITE
    assert events[1].operations[0].type == OperationType.DELETE


def test_deleted_keys_2_the_state_has_no_such_key(client: Store) -> None:
    """Deleted Keys, block 2: what was deleted is not there."""
    write_then_delete(client)

    result = client.get_state(agent_id="a1", key="temp")

    assert result is None


@corrected("placeholder-values", "names-left-open")
def test_structure_keys_1_find_by_prefix(client: Store) -> None:
    """1. Structure Keys for Replay, block 1: the operations of one session."""
    client.write(agent_id="a1", key="session:2026-02-06:question", value={"text": "Who?"})
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="session:2026-02-07:question", value={"text": "Why?"})
        tx.write(agent_id="a1", key="session:2026-02-07:answer", value={"text": "Because."})

    values = [
        operation.value
        for event in client.replay(agent_id="a1")
        for operation in event.operations
        if operation.key.startswith("session:2026-02-07:")
    ]

    assert values == [{"text": "Why?"}, {"text": "Because."}]
    with pytest.raises(InvalidInput, match="set"):
        client.write(agent_id="a1", key="k", value=cast(Any, {...}))


@corrected("names-left-open")
def test_include_metadata_1_the_reason_is_kept_with_the_decision(client: Store) -> None:
    """2. Include Metadata, block 1: numbers, text and times come back as they were given."""
    decision = {
        "decision": "approve",
        "reason": "score > threshold",
        "score": 0.95,
        "threshold": 0.8,
        "timestamp": "2026-02-07T12:00:00Z",
        "model": "gpt-4",
    }
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="decision:123", value=decision)

    (event,) = client.replay(agent_id="a1")

    assert event.operations[0].key == "decision:123"
    assert event.operations[0].value == decision


@corrected("names-left-open")
def test_periodic_summaries_1_every_hundred_steps(client: Store, clock: FixedClock) -> None:
    """3. Periodic Summaries, block 1: a summary stands in the log with the step it sums up."""
    right = 0
    last_checkpoint = clock.now()
    for step in range(1, 251):
        right += step % 4 != 0
        with client.begin_transaction() as tx:
            tx.write(agent_id="a1", key="decision", value={"step": step})
            if step % 100 == 0:
                tx.write(
                    agent_id="a1",
                    key=f"summary:step-{step}",
                    value={
                        "step": step,
                        "total_decisions": step,
                        "accuracy": right / step,
                        "last_checkpoint": last_checkpoint,
                    },
                )

    summed_up = {
        event.operations[1].key: (event.operations[0].value, event.operations[1].value)
        for event in client.replay(agent_id="a1")
        if len(event.operations) > 1
    }
    assert summed_up == {
        f"summary:step-{step}": (
            {"step": step},
            {
                "step": step,
                "total_decisions": step,
                "accuracy": 0.75,
                "last_checkpoint": last_checkpoint,
            },
        )
        for step in (100, 200)
    }


class MyAgent:
    """Looks at what is there and writes what it expects."""

    id = "my-agent"

    def __init__(self, client: Store) -> None:
        self._client = client

    def run(self) -> None:
        """Do the one thing it can."""
        with self._client.begin_transaction() as tx:
            record = tx.get_state(agent_id=self.id, key="expected_key")
            runs = record.value["runs"] if record else 0
            tx.write(agent_id=self.id, key="expected_key", value={"runs": runs + 1})


@corrected("names-left-open")
def test_test_replay_1_an_agent_is_tested_by_its_replay(client: Store) -> None:
    """4. Test Replay, block 1: the replay is not empty, and has the expected operation."""
    agent = MyAgent(client)
    agent.run()

    events = list(client.replay(agent_id=agent.id))

    assert len(events) > 0
    assert any(
        operation.key == "expected_key" for event in events for operation in event.operations
    )
