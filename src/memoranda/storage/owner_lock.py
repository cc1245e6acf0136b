"""The owner's lock: at most one server process has a store open for others.

Several processes that write one file are correct, but wait for each other at every commit. So a
server holds a lock while it has a store open, and a second server gets an error that names the
holder. A program that opens the file itself is not kept out, but the doctor and the statistics warn
its user.

The lock is a `flock` on a small file beside the store, never on the store's own file: closing a
descriptor of that would drop the POSIX locks that SQLite has on it. The operating system releases
it however the process ends, so a file that is left behind says nothing: only its lock counts.

The holder removes the file before it releases the lock. A process that locked a removed file would
exclude nobody, so the lock is acquired again until the path names the locked file.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from memoranda.errors import StoreBusy
from memoranda.model.clock import SystemClock, to_rfc3339
from memoranda.storage.files import OWNER_ONLY, translate_os_errors
from memoranda.storage.thread_locks import WeakRegistry

_SUFFIX = "-owner"
"""The suffix of a lock file's name after that of the store, as SQLite's own files have."""
_ATTEMPTS = 20
"""Attempts to lock."""
_PAUSE_SECONDS = 0.005
"""Pause between two attempts: a process that only reads the owner holds the lock for a moment."""
_MAX_BYTES = 4096
"""Bytes of a lock file that are read: Memoranda writes fewer."""


class Owner(msgspec.Struct, frozen=True):
    """The process that owns a store; fields are empty if its file does not say."""

    pid: int = 0
    host: str = ""
    address: str = ""
    """The address of a server, or the command of another process."""
    since: str = ""

    def is_process(self, pid: int) -> bool:
        """Say whether it is a process of this machine."""
        return self.pid == pid and self.host in ("", socket.gethostname())

    def __str__(self) -> str:
        address = f" ({self.address})" if self.address else ""
        host = f" on {self.host}" if self.host else ""
        since = f", since {self.since}" if self.since else ""
        return f"process {self.pid or 'unknown'}{host}{address}{since}"


def this_process(address: str) -> Owner:
    """Return this process, as the owner of a store."""
    return Owner(os.getpid(), socket.gethostname(), address, to_rfc3339(SystemClock().now()))


def owner_file(store: Path) -> Path:
    """Return the path of a store's lock file; a link to a store has the lock of its target."""
    target = store.resolve()
    return target.with_name(f"{target.name}{_SUFFIX}")


class OwnerLock:
    """The lock of a store's owner, from `acquire` to `release`."""

    is_lost = False
    """Always false: no other process can take this lock."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        _locks.add(self)

    @classmethod
    def acquire(cls, store: Path, address: str) -> OwnerLock:
        """Become the owner of a store; raise `StoreBusy` with the present owner if there is one."""
        path = owner_file(store)
        for attempt in range(_ATTEMPTS):
            if attempt:
                SystemClock().sleep(_PAUSE_SECONDS)
            with translate_os_errors(path):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, OWNER_ONLY)
                with _closed_on_error(descriptor):
                    if _try_lock(descriptor) and _names(path, descriptor):
                        _write(descriptor, address)
                        return cls(path, descriptor)
                os.close(descriptor)
        owner = read_owner(store) or Owner()
        raise StoreBusy(
            f"{store} is owned by {owner}: use it through that server, or stop it and try again"
        )

    def release(self) -> None:
        """Let others own the store."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):  # the folder was removed, or cannot be written any more
                self._path.unlink()
            os.close(descriptor)

    def forget(self) -> None:
        """Close the descriptor that a forked process has inherited; its parent keeps the lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def read_owner(store: Path) -> Owner | None:
    """Return the process that owns a store; None: there is none, or it cannot be told."""
    try:
        descriptor = os.open(owner_file(store), os.O_RDONLY | _NO_LINK)
    except OSError:
        return None
    try:
        if _try_lock(descriptor, shared=True):
            return None
        return msgspec.json.decode(os.pread(descriptor, _MAX_BYTES, 0), type=Owner)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # it is being written, or is not ours
        return Owner()
    finally:
        os.close(descriptor)


def _write(descriptor: int, address: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, msgspec.json.encode(this_process(address)), 0)


def _names(path: Path, descriptor: int) -> bool:
    """Say whether a path still names the file that is open."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _closed_on_error(descriptor: int) -> Iterator[None]:
    is_usable = False
    try:
        yield
        is_usable = True
    finally:
        if not is_usable:
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    _NO_LINK = 0
    _LOCKED_BYTE = 1 << 30
    """Beyond the content: Windows does not let others read a locked byte."""

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock a byte of the file; whoever only looks unlocks it by closing the file."""
        del shared
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    _NO_LINK = os.O_NOFOLLOW
    """A link that somebody else placed there is not followed."""

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock the open file, exclusively unless `shared`; say whether that was possible."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_locks: WeakRegistry[OwnerLock] = WeakRegistry()


def _forget_all() -> None:
    for lock in _locks.alive():
        lock.forget()


if hasattr(os, "register_at_fork"):
    # A forked process shares the locks of its parent, and would keep them after the parent's end.
    os.register_at_fork(after_in_child=_forget_all)
