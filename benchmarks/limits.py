"""The limits: what the disk, SQLite and the decoder do on their own, measured in the same run."""

from __future__ import annotations

import os
import time
from pathlib import Path

RECORD = b"x" * 600
"""About what one of the benchmark's transactions takes in the log."""


def synced_appends(folder: Path, seconds: float) -> float:
    """Return appends a second, each followed by fdatasync, one at a time."""
    descriptor = os.open(folder / "appends", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        done, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            os.write(descriptor, RECORD)
            os.fdatasync(descriptor)
            done += 1
    finally:
        os.close(descriptor)
    return done / passed
