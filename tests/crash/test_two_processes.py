"""Two processes of four threads: one order, no lost update, and a serializable history."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import memoranda
from memoranda import Store
from memoranda.calls.defaults import Defaults
from memoranda.model.clock import SystemClock
from memoranda.model.ids import SystemIds
from memoranda.model.limits import Limits
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.open import assemble, load_queries
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.crash.serializability import Anomaly
from tests.crash.stores import scratch
from tests.crash.two_processes import Contest, check_contest
from tests.postgres_server import new_store_url
from tests.quick import SHARE

SECONDS = 2.0


@pytest.mark.slow
def test_two_processes_at_once(tmp_path: Path) -> None:
    contest = Contest(tmp_path, SECONDS)
    committed, edges = check_contest(contest)
    assert contest.counted > 5
    assert committed > 20
    assert edges > 100


@pytest.mark.slow
def test_four_processes_of_eight_threads_in_postgres(tmp_path: Path) -> None:
    url = new_store_url(tmp_path)
    memoranda.open(url, embedder=None).close()
    contest = Contest(tmp_path, SECONDS, url=url, processes=4, threads=8, least=3)
    committed, edges = check_contest(contest)
    assert contest.counted >= 32
    assert committed > 20
    assert edges > 100


@pytest.mark.slow
def test_two_processes_for_long(tmp_path: Path) -> None:
    check_contest(Contest(tmp_path, 30.0 / SHARE))


def test_another_process_makes_the_store_in_between(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    engine = SqliteEngine(path, queries=load_queries())
    write_now = engine.write

    def write_late(*arguments: Any, **options: Any) -> object:
        with mock.patch.object(engine, "write", write_now), memoranda.open(path) as other:
            other.write(agent_id="a", key="k", value={})
        return write_now(*arguments, **options)

    with mock.patch.object(engine, "write", write_late):
        core = assemble(engine, SystemClock(), SystemIds(), Limits())
    with Store(LocalCalls(core), Defaults()) as store:
        assert store.verify().commits == 1
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 2


@pytest.mark.slow
def test_a_store_that_does_not_check_reads_is_caught() -> None:
    def contend() -> None:
        for _ in range(20):  # whether two meet is a matter of luck
            with scratch() as folder:
                check_contest(Contest(folder, 1.5, broken="reads"))

    with pytest.raises(Anomaly, match="rw on"):
        contend()
