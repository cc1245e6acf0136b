"""Readers that stop in the middle: nobody else notices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memoranda
from memoranda.storage.sqlite import wal
from tests.quick import only

BEGINNINGS = {
    "replay": "reader = iter(store.replay(agent_id='a'))",
    "subscription": "reader = iter(store.subscribe(agent_id='a', after_commit=0))",
    "held snapshot": "reader = iter(store.sql('SELECT commit_ts, hash FROM events'))",
}
CODE = """
import sys, memoranda
with memoranda.open(sys.argv[1], create=False) as store:
    {beginning}
    next(reader)
    print("paused", flush=True)
    sys.stdin.read()
"""
PAGE, FRAME = 4096, 4096 + 24
"""A page, and with its header in the write-ahead log, in bytes."""
USUAL = wal._CHECKPOINT_PAGES * FRAME
"""How long the write-ahead log gets before it starts over, in bytes."""
SIZE = 900_000
ONE_COMMIT = (3 * SIZE // PAGE + 100) * FRAME
"""More than what one commit adds to it: the value is in the event and in the view, the pages of the
old one are overwritten, and some pages have the rest."""


@contextmanager
def paused(path: Path, kind: str) -> Iterator[None]:
    """Let another process read the beginning and stop, for as long as the block lasts."""
    code = CODE.format(beginning=BEGINNINGS[kind])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"paused\n"
        yield
        assert child.poll() is None, "it was there all the time"
        child.communicate()
    assert child.returncode == 0


def longest_journal(path: Path, kind: str) -> int:
    """Return how long the write-ahead log got, in bytes, while 90 MB were written."""
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for number in range(600):
            agent.write(key=f"k{number}", value={"n": number})
        longest = 0
        with paused(path, kind):
            for _ in range(100):
                agent.write(key="large", value={"text": "x" * SIZE})
                longest = max(longest, store.stats().journal_bytes)
    return longest


@pytest.mark.parametrize("kind", only(["subscription"], ["replay", "subscription"]))
def test_a_paused_reader_does_not_keep_the_journal_from_starting_over(
    tmp_path: Path, kind: str
) -> None:
    assert longest_journal(tmp_path / "store.db", kind) < USUAL + ONE_COMMIT


@pytest.mark.slow
def test_a_held_snapshot_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above can fail: this is what a reader that holds on to something does."""
    monkeypatch.setattr(wal, "_READERS_WAIT_MS", 1)  # it is waited for in vain
    assert longest_journal(tmp_path / "store.db", "held snapshot") > 4 * USUAL
