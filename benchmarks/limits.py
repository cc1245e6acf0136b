"""The limits: what the disk, SQLite and the decoder do on their own, measured in the same run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw

RECORD = b"x" * 600
"""About what one of the benchmark's transactions takes in the log."""


def bare_connection(path: Path) -> apsw.Connection:
    """Open a store's file as its engine does, with nothing of the engine around it."""
    database = apsw.Connection(str(path))
    database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return database


def synced_appends(folder: Path, seconds: float) -> float:
    """Return appends a second, each followed by fdatasync, one at a time."""
    descriptor = os.open(folder / "appends", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            os.write(descriptor, RECORD)
            os.fdatasync(descriptor)
            count += 1
    finally:
        os.close(descriptor)
    return count / passed
