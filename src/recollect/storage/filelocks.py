"""Locks between processes, on a file of their own that has nothing else to say.

The operating system takes them back when a process ends, however it ends. They are no locks of the
store: its file must not be opened or closed by other means.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.storage.newfiles import told_as_ours

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that one thread of one process can have at a time."""
    with told_as_ours(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with told_as_ours(path):
            _acquire(descriptor)
        yield
    finally:
        os.close(descriptor)
