"""Start-up: the user CPU time of importing the package and of the command line's help.

Each figure is a ratio to the start of a bare interpreter. Bytecode is cached in a folder of its own
and read from there, as it is where a wheel is installed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.report import Figure

STARTS = 15
"""Starts whose median is taken: one alone varies by a third on a shared machine."""
BARE = ("-c", "pass")
COMMANDS = (
    ("import memoranda", ("-c", "import memoranda"), 6.0, 3.0),
    ("memoranda --help", ("-m", "memoranda", "--help"), 8.0, 4.0),
)
"""What is started, with which arguments, and the ratios that it must and should keep to."""


def figures(folder: Path) -> list[Figure]:
    """Return the start-up times, measured in turns with the bare interpreter."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    measured: list[Figure] = []
    for work, arguments, must, target in COMMANDS:
        _cpu_seconds(arguments, environment)  # fills the cache
        ours, bare = list[float](), list[float]()
        for _ in range(STARTS):
            ours.append(_cpu_seconds(arguments, environment))
            bare.append(_cpu_seconds(BARE, environment))
        milliseconds = (median(ours) * 1e3, median(bare) * 1e3)
        against = "a bare interpreter, CPU time"
        measured.append(Figure(work, *milliseconds, "ms", against, must, target, True))
    return measured


def _cpu_seconds(arguments: Sequence[str], environment: dict[str, str]) -> float:
    """Return the user CPU time of one start of the interpreter."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], environment, file_actions=silent
    )
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"python {' '.join(arguments)} failed")
    return usage.ru_utime
