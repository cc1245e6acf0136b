"""The scheduler of a server: it runs each job on each store when it is due, and stores the results.

Every job has a task of its own, so one that takes hours keeps no other waiting, and goes through
the stores one after the other, so it never runs twice at a time and opens one store at a time. The
work is done in the long lane of the store, where it keeps no short call waiting. A failure is
logged, counted and tried again; the other stores and jobs go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from memoranda.calls.job_status import JobStatus, Outcome
from memoranda.errors import MemorandaError, NotFound, Unavailable
from memoranda.model.clock import Clock, to_datetime
from memoranda.sdk.lanes import yielding
from memoranda.server.folders import error_without
from memoranda.server.jobs.history import JobHistory
from memoranda.server.jobs.schedule import Record, Run, next_run
from memoranda.server.jobs.work import Job, Place
from memoranda.server.stores import StoreSet

_log = logging.getLogger("memoranda.server")
GRACE_SECONDS = 5.0
"""The time that work in threads has at least to notice that the server shuts down."""
POLL_SECONDS = 30.0
"""Seconds that a job sleeps at most, before it looks for new stores and for a changed clock."""


class Scheduler:
    """Runs the jobs of a server, from `start` to `stop`, in its event loop."""

    def __init__(
        self,
        jobs: Sequence[Job],
        stores: StoreSet,
        history: JobHistory,
        control: Place,
        clock: Clock,
        folders: Sequence[Path | None] = (),
    ) -> None:
        self._runners = [_Runner(job, stores, history, control, clock, folders) for job in jobs]
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def counts(self) -> dict[tuple[str, Outcome], int]:
        """The numbers of successful and failed runs of each job since the server started."""
        return {
            (runner.job.name, outcome): runner.counts[outcome]
            for runner in self._runners
            for outcome in ("ok", "failed")
        }

    @property
    def failing_stores(self) -> dict[str, int]:
        """On how many stores the last run of each job has failed."""
        return {runner.job.name: runner.failing_count for runner in self._runners}

    async def start(self) -> None:
        """Read the stored records, and start."""
        for runner in self._runners:
            await runner.load()
        self._tasks = [asyncio.create_task(runner.follow()) for runner in self._runners]
        for task in self._tasks:
            task.add_done_callback(_log_defect)

    async def run_due(self) -> None:
        """Run everything that is due now, and return when it is done."""
        await asyncio.gather(*(runner.run_due() for runner in self._runners))

    async def stop(self, seconds: float) -> None:
        """Begin no further run, and wait some seconds for those that run: they end at a step."""
        for runner in self._runners:
            runner.stop()
        if self._tasks:
            _, unfinished = await asyncio.wait(self._tasks, timeout=max(seconds, GRACE_SECONDS))
            for task in unfinished:
                task.cancel()

    def statuses(self, store: str) -> tuple[JobStatus, ...]:
        """Return the jobs of a store, with their last and their next run; called in any thread."""
        return tuple(runner.status(store) for runner in self._runners)


def _log_defect(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("a job has ended by a defect", exc_info=error)


class _Runner:
    """Runs one job."""

    def __init__(
        self,
        job: Job,
        stores: StoreSet,
        history: JobHistory,
        control: Place,
        clock: Clock,
        folders: Sequence[Path | None],
    ) -> None:
        self.job = job
        self.counts: Counter[Outcome] = Counter()
        self._stores = stores
        self._history = history
        self._control = control
        self._clock = clock
        self._folders = folders
        self._records: dict[str, Record] = {}
        self._running: str | None = None
        """The store that it works on."""
        self._turn = asyncio.Lock()
        self._stopping = asyncio.Event()

    @property
    def failing_count(self) -> int:
        """On how many stores the last run has failed."""
        lasts = [record.last for record in self._records.values()]
        return sum(last is not None and last.failures > 0 for last in lasts)

    async def load(self) -> None:
        """Read the stored records."""
        self._records = await asyncio.to_thread(self._history.load, self.job.name)

    def stop(self) -> None:
        """End at the next step."""
        self._stopping.set()

    async def follow(self) -> None:
        """Run whenever something is due, until `stop`."""
        while not self._stopping.is_set():
            try:
                await self.run_due()
            except MemorandaError as error:  # of the control store, or of the folder of the stores
                _log.warning("the job %s cannot go on: %s", self.job.name, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rest_seconds()):
                    await self._stopping.wait()

    async def run_due(self) -> None:
        """Run on every store on which it is due, the one that waits longest first."""
        async with self._turn:
            names = await self._names()
            due = sorted((self._due_at(name), name) for name in names)
            for due_at, name in due:
                if due_at > self._clock.now() or self._stopping.is_set():
                    break
                await self._run(name)

    def status(self, store: str) -> JobStatus:
        """Return the last and the next run on a store."""
        schedule, now = self.job.schedule, self._clock.now()
        record = self._records.get(store, Record(now))
        last = record.last
        assert schedule.every is not None, "a scheduled job has an interval"
        return JobStatus(
            name=self.job.name,
            every=schedule.every,
            is_running=self._running == store,
            last_started_at=None if last is None else to_datetime(last.started_at),
            last_seconds=None if last is None else (last.finished_at - last.started_at) / 1_000_000,
            last_outcome=None if last is None else last.outcome,
            last_detail=None if last is None else last.detail,
            failures=0 if last is None else last.failures,
            next_run_at=to_datetime(max(next_run(schedule, record, now), now)),
        )

    async def _names(self) -> list[str]:
        """Return the stores; add records for new stores, and delete those of removed ones."""
        names = await self._stores.names()
        if self.job.of_control:
            names = [*names, self._control.name]
        for name in self._records.keys() - {*names}:
            del self._records[name]
            await asyncio.to_thread(self._history.forget, self.job.name, name)
        for name in names:
            if name not in self._records:
                record = self._records[name] = Record(self._clock.now())
                if self._due_at(name) > record.seen_at:  # else its run is noted
                    await asyncio.to_thread(self._history.save, self.job.name, name, record)
        return names

    def _due_at(self, name: str) -> int:
        return next_run(self.job.schedule, self._records[name], self._clock.now())

    def _rest_seconds(self) -> float:
        due = min(map(self._due_at, self._records), default=None)
        if due is None:
            return POLL_SECONDS
        return min(max((due - self._clock.now()) / 1_000_000, 0.0), POLL_SECONDS)

    async def _run(self, name: str) -> None:
        started_at, self._running = self._clock.now(), name
        outcome: Outcome = "ok"
        try:
            detail = await self._work_on(name)
        except (MemorandaError, OSError) as error:
            if self._stopping.is_set():  # it is done after the restart
                return
            if isinstance(error, NotFound) and name not in await self._names():
                return  # the store was dropped meanwhile
            outcome, detail = "failed", self._describe(error)
        finally:
            self._running = None
        before = self._records[name]
        failures = 0
        if outcome == "failed":
            failures = 1 if before.last is None else before.last.failures + 1
        run = Run(started_at, self._clock.now(), outcome, detail, failures)
        record = self._records[name] = Record(before.seen_at, run)
        self.counts[outcome] += 1
        _log.log(
            logging.INFO if outcome == "ok" else logging.WARNING,
            "job",
            extra={
                "job": self.job.name,
                "store": name,
                "outcome": outcome,
                "seconds": (run.finished_at - run.started_at) / 1_000_000,
                "detail": detail,
            },
        )
        await asyncio.to_thread(self._history.save, self.job.name, name, record)

    async def _work_on(self, name: str) -> str:
        progress = yielding(self._check_serving)
        if name == self._control.name and self.job.of_control:
            return await asyncio.to_thread(self.job.work, self._control, progress)
        async with self._stores.use(name) as opened:
            place = Place(name, opened.core)
            return await opened.run_long(partial(self.job.work, place, progress))

    def _check_serving(self, _: int, __: int) -> None:
        """Raise if the server is shutting down; called in threads, at each step of the work."""
        if self._stopping.is_set():
            raise Unavailable("the server is shutting down: the job goes on after its restart")

    def _describe(self, error: MemorandaError | OSError) -> str:
        """Return why a run failed, for callers elsewhere: without folders of the server."""
        if isinstance(error, OSError):
            name = Path(str(error.filename)).name if error.filename else "a file"
            return f"{type(error).__name__}: {name}: {error.strerror}"
        for folder in self._folders:
            error = error_without(folder, error)
        return f"{type(error).__name__}: {error}"
