"""Files: atomic creation and fsync, locks between processes, and temporary work folders."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path

import msgspec

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreFull,
    StoreReadOnly,
    Unavailable,
)

# Work folders: where copies of a store are made until they are complete.
#
# The name of a folder has our prefix and a tag of the log that its content comes from. The process
# that works in it holds a lock on it, and removes it at the end. A process that is killed leaves
# the folder behind, and the operating system releases the lock.

SIBLING_PREFIX = ".memoranda-"
"""Prefix of a folder beside the file that is made in it."""
TEMP_PREFIX = "memoranda-verify-"
"""Prefix of a folder among the temporary files."""
_FORMER_PREFIXES = {SIBLING_PREFIX: ".recollect-", TEMP_PREFIX: "recollect-verify-"}
"""The prefixes under the project's first name: old leftovers are reported as well."""
_TAG_DIGITS = 12
"""Hexadecimal digits of the tag: folders of different logs differ in them."""
_TAGGED = re.compile(rf"([0-9a-f]{{{_TAG_DIGITS}}})-[a-z0-9_]+")


class Leftover(msgspec.Struct, frozen=True):
    """A work folder that still has copies of a store's data."""

    path: str
    bytes: int
    in_use: bool
    """Whether a process works in it now, and will remove it."""


def tag_of(log_id: str) -> str:
    """Return the tag in the names of a log's work folders."""
    return sha256(log_id.encode()).hexdigest()[:_TAG_DIGITS]


@contextmanager
def work_folder(parent: Path, prefix: str, tag: str | None = None) -> Iterator[Path]:
    """Lend a new folder that only its owner can enter, and remove it at the end of the block."""
    begin = prefix if tag is None else f"{prefix}{tag}-"
    with tempfile.TemporaryDirectory(prefix=begin, dir=parent) as name, _locked(Path(name)):
        yield Path(name)


def remove_abandoned(parent: Path, prefix: str, tag: str, file: str) -> None:
    """Remove a log's work folders with a file of this name that no process works in.

    A process locks its folder before it makes a file there, so a folder in use is never removed.
    """
    for folder in parent.glob(f"{prefix}{tag}-*"):
        with suppress(OSError):  # removed meanwhile, or of another user
            if (folder / file).exists() and not _is_locked(folder):
                shutil.rmtree(folder, ignore_errors=True)


def leftovers(store: Path, log_id: str) -> list[Leftover]:
    """Return the folders with copies of a store, beside it and among the temporary files.

    Folders of older versions have no tag. They are reported if they may be the store's.
    """
    tag = tag_of(log_id)
    parents = {store.parent, store.resolve().parent}
    siblings = [path for parent in parents for path in _folders(parent, SIBLING_PREFIX)]
    temporary = _folders(Path(tempfile.gettempdir()), TEMP_PREFIX)
    return [
        *_copies(
            folder for folder in sorted(siblings) if _is_of(folder, SIBLING_PREFIX, tag, store.name)
        ),
        *_copies(folder for folder in sorted(temporary) if _is_of(folder, TEMP_PREFIX, tag)),
    ]


def _folders(parent: Path, prefix: str) -> list[Path]:
    with suppress(OSError):  # a folder that cannot be listed is not ours
        paths = [*parent.glob(f"{prefix}*"), *parent.glob(f"{_FORMER_PREFIXES[prefix]}*")]
        return [path for path in paths if path.is_dir()]
    return []


def _is_of(folder: Path, prefix: str, tag: str, name: str | None = None) -> bool:
    """Say whether a folder may hold data of a store."""
    begin = prefix if folder.name.startswith(prefix) else _FORMER_PREFIXES[prefix]
    tagged = _TAGGED.fullmatch(folder.name.removeprefix(begin))
    if tagged is None or tagged[1] == tag:
        return True
    return name is not None and (folder / name).exists()


def _copies(folders: Iterator[Path]) -> Iterator[Leftover]:
    """Yield the folders that have files."""
    for folder in folders:
        with suppress(OSError):  # removed meanwhile, or of another user
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            if size:
                yield Leftover(str(folder), size, _is_locked(folder))


if sys.platform == "win32":

    @contextmanager
    def _locked(folder: Path) -> Iterator[None]:  # noqa: ARG001
        """Do nothing: Windows has no locks on folders."""
        yield

    def _is_locked(folder: Path) -> bool:  # noqa: ARG001
        """Return False: Windows has no locks on folders."""
        return False

