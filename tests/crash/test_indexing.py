"""Killed between a commit and its indexing, or in the midst of it: everything is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from tests.patience import HANG_SECONDS
from tests.searching import backlog, fill, search, sources

ROOT = Path(__file__).parents[2]


def run(path: Path, failpoint: str, count: int) -> list[str]:
    """Let a child write until it dies, and return what it said was written."""
    order = [str(path), failpoint, str(count)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.indexer", *order],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == -9
    return done.stdout.split()


def check(store: Store, transcript_id: str, memories: list[str]) -> None:
    store.verify(deep=True)
    result = sources(store, "memory number")
    assert {*memories} <= result
    assert len(result) <= len(memories) + 1
    for number in range(0, len(memories), 97):
        assert search(store, f"number {number}")[0].document.source == memories[number]
    assert sources(store, "line") == {transcript_id}
    assert len(search(store, "lines of many")) == 100


@pytest.mark.parametrize(
    ("failpoint", "count"),
    [
        ("indexing", 4),
        ("indexed", 1),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("acknowledged", 300),
                ("derived", 3),
                ("indexing", 1),
                ("indexed", 5),
            )
        ),
    ],
)
def test_everything_that_was_written_is_found(tmp_path: Path, failpoint: str, count: int) -> None:
    path = tmp_path / "store.db"
    transcript_id, *memories = run(path, failpoint, count)
    assert len(memories) > 100
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        check(store, transcript_id, memories)
        assert failpoint == "indexed" or backlog(store), "what is not written stays listed"
        fill(store)
        assert not backlog(store)
        check(store, transcript_id, memories)
        assert store.rebuild().identical
