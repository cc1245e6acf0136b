"""When a job is due, for every kind of schedule and every history."""

from __future__ import annotations

import pytest

from memoranda.model.clock import to_micros
from memoranda.server.jobs.schedule import RETRY, Record, Run, next_run
from memoranda.server.jobs.settings import SweepSettings

HOUR = 3_600_000_000


def micros(text: str) -> int:
    return to_micros("time", f"2026-11-{text}Z")


def ran(text: str, failures: int = 0) -> Record:
    """Return the history of a job whose last run began at a time."""
    started_at = micros(text)
    outcome = "failed" if failures else "ok"
    return Record(0, Run(started_at, started_at + HOUR, outcome, "", failures))  # type: ignore[arg-type]


SIX_HOURS, DAILY = SweepSettings(every="6h"), SweepSettings(every="1d", at="03:00")
WEEKLY = SweepSettings(every="7d", at="03:00")


@pytest.mark.parametrize(
    ("schedule", "record", "due"),
    [
        (SIX_HOURS, Record(micros("18T10:00:00")), "18T10:00:00"),
        (SIX_HOURS, ran("18T05:00:00"), "18T11:00:00"),
        (SIX_HOURS, ran("01T05:00:00"), "01T11:00:00"),
        (DAILY, Record(micros("18T02:00:00")), "18T03:00:00"),
        (DAILY, Record(micros("17T03:00:00")), "17T03:00:00"),
        (DAILY, Record(micros("17T03:00:01")), "18T03:00:00"),
        (DAILY, ran("17T03:00:00"), "18T03:00:00"),
        (DAILY, ran("17T03:00:05"), "18T03:00:00"),
        (DAILY, ran("17T09:00:00"), "18T03:00:00"),
        (DAILY, ran("18T02:59:59"), "18T03:00:00"),
        (WEEKLY, ran("11T03:00:01"), "18T03:00:00"),
        (WEEKLY, ran("11T09:00:00"), "18T03:00:00"),
    ],
)
def test_a_job_is_due_by_its_interval_and_its_time_of_day(
    schedule: SweepSettings, record: Record, due: str
) -> None:
    assert next_run(schedule, record, micros("18T10:00:00")) == micros(due)


def test_a_failed_run_is_tried_again_soon_and_then_less_often() -> None:
    now = micros("18T10:00:00")
    waits = [
        next_run(DAILY, ran("18T09:00:00", n), now) - micros("18T09:00:00") for n in range(1, 5)
    ]
    assert waits == [RETRY, 2 * RETRY, 4 * RETRY, 8 * RETRY]
    later = next_run(SIX_HOURS, ran("18T09:00:00", 10_000), now)
    assert later == micros("18T15:00:00"), "never later than its interval"


def test_a_clock_that_was_set_back_does_not_stop_a_job() -> None:
    record, now = ran("28T05:00:00"), micros("18T10:00:00")
    assert next_run(SIX_HOURS, record, now) == now + 6 * HOUR
    assert next_run(SIX_HOURS, Record(micros("28T05:00:00")), now) == now
