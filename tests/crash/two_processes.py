"""A contest: processes of several threads on one store, and what they recorded of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import memoranda
from tests.crash.checks import Entry, audit, check_file
from tests.crash.contender import COUNTER
from tests.crash.kills import ROOT
from tests.crash.serializability import Done, History
from tests.patience import HANG_SECONDS


class Contest:
    """A run of several processes on one store, and what they recorded."""

    def __init__(
        self,
        folder: Path,
        seconds: float,
        *,
        broken: str = "",
        url: str | None = None,
        processes: int = 2,
        threads: int = 4,
        least: int = 40,
    ) -> None:
        """Run a contest on a file in the folder, or on the store of a URL."""
        self.path = folder / "store.db" if url is None else None
        self.url = url or str(self.path)
        outputs = [folder / f"process-{number}" for number in range(processes)]
        environment = {**os.environ, "MEMORANDA_TEST_BREAK": broken}
        command = (sys.executable, "-m", "tests.crash.contender", self.url)
        children = [
            subprocess.Popen(
                [*command, output.name, str(seconds), str(threads), str(least), str(output)],
                cwd=ROOT,
                env=environment,
            )
            for output in outputs
        ]
        assert {child.wait(seconds + HANG_SECONDS) for child in children} == {0}
        lines = [output.read_text().splitlines() for output in outputs]
        self.counted = sum(int(counted) for counted, *_ in lines)
        self.records = [Done(**json.loads(line)) for _, *rest in lines for line in rest]

    def history(self, log: list[Entry]) -> History:
        """Return the history: what clients recorded, with the versions the log gave."""
        return History([self._versioned(done, log) for done in self.records])

    @staticmethod
    def _versioned(done: Done, log: list[Entry]) -> Done:
        if done.commit_ts is None:
            return done
        operations = log[done.commit_ts - 1].operations
        versions = {
            operation.key: operation.version
            for operation in operations
            if operation.agent_id == "all"
        }
        assert versions.keys() == done.writes.keys(), f"{done.name} is not in the log as it was"
        return replace(done, writes=versions)


def check_contest(contest: Contest) -> tuple[int, int]:
    """Check store and history; return how many transactions and dependencies there were."""
    with memoranda.open(contest.url, embedder=None) as store:
        log = audit(store)
        counter = store.get_state(agent_id="all", key=COUNTER)
        store.verify(deep=True)
    if contest.path is not None:
        check_file(contest.path)
    assert counter is not None
    assert counter.value == {"n": contest.counted}, "an update was lost"
    committed = [done.commit_ts for done in contest.records if done.commit_ts]
    assert len(set(committed)) == len(committed), "one commit was acknowledged twice"
    assert len(committed) + contest.counted == len(log), "a commit nobody made"
    return len(committed), contest.history(log).check()
