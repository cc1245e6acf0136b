"""Transactions of many operations: a compaction divides them among its slices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, Transaction
from memoranda.log.compaction import compactor
from memoranda.log.compaction.compactor import Step
from memoranda.log.compaction.pace import FIRST_WEIGHT, Pace, Weight
from memoranda.testing import memory_store
from tests.compacting import compact_partly, sliced
from tests.cores import core_of
from tests.work import counted

OPERATIONS = 600
DAY = datetime(2026, 1, 1, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)


def of_everything(transaction: Transaction, title: str = "t", rounds: int = 6) -> None:
    """Stage all kinds of operation that a compaction decides on, each several times."""
    memory_id = transaction.remember("first words", title=title, tags=["x"])
    other_id = transaction.remember("below")
    for number in range(rounds):
        transaction.write(key="k", value={"n": number})
        transaction.touch(memory_id)
        transaction.update_memory(
            memory_id, content=f"words {number}", title=f"{title}{number % 3}"
        )
        assertion_id = transaction.assert_fact(
            subject=f"s{number}",
            relation="is",
            object="x",
            valid_from=DAY,
            valid_to=DAY + timedelta(days=1),
        )
        transaction.retract_fact(assertion_id=assertion_id)
    transaction.link(source=memory_id, target=other_id, relation="reflects_on")
    transaction.touch(memory_id)
    transaction.touch(memory_id)


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


def stage(agent: Store, work: Callable[[Transaction], object]) -> int:
    with agent.begin_transaction() as transaction:
        work(transaction)
    return agent.stats().commits


def write_many(transaction: Transaction) -> None:
    for number in range(OPERATIONS):
        transaction.write(key=f"k{number % 3}", value={"n": number})


class TestOneTransaction:
    def test_is_divided_among_slices(self) -> None:
        agent = memory_store().bind(agent_id="a")
        horizon = stage(agent, write_many)
        with sliced(agent, 128) as done:
            compaction = agent.compact(before=horizon, confirm=True)
        assert compaction.erased == OPERATIONS - 3
        assert max(len(part.decisions) for part in done) <= 128
        assert sum(len(part.decisions) for part in done) == compaction.erased
        sound(agent)

    @pytest.mark.slow
    def test_can_be_divided_anywhere(self) -> None:
        """Every slice leaves the views as a rebuild would, wherever in an event it ends."""
        agent = memory_store().bind(agent_id="a")
        stage(agent, of_everything)
        horizon = stage(agent, lambda tx: tx.write(key="k", value={"n": "last"}))
        before = held(agent, horizon)

        def check(_: Step) -> None:
            sound(agent)
            assert held(agent, horizon) == before

        with sliced(agent, 1, check) as done:
            agent.compact(before=horizon, confirm=True)
        assert len(done) > 12

    def test_is_gone_on_with_where_it_was_interrupted(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        with memoranda.open(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            horizon = stage(agent, write_many)
            before = held(agent, horizon)
            compact_partly(agent, horizon, weight=64)
        with memoranda.open(path) as store:
            agent = store.bind(agent_id="a")
            sound(store)
            assert agent.compact(before=horizon, confirm=True).erased > OPERATIONS // 2
            assert held(agent, horizon) == before
            sound(store)

    def test_what_is_long_is_not_written_anew_for_each_operation(self) -> None:
        agent = memory_store().bind(agent_id="a")

        def write_long(transaction: Transaction) -> None:
            for number in range(200):
                transaction.write(key="k", value={"n": number, "text": "x" * 4096})

        horizon = stage(agent, write_long)
        with sliced(agent, 1) as done:
            agent.compact(before=horizon, confirm=True)
        assert len(done) <= 4

    def test_what_goes_along_weighs_as_much_as_its_event(self) -> None:
        """What is taken back one by one rewrites, each time, the event it was said in."""
        agent = memory_store().bind(agent_id="a")
        ids = list[str]()

        def assert_many(transaction: Transaction) -> None:
            for number in range(400):
                ids.append(transaction.assert_fact(subject=f"s{number}", relation="is", object="x"))

        stage(agent, assert_many)
        for assertion_id in ids[:100]:
            agent.retract_fact(assertion_id=assertion_id)
        with sliced(agent, 64) as done:
            agent.compact(before=agent.stats().commits, confirm=True)
        commits = {place[0] for part in done for place in part.decisions}
        rewritten = sum(len({place[0] for place in part.decisions}) for part in done)
        assert len(done) > 2
        assert rewritten <= len(commits) + len(done)
        sound(agent)


class TestPace:
    def test_counts_operations_and_each_event_once(self) -> None:
        weight = Weight()
        weight.add(1, 10 * 1024)
        weight.add(1, 10 * 1024)
        weight.add(2, 0)
        assert (weight.total, weight.operations, weight.heaviest) == (3 + 11 + 1, 3, 11)

    def test_a_heavy_event_is_full_once_enough_of_it_goes(self) -> None:
        pace, weight = Pace(), Weight()
        size = 4 * FIRST_WEIGHT * 1024
        for _ in range(FIRST_WEIGHT):
            assert not pace.is_full(weight)
            weight.add(1, size)
        weight.add(1, size)
        assert pace.is_full(weight)


def test_each_touch_of_a_memory_costs_the_same() -> None:
    steps = []
    for touches in (400, 1600):
        agent = memory_store().bind(agent_id="a")
        memory = agent.remember("words", title="t")
        for _ in range(0, touches, 50):
            with agent.begin_transaction() as transaction:
                for _ in range(50):
                    transaction.touch(memory.id)
        with counted(agent) as work, sliced(agent, 60) as done:
            agent.compact(before=agent.stats().commits, confirm=True)
        assert len(done) >= touches // 60
        steps.append(work.steps)
    assert steps[1] < 4.5 * steps[0]  # it grew sixfold when each slice read all touches


def test_much_behind_the_survey_is_not_looked_at_while_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it rests on anything is found out by surveying again, without the lock."""
    agent = memory_store().bind(agent_id="a")
    for number in range(10):
        agent.write(key="k", value={"n": number})
    horizon = agent.stats().commits
    committer = core_of(agent).committer
    carry_out, steps = committer._write_slice, list[Step]()

    def behind(plan: compactor.Plan, part: compactor.Slice) -> Step:
        if not steps:
            long = "x" * 700_000
            for _ in range(2):
                agent.write(key="l", value={"text": long})
        steps.append(carry_out(plan, part))
        return steps[-1]

    monkeypatch.setattr(committer, "_write_slice", behind)
    agent.compact(before=horizon, confirm=True)
    assert steps[0].survey_again
    assert not steps[-1].survey_again
    sound(agent)


