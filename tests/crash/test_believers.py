"""Two processes, one reflecting and one superseding: nobody is left without a notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import ALL_AGENTS, Store
from tests.crash.believer import GROUNDS, ROUNDS
from tests.crash.kills import ROOT
from tests.patience import HANG_SECONDS

PARTS = ("reflect", "supersede", "reflect")


def run_together(path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.believer", str(path)]
    running = [
        subprocess.Popen(
            [*command, part], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for part in PARTS
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 0


def warranted(store: Store) -> set[tuple[str, str, str]]:
    """Return who should have been told: whoever reflects on what something supersedes."""
    names = set()
    for ground in store.list_memories(namespace="ground"):
        links = store.links(ground.id)
        newer = [link.source for link in links if link.relation == "supersedes"]
        resting = [link.source for link in links if link.relation == "reflects_on"]
        names |= {(item, ground.id, new) for item in resting for new in newer}
    return names


@pytest.mark.slow
def test_nobody_is_left_without_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a", namespace="ground")
        for number in range(GROUNDS):
            agent.remember(str(number), kind="reflection")
    run_together(path)
    with memoranda.open(path) as store:
        notices = list(store.invalidations(agent_id=ALL_AGENTS))
        reports = [
            (notice.dependent_id, notice.invalidated_id, notice.invalidating_id)
            for notice in notices
        ]
        assert len(set(reports)) == len(reports), "somebody was told twice"
        assert set(reports) == warranted(store)
        assert len(reports) == 2 * GROUNDS * ROUNDS * ROUNDS
        interleaved = [notice.by for notice in notices]
        assert len(set(interleaved)) == 2, "they did not meet"
        store.verify()
        assert store.rebuild().identical
