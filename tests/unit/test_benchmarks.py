"""The benchmarks run: what they ask of the store's queries is what these take."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import memories, reads
from tests.bulk import write_events


def test_lists_of_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MEMORIES", 2 * memories.TOGETHER)
    path = tmp_path / "store.db"
    memories.fill_list(path)
    for filtered in ("all", "kind", "tags"):
        ours, bare = memories.listed(path, 0.05, filtered)
        assert min(ours, bare) > 0


def test_reads(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 400, agents=reads.AGENTS)
    for measure in (reads.replay, reads.point_reads):
        assert min(measure(path, 0.05)) > 0
