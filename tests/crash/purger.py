"""The child that gets killed while it purges a store: by itself, once so much of it is done."""

from __future__ import annotations

import os
import signal
import sys

import memoranda
from memoranda.storage.sqlite import wal

_STEPS_BETWEEN_CALLS = 200
"""Steps of SQLite between two reports: a small store takes few."""


def main(path: str, percent: str) -> None:
    """Purge the store, and die when that percentage of the work is done."""
    wal._STEPS_BETWEEN_CALLS = _STEPS_BETWEEN_CALLS

    def die(pages: int, total: int) -> None:
        if pages * 100 >= total * int(percent):
            os.kill(os.getpid(), signal.SIGKILL)

    memoranda.open(path).purge(progress=die)


if __name__ == "__main__":
    main(*sys.argv[1:])
