"""State: versions, the past, scans, histories, differences, and what a value rests on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memoranda import FactRef, InvalidInput, KeyRef, MemoryRef, NotFound, Store
from memoranda.model.operations import Write
from memoranda.model.refs import Ref, RefLike
from memoranda.testing import FixedClock
from tests.contract.opener import Opener


def test_a_key_never_written_has_no_value(agent: Store) -> None:
    assert agent.get_state(key="k") is None
    assert agent.get_state(key="k", at=0) is None
    assert agent.get_state(key="k", version=1) is None
    assert list(agent.history(key="k")) == []


def test_a_record_says_when_it_was_committed(agent: Store, clock: FixedClock) -> None:
    agent.write(key="other", value={})
    agent.write(key="k", value={"x": [1, 2.5, None, True, "é"]})
    record = agent.get_state(key="k")
    assert record is not None
    assert (record.value, record.version) == ({"x": [1, 2.5, None, True, "é"]}, 1)
    assert record.commit_ts == 2
    assert record.committed_at == datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)


def test_members_keep_their_order(agent: Store) -> None:
    agent.write(key="k", value={"z": 1, "a": {"y": 1, "b": 2}})
    record = agent.get_state(key="k")
    assert record is not None
    assert list(record.value) == ["z", "a"]
    assert list(record.value["a"]) == ["y", "b"]


class TestVersions:
    def test_each_write_and_delete_takes_the_next(self, agent: Store) -> None:
        agent.delete(key="k")
        agent.write(key="k", value={"x": 1})
        agent.delete(key="k")
        with agent.begin_transaction() as transaction:
            transaction.delete(key="k")
            transaction.write(key="k", value={"x": 2})
            transaction.write(key="k", value={"x": 3})
        versions = [(entry.version, entry.value) for entry in agent.history(key="k")]
        assert versions == [
            (1, None),
            (2, {"x": 1}),
            (3, None),
            (4, None),
            (5, {"x": 2}),
            (6, {"x": 3}),
        ]

    def test_they_survive_a_restart(self, reopen: Opener) -> None:
        store = reopen().bind(agent_id="a")
        store.write(key="k", value={})
        store.delete(key="k")
        store.close()
        again = reopen().bind(agent_id="a")
        again.write(key="k", value={"back": True})
        record = again.get_state(key="k")
        assert record is not None
        assert record.version == 3

    def test_each_can_be_read_again(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1})
        agent.delete(key="k")
        with agent.begin_transaction() as transaction:
            transaction.write(key="k", value={"x": 3})
            transaction.write(key="k", value={"x": 4})
        result = [agent.get_state(key="k", version=version) for version in range(1, 6)]
        assert [record and (record.value, record.commit_ts) for record in result] == [
            ({"x": 1}, 1),
            None,
            ({"x": 3}, 3),
            ({"x": 4}, 3),
            None,
        ]

    def test_a_version_that_was_made_later_is_not_there_yet(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1})
        agent.write(key="k", value={"x": 2})
        assert agent.get_state(key="k", version=2, at=1) is None
        assert agent.get_state(key="k", version=1, at=2) is not None


class TestThePast:
    @pytest.fixture
    def times(self, agent: Store, clock: FixedClock) -> list[datetime]:
        """Five commits a minute apart: write, write, another key, delete, write."""
        for step in range(5):
            clock.advance(60)
            if step == 2:
                agent.write(key="other", value={})
            elif step == 3:
                agent.delete(key="k")
            else:
                agent.write(key="k", value={"step": step})
        return [event.committed_at for event in agent.replay()]

    def steps(self, agent: Store, moments: list[object]) -> list[object]:
        result = [agent.get_state(key="k", at=moment) for moment in moments]  # type: ignore[arg-type]
        return [record and record.value["step"] for record in result]

    def test_at_a_commit(self, agent: Store, times: list[datetime]) -> None:
        assert self.steps(agent, [0, 1, 2, 3, 4, 5, 99, 2**70]) == [None, 0, 1, 1, None, 4, 4, 4]

    def test_at_a_time(self, agent: Store, times: list[datetime]) -> None:
        before = [time - timedelta(microseconds=1) for time in times]
        long_after = times[-1] + timedelta(days=9999)
        assert self.steps(agent, [*times, long_after]) == [0, 1, 1, None, 4, 4]
        assert self.steps(agent, [*before]) == [None, 0, 1, 1, None]

    def test_a_time_may_have_any_offset(self, agent: Store, times: list[datetime]) -> None:
        kathmandu = timezone(timedelta(hours=5, minutes=45))
        moment = times[1].astimezone(kathmandu)
        texts: list[object] = [
            moment,
            moment.isoformat(),
            times[1].isoformat().replace("+00:00", "Z"),
        ]
        assert "+05:45" in moment.isoformat()
        assert self.steps(agent, texts) == [1, 1, 1]

    def test_keys_and_scans(self, agent: Store, times: list[datetime]) -> None:
        assert [list(agent.list_keys(at=at)) for at in range(6)] == [
            [],
            ["k"],
            ["k"],
            ["k", "other"],
            ["other"],
            ["k", "other"],
        ]
        scanned = list(agent.scan_prefix(prefix="k", at=times[1]))
        assert [(entry.key, entry.value, entry.version) for entry in scanned] == [
            ("k", {"step": 1}, 2)
        ]
        assert (scanned[0].commit_ts, scanned[0].committed_at) == (2, times[1])

    @pytest.mark.parametrize(
        "moment", [-1, "yesterday", "2026-1-1", "2026-01-01T00:00:00", True, 1.5]
    )
    def test_what_is_no_moment_is_refused(self, agent: Store, moment: object) -> None:
        with pytest.raises(InvalidInput, match="at"):
            agent.get_state(key="k", at=moment)  # type: ignore[arg-type]

    def test_a_naive_time_is_refused(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="no offset"):
            agent.get_state(key="k", at=datetime(2026, 1, 1))  # noqa: DTZ001


class TestScans:
    KEYS = (
        "",
        "!",
        "a",
        "a\x01",
        "a!",
        "ab",
        "b",
        "z",
        "é",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "😀",
        "\U0010ffff",
    )

    def test_keys_come_in_the_order_of_their_bytes(self, agent: Store) -> None:
        keys = [prefix + suffix for prefix in self.KEYS if prefix for suffix in self.KEYS]
        with agent.begin_transaction() as transaction:
            for key in reversed(keys):
                transaction.write(key=key, value={})
        ordered = sorted(set(keys), key=str.encode)
        assert list(agent.list_keys()) == ordered
        for prefix in self.KEYS:
            target = [key for key in ordered if key.startswith(prefix)]
            assert list(agent.list_keys(prefix=prefix)) == target
            assert [entry.key for entry in agent.scan_prefix(prefix=prefix)] == target

    def test_a_prefix_is_taken_literally(self, agent: Store) -> None:
        for key in ("a%b", "a_b", "axb", "A%b", "a\\b"):
            agent.write(key=key, value={})
        assert list(agent.list_keys(prefix="a%")) == ["a%b"]
        assert list(agent.list_keys(prefix="a_")) == ["a_b"]
        assert list(agent.list_keys(prefix="a\\")) == ["a\\b"]

    def test_many_keys_come_in_pages(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            for number in range(1000):
                transaction.write(key=f"k{number:04}", value={"n": number})
        for number in range(0, 1000, 3):
            agent.delete(key=f"k{number:04}")
        remainder = [number for number in range(1000) if number % 3]
        assert [entry.value["n"] for entry in agent.scan_prefix(prefix="k")] == remainder
        assert [entry.value["n"] for entry in agent.scan_prefix(prefix="k", at=1)] == [*range(1000)]
        assert list(agent.list_keys(prefix="k09")) == [f"k{n:04}" for n in remainder if n >= 900]
        with agent.begin_transaction() as transaction:
            transaction.delete(key="k0001")
            transaction.write(key="k0500x", value={})
            transaction.write(key="z", value={})
            keys = list(transaction.list_keys())
        assert keys == list(agent.list_keys())

    def test_a_scan_is_of_one_moment(self, agent: Store) -> None:
        for number in range(600):
            agent.write(key=f"k{number:03}", value={"n": number})
        scan = agent.scan_prefix(prefix="k")
        next(scan)
        agent.delete(key="k599")
        agent.write(key="k598", value={"n": -1})
        agent.write(key="k9", value={})
        assert [entry.value["n"] for entry in scan] == [*range(1, 600)]

    def test_large_values_do_not_pile_up_in_a_page(self, agent: Store) -> None:
        for number in range(6):
            agent.write(key=f"k{number}", value={"text": "x" * 900_000})
        scan = agent.scan_prefix(prefix="k")
        assert [entry.key for entry in scan] == [f"k{number}" for number in range(6)]


class TestHistory:
    def test_it_tells_who_when_and_under_which_name(self, store: Store) -> None:
        store.bind(agent_id="writer").write(key="k", value={"x": 1}, agent_id="a", txn_id="t-1")
        (entry,) = store.history(agent_id="a", key="k")
        assert (entry.version, entry.value, entry.commit_ts) == (1, {"x": 1}, 1)
        assert (entry.txn_id, entry.actor, entry.because) == ("t-1", "writer", ())
        assert entry.committed_at == datetime(2026, 1, 1, tzinfo=UTC)

    def test_a_long_one_comes_in_pages(self, agent: Store) -> None:
        for number in range(100):
            agent.write(key="k", value={"n": number})
        history = agent.history(key="k")
        agent.write(key="k", value={"n": 100})
        assert [entry.value and entry.value["n"] for entry in history] == [*range(100)]


class TestDiff:
    def test_between_two_moments(self, agent: Store) -> None:
        agent.write(key="changed", value={"x": 1})
        agent.write(key="removed", value={"x": 1})
        agent.write(key="same", value={"x": 1})
        agent.write(key="changed", value={"x": 2})
        agent.delete(key="removed")
        agent.write(key="added", value={"x": 1})
        agent.write(key="later", value={"x": 1})

        def seen(a: int, b: int | None) -> list[tuple[str, str]]:
            return [(change.kind, change.key) for change in agent.diff(old=a, new=b)]

        assert seen(3, 6) == [("added", "added"), ("changed", "changed"), ("removed", "removed")]
        assert seen(6, 3) == [("removed", "added"), ("changed", "changed"), ("added", "removed")]
        assert seen(0, 1) == [("added", "changed")]
        assert seen(3, 3) == []
        assert seen(6, None) == [("added", "later")]
        change = next(iter(agent.diff(old=3, new=4)))
        assert change.before is not None
        assert change.after is not None
        assert (change.before.value, change.before.version) == ({"x": 1}, 1)
        assert (change.after.value, change.after.version) == ({"x": 2}, 2)

    def test_what_went_back_to_its_value_is_no_difference(self, agent: Store) -> None:
        for _ in range(2):
            for number in range(100):
                agent.write(key=f"k{number:02}", value={"n": number})
        agent.delete(key="k50")
        assert [change.key for change in agent.diff(old=100)] == ["k50"]
        assert list(agent.diff(old=100, new=200)) == []

    @pytest.mark.parametrize(("a", "b"), [(1, True), (1, 1.0), (0, False), ([1], [1.0])])
    def test_what_json_tells_apart_is_a_difference(self, agent: Store, a: Any, b: Any) -> None:
        agent.write(key="k", value={"x": a})
        agent.write(key="k", value={"x": b})
        assert [change.key for change in agent.diff(old=1, new=2)] == ["k"]

    def test_many_changes_come_in_pages(self, agent: Store) -> None:
        for number in range(100):
            agent.write(key=f"k{number:02}", value={"n": number})
        assert [change.key for change in agent.diff(old=10)] == [f"k{n:02}" for n in range(10, 100)]


class TestBecause:
    def test_what_is_left_out_is_the_writers(self, store: Store) -> None:
        store.write(agent_id="a", namespace="lab", key="evidence", value={})
        store.write(agent_id="b", namespace="lab", key="evidence", value={})
        refs = [KeyRef("evidence", agent_id="b"), KeyRef("evidence", namespace="lab")]
        store.write(agent_id="a", namespace="lab", key="decision", value={}, because=refs)
        (entry,) = store.history(agent_id="a", namespace="lab", key="decision")
        assert entry.because == (
            KeyRef("evidence", 1, "b", "lab"),
            KeyRef("evidence", 1, "a", "lab"),
        )

    def test_a_value_names_what_it_rests_on(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        agent.write(key="evidence", value={"x": 1})
        agent.write(key="evidence", value={"x": 2})
        store.write(agent_id="b", namespace="lab", key="report", value={})
        refs = [
            KeyRef("evidence"),
            KeyRef("evidence", version=1),
            KeyRef("report", agent_id="b", namespace="lab"),
        ]
        agent.write(key="decision", value={}, because=refs)
        (entry,) = agent.history(key="decision")
        assert entry.because == (
            KeyRef("evidence", 2, "a", "default"),
            KeyRef("evidence", 1, "a", "default"),
            KeyRef("report", 1, "b", "lab"),
        )

    def test_it_may_be_written_in_the_same_transaction(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            transaction.write(key="evidence", value={})
            transaction.write(key="decision", value={}, because=[KeyRef("evidence")])
        (entry,) = agent.history(key="decision")
        assert entry.because == (KeyRef("evidence", 1, "a1", "default"),)

    @pytest.mark.parametrize("ref", [KeyRef("nothing"), KeyRef("k", version=2), KeyRef("gone")])
    def test_what_is_not_there_cannot_be_rested_on(self, agent: Store, ref: KeyRef) -> None:
        agent.write(key="k", value={})
        agent.write(key="gone", value={})
        agent.delete(key="gone")
        with pytest.raises(NotFound, match="because"):
            agent.write(key="decision", value={}, because=[ref])
        assert agent.get_state(key="decision") is None

    def test_a_deleted_value_can_be_named_by_its_version(self, agent: Store) -> None:
        agent.write(key="gone", value={})
        agent.delete(key="gone")
        agent.write(key="decision", value={}, because=[KeyRef("gone", version=1)])
        (entry,) = agent.history(key="decision")
        assert entry.because == (KeyRef("gone", 1, "a1", "default"),)

    def test_memories_are_named_by_reference_or_given(self, agent: Store) -> None:
        first = agent.remember("the train is late", title="train")
        second = agent.remember("the train is on time", title="train")
        refs: list[RefLike] = [MemoryRef(first.id), first, second.ref, KeyRef("evidence")]
        agent.write(key="evidence", value={})
        agent.write(key="decision", value={}, because=iter(refs))
        (entry,) = agent.history(key="decision")
        assert entry.because == (
            MemoryRef(first.id, 2),
            MemoryRef(first.id, 1),
            MemoryRef(first.id, 2),
            KeyRef("evidence", 1, "a1", "default"),
        )
        (*_, event) = agent.replay()
        assert isinstance(event.operations[0], Write)
        assert event.operations[0].because == entry.because

    def test_a_memory_may_be_made_in_the_same_transaction(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            memory_id = transaction.remember("it rains")
            transaction.write(key="decision", value={}, because=[MemoryRef(memory_id)])
        (entry,) = agent.history(key="decision")
        assert entry.because == (MemoryRef(memory_id, 1),)

    @pytest.mark.parametrize("case", ["nothing", "version", "retracted", "private", "fact"])
    def test_no_memory_or_fact_that_is_not_there(self, store: Store, case: str) -> None:
        agent, other = store.bind(agent_id="a"), store.bind(agent_id="b")
        memory = agent.remember("x")
        secret = other.remember("y", visibility="private")
        target = agent.remember("z")
        agent.retract_memory(target.id)
        refs: dict[str, Ref] = {
            "nothing": MemoryRef("nothing"),
            "version": MemoryRef(memory.id, 2),
            "retracted": MemoryRef(target.id),
            "private": MemoryRef(secret.id),
            "fact": FactRef("nothing"),
        }
        with pytest.raises(NotFound):
            agent.write(key="decision", value={}, because=[refs[case]])
        assert agent.get_state(key="decision") is None
