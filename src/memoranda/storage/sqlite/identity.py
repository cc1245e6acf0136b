"""Watching a store's file: whether a name still means the file that is open.

A file that was removed, moved or replaced can still be written to by whoever has it open, and what
is written is lost. So is what goes to a write-ahead log that was removed. They are looked at by
name only: closing any descriptor of a file drops all of the process's POSIX locks on it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from memoranda.errors import Unavailable

Identity = tuple[int, int]


class Watch:
    """A file and its write-ahead log, as they were when they were opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._journal_name = f"{self._name}-wal"
        self._file: Identity | None = None
        self._journal: Identity | None = None

    def check(self) -> None:
        """Raise if they are not where they were; the first time, remember the file."""
        try:
            found = os.stat(self._name)  # noqa: PTH116 - this is done at every commit
            if self._file is None:
                self._file = (found.st_dev, found.st_ino)
            if (found.st_dev, found.st_ino) != self._file:
                raise self._gone(self._name, "replaced")
            if self._journal is not None:
                found = os.stat(self._journal_name)  # noqa: PTH116
                if (found.st_dev, found.st_ino) != self._journal:
                    raise self._gone(self._journal_name, "replaced")
        except FileNotFoundError as error:
            raise self._gone(str(error.filename), "removed or moved away") from error
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be reached: {error.strerror}") from error

    def note_journal(self) -> None:
        """Remember the write-ahead log, if there is one."""
        try:
            found = os.stat(self._journal_name)  # noqa: PTH116
        except FileNotFoundError:
            self._journal = None
        else:
            self._journal = (found.st_dev, found.st_ino)

    def forget_journal(self) -> None:
        """Expect none in particular."""
        self._journal = None

    def _gone(self, name: str, what: str) -> Unavailable:
        error = Unavailable(
            f"{name} was {what} while the store was open, so what is written now would be lost: "
            "put it back, or close the store and open it again"
        )
        error.retryable = False  # waiting does not bring it back
        return error


class Snapshot(msgspec.Struct, frozen=True):
    """What is seen of a file that nobody here can change; it differs once somebody else did."""

    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Snapshot | None:
        """Return that of a file which is all of a store, where nothing can be written beside it."""
        journal = path.with_name(f"{path.name}-wal")
        if os.access(path.parent, os.W_OK) or (journal.exists() and journal.stat().st_size):
            return None
        found = path.stat()
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)