class TestReaders:
    @pytest.mark.slow
    def test_copies_and_checks_made_while_slices_run_verify(self, tmp_path: Path) -> None:
        """They read the log page by page, and events change between the pages."""
        with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            for title in "tuvw":
                stage(agent, partial(of_everything, title=title))
            horizon = stage(agent, write_many)
            agent.write(key="behind", value={})
            before, instance = held(agent, horizon), list[Path]()
            start, ended = threading.Event(), threading.Event()

            def copy() -> None:
                number = 0
                while number == 0 or (number < 3 and not ended.is_set()):
                    start.set()
                    copies = [tmp_path / f"{kind}{number}.db" for kind in ("backup", "fork")]
                    store.backup(copies[0])
                    store.fork(copies[1], at=store.stats().commits)
                    store.verify(deep=True)
                    instance.extend(copies)
                    number += 1

            copying = threading.Thread(target=copy)

            def let_copy(_: Step) -> None:
                if not start.is_set():
                    copying.start()
                    start.wait(60)
                assert held(agent, horizon) == before

            with sliced(store, 16, let_copy) as done:
                agent.compact(before=horizon, confirm=True)
            ended.set()
            copying.join()
            assert len(done) > 20
            assert instance
            for path in instance:
                with memoranda.open(path) as opened:
                    sound(opened)
                    assert held(opened.bind(agent_id="a"), horizon)[0] == before[0]
