"""What readers that are paused cost a writer, against what an idle process costs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import memoranda
from benchmarks.commits import VALUE, one

IDLE = "pass"
PAUSED = """
store = memoranda.open(sys.argv[1], create=False)
replay = iter(store.replay(agent_id="a"))
subscription = iter(store.subscribe(agent_id="a", after_commit=0))
next(replay), next(subscription)
"""


def commits(path: Path, seconds: float) -> tuple[float, float]:
    """Return durable commits a second beside paused readers, and beside an idle process."""
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(1000):
            store.write(agent_id="a", key=f"k{number}", value=VALUE)
    beside_readers, beside_idle = [], []
    for _ in range(5):
        with _process(path, PAUSED):
            beside_readers.append(one(path, seconds / 5))
        with _process(path, IDLE):
            beside_idle.append(one(path, seconds / 5))
    return median(beside_readers), median(beside_idle)


@contextmanager
def _process(path: Path, code: str) -> Iterator[None]:
    """Run another process that does this and then nothing, for as long as the block lasts."""
    code = f"import sys, memoranda\n{code}\nprint('ready', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield
        child.communicate()
