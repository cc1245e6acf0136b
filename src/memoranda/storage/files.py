"""New files that appear whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memoranda.errors import (
    InvalidInput,
    NotFound,
    MemorandaError,
    StoreFull,
    StoreReadOnly,
    Unavailable,
)
from memoranda.storage.workfolders import BESIDE, work_folder

OWNER_ONLY = 0o600
"""The mode of a file that holds what a store holds."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_NODES = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@contextmanager
def appearing(
    field: str,
    path: Path,
    *,
    put: Callable[[Path, Path], None] | None = None,
    tag: str | None = None,
) -> Iterator[Path]:
    """Lend a path to write to; if the block ends well, its file is synced and put at `path`.

    The file is made in a folder of its own beside the path, so whatever an engine keeps beside a
    file while it writes goes with the folder. The tag says of which log it is a copy.
    """
    with _folder_beside(path, tag) as folder:
        draft = folder / path.name
        yield draft
        with told_as_ours(path):
            sync(draft)
            if put is None:
                put_at_free_name(field, draft, path)
            else:
                put(draft, path)
            sync(path.parent)


def check_free(field: str, path: Path) -> None:
    """Refuse a name that is taken."""
    with told_as_ours(path):
        taken = path.exists() or path.is_symlink()
    if taken:
        raise _taken(field, path)


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, unless there is a file.

    Where the system can, it is made without opening it: closing it again would drop the locks of a
    connection that this process may have by then.
    """
    with told_as_ours(path), suppress(FileExistsError):
        if sys.platform == "linux":
            try:
                os.mknod(path, OWNER_ONLY | stat.S_IFREG)
            except OSError as error:
                if error.errno not in _NO_NODES:
                    raise
            else:
                return
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def is_there(path: Path) -> bool:
    """Say whether there is something at a path that can be reached."""
    try:
        return path.exists()
    except OSError as error:
        raise Unavailable(f"{path} cannot be reached: {error.strerror}") from error


def keep_private(path: Path, like: Path | None) -> None:
    """Let nobody read a file who could not read the one it is made from, but for its owner."""
    if like is not None:
        path.chmod(path.stat().st_mode & (like.stat().st_mode | stat.S_IRWXU))


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's names, would survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_at_free_name(field: str, draft: Path, path: Path) -> None:
    """Give a finished file its name, unless somebody else has taken that meanwhile."""
    try:
        os.link(draft, path)  # a rename would replace what is there
    except FileExistsError as error:
        raise _taken(field, path) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        check_free(field, path)
        draft.rename(path)


@contextmanager
def _folder_beside(path: Path, tag: str | None) -> Iterator[Path]:
    with ExitStack() as stack:
        with told_as_ours(path):
            folder = stack.enter_context(work_folder(path.parent, BESIDE, tag))
        yield folder


@contextmanager
def told_as_ours(path: Path) -> Iterator[None]:
    """Translate what goes wrong while a file is written."""
    try:
        yield
    except OSError as error:
        raise _translate(error, path) from error


def _translate(error: OSError, path: Path) -> MemorandaError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return NotFound(f"there is no folder {path.parent}: make it first")
    told = f"cannot write {path}: {error.strerror}"
    if error.errno in _NO_SPACE:
        return StoreFull(f"{told}: free some space, or choose another place")
    if error.errno in _NOT_ALLOWED:
        return StoreReadOnly(f"{told}: check the permissions of the folder")
    return Unavailable(told)


def _taken(field: str, path: Path) -> InvalidInput:
    return InvalidInput(field, f"{path} is there already: give a new name")
