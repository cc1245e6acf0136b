"""A log of a million events."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from tests.acceptance.test_memory import peak_kib
from tests.bulk import write_events


@pytest.mark.slow
def test_a_million_events_take_no_more_memory_and_verify(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 1_000_000)
    short, long = peak_kib(path, 10_000), peak_kib(path, 1_000_000)
    assert long - short < 50 * 1024, f"{short} KiB at 10 k events, {long} KiB at a million"
    with memoranda.open(path, create=False) as store:
        assert store.verify().commits == 1_000_000