else:
    import fcntl

    @contextmanager
    def _locked(folder: Path) -> Iterator[None]:
        """Hold a lock on a folder; the system releases it however the process ends."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # without locks, the folder is only reported as unused
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _is_locked(folder: Path) -> bool:
        """Say whether a process works in a folder."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


# Atomic creation: a file gets its name when its content is complete and synced.
#
# The draft is written in a work folder beside the path, synced, linked under its name, and then the
# parent folder is synced. A crash leaves no file under the name, or the complete one.

OWNER_ONLY = 0o600
"""The mode of a file with a store's data: read and write for its owner."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_MKNOD = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
"""How a file system says that it has no hard links."""


@contextmanager
def atomic_file(
    field: str,
    path: Path,
    *,
    put: Callable[[Path, Path], None] | None = None,
    tag: str | None = None,
) -> Iterator[Path]:
    """Lend a draft path to write to, and put the file at `path` when the block ends well.

    The draft is in a work folder, so that journals beside it are removed with the folder. `put`
    replaces the default step of linking the draft at a free name. `tag` is the log's (`tag_of`).
    """
    with _folder_beside(path, tag) as folder:
        draft = folder / path.name
        yield draft
        with translate_os_errors(path):
            sync(draft)
            if put is None:
                link_at_free_name(field, draft, path)
            else:
                put(draft, path)
            sync(path.parent)


def check_free(field: str, path: Path) -> None:
    """Refuse a path that is taken."""
    with translate_os_errors(path):
        exists = path.exists() or path.is_symlink()
    if exists:
        raise _name_taken(field, path)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless the path is taken.

    On Linux it is created without opening it: closing a descriptor would drop the POSIX locks of a
    connection that another thread of this process may have opened meanwhile.
    """
    with translate_os_errors(path), suppress(FileExistsError):
        if sys.platform == "linux":
            try:
                os.mknod(path, OWNER_ONLY | stat.S_IFREG)
            except OSError as error:
                if error.errno not in _NO_MKNOD:
                    raise
            else:
                return
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def path_exists(path: Path) -> bool:
    """Say whether a path exists; raise `Unavailable` if it cannot be reached."""
    try:
        return path.exists()
    except OSError as error:
        raise Unavailable(f"{path} cannot be reached: {error.strerror}") from error


def keep_private(path: Path, like: Path | None) -> None:
    """Remove permissions that the original does not grant from a copy, except its owner's."""
    if like is not None:
        path.chmod(path.stat().st_mode & (like.stat().st_mode | stat.S_IRWXU))


def sync(path: Path) -> None:
    """Sync a file's content, or a folder's names, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link_at_free_name(field: str, draft: Path, path: Path) -> None:
    """Give a finished file its name, unless the name was taken meanwhile."""
    try:
        os.link(draft, path)  # unlike a rename, it fails if the name is taken
    except FileExistsError as error:
        raise _name_taken(field, path) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        check_free(field, path)
        draft.rename(path)


@contextmanager
def _folder_beside(path: Path, tag: str | None) -> Iterator[Path]:
    with ExitStack() as stack:
        with translate_os_errors(path):
            folder = stack.enter_context(work_folder(path.parent, SIBLING_PREFIX, tag))
        yield folder


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Translate the errors of writing a file at `path`."""
    try:
        yield
    except OSError as error:
        raise _translate(error, path) from error


def _translate(error: OSError, path: Path) -> MemorandaError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return NotFound(f"there is no folder {path.parent}: make it first")
    message = f"cannot write {path}: {error.strerror}"
    if error.errno in _NO_SPACE:
        return StoreFull(f"{message}: free some space, or choose another place")
    if error.errno in _NOT_ALLOWED:
        return StoreReadOnly(f"{message}: check the permissions of the folder")
    return Unavailable(message)


def _name_taken(field: str, path: Path) -> InvalidInput:
    return InvalidInput(field, f"{path} already exists: give a new name")


# Locks between processes, each on an empty file of its own.
#
# The operating system releases them when the process ends, however it ends. They are `flock` locks
# of the open file, so they belong to one thread's handle. Never use them on a store's file: closing
# it would drop SQLite's POSIX locks of the process.

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def lock_file(path: Path) -> FileIO:
    """Wait for the exclusive lock on a lock file, and return the file; closing it unlocks.

    The file's `with` statement ends in one C call, so that an interrupt cannot leave it locked.
    """
    with translate_os_errors(path):
        file = FileIO(path, "r+", opener=_open_private)
    acquired = False
    try:
        with translate_os_errors(path):
            _acquire(file.fileno())
        acquired = True
    finally:
        if not acquired:
            file.close()
    return file


def _open_private(path: str, _: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
