"""Work folders: where copies of a store are made until they are whole, and what is left of them.

A folder's name says that it is ours and, by a tag, of which log its content is. It is locked for as
long as somebody works in it, and removed then; a process that is killed leaves it behind, unlocked.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec

BESIDE = ".memoranda-"
"""How the name of a folder begins that is beside the file which is being made."""
APART = "memoranda-verify-"
"""How the name of one begins that is in the folder for temporary files."""
_TAG_DIGITS = 12
_TAGGED = re.compile(rf"([0-9a-f]{{{_TAG_DIGITS}}})-[a-z0-9_]+")


class Leftover(msgspec.Struct, frozen=True):
    """A folder with copies of what a store holds, or held."""

    path: str
    bytes: int
    in_use: bool
    """Whether somebody works in it now: then it goes away by itself."""


def tag_of(log_id: str) -> str:
    """Return what the names of the folders of a log have in common."""
    return sha256(log_id.encode()).hexdigest()[:_TAG_DIGITS]


@contextmanager
def work_folder(parent: Path, prefix: str, tag: str | None = None) -> Iterator[Path]:
    """Lend a new folder that only its owner can enter; it is gone when the block ends."""
    begin = prefix if tag is None else f"{prefix}{tag}-"
    with tempfile.TemporaryDirectory(prefix=begin, dir=parent) as name, _locked(Path(name)):
        yield Path(name)


def leftovers(store: Path, log_id: str) -> list[Leftover]:
    """Return the folders with copies of a store: beside it, and among the temporary files.

    Those of an older version have no tag, so they count wherever they may be the store's.
    """
    tag = tag_of(log_id)
    parents = {store.parent, store.resolve().parent}
    beside = [each for parent in parents for each in _folders(parent, BESIDE)]
    apart = _folders(Path(tempfile.gettempdir()), APART)
    return [
        *_copies(folder for folder in sorted(beside) if _is_of(folder, BESIDE, tag, store.name)),
        *_copies(folder for folder in sorted(apart) if _is_of(folder, APART, tag)),
    ]


def _folders(parent: Path, prefix: str) -> list[Path]:
    with suppress(OSError):  # what cannot be looked at is not ours
        return [each for each in parent.glob(f"{prefix}*") if each.is_dir()]
    return []


def _is_of(folder: Path, prefix: str, tag: str, name: str | None = None) -> bool:
    """Say whether a folder may hold what a store holds."""
    tagged = _TAGGED.fullmatch(folder.name.removeprefix(prefix))
    if tagged is None or tagged[1] == tag:
        return True
    return name is not None and (folder / name).exists()


def _copies(folders: Iterator[Path]) -> Iterator[Leftover]:
    """Yield those folders that hold anything."""
    for folder in folders:
        with suppress(OSError):  # it has just gone, or is somebody else's
            size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
            if size:
                yield Leftover(str(folder), size, _is_locked(folder))


if sys.platform == "win32":

    @contextmanager
    def _locked(folder: Path) -> Iterator[None]:  # noqa: ARG001
        """Do nothing: folders cannot be locked here."""
        yield

    def _is_locked(folder: Path) -> bool:  # noqa: ARG001
        """Return what cannot be known here."""
        return False

else:
    import fcntl

    @contextmanager
    def _locked(folder: Path) -> Iterator[None]:
        """Hold a lock on a folder, which the system takes back however the process ends."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # on a file system without locks, it only looks unused
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _is_locked(folder: Path) -> bool:
        """Say whether somebody works in a folder."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False
