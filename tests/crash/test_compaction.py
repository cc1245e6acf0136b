"""Killed in the middle of a compaction: whole slices are there, and the next one goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import Compacted, Store
from memoranda.log.commit.failpoints import OF_COMPACTION

ROOT = Path(__file__).parents[2]
VERSIONS = 30
HORIZON = 2 * VERSIONS
CHILD = """
import sys
from pathlib import Path
from memoranda.log.compaction import compactor, pace
from tests.crash.stores import open_core
from tests.crash.worker import dies_at

path, failpoint, nth = sys.argv[1:]
pace.MIN_WEIGHT = pace.FIRST_WEIGHT = pace.MAX_WEIGHT = 16
core = open_core(Path(path), failpoint=dies_at(failpoint, int(nth)))
core.committer.compact(compactor.Plan("default", {horizon}, "a1"), confirmed=True)
"""


def filled(path: Path) -> list[object]:
    """Make a store with something to give up, and return what holds in it."""
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a1")
        memory = agent.remember("m", title="t")
        for number in range(VERSIONS):
            agent.write(key="k", value={"n": number})
            agent.touch(memory.id)
        return held(agent)


def held(agent: Store) -> list[object]:
    return [
        list(agent.scan_prefix(prefix="", at=HORIZON)),
        list(agent.scan_prefix(prefix="")),
        list(agent.list_memories(content=True)),
    ]


@pytest.mark.parametrize(
    ("failpoint", "nth", "committed"),
    [
        ("before-commit", 3, 2),
        ("acknowledged", 1, 1),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *((failpoint, 1, 0) for failpoint in (*OF_COMPACTION, "before-commit")),
                *((failpoint, 3, 2) for failpoint in OF_COMPACTION),
                ("acknowledged", 2, 2),
            )
        ),
    ],
)
def test_slices_are_there_or_not(tmp_path: Path, failpoint: str, nth: int, committed: int) -> None:
    path = tmp_path / "store.db"
    before = filled(path)
    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(horizon=HORIZON), str(path), failpoint, str(nth)],
        cwd=ROOT,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a1")
        assert held(agent) == before
        assert store.verify(deep=True).commits == 2 * VERSIONS + 1 + committed
        assert store.rebuild().identical
        if committed:
            with pytest.raises(Compacted):
                agent.get_state(key="k", at=HORIZON - 1)
        else:
            assert len(list(agent.history(key="k"))) == VERSIONS
        assert len(store.stats().warnings) == (1 if committed else 0)
        erased = sum(erasure.operations for erasure in store.erasures())
        done = agent.compact(before=HORIZON, confirm=True)
        assert done.erased + erased == 2 * VERSIONS - 3
        assert held(agent) == before
        assert store.stats().warnings == ()
        store.verify(deep=True)
