"""Where a file lives: an identity that a copy of the file does not share.

A file's inode number alone would not do, since numbers are used again at once: a backup copied over
a removed store often gets the old number. So the time of the inode's birth is part of the identity.
Bytes that are written over a file in place keep both, and cannot be told from the file's own.
It is asked by path, never through an open file: closing any descriptor of a file drops all of the
process's POSIX locks on it, and SQLite's with them.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

_AT_FDCWD = -100
_STATX_BTIME = 0x800
_STATX_SIZE = 256
_BTIME = struct.Struct("=qI")
_BTIME_OFFSET = 80


def home_of(path: Path) -> str:
    """Return the identity of the file at `path`."""
    stat = path.stat()
    return f"{stat.st_dev}:{stat.st_ino}:{_born(path, stat)}"


def _born(path: Path, stat: os.stat_result) -> str:
    """Return when the inode was made, as far as the platform tells."""
    if not sys.platform.startswith("linux"):
        return str(getattr(stat, "st_birthtime", 0))
    statx = getattr(ctypes.CDLL(None), "statx", None)
    answer = ctypes.create_string_buffer(_STATX_SIZE)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer):
        return "0"
    seconds, nanoseconds = _BTIME.unpack_from(answer, _BTIME_OFFSET)
    return f"{seconds}.{nanoseconds:09}"
