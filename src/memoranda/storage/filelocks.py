"""Locks between processes, on a file of their own that has nothing else to say.

The operating system takes them back when a process ends, however it ends. They are no locks of the
store: its file must not be opened or closed by other means.
"""

from __future__ import annotations

import os
import sys
from io import FileIO
from pathlib import Path

from memoranda.storage.newfiles import told_as_ours

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def locked(path: Path) -> FileIO:
    """Return a lock, held by one thread of one process at a time, until the file is closed.

    Its `with` statement ends in one C call, so an interrupt cannot leave it locked.
    """
    with told_as_ours(path):
        file = FileIO(path, "r+", opener=_open_own)
    taken = False
    try:
        with told_as_ours(path):
            _acquire(file.fileno())
        taken = True
    finally:
        if not taken:
            file.close()
    return file


def _open_own(path: str, _: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
