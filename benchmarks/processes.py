"""The processor time of other processes, as Linux tells it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int, *, descendants: bool = False) -> float:
    """Return the processor time of a process; with `descendants`, of those that ended too."""
    ticks = _ticks(pid, with_ended=descendants)
    if descendants:
        ticks += sum(_ticks(child, with_ended=True) for child in _children(pid))
    return ticks / _TICKS_A_SECOND


def _ticks(pid: int, *, with_ended: bool) -> int:
    """Return the ticks of a process, and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except FileNotFoundError:  # it has just ended
        return 0
    return sum(int(field) for field in fields[11 : 15 if with_ended else 13])


def _children(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (thread / "children").read_text("ascii").split())
