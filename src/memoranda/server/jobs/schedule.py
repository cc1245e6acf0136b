"""When a job is due: a pure function of its schedule and its last run."""

from __future__ import annotations

import msgspec

from memoranda.calls.job_status import Outcome
from memoranda.server.jobs.settings import Schedule

DAY = 86_400 * 1_000_000
"""In microseconds, as all times here."""
RETRY = 60 * 1_000_000
"""The time after a first failure until the next attempt; it doubles with each further one."""
_MAX_DOUBLINGS = 20
"""Doublings of the wait after failures: the interval of the job is shorter by then."""


class Run(msgspec.Struct, frozen=True):
    """A run of a job on a store that has ended."""

    started_at: int
    finished_at: int
    outcome: Outcome
    detail: str
    failures: int = 0
    """How many runs have failed in a row, up to this one."""


class Record(msgspec.Struct, frozen=True):
    """The stored record of a job on a store, which survives a restart."""

    seen_at: int
    """When the server first knew of the job for the store."""
    last: Run | None = None


def next_run(schedule: Schedule, record: Record, now: int) -> int:
    """Return when a job is due next on a store.

    A time that has passed means now: however many runs were missed, one makes up for them. A failed
    run is tried again soon, and then less and less often. After a clock was set back, the last run
    counts as one of now.
    """
    interval, time_of_day = schedule.interval, schedule.time_of_day
    assert interval is not None, "a job without an interval does not run"
    last = record.last
    if last is None:
        begin = min(record.seen_at, now) + (0 if schedule.starts_at_once else interval)
        return begin if time_of_day is None else _first_at(time_of_day, begin)
    started_at = min(last.started_at, now)
    if last.failures:
        doublings = min(last.failures - 1, _MAX_DOUBLINGS)
        return started_at + min(interval, RETRY << doublings)
    if time_of_day is None:
        return started_at + interval
    return _first_at(time_of_day, started_at + interval - DAY + 1)


def _first_at(time_of_day: int, begin: int) -> int:
    """Return the first instant with a time of the day, from `begin` on."""
    candidate = begin // DAY * DAY + time_of_day
    return candidate if candidate >= begin else candidate + DAY
