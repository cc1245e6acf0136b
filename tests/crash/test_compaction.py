"""Killed in the middle of a compaction: all of it is there, or nothing of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect import Compacted, Store
from recollect.log.failpoints import OF_COMPACTION

ROOT = Path(__file__).parents[2]
VERSIONS = 30
HORIZON = 2 * VERSIONS
CHILD = """
import sys
from pathlib import Path
from recollect.log.compaction import Plan
from tests.crash.stores import open_core
from tests.crash.worker import dies_at

path, failpoint = sys.argv[1:]
core = open_core(Path(path), failpoint=dies_at(failpoint, 1))
core.committer.compact(Plan("default", {horizon}, "a1"), confirmed=True)
"""


def filled(path: Path) -> list[object]:
    """Make a store with something to give up, and return what holds in it."""
    with recollect.open(path) as store:
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


@pytest.mark.parametrize("failpoint", [*OF_COMPACTION, "before-commit", "acknowledged"])
def test_all_or_nothing(tmp_path: Path, failpoint: str) -> None:
    path = tmp_path / "store.db"
    before = filled(path)
    child = subprocess.run(
        [sys.executable, "-c", CHILD.format(horizon=HORIZON), str(path), failpoint],
        cwd=ROOT,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    with recollect.open(path) as store:
        agent = store.bind(agent_id="a1")
        assert held(agent) == before
        assert store.verify().commits == 2 * VERSIONS + 1 + (failpoint == "acknowledged")
        assert store.rebuild().identical
        if failpoint == "acknowledged":
            with pytest.raises(Compacted):
                agent.get_state(key="k", at=HORIZON - 1)
        else:
            assert len(list(agent.history(key="k"))) == VERSIONS
            assert agent.compact(before=HORIZON, confirm=True).erased == 2 * VERSIONS - 3
            assert held(agent) == before
