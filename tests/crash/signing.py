"""The child that signs while it is killed: it commits with a signer, and dies where it is told.

With `sign`, it signs on demand as often as it can; with `automatic`, a thread does behind commits.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path

import memoranda
from memoranda.audit import checkpointer
from memoranda.audit.checkpointer import LogSigner
from memoranda.sdk.signers import log_signer
from tests.cores import core_of


def dies_at(name: str, nth: int) -> None:
    """Kill this process when signing passes a moment for the n-th time."""
    remainder = count(nth, -1)
    passed = LogSigner.__init__

    def pass_or_die(moment: str) -> None:
        if moment == name and next(remainder) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def begin(self: LogSigner, *args: object) -> None:
        passed(self, *args, failpoint=pass_or_die)  # type: ignore[arg-type, misc]

    LogSigner.__init__ = begin  # type: ignore[assignment, method-assign]


def work(path: Path, key: Path, way: str, commits: int) -> None:
    """Commit, and sign."""
    options = {"signer": key, "checkpoint_every": 3} if way == "automatic" else {}
    with memoranda.open(path, **options) as store:  # type: ignore[arg-type]
        signs = log_signer(core_of(store), memoranda.load_signer(key), "local")
        for number in range(commits):
            store.write(agent_id="a", key="k", value={"n": number})
            if way == "sign" and number % 3 == 0:
                sys.stdout.write(f"{signs.sign().size}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    _, place, key_file, how, most, failpoint, when = sys.argv
    checkpointer.POLL_SECONDS = 0.002
    if failpoint != "none":
        dies_at(failpoint, int(when))
    work(Path(place), Path(key_file), how, int(most))
