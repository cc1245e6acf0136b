"""Copies of stores in other places: the same log, the same answers, resumed after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, LogForked, NotFound, Store
from memoranda.sdk.open import open_engine
from tests.postgres_server import new_store_url

_COMMITS = 600
"""More than the events of one page."""
_LARGE_EVENTS = 60
_LARGE_BYTES = 500_000
"""Bytes of a value, and of a transcript, of a log that is larger than what may be held of it."""
Place = Callable[[str], str]


def open_at(url: str) -> Store:
    return memoranda.open(url, embedder=None)


def fill(store: Store, first: int = 0, commits: int = _COMMITS) -> None:
    agent = store.bind(agent_id="planner")
    for number in range(first, first + commits, 50):
        with agent.begin_transaction() as transaction:
            transaction.write(key=f"goal-{number}", value={"n": number})
        for step in range(48):
            agent.write(key=f"step-{step % 7}", value={"n": number + step})
        agent.remember(f"the train {number} leaves from Oslo", title=f"train {number % 100}")


def enrich(store: Store) -> None:
    agent = store.bind(agent_id="planner")
    transcript = agent.store_transcript("I live in Oslo now. " * 400)
    agent.assert_fact(subject="Ada", relation="lives in", object="Oslo", source=transcript.id)
    memory = agent.remember("the secret word is marzipan")
    agent.forget(memory_id=memory.id, reason="asked")


def answers(store: Store) -> tuple[object, ...]:
    agent = store.bind(agent_id="planner")
    return (
        [*agent.replay()],
        [*agent.scan_prefix(prefix="")],
        [*agent.list_memories()],
        agent.facts(include_closed=True),
        [hit.id for hit in agent.recall("train Oslo", k=5)],
        store.verify(deep=True).head_hash,
    )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a new place for a store: a file, or a store in PostgreSQL."""

    def new(kind: str) -> str:
        number = len([*tmp_path.iterdir()])
        folder = tmp_path / str(number)
        folder.mkdir()
        return str(folder / "store.db") if kind == "sqlite" else new_store_url(folder)

    return new


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("sqlite", "postgres"),
        pytest.param("postgres", "sqlite", marks=pytest.mark.slow),
        ("sqlite", "sqlite"),
    ],
)
def test_a_copy_gives_the_same_answers(source: str, target: str, place: Place) -> None:
    old, new = place(source), place(target)
    with open_at(old) as store:
        fill(store, commits=100)
        enrich(store)
        expected = answers(store)
    verification = memoranda.copy(old, new)
    with open_at(new) as store:
        assert answers(store) == expected
        assert verification.head_hash == expected[-1]
        store.write(agent_id="planner", key="goal", value={})
        assert store.verify().commits == verification.commits + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target"),
    [("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")],
)
def test_a_killed_copy_goes_on_where_it_ended(source: str, target: str, place: Place) -> None:
    """Twice, and the source is written to meanwhile."""
    old, new = place(source), place(target)
    with open_at(old) as store:
        fill(store)
        for kill_at in (200, 400):
            script = (
                "import memoranda, os, sys; memoranda.copy(sys.argv[1], sys.argv[2], "
                f"progress=lambda done, _: done == {kill_at} and os.kill(os.getpid(), 9))"
            )
            child = subprocess.run([sys.executable, "-c", script, old, new], check=False)
            assert child.returncode == -signal.SIGKILL
            fill(store, first=_COMMITS, commits=50)
        with closing(open_engine(new)) as engine, engine.reading() as reader:
            row = reader.row("event_get", commit_ts=1)
            assert row is not None, "a page was copied"
            assert reader.row("event_get", commit_ts=_COMMITS - 1) is None
        expected = answers(store)
    commits: list[int] = []
    memoranda.copy(old, new, progress=lambda done, _: commits.append(done))
    assert commits[0] > 1, "it did not begin again"
    with open_at(new) as store:
        assert answers(store) == expected


@pytest.mark.slow
@pytest.mark.parametrize("source", ["sqlite", "postgres"])
@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_a_copy_holds_a_few_pages_of_a_large_log(source: str, target: str, place: Place) -> None:
    old, new = place(source), place(target)
    with open_at(old) as store:
        agent = store.bind(agent_id="planner")
        for number in range(_LARGE_EVENTS):
            agent.write(key=f"k{number % 4}", value={"text": f"{number}" * (_LARGE_BYTES // 2)})
            agent.store_transcript(f"{number} " + os.urandom(_LARGE_BYTES // 2).hex())
    script = (
        "import memoranda, psycopg, sys, tracemalloc; from memoranda.sdk import copy_store; "
        "tracemalloc.start(); memoranda.copy(*sys.argv[1:]); "
        "print(tracemalloc.get_traced_memory()[1])"
    )
    command = [sys.executable, "-c", script, old, new]
    peak = int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    assert peak < _LARGE_EVENTS * _LARGE_BYTES / 3


@pytest.mark.slow
def test_a_copy_is_brought_up_to_date_with_what_was_erased(place: Place) -> None:
    old, new = place("sqlite"), place("postgres")
    with open_at(old) as store:
        agent = store.bind(agent_id="planner")
        fill(store, commits=50)
        transcript = agent.store_transcript("the secret word is marzipan " * 300)
        memoranda.copy(old, new)
        agent.forget(transcript_id=transcript.id, reason="asked")
        fill(store, first=50, commits=50)
        expected = answers(store)
    memoranda.copy(old, new)
    memoranda.copy(old, new)
    with open_at(new) as store:
        assert answers(store) == expected


def test_cursors_are_those_of_the_source(place: Place) -> None:
    old, new = place("sqlite"), place("postgres")
    with open_at(old) as store:
        fill(store, commits=50)
        for name in ("indexer", "exporter"):
            with store.subscribe(agent_id="planner", cursor=name, after_commit=0) as subscription:
                subscription.ack(next(subscription))
        expected = store.cursors()
    memoranda.copy(old, new)
    with open_at(new) as store:
        assert store.cursors() == expected
    with open_at(old) as store:
        store.drop_cursor(cursor="exporter")
        expected = store.cursors()
    memoranda.copy(old, new)
    with open_at(new) as store:
        assert store.cursors() == expected
        store.verify()


def test_a_target_with_another_log_is_refused(place: Place) -> None:
    old, new = place("sqlite"), place("sqlite")
    for url in (old, new):
        with open_at(url) as store:
            fill(store, commits=50)
    with pytest.raises(InvalidInput, match="has another log"):
        memoranda.copy(old, new)


def test_a_target_that_was_written_to_is_refused(place: Place) -> None:
    old, new = place("sqlite"), place("sqlite")
    with open_at(old) as store:
        fill(store, commits=50)
    memoranda.copy(old, new)
    with open_at(new) as store:
        store.write(agent_id="planner", key="goal", value={})
    with pytest.raises(LogForked, match="somebody wrote to it"):
        memoranda.copy(old, new)


def test_a_source_that_is_not_there(place: Place) -> None:
    with pytest.raises(NotFound):
        memoranda.copy(place("sqlite"), place("sqlite"))
