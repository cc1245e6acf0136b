"""A VFS for SQLite, in Python: it keeps account of what is synced, and fails when told to.

Files are read and written by SQLite's own unix VFS, so locks, the write-ahead log and its shared
memory work as always. Every change is also noted on a `Disk`, which knows what a power loss would
leave; `disk.py` says what it assumes. Nothing is synced in earnest: the model is what counts.

The n-th call of a kind can be made to fail, once or for as long as the cause lasts. A write that
fails has written its first half, as one on a full disk does.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from tests.crash.disk import Change, Create, Disk, Loss, Mark, Remove, Sync, Truncate, Write

KINDS = ("read", "write", "sync", "truncate", "open", "delete")

IO_ERRORS = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "open": apsw.SQLITE_CANTOPEN,
    "delete": apsw.SQLITE_IOERR_DELETE,
}
"""What SQLite's own VFS reports when a call of each kind fails."""

_TRACKED = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_numbers = itertools.count(1)


@dataclass
class Fault:
    """Which calls fail, and how."""

    kind: str
    nth: int
    code: int
    times: float
    suffix: str
    seen: int = 0

    def hits(self, kind: str, name: str) -> bool:
        """Count a call that is meant, and say whether it fails."""
        if kind != self.kind or not name.endswith(self.suffix):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class FaultyVFS(apsw.VFS):
    """Give its `name` to an engine as `vfs`. It is for one folder."""

    def __init__(self) -> None:
        self.name = f"faulty-{next(_numbers)}"
        self.disk = Disk()
        self.trace: list[Change] = []
        """Every change, in order: a disk that takes them up to some place is as it was there."""
        self.calls: Counter[str] = Counter()
        self.failed = 0
        """How many calls were made to fail."""
        self.lock = threading.RLock()
        self._faults: list[Fault] = []
        self._inodes = itertools.count(1)
        super().__init__(self.name, "unix")

    def fail(
        self, kind: str, nth: int = 1, *, code: int = 0, times: float = 1, suffix: str = ""
    ) -> None:
        """Make the n-th call from now on fail, so many times; `suffix` says on which files."""
        assert kind in KINDS
        self._faults.append(Fault(kind, nth, code or IO_ERRORS[kind], times, suffix))

    def heal(self) -> None:
        """Let every call succeed again."""
        self._faults.clear()

    @contextmanager
    def spared(self) -> Iterator[None]:
        """Let every call succeed for the length of a block; the faults come after it."""
        faults, self._faults = self._faults, []
        try:
            yield
        finally:
            self._faults = faults

    def mark(self, what: object) -> None:
        """Leave a mark between the changes."""
        self.note(Mark(what))

    def image(self, loss: Loss) -> dict[str, bytes]:
        """Return the files as a power loss would leave them now."""
        with self.lock:
            return self.disk.image(loss)

    def note(self, change: Change) -> None:
        """Take notice of a change."""
        with self.lock:
            self.disk.apply(change)
            self.trace.append(change)

    def check(self, kind: str, name: str) -> None:
        """Count a call, and raise if it is to fail."""
        with self.lock:
            self.calls[kind] += 1
            for fault in self._faults:
                if fault.hits(kind, name):
                    self.failed += 1
                    raise apsw.exception_for(fault.code)

    def inode(self, file: TrackedFile, *, existed: bool) -> int:
        """Return the file a name is bound to; one from before the run is taken as it is."""
        with self.lock:
            reference = self.disk.inode(file.name)
            if reference is not None and existed:
                return reference
            content = file.everything() if existed else None
            created = Create(file.name, next(self._inodes), content)
            self.note(created)
            return created.inode

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if name is None or not flags[0] & _TRACKED:
            return apsw.VFSFile("unix", name, flags)
        return TrackedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        with self.lock:
            self.check("delete", filename)
            super().xDelete(filename, syncdir)
            self.note(Remove(Path(filename).name, syncdir))


class TrackedFile(apsw.VFSFile):
    """A database, a journal or a write-ahead log."""

    def __init__(self, vfs: FaultyVFS, name: str | apsw.URIFilename, flags: list[int]) -> None:
        path = Path(name if isinstance(name, str) else name.filename())
        self.name = path.name
        self._vfs = vfs
        journal, create = flags[0] & _JOURNALS, flags[0] & apsw.SQLITE_OPEN_CREATE
        self._folder_pending = bool(journal and create)
        with vfs.lock:
            vfs.check("open", self.name)
            existed = path.exists()
            super().__init__("unix", name, flags)
            self._inode = vfs.inode(self, existed=existed)

    def everything(self) -> bytes:
        """Return the whole content."""
        return super().xRead(self.xFileSize(), 0)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.check("read", self.name)
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        content = bytes(data)
        with self._vfs.lock:
            try:
                self._vfs.check("write", self.name)
            except apsw.Error:
                self._write(content[: len(content) // 2], offset)
                raise
            self._write(content, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._vfs.lock:
            self._vfs.check("truncate", self.name)
            super().xTruncate(newsize)
            self._vfs.note(Truncate(self._inode, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        with self._vfs.lock:
            try:
                self._vfs.check("sync", self.name)
            except apsw.Error:
                self._vfs.note(Sync(self._inode, failed=True))
                raise
            self._vfs.note(Sync(self._inode, folder=self._folder_pending))
            self._folder_pending = False

    def _write(self, content: bytes, offset: int) -> None:
        super().xWrite(content, offset)
        self._vfs.note(Write(self._inode, offset, content))
