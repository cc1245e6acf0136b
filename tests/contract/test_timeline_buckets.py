"""Counts of an agent's operations over time: by kind, as a replay shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    Compacted,
    InvalidInput,
    OperationType,
    Store,
    TimelineBucket,
)

WRITE, REMEMBER, ERASED = OperationType.WRITE, OperationType.REMEMBER, OperationType.ERASED
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def counts(buckets: list[TimelineBucket]) -> list[dict[OperationType, int]]:
    return [bucket.counts for bucket in buckets]


class TestBounds:
    def test_from_the_first_event_to_the_last(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(5):
            agent.write(key="k", value={"n": number})
        first, *_, last = [event.committed_at for event in agent.replay()]
        (whole,) = agent.timeline_buckets(buckets=1)
        end = last + timedelta(microseconds=1)
        assert whole == TimelineBucket(first, end, {WRITE: 5}, 5)
        assert whole.operations == 5
        parts = agent.timeline_buckets(buckets=3)
        assert (parts[0].start, parts[-1].end) == (first, end)
        assert sum(part.events for part in parts) == 5

    def test_an_event_at_the_end_is_not_in_it(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        agent.write(key="k", value={})
        agent.remember("later")
        first, last = [event.committed_at for event in agent.replay()]
        parts = agent.timeline_buckets(from_timestamp=first, to_timestamp=last, buckets=1)
        assert counts(parts) == [{WRITE: 1}]
        parts = agent.timeline_buckets(from_timestamp=last, buckets=1)
        assert counts(parts) == [{REMEMBER: 1}]

    def test_without_an_event_there_are_zeros_only_between_two_bounds(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        end = BEGIN + timedelta(hours=2)
        for _ in range(2):  # in an empty store, and in one where somebody else has written
            assert agent.timeline_buckets() == []
            assert agent.timeline_buckets(from_timestamp=BEGIN) == []
            assert agent.timeline_buckets(to_timestamp=end) == []
            middle = BEGIN + timedelta(hours=1)
            assert agent.timeline_buckets(from_timestamp=BEGIN, to_timestamp=end, buckets=2) == [
                TimelineBucket(BEGIN, middle, {}, 0),
                TimelineBucket(middle, end, {}, 0),
            ]
            store.write(agent_id="b", key="k", value={})

    def test_a_time_without_length_has_no_bucket(self, store: Store) -> None:
        store.write(agent_id="a", key="k", value={})
        for end in (BEGIN, BEGIN - timedelta(days=1)):
            options: dict[str, Any] = {"from_timestamp": BEGIN, "to_timestamp": end}
            assert store.timeline_buckets(agent_id="a", **options) == []

    def test_no_bucket_is_shorter_than_a_microsecond(self, store: Store) -> None:
        end = BEGIN + timedelta(microseconds=3)
        buckets = store.timeline_buckets(agent_id="a", from_timestamp=BEGIN, to_timestamp=end)
        assert [bucket.start.microsecond for bucket in buckets] == [0, 1, 2]

    def test_a_hundred_buckets_by_default(self, store: Store) -> None:
        end = BEGIN + timedelta(days=1)
        buckets = store.timeline_buckets(agent_id="a", from_timestamp=BEGIN, to_timestamp=end)
        assert len(buckets) == 100

    @pytest.mark.parametrize("buckets", [0, -1, 2_001, True, 1.0, "5", None], ids=repr)
    def test_other_numbers_of_buckets_are_refused(self, store: Store, buckets: Any) -> None:
        with pytest.raises(InvalidInput, match="buckets"):
            store.timeline_buckets(agent_id="a", buckets=buckets)

    def test_one_agent_is_needed(self, store: Store) -> None:
        everybody: Any = ALL_AGENTS
        for agent_id in (None, everybody):
            with pytest.raises(InvalidInput, match="agent_id"):
                store.timeline_buckets(agent_id=agent_id)

    def test_an_incomplete_time_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="from_timestamp"):
            store.timeline_buckets(agent_id="a", from_timestamp="yesterday")


class TestScopes:
    def test_an_event_in_two_namespaces_counts_once(self, store: Store) -> None:
        with store.bind(agent_id="a").begin_transaction() as transaction:
            transaction.write(key="k", value={}, namespace="one")
            transaction.write(key="l", value={}, namespace="one")
            transaction.remember("two", namespace="two", visibility="private")
        store.write(agent_id="b", key="k", value={}, namespace="one")

        def read(handle: Store, namespace: Any) -> tuple[dict[OperationType, int], int]:
            (bucket,) = handle.timeline_buckets(agent_id="a", namespace=namespace, buckets=1)
            return bucket.counts, bucket.events

        assert read(store, "one") == ({WRITE: 2}, 1)
        assert read(store, "two") == ({REMEMBER: 1}, 1)
        assert read(store, ALL_NAMESPACES) == ({WRITE: 2, REMEMBER: 1}, 1)
        other = store.bind(agent_id="b")
        assert read(other, ALL_NAMESPACES) == ({WRITE: 2}, 1)
        assert other.timeline_buckets(agent_id="a", namespace="two") == []


class TestErasure:
    def test_an_erased_operation_counts_as_such(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        agent.write(key="secret", value={})
        agent.write(key="k", value={})
        agent.forget(key="secret")
        (bucket,) = agent.timeline_buckets(buckets=1)
        assert bucket.counts == {WRITE: 1, ERASED: 1}
        assert bucket.events == 2
        store.verify(deep=True)
        assert store.rebuild().identical

    def test_a_forgotten_agent_has_no_activity(self, store: Store) -> None:
        store.write(agent_id="a", key="k", value={})
        store.write(agent_id="b", key="k", value={})
        store.forget(whole_agent="a")
        assert store.timeline_buckets(agent_id="a") == []
        assert counts(store.timeline_buckets(agent_id="b", buckets=1)) == [{WRITE: 1}]
        store.verify(deep=True)

    def test_what_was_compacted_counts_at_the_horizon(self, store: Store) -> None:
        agent = store.bind(agent_id="a")
        for number in range(4):
            agent.write(key="k", value={"n": number})
        agent.write(key="l", value={})
        times = [event.committed_at for event in agent.replay()]
        agent.compact(before=3, confirm=True)
        buckets = agent.timeline_buckets(buckets=1)
        assert buckets[0].start == times[2]
        assert [(bucket.counts, bucket.events) for bucket in buckets] == [({WRITE: 3}, 3)]
        with pytest.raises(Compacted):
            agent.timeline_buckets(from_timestamp=times[0], to_timestamp=times[1])
        store.verify(deep=True)
