"""The identity of a store's file, and the checks that its path still names it.

A process that has a file open can write to it after the file was removed, moved or replaced. Those
writes succeed and are lost, and so are writes to a write-ahead log that was removed. The checks use
`stat` on the path and open nothing: closing any descriptor of a file drops all POSIX locks that the
process has on it, SQLite's included.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

import msgspec

from memoranda.errors import Unavailable

# The identity of a file, which a copy of the file does not share.
#
# An inode number alone is not enough, since a file system reuses it at once: a backup that is
# copied to the path of a removed store often gets the old number. So the birth time of the inode is
# part of the identity. A file that is overwritten in place keeps both: it cannot be told apart.
#
# Python's `os.stat` has no birth time on Linux, so `statx` is called through ctypes. The numbers
# are the layout of `struct statx` in <linux/stat.h>.

_AT_FDCWD = -100
"""AT_FDCWD: a relative path is relative to the working directory."""
_STATX_BTIME = 0x800
"""STATX_BTIME: the mask that asks for the time of birth."""
_STATX_SIZE = 256
"""Bytes of `struct statx`."""
_BTIME = struct.Struct("=qI")
_BTIME_OFFSET = 80
"""Offset of `stx_btime` in it."""


def file_identity(path: Path) -> str:
    """Return the identity of the file at `path`."""
    stat = path.stat()
    return f"{stat.st_dev}:{stat.st_ino}:{_birth_time(path, stat)}"


def _birth_time(path: Path, stat: os.stat_result) -> str:
    """Return the birth time of the inode, or 0 if the platform does not tell it."""
    if not sys.platform.startswith("linux"):
        return str(getattr(stat, "st_birthtime", 0))
    statx = getattr(ctypes.CDLL(None), "statx", None)
    answer = ctypes.create_string_buffer(_STATX_SIZE)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, answer):
        return "0"
    seconds, nanoseconds = _BTIME.unpack_from(answer, _BTIME_OFFSET)
    return f"{seconds}.{nanoseconds:09}"


# Moved files: whether a path still names the file that is open.

Identity = tuple[int, int]
"""The device and inode number of a file."""


class FileWatch:
    """The identities of a file and of its write-ahead log when they were opened.

    `check` is called before and after each commit. Both identities have to match: a write-ahead log
    that was replaced holds commits that no reader of the path will see.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._journal_name = f"{self._name}-wal"
        self._file: Identity | None = None
        self._journal: Identity | None = None

    def check(self) -> None:
        """Raise `Unavailable` if either was moved, removed or replaced.

        The first call notes the identity of the file.
        """
        # Read once: another thread may forget the log's identity between two looks.
        journal = self._journal
        try:
            stat = os.stat(self._name)  # noqa: PTH116 - half the cost of Path.stat, at every commit
            if self._file is None:
                self._file = (stat.st_dev, stat.st_ino)
            if (stat.st_dev, stat.st_ino) != self._file:
                raise self._moved(self._name, "replaced")
            if journal is not None:
                stat = os.stat(self._journal_name)  # noqa: PTH116
                if (stat.st_dev, stat.st_ino) != journal:
                    raise self._moved(self._journal_name, "replaced")
        except FileNotFoundError as error:
            raise self._moved(str(error.filename), "removed or moved away") from error
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be reached: {error.strerror}") from error

    def note_journal(self) -> None:
        """Note the identity of the write-ahead log, if there is one."""
        try:
            stat = os.stat(self._journal_name)  # noqa: PTH116
        except FileNotFoundError:
            self._journal = None
        else:
            self._journal = (stat.st_dev, stat.st_ino)

    def forget_journal(self) -> None:
        """Accept any write-ahead log until the next `note_journal`."""
        self._journal = None

    def _moved(self, name: str, event: str) -> Unavailable:
        error = Unavailable(
            f"{name} was {event} while the store was open, so that new writes would be lost: "
            "put it back, or close the store and open it again"
        )
        error.retryable = False  # waiting does not bring it back
        return error


class FileState(msgspec.Struct, frozen=True):
    """Inode, size and modification time of an immutable file; they differ once it has changed."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> FileState | None:
        """Return the state of a file that can be opened as immutable; None if it cannot.

        It can if nothing can be written beside it and it has no commits in a write-ahead log.
        """
        journal = path.with_name(f"{path.name}-wal")
        if os.access(path.parent, os.W_OK) or (journal.exists() and journal.stat().st_size):
            return None
        stat = path.stat()
        return cls(stat.st_ino, stat.st_size, stat.st_mtime_ns)
