"""Compaction in slices: how much each does, what others do meanwhile, and one half done."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

import memoranda
from memoranda import Compacted, KeyRef, MemoryRef, Store, StoreClosed, TransactionConflict
from memoranda.log.compaction import compactor
from memoranda.log.compaction.compactor import Step
from memoranda.log.compaction.pace import (
    FIRST_WEIGHT,
    MAX_WEIGHT,
    MIN_WEIGHT,
    TARGET_SECONDS,
    Pace,
    Weight,
)
from memoranda.model.operations import Summary
from memoranda.storage.port import Writer
from memoranda.testing import FixedClock, memory_store
from tests.compacting import Stopped, compact_partly, sliced, stopping_after
from tests.cores import core_of
from tests.patience import HANG_SECONDS

WRITES = 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def grow(agent: Store, writes: int = WRITES, title: str = "t") -> int:
    """Do something of everything, and return the last commit."""
    memory = agent.remember("first words", title=title, tags=["x"])
    for number in range(writes):
        agent.write(key="k", value={"n": number})
        agent.touch(memory.id)
        if number % 5 == 0:
            agent.update_memory(memory.id, content=f"words {number}", title=f"{title}{number % 3}")
            fact = agent.assert_fact(subject=f"s{number}", relation="is", object="x")
            agent.retract_fact(assertion_id=fact.assertion_id)
    return agent.stats().commits


def held(agent: Store, at: int) -> list[object]:
    return [
        list(agent.scan_prefix(prefix="", at=at)),
        list(agent.list_memories(content=True, at=at)),
        agent.facts(known_at=at),
        list(agent.entities(known_at=at)),
    ]


def sound(store: Store) -> None:
    store.verify(deep=True)
    assert store.rebuild().identical


class TestASlice:
    def test_does_no_more_however_much_there_is(self) -> None:
        """What one hold of the write lock does does not grow with the log."""
        most = {}
        for writes in (WRITES, 8 * WRITES):
            agent = memory_store().bind(agent_id="a")
            horizon = grow(agent, writes)
            with sliced(agent, 16) as done:
                agent.compact(before=horizon, confirm=True)
            most[writes] = max(len(part.decisions) for part in done)
            assert sum(len(part.decisions) for part in done) > writes
        assert most[8 * WRITES] <= most[WRITES] + 1 <= 18

    def test_is_vouched_for_by_its_own_commit_and_leaves_what_a_rebuild_gives(
        self, path: Path
    ) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            before = held(agent, horizon)

            def check(step: Step) -> None:
                sound(store)
                assert held(agent, horizon) == before
                assert step.commit_ts == store.stats().commits

            with sliced(store, 20, check) as done:
                compaction = agent.compact(before=horizon, confirm=True, reason="enough")
            assert len(done) > 3
            certificates = list(store.erasures())
            assert [certificate.target for certificate in certificates] == ["compaction"] * len(
                done
            )
            assert sum(certificate.operations for certificate in certificates) == compaction.erased
            summaries = [
                operation
                for event in store.replay(agent_id=memoranda.ALL_AGENTS)
                for operation in event.operations
                if isinstance(operation, Summary)
            ]
            assert [certificate.unfinished for certificate in summaries] == [True, False]
            assert summaries[-1].count == compaction.erased

    def test_what_was_taken_back_goes_with_what_took_it_back(self) -> None:
        """Between the two it would stand again."""
        agent = memory_store().bind(agent_id="a")
        fact = agent.assert_fact(subject="bob", relation="likes", object="tea")
        for number in range(10):
            agent.write(key="k", value={"n": number})
        agent.retract_fact(assertion_id=fact.assertion_id)

        def check(_: Step) -> None:
            assert agent.facts() == []
            sound(agent)

        with sliced(agent, 1, check) as done:
            agent.compact(before=agent.stats().commits, confirm=True)
        assert len(done) > 5

    def test_what_a_link_made_of_a_memory_is_as_it_was(self) -> None:
        agent = memory_store().bind(agent_id="a")
        below, memory = agent.remember("below"), agent.remember("m", title="t")
        for _ in range(3):
            agent.touch(memory.id)
        agent.link(source=memory.id, target=below.id, relation="reflects_on")
        for _ in range(3):
            agent.touch(memory.id)
        with sliced(agent, 1, lambda _: sound(agent)) as done:
            agent.compact(before=agent.stats().commits, confirm=True)
        assert len(done) > 3

    def test_takes_as_long_as_is_aimed_at(self) -> None:
        pace = Pace()
        pace.note(FIRST_WEIGHT, 2 * TARGET_SECONDS)
        assert pace.weight == FIRST_WEIGHT // 2
        pace.note(FIRST_WEIGHT // 2, TARGET_SECONDS / 100)
        assert pace.weight == FIRST_WEIGHT  # never more than double
        pace.note(5, TARGET_SECONDS / 100)
        assert pace.weight == FIRST_WEIGHT  # a light one says nothing
        pace.note(1, 100 * TARGET_SECONDS)
        assert pace.weight == MIN_WEIGHT
        for _ in range(20):
            pace.note(pace.weight, 0.0)
        assert pace.weight == MAX_WEIGHT

    def test_learns_from_a_slice_that_ends_with_an_event(self) -> None:
        pace = Pace()
        pace.note(FIRST_WEIGHT * 3 // 4, TARGET_SECONDS / 100)
        assert pace.weight == 2 * FIRST_WEIGHT

    def test_ends_with_an_event_where_that_makes_it_a_little_heavier(self) -> None:
        pace, weight = Pace(), Weight()
        for _ in range(FIRST_WEIGHT):
            weight.add(1, 0)
        assert weight.total == FIRST_WEIGHT + 1
        assert pace.is_full(weight)
        assert not pace.is_full(weight, FIRST_WEIGHT // 4 - 1)
        assert pace.is_full(weight, FIRST_WEIGHT // 4)

    def test_takes_an_event_as_a_whole_if_one_slice_can(self) -> None:
        pace, weight = Pace(), Weight()
        assert pace.has_room(weight, FIRST_WEIGHT, 0)  # a slice has one event at least
        weight.add(2, 0)
        assert pace.has_room(weight, FIRST_WEIGHT - weight.total - 1, 0)
        assert not pace.has_room(weight, FIRST_WEIGHT - weight.total, 0)
        assert pace.has_room(weight, FIRST_WEIGHT, 0)  # this one will be divided anyway

    def test_a_preview_takes_no_lock(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            result: list[memoranda.Compaction] = []
            asking = threading.Thread(target=lambda: result.append(agent.compact(before=horizon)))

            def preview_meanwhile(_: Writer) -> None:  # the write lock is taken all the while
                asking.start()
                asking.join(HANG_SECONDS)

            core_of(store).engine.write(preview_meanwhile)
            assert result[0].erased == agent.compact(before=horizon, confirm=True).erased


class TestOthers:
    def test_what_comes_to_rest_on_something_during_the_survey_is_seen(self) -> None:
        """Between the survey and the horizon a version can still be named that was to go."""
        agent = memory_store().bind(agent_id="a")
        for number in range(10):
            agent.write(key="k", value={"n": number})
        memory = agent.remember("one")
        agent.update_memory(memory.id, content="two")
        horizon = agent.stats().commits
        committer = core_of(agent).committer
        carry_out, by_name = committer._write_slice, list[int]()

        def named_before(plan: compactor.Plan, part: compactor.Slice) -> Step:
            if not by_name:
                refs = (KeyRef("k", 3), MemoryRef(memory.id, 1))
                by_name.append(agent.write(key="l", value={}, because=refs).commit_ts)
            return carry_out(plan, part)

        committer._write_slice = named_before  # type: ignore[method-assign]
        done = agent.compact(before=horizon, confirm=True)
        assert done.erased == 8
        reason = agent.why("l")
        assert reason.because[0].ref == KeyRef("k", 3, "a", "default")
        assert "one" in repr(reason)
        with pytest.raises(Compacted):
            agent.write(key="l", value={}, because=[KeyRef("k", 4)])
        sound(agent)

    def test_a_transaction_that_read_below_the_horizon_has_to_run_again(self) -> None:
        agent = memory_store().bind(agent_id="a")
        agent.write(key="k", value={"n": 0})
        transaction = agent.begin_transaction()
        assert transaction.get_state(key="k") is not None
        agent.write(key="l", value={})
        agent.write(key="l", value={})
        agent.compact(before=agent.stats().commits, confirm=True)
        transaction.write(key="m", value={})
        with pytest.raises(TransactionConflict):
            transaction.commit()

    def test_one_that_read_behind_the_horizon_does_not(self) -> None:
        agent = memory_store().bind(agent_id="a")
        horizon = grow(agent)
        agent.write(key="other", value={})
        transaction = agent.begin_transaction()
        transaction.get_state(key="k")

        def commit(_: Step) -> None:
            nonlocal transaction
            transaction.write(key="m", value={})
            transaction.commit()
            transaction = agent.begin_transaction()
            transaction.get_state(key="k")

        with sliced(agent, 16, commit) as done:
            agent.compact(before=horizon, confirm=True)
        assert len(done) > 2
        sound(agent)

    def test_a_replay_that_is_under_way_gets_the_summary(self, path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent, 200)
            agent.write(key="behind", value={})
            replay = agent.replay()
            observations = [next(replay) for _ in range(3)]
            compact_partly(agent, horizon)
            rest = list(replay)
            commit_tss = [event.commit_ts for event in observations + rest if not event.summary]
            (summary,) = [event for event in rest if event.summary]
            assert summary.commit_ts == horizon
            assert commit_tss == sorted(set(commit_tss))
            assert horizon not in commit_tss
            during = next(agent.replay())
            agent.compact(before=horizon, confirm=True)
            after = next(agent.replay())
            assert (after.commit_ts, after.txn_id, after.actor, after.summary) == (
                *(during.commit_ts, during.txn_id, during.actor),
                True,
            )

    def test_a_history_that_is_under_way_ends_where_it_was_compacted(self, path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            history, memories = agent.history(key="k"), agent.list_memories(at=horizon - 1)
            next(history)
            compact_partly(agent, horizon)
            for reading in (history, memories):
                with pytest.raises(Compacted):
                    list(reading)

    def test_those_who_wait_write_between_the_slices(self, path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            other, ended = store.bind(agent_id="b", namespace="other"), threading.Event()
            writes = list[int]()

            def write() -> None:
                while not ended.is_set():
                    writes.append(other.write(key="k", value={}).commit_ts)

            writers = [threading.Thread(target=write) for _ in range(3)]
            for writer in writers:
                writer.start()
            commits = list[int]()
            with sliced(store, 8, lambda step: commits.append(step.commit_ts or 0)):
                agent.compact(before=horizon, confirm=True)
            ended.set()
            for writer in writers:
                writer.join()
            assert len([item for item in writes if commits[0] < item < commits[-1]]) > 5
            sound(store)


class TestHalfDone:
    def test_it_is_told_and_gone_on_with(self, path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            before = held(agent, horizon)
            compact_partly(agent, horizon)
        for finding in memoranda.diagnose(path):
            if finding.check == "compaction":
                assert f"--before {horizon}" in (finding.remedy or "")
                break
        else:
            raise AssertionError("nobody said so")
        with memoranda.open(path) as store:
            agent = store.bind(agent_id="a")
            assert any("not compacted to the end" in warning for warning in store.stats().warnings)
            assert held(agent, horizon) == before
            with pytest.raises(Compacted):
                held(agent, horizon - 1)
            sound(store)
            planned = agent.compact(before=horizon - 5)  # a lower one goes on with it, too
            assert (planned.unfinished, planned.horizon) == (True, horizon)
            done = agent.compact(before=horizon - 5, confirm=True)
            assert (done.erased, done.horizon, done.unfinished) == (planned.erased, horizon, False)
            assert store.stats().warnings == ()
            assert agent.compact(before=horizon, confirm=True).commit_ts is None
            assert held(agent, horizon) == before
            sound(store)
        assert "compaction" not in [finding.check for finding in memoranda.diagnose(path)]

    def test_a_later_horizon_takes_it_over(self) -> None:
        agent = memory_store().bind(agent_id="a")
        grow(agent)
        first = grow_more(agent)
        compact_partly(agent, first)
        second = grow_more(agent)
        before = held(agent, second)
        done = agent.compact(before=second, confirm=True)
        assert (done.horizon, agent.stats().warnings) == (second, ())
        assert held(agent, second) == before
        sound(agent)

    def test_two_at_once(self, path: Path) -> None:
        """Each finds what the other has done meanwhile."""
        one = memoranda.open(path, durability="relaxed")
        two = memoranda.open(path, durability="relaxed")
        with one, two:
            agent = one.bind(agent_id="a")
            horizon = grow(agent)
            before = held(agent, horizon)
            remainder = iter(range(2))

            def compact_too(_: Step) -> None:
                if next(remainder, None) is not None:
                    with sliced(two, 8, stopping_after(2)), pytest.raises(Stopped):
                        two.bind(agent_id="b").compact(before=horizon, confirm=True)

            with sliced(one, 8, compact_too):
                agent.compact(before=horizon, confirm=True)
            assert held(agent, horizon) == before
            assert two.bind(agent_id="b").compact(before=horizon).erased == 0
            assert one.stats().warnings == ()
            sound(one)

    @pytest.mark.parametrize("target", ["memory", "agent", "key", "sweep"])
    def test_something_is_forgotten_in_between(self, target: str) -> None:
        clock = FixedClock()
        agent = memory_store(clock=clock).bind(agent_id="a")
        agent.remember("brief", ttl=timedelta(hours=1), agent_id="c")
        other = agent.bind(agent_id="b")
        horizon = max(grow(agent), grow(other, title="u"))
        (memory,) = agent.list_memories(agent_id="a")
        remainder = iter(range(1))

        def forget(_: Step) -> None:
            if next(remainder, None) is None:
                return
            if target == "memory":
                agent.forget(memory_id=memory.id)
            elif target == "agent":
                agent.forget(whole_agent="b")
            elif target == "key":
                other.forget(key="k")
            else:
                clock.advance(100 * 86400)
                assert agent.sweep() is not None

        with sliced(agent, 16, forget) as done:
            agent.compact(before=horizon, confirm=True)
        assert len(done) > 3
        assert agent.stats().warnings == ()
        assert agent.compact(before=horizon).erased == 0
        sound(agent)

    def test_the_store_is_closed_in_between(self, path: Path) -> None:
        store = memoranda.open(path, durability="relaxed")
        agent = store.bind(agent_id="a")
        horizon = grow(agent)
        with sliced(store, 8, lambda _: store.close()), pytest.raises(StoreClosed):
            agent.compact(before=horizon, confirm=True)
        with memoranda.open(path) as again:
            sound(again)
            assert again.bind(agent_id="a").compact(before=horizon, confirm=True).erased

    def test_copies_are_made_in_between(self, path: Path, tmp_path: Path) -> None:
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = grow(agent)
            before = held(agent, horizon)
            compact_partly(agent, horizon)
            with pytest.raises(Compacted):
                store.fork(tmp_path / "early.db", at=horizon)
            store.backup(tmp_path / "backup.db")
            store.fork(tmp_path / "fork.db", at=horizon + 1)  # which has only the first slice
            store.export_log(tmp_path / "log.jsonl")
            memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "import.db")
        for name in ("backup.db", "fork.db", "import.db"):
            with memoranda.open(tmp_path / name) as copy:
                bound = copy.bind(agent_id="a")
                sound(copy)
                assert any("not compacted" in warning for warning in copy.stats().warnings), name
                assert bound.compact(before=horizon, confirm=True).erased
                assert held(bound, horizon)[0] == before[0]
                assert copy.stats().warnings == ()
                sound(copy)


def grow_more(agent: Store) -> int:
    for number in range(10):
        agent.write(key="k", value={"more": number})
    return agent.stats().commits


def test_transactions_without_effect_are_forgotten_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What they asked for may be what goes: no guess of it can be confirmed when that is gone."""
    monkeypatch.setattr(compactor, "_REQUEST_SALTS_PER_SLICE", 4)
    agent = memory_store().bind(agent_id="a")
    memory = agent.remember("x")
    agent.configure(tiers={"short": 60})
    for number in range(10):
        agent.configure(tiers={"short": 60}, txn_id=f"t{number}")
        agent.write(key="k", value={"n": number})
    with sliced(agent, 256) as done:
        agent.compact(before=agent.stats().commits, confirm=True)
    assert memory.id
    assert len(done) > 2
    with core_of(agent).engine.reading() as reader:
        assert reader.rows("event_salts_without_effect", size=16) == []
    sound(agent)
