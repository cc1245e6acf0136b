"""The log as a whole: its chain, its views, its figures, and handles on it."""

from __future__ import annotations

import pytest

from memoranda import OperationType, Store, StoreClosed
from memoranda.testing import FixedClock
from tests.contract.opener import Opener


def test_an_empty_store_verifies(store: Store) -> None:
    report = store.verify()
    assert (report.commits, report.last_committed_at, report.warnings) == (0, None, ())
    assert store.rebuild().events == 0


@pytest.mark.slow
def test_verify_walks_to_the_head(agent: Store) -> None:
    for number in range(commits := 2_100):  # more than a page of those that verify reads
        agent.write(key="k", value={"n": number})
    observations: list[tuple[int, int]] = []
    report = agent.verify(progress=lambda done, whole: observations.append((done, whole)))
    assert report.commits == commits
    assert report.head_hash == [*agent.replay()][-1].hash.hex()
    assert observations[-1] == (commits, commits)
    assert observations == sorted(set(observations))  # a server leaves some out


def test_rebuilding_gives_the_same_rows(agent: Store) -> None:
    for number in range(50):
        agent.write(key=f"k{number % 7}", value={"n": number}, namespace=f"n{number % 3}")
        agent.delete(key=f"k{number % 5}", namespace="n1")
    before = [*agent.scan_prefix(prefix="", namespace="n1")]
    observations: list[tuple[int, int]] = []
    result = agent.rebuild(progress=lambda done, whole: observations.append((done, whole)))
    assert result.identical
    assert (result.events, observations[-1]) == (100, (100, 100))
    assert [*agent.scan_prefix(prefix="", namespace="n1")] == before
    assert agent.write(key="k", value={}, txn_id="t").commit_ts == 101
    assert agent.write(key="k", value={}, txn_id="t").commit_ts == 101


def test_stats_count(store: Store) -> None:
    empty = store.stats()
    assert (empty.commits, empty.agents, empty.keys, empty.epoch) == (0, 0, 0, 0)
    store.write(agent_id="a", key="k", value={})
    store.write(agent_id="a", key="gone", value={}, namespace="n")
    store.delete(agent_id="a", key="gone", namespace="n")
    store.write(agent_id="b", key="k", value={})
    stats = store.stats()
    assert (stats.commits, stats.agents, stats.namespaces, stats.keys) == (4, 2, 2, 2)
    assert (stats.epoch, stats.warnings) == (1, ())
    assert stats.data_bytes > 0


def test_stats_count_what_is_believed(agent: Store, clock: FixedClock) -> None:
    def counts() -> tuple[int, int, int]:
        stats = agent.stats()
        return stats.memories, stats.transcripts, stats.open_notices

    assert counts() == (0, 0, 0)
    agent.store_transcript("words", ttl=60)
    ground = agent.remember("ground", title="t", namespace="n")
    agent.remember("ground again", title="t", namespace="n")
    agent.remember("fleeting", ttl=60)
    private = agent.remember("secret", visibility="private")
    old, new = (agent.reflect(item, on=[ground.id]) for item in ("old", "new"))
    agent.reflect("dependent", on=[old.id])
    assert counts() == (6, 1, 0)
    agent.supersede(old=old.id, new=new.id)
    assert counts() == (6, 1, 1)
    (notice,) = agent.invalidations()
    agent.resolve_invalidation(notice.id, decision="keep")
    assert counts() == (6, 1, 0)
    agent.retract_memory(private.id)
    assert counts() == (5, 1, 0)
    clock.advance(61)
    assert counts() == (4, 1, 0)
    assert agent.rebuild().identical
    assert counts() == (4, 1, 0)


def test_a_clock_set_far_back_is_noticed(agent: Store, clock: FixedClock) -> None:
    agent.write(key="k", value={})
    clock.step(-299)
    assert agent.stats().warnings == agent.verify().warnings == ()
    clock.step(-3)
    for warnings in (agent.stats().warnings, agent.verify().warnings):
        (warning,) = warnings
        assert "302 s ahead" in warning
        assert "check the clock" in warning


def test_the_engines_own_operations_stand_in_no_agents_replay(agent: Store) -> None:
    agent.write(key="k", value={})
    assert [op.type for event in agent.replay() for op in event.operations] == [OperationType.WRITE]
    (event,) = agent.replay(agent_id="_engine", namespace="_log")
    (epoch,) = event.operations
    assert (epoch.type, epoch.key, epoch.version) == (OperationType.EPOCH, "epoch:1", 1)
    assert epoch.value is not None
    assert (epoch.value["cause"], epoch.value["origin"]) == ("created", None)


def test_a_closed_store_says_so(open_store: Opener) -> None:
    store = open_store()
    agent = store.bind(agent_id="a")
    agent.write(key="k", value={})
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="Open the store again"):
        agent.get_state(key="k")
    with pytest.raises(StoreClosed):
        agent.write(key="k", value={})


def test_as_a_context_manager_it_closes(open_store: Opener) -> None:
    with open_store() as store:
        store.write(agent_id="a", key="k", value={})
    with pytest.raises(StoreClosed):
        store.stats()


def test_two_handles_on_one_file_see_each_other(reopen: Opener) -> None:
    one, other = reopen().bind(agent_id="a"), reopen().bind(agent_id="a")
    for number in range(20):
        writer, reader = (one, other) if number % 2 else (other, one)
        assert writer.write(key="k", value={"n": number}).commit_ts == number + 1
        record = reader.get_state(key="k")
        assert record is not None
        assert (record.value, record.version) == ({"n": number}, number + 1)
    assert one.verify() == other.verify()


def test_a_deep_look_compares_every_view_and_changes_nothing(agent: Store) -> None:
    for number in range(20):
        agent.write(key=f"k{number % 3}", value={"n": number})
    agent.remember("a thought", title="t")
    agent.assert_fact(subject="Ann", relation="knows", object="Bo")
    observations: list[tuple[int, int]] = []
    report = agent.verify(
        deep=True, progress=lambda done, whole: observations.append((done, whole))
    )
    assert report.rows is not None
    assert report.rows > 60
    assert (report.commits, observations[-1]) == (22, (22, 22))
    assert agent.verify().head_hash == report.head_hash
    assert agent.rebuild().identical
