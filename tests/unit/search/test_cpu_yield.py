"""The indexer gives way to those who commit, and takes its share when it is needed."""

from __future__ import annotations

import pytest

from memoranda.search.background_worker import (
    BURST_DOCUMENTS,
    BURST_SECONDS,
    LARGE_COMMIT,
    SHORT_BACKLOG,
    WORK_SLICE_SECONDS,
    BulkPauses,
    CpuYield,
)


class WorkingClock:
    """A clock that stands still but for work and sleep, and counts both."""

    def __init__(self) -> None:
        self.now = 0.0
        self.worked = 0.0
        self.slept = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds

    def work(self, seconds: float) -> None:
        self.worked += seconds
        self.now += seconds


def share(
    *,
    commits: bool,
    searches: bool = False,
    write: float = WORK_SLICE_SECONDS,
    warm_up: float = 0.0,
    catches_up: bool = False,
    backlog: int = 0,
    is_awaited: bool = False,
) -> float:
    """Return the share of the time that is worked while others commit or search all the time."""
    clock = WorkingClock()
    count = 0
    yield_cpu = CpuYield(
        lambda: count,
        clock,  # type: ignore[arg-type]
        backlog=lambda: backlog,
        is_awaited=lambda: is_awaited,
    )

    def work_until(end: float) -> None:
        nonlocal count
        while clock.now < end:
            count += commits
            if searches:
                yield_cpu.hurry()
            clock.work(write)
            yield_cpu()

    work_until(warm_up)
    if catches_up:
        yield_cpu.catch_up()
    clock.worked = clock.slept = 0.0
    work_until(clock.now + 0.8 * BURST_SECONDS)
    return clock.worked / (clock.worked + clock.slept)


def test_a_burst_of_commits_keeps_nearly_all_of_the_time() -> None:
    assert share(commits=True, searches=False) == pytest.approx(1 / 16, rel=0.05)
    assert share(commits=True, backlog=BURST_DOCUMENTS) == pytest.approx(1 / 16, rel=0.05)


def test_a_large_backlog_has_half_of_it_spent_on_indexing() -> None:
    assert share(commits=True, backlog=BURST_DOCUMENTS + 1) == pytest.approx(1 / 2, rel=0.05)


def test_writers_that_never_stop_leave_half_of_it() -> None:
    late = 1.1 * BURST_SECONDS
    assert share(commits=True, warm_up=late) == pytest.approx(1 / 2, rel=0.05)
    assert share(commits=True, warm_up=late, catches_up=True) == pytest.approx(1 / 16, rel=0.05)


def test_whoever_searches_has_half_of_it_spent_on_indexing() -> None:
    assert share(commits=True, searches=True) == pytest.approx(1 / 2, rel=0.05)


def test_whoever_waits_for_the_work_waits_for_no_rests() -> None:
    assert share(commits=True, is_awaited=True) > 0.9


@pytest.mark.parametrize("searches", [True, False])
def test_nobody_is_given_way_to_who_is_not_there(*, searches: bool) -> None:
    assert share(commits=False, searches=searches) > 0.9


def test_a_long_write_is_followed_by_a_rest_in_proportion() -> None:
    assert share(commits=True, searches=False, write=0.01) == pytest.approx(1 / 16, rel=0.05)


def test_less_than_a_stretch_of_work_needs_no_stop() -> None:
    clock = WorkingClock()
    yield_cpu = CpuYield(lambda: 0, clock)  # type: ignore[arg-type]
    clock.work(WORK_SLICE_SECONDS / 2)
    yield_cpu()
    assert clock.slept == 0


class Load:
    """A bulk load beside an indexer that takes as long for each document, on a counted clock."""

    def __init__(self, seconds_per_document: float) -> None:
        self._clock = WorkingClock()
        self._seconds = seconds_per_document
        self.backlog = 0.0
        self.is_indexing = True
        self.slept: list[float] = []
        self.pauses = BulkPauses(
            lambda: int(self.backlog),
            lambda: self.is_indexing,
            self._clock,  # type: ignore[arg-type]  # the rest is not used
        )

    def commit(self, documents: int) -> float:
        """Add documents to the queue, and return how long the caller waits."""
        self.backlog += documents
        before = self._clock.now
        for seconds in self.pauses.after(documents):
            self._clock.sleep(seconds)
            if self.is_indexing:
                self.backlog = max(self.backlog - seconds / self._seconds, 0)
        self.slept.append(self._clock.now - before)
        return self.slept[-1]


def test_a_bulk_load_ends_with_a_short_queue() -> None:
    load = Load(seconds_per_document=0.00005)
    for _ in range(100):
        load.commit(1_000)
    assert load.backlog <= SHORT_BACKLOG + 1_000
    assert sum(load.slept) == pytest.approx((100_000 - SHORT_BACKLOG) * 0.00005, rel=0.1)
    assert max(load.slept) <= 0.21, "none of the callers waits for long"


def test_a_burst_and_small_commits_wait_for_nothing() -> None:
    load = Load(seconds_per_document=0.00005)
    for _ in range(BURST_DOCUMENTS // 1_000):
        assert load.commit(1_000) == 0
    for _ in range(1_000):
        assert load.commit(LARGE_COMMIT - 1) == 0
    assert load.commit(LARGE_COMMIT) > 0


def test_after_it_has_caught_up_there_is_a_new_burst() -> None:
    load = Load(seconds_per_document=0.00005)
    load.commit(2 * BURST_DOCUMENTS)
    load.backlog = 2 * SHORT_BACKLOG
    assert load.commit(1_000) > 0
    load.backlog = 2 * SHORT_BACKLOG
    load.pauses.catch_up()
    assert load.commit(1_000) == 0


def test_nobody_waits_for_an_indexer_that_does_nothing() -> None:
    load = Load(seconds_per_document=1e9)
    assert load.commit(100 * BURST_DOCUMENTS) > 0
    assert load.commit(1_000) == pytest.approx(0.2, rel=0.05), "in proportion to the commit"
    load.is_indexing = False
    assert load.commit(1_000) == 0
