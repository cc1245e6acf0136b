"""Compaction beside others who write, and what it leaves in the tables."""

from __future__ import annotations

import threading
from pathlib import Path

import memoranda
from memoranda import Store

WRITES = 60


def write(store: Store, agent_id: str) -> None:
    for number in range(WRITES):
        store.write(agent_id=agent_id, key="k", value={"n": number})


def test_others_write_before_it_and_after_it(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        write(store, "first")
        writers = [threading.Thread(target=write, args=(store, f"a{n}")) for n in range(3)]
        for writer in writers:
            writer.start()
        done = [
            store.compact(before=store.stats().commits, confirm=True, purge=False) for _ in range(3)
        ]
        for writer in writers:
            writer.join()
        assert done[0].erased
        for number in range(3):
            record = store.get_state(agent_id=f"a{number}", key="k")
            assert record is not None
            assert (record.version, record.value) == (WRITES, {"n": WRITES - 1})
        store.verify()
        assert store.rebuild().identical


def test_another_process_sees_what_was_done(tmp_path: Path) -> None:
    """A second handle on the file has caches of its own, as another process does."""
    path = tmp_path / "store.db"
    with memoranda.open(path) as one, memoranda.open(path) as other:
        write(one, "a")
        write(other, "a")
        other.compact(before=2 * WRITES, confirm=True)
        commit = one.write(agent_id="a", key="k", value={}).commit_ts
        assert commit == 2 * WRITES + 2
        record = one.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.version == 2 * WRITES + 1
        one.verify()
        assert other.rebuild().identical


def test_progress_is_told_to_the_end(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    with memoranda.open(tmp_path / "store.db") as store:
        write(store, "a")
        store.compact(before=WRITES, confirm=True, progress=lambda *at: reports.append(at))
    assert reports[-1] == (2 * WRITES, 2 * WRITES)
    assert reports == sorted(reports)
