"""Power loss at every sync of a scripted life: what survives opens, verifies and kept its word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.crash.disk import Remove, Truncate
from tests.crash.power_loss import PowerLossFailure, check_run, check_twice, run_script
from tests.crash.stores import scratch
from tests.quick import only

PARTS = 4
"""The points are dealt to so many tests, which may run at once."""
SEEDS = {"full": 5, "relaxed": 4}


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as lent:
        yield lent


@pytest.mark.slow
@pytest.mark.parametrize("part", only([0], range(PARTS)))
@pytest.mark.parametrize("durability", only(["full"], ["full", "relaxed"]))
def test_at_every_sync(folder: Path, durability: str, part: int) -> None:
    run = run_script(folder, durability)
    points = run.sync_points()[part::PARTS]
    seeds = range(SEEDS[durability])
    assert check_run(run, folder, points, seeds) == len(points) * len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("durability", only(["relaxed"], ["full", "relaxed"]))
def test_twice_in_a_row(folder: Path, durability: str) -> None:
    run = run_script(folder, durability)
    places = run.sync_points()[5::25]
    assert check_twice(run, folder, places, seed=1) > 20


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_the_script_is_a_whole_life(folder: Path, durability: str) -> None:
    run = run_script(folder, durability)
    assert len(run.log) > 25
    assert len(run.sync_points()) > 60
    started_over = [item for item in run.trace if isinstance(item, Truncate) and not item.size]
    assert started_over, "the write-ahead log was never started over"
    assert sum(isinstance(item, Remove) for item in run.trace) >= 4, "it was never closed"


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_store_that_does_not_sync_is_caught(folder: Path, durability: str) -> None:
    with mock.patch.dict("memoranda.storage.sqlite.engine._SYNCHRONOUS", {durability: "OFF"}):
        run = run_script(folder, durability)
    places = range(0, len(run.trace), 5)
    with pytest.raises(PowerLossFailure, match="power lost at change"):
        check_run(run, folder, places, range(20))


@pytest.mark.slow
def test_a_promise_kept_by_checkpoints_only_is_caught(folder: Path) -> None:
    with mock.patch.dict("memoranda.storage.sqlite.engine._SYNCHRONOUS", {"full": "NORMAL"}):
        run = run_script(folder, "full")
    with pytest.raises(PowerLossFailure, match="survived of"):
        check_run(run, folder, range(0, len(run.trace), 5), range(5))


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_at_every_change(folder: Path, durability: str) -> None:
    run = run_script(folder, durability)
    places = range(len(run.trace) + 1)
    assert check_run(run, folder, places, range(2)) == 2 * len(places)
