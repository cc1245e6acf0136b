"""Scheduled jobs of a server: what they do, when, and what is told of them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.calls.job_status import JobStatus
from memoranda.model.clock import FixedClock
from memoranda.sdk.backup_folder import BackupFolder
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.jobs.history import JobHistory
from memoranda.server.jobs.schedule import Record, Run
from memoranda.server.jobs.settings import (
    BackupSettings,
    CheckpointSettings,
    CompactSettings,
    DrillSettings,
    JobSettings,
    PurgeSettings,
    ReindexSettings,
    SweepSettings,
)
from memoranda.server.jobs.work import Place
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread

DAY, HOUR = 86_400, 3_600


class World:
    """A folder of stores with a server, its clock, and folders for what its jobs make."""

    def __init__(self, folder: Path) -> None:
        self.stores, self.backups = folder / "stores", folder / "backups"
        self.published = folder / "published"
        for path in (self.stores, self.backups, self.published):
            path.mkdir()
        self.clock = FixedClock("2026-11-18T02:00:00Z")
        self.key = folder / "log.key"
        self.server: ServerThread

    def start(self, create: tuple[str, ...] = (), **jobs: Any) -> ServerThread:
        self.server = ServerThread(
            folder=self.stores, create=create, clock=self.clock, jobs=JobSettings(**jobs)
        )
        self.server.__enter__()
        return self.server

    def run_due(self) -> None:
        scheduler = self.server.server.scheduler
        assert scheduler is not None
        self.server.run(scheduler.run_due())

    def open(self, name: str = "acme") -> Store:
        return memoranda.open(f"grpc://{self.server.address}/{name}")

    def status(self, job: str, name: str = "acme") -> JobStatus:
        with self.open(name) as store:
            (status,) = [status for status in store.stats().jobs if status.name == job]
            return status

    @property
    def counts(self) -> dict[tuple[str, Any], int]:
        scheduler = self.server.server.scheduler
        assert scheduler is not None
        return scheduler.counts


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.server.stop()


@pytest.mark.slow
def test_every_job_is_done_and_told_of(world: World) -> None:
    memoranda.create_signer(world.key, name="example.com/log")
    world.start(
        ("acme",),
        sweep=SweepSettings(every="1d"),
        compact=CompactSettings(every="1d"),
        purge=PurgeSettings(every="1d"),
        checkpoint=CheckpointSettings(
            every="1h", signer=str(world.key), publish=str(world.published)
        ),
        backup=BackupSettings(every="1d", to=str(world.backups), keep=2, verify=True),
        restore_drill=DrillSettings(every="1d"),
        reindex=ReindexSettings(every="1d"),
    )
    with world.open() as store:
        agent = store.bind(agent_id="a")
        agent.remember("fleeting", tier="short")
        store.configure(namespace="default", log_retention="2d")
        for number in range(3):
            agent.write(key="k", value={"n": number})
        world.clock.advance(90 * DAY)
        agent.write(key="k", value={"n": 3})
        world.run_due()
        world.clock.advance(DAY)
        world.run_due()
        details = {job.name: job.last_detail or "" for job in store.stats().jobs}
        outcomes = {job.name: job.last_outcome for job in store.stats().jobs}
        assert set(outcomes.values()) == {"ok"}, details
        assert details["backup"].startswith("acme-2027")
        assert "restored and verified" in details["restore_drill"]
        assert [*store.list_memories()] == []
        with pytest.raises(memoranda.Compacted):
            agent.get_state(key="k", at=4)
        assert store.verify().last_checkpoint is not None
        note = (world.published / "acme.checkpoint").read_text()
        assert store.verify(checkpoint=note).commits
    assert len(BackupFolder(world.backups, "acme", world.clock).files()) == 2
    assert BackupFolder(world.backups, "_control", world.clock).files(), "tokens are backed up too"
    assert world.counts[("backup", "ok")] >= 3
    assert not any(count for (_, outcome), count in world.counts.items() if outcome == "failed")


def test_a_job_runs_when_it_is_due_and_missed_runs_run_once(world: World) -> None:
    world.start(("acme", "other"), backup=BackupSettings(every="6h", to=str(world.backups)))
    files = BackupFolder(world.backups, "acme", world.clock).files
    world.run_due()
    assert len(files()) == 1
    world.clock.advance(6 * HOUR - 1)
    world.run_due()
    assert len(files()) == 1
    world.clock.advance(1)
    world.run_due()
    assert len(files()) == 2
    status = world.status("backup")
    assert status.last_started_at is not None
    assert status.next_run_at == status.last_started_at + timedelta(hours=6)
    world.server.stop()
    world.start(backup=BackupSettings(every="6h", to=str(world.backups)))
    world.run_due()
    assert len(files()) == 2, "a restart forgets nothing"
    world.server.stop()
    world.clock.advance(3 * DAY)
    world.start(backup=BackupSettings(every="6h", to=str(world.backups)))
    world.run_due()
    world.run_due()
    assert len(files()) == 3, "missed runs are made up for once"
    assert len(BackupFolder(world.backups, "other", world.clock).files()) == 3


def test_a_time_of_day_is_kept_also_for_a_store_that_never_saw_it(world: World) -> None:
    backup = BackupSettings(every="1d", at="03:00", to=str(world.backups))
    world.start(("acme",), backup=backup)
    files = BackupFolder(world.backups, "acme", world.clock).files
    world.run_due()
    assert files() == []
    assert str(world.status("backup").next_run_at) == "2026-11-18 03:00:00+00:00"
    world.server.stop()
    world.clock.advance(7 * HOUR)
    world.start(backup=backup)
    world.run_due()
    assert len(files()) == 1, "it was down at three, and makes up for it"
    world.clock.advance(17 * HOUR)
    world.run_due()
    assert len(files()) == 1
    world.clock.advance(HOUR)
    world.run_due()
    assert len(files()) == 2


def test_a_job_that_fails_is_told_of_tried_again_and_stops_no_other(world: World) -> None:
    world.start(
        ("acme",),
        backup=BackupSettings(every="1d", to=str(world.backups / "mount")),
        reindex=ReindexSettings(every="1d"),
    )
    world.run_due()
    with world.open() as store:
        stats = store.stats()
    status = world.status("backup")
    assert (status.last_outcome, status.failures) == ("failed", 1)
    assert status.last_detail is not None
    assert status.last_detail.startswith("NotFound: there is no folder mount")
    assert str(world.backups) not in status.last_detail, "no folder of the server is told"
    assert [warning for warning in stats.warnings if "the job backup fails" in warning]
    assert world.status("reindex").last_outcome == "ok"
    world.clock.advance(60)
    world.run_due()
    assert world.status("backup").failures == 2
    (world.backups / "mount").mkdir()
    world.clock.advance(60)
    world.run_due()
    assert world.status("backup").failures == 2, "it waits longer and longer"
    world.clock.advance(60)
    world.run_due()
    assert world.status("backup").last_outcome == "ok"
    assert world.status("backup").failures == 0
    assert world.counts[("backup", "failed")] == 4, "of the store, and of the control store"


def test_a_folder_that_cannot_be_used_is_a_failure_and_no_defect(world: World) -> None:
    world.start(
        ("acme",),
        backup=BackupSettings(every="1d", to=str(world.backups)),
        restore_drill=DrillSettings(every="1d", scratch=str(world.backups / "missing")),
    )
    world.run_due()
    for failures in (1, 2):
        world.clock.advance(DAY)
        world.run_due()
        status = world.status("restore_drill")
        assert status.failures == failures
        assert status.last_detail is not None
        assert status.last_detail.startswith("FileNotFoundError: ")
        assert str(world.backups) not in status.last_detail


def test_a_new_store_is_noticed_and_a_dropped_one_forgotten(world: World) -> None:
    world.start(("acme",), reindex=ReindexSettings(every="1d"))
    world.run_due()
    world.server.run(world.server.server.stores.create("late"))
    world.run_due()
    assert world.status("reindex", "late").last_outcome == "ok"
    world.server.run(world.server.server.stores.drop("late"))
    world.run_due()
    world.server.run(world.server.server.stores.create("late"))
    assert world.status("reindex", "late").last_outcome is None
    world.run_due()
    assert world.status("reindex", "late").last_outcome == "ok"


def test_a_drill_finds_a_backup_of_another_history(world: World) -> None:
    world.start(
        ("acme",),
        backup=BackupSettings(every="100d", to=str(world.backups)),
        restore_drill=DrillSettings(every="1d"),
    )
    with world.open() as store:
        store.write(agent_id="a", key="k", value={})
    world.run_due()
    assert world.status("restore_drill").last_outcome is None, "there was no backup to restore"
    world.clock.advance(DAY)
    world.run_due()
    assert world.status("restore_drill").last_outcome == "ok"
    stores = world.server.server.stores
    world.server.run(stores.drop("acme"))
    world.server.run(stores.create("acme"))
    world.clock.advance(DAY)
    world.run_due()
    status = world.status("restore_drill")
    assert status.last_outcome == "failed"
    assert "has another history than the store" in (status.last_detail or "")


def test_jobs_run_in_the_long_lane_one_store_at_a_time_and_end_at_shutdown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, running, peak = threading.Event(), 0, 0
    lock = threading.Lock()

    def work(place: object, progress: Any) -> str:
        nonlocal running, peak
        assert threading.current_thread().name.startswith("memoranda-long")
        with lock:
            running += 1
            peak = max(peak, running)
        entered.set()
        try:
            while True:
                progress(0, 1)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr("memoranda.server.jobs.work._reindex", work)
    world.start(("acme", "other")).stop()
    server = world.start(reindex=ReindexSettings(every="1d"))
    assert entered.wait(HANG_SECONDS)
    with world.open() as store:
        store.write(agent_id="a", key="k", value={})  # short calls go on
        assert [job.is_running for job in store.stats().jobs] != []
    server.stop()
    assert (running, peak) == (0, 1)
    monkeypatch.undo()
    world.start(reindex=ReindexSettings(every="1d"))
    wait_until(lambda: world.counts[("reindex", "ok")] == 2)


def test_a_job_that_is_due_is_not_run_beside_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, may_end, runs = threading.Event(), threading.Event(), Counter[str]()

    def work(place: Place, progress: object) -> str:
        runs[place.name] += 1
        entered.set()
        assert may_end.wait(HANG_SECONDS)
        return ""

    monkeypatch.setattr("memoranda.server.jobs.work._reindex", work)
    world.start(("acme", "other")).stop()
    server = world.start(reindex=ReindexSettings(every="1d"))
    assert entered.wait(HANG_SECONDS)
    scheduler = server.server.scheduler
    assert scheduler is not None
    second = asyncio.run_coroutine_threadsafe(scheduler.run_due(), server._loop)
    for _ in range(3):
        server.run(server.server.stores.names())  # the second run goes on meanwhile, if it may
    may_end.set()
    second.result(HANG_SECONDS)
    assert runs == {"acme": 1, "other": 1}


def test_jobs_are_remembered_without_tokens_too(world: World) -> None:
    server = ServerThread(
        folder=world.stores,
        create=("acme",),
        clock=world.clock,
        tokens=False,
        jobs=JobSettings(reindex=ReindexSettings(every="1d")),
    )
    world.server = server
    with server:
        world.run_due()
        assert world.status("reindex").last_outcome == "ok"
    with ControlStore(control_path(folder=world.stores)) as control:
        assert [*control.store.list_keys(agent_id="reindex", namespace="jobs")] == ["acme"]


def test_a_store_without_a_server_has_no_jobs(world: World) -> None:
    world.start(("acme",))
    assert world.server.server.scheduler is None
    with world.open() as store:
        assert store.stats().jobs == ()


def test_the_log_of_past_runs_does_not_grow_for_ever() -> None:
    clock = FixedClock("2026-11-18T02:00:00Z")
    with memoranda.open(":memory:", clock=clock, embedder=None) as store:
        history = JobHistory(store)
        for _ in range(40):
            clock.advance(DAY)
            history.save("reindex", "acme", Record(0, Run(clock.now(), clock.now(), "ok", "")))
        with pytest.raises(memoranda.Compacted):
            [*store.history(agent_id="reindex", namespace="jobs", key="acme")]
        assert history.load("reindex")["acme"].last == Run(clock.now(), clock.now(), "ok", "")
