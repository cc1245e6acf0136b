"""A process that was forked while others were busy with a store is refused, and never stuck."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, StoreClosed
from memoranda.log.commit.group_commit import LeaderToken
from tests.cores import core_of
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS


def refused(store: Store) -> bool:
    """Say whether a store is of no use any more, and can be closed nonetheless."""
    bound = store.bind(agent_id="a")
    for call in (lambda: bound.recall("word"), lambda: bound.remember("more"), store.reindex):
        try:
            call()
        except StoreClosed:
            continue
        return False
    store.close()
    return True


@pytest.mark.parametrize("place", ["store.db", ":memory:"])
def test_locks_that_others_held_are_no_harm_in_a_fork(tmp_path: Path, place: str) -> None:
    url = place if place == ":memory:" else tmp_path / place
    with memoranda.open(url, embedder=Hashing()) as store:
        bound = store.bind(agent_id="a")
        bound.remember("word")
        bound.recall("word")
        core = core_of(store)
        locks = [core.engine._write_lock, core.vectors._lock, core.vectors._pending_vectors._lock]  # type: ignore[attr-defined]
        core.committer._leader = LeaderToken()
        holder = ThreadPoolExecutor(1)
        holder.submit(lambda: [lock.acquire() for lock in locks]).result()
        child = os.fork()
        if not child:
            signal.alarm(int(HANG_SECONDS))
            os._exit(0 if refused(store) else 1)
        core.committer._leader = None
        holder.submit(lambda: [lock.release() for lock in locks]).result()
        holder.shutdown()
        assert os.waitpid(child, 0)[1] == 0
        assert bound.recall("word")
