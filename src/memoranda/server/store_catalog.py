"""Store catalogs: which stores a server has, by name, and where they are.

A `FolderCatalog` is a folder with one file a store; a `FileCatalog` is one file. Stores in
PostgreSQL have a catalog of their own (database_catalog.py). The commands that
create, rename and drop stores use the first one directly, without a server: whoever changes a file
owns its store meanwhile, so a store that a server has open is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from memoranda.errors import InvalidInput, NotFound, Unavailable
from memoranda.model.limits import plain_text, short_repr
from memoranda.sdk import store_files
from memoranda.sdk.store_files import RemovedStore, StoreSummary
from memoranda.storage.files import path_exists
from memoranda.storage.owner_lock import OwnerLock
from memoranda.storage.store_url import Url

SUFFIX = ".db"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


def check_name(field: str, name: object) -> str:
    """Return the name of a store, or raise `InvalidInput`."""
    text = plain_text(field, name)
    if not _NAME.fullmatch(text):
        raise InvalidInput(
            field,
            f"{short_repr(text)} is not the name of a store: give 1 to 64 of a-z, 0-9, '.', '_' "
            "and '-', the first of them a letter or a digit",
        )
    return text


def is_name(name: str) -> bool:
    """Say whether a store may have this name."""
    return _NAME.fullmatch(name) is not None


def check_file(noun: str, path: Path) -> None:
    """Raise `Unavailable` if the file of an open store is gone, or may not be read.

    It is not opened: closing it again would drop the locks of this process.
    """
    if not os.access(path, os.R_OK):
        raise Unavailable(
            f"the file of the {noun} cannot be read: put it back, or give the server access to it"
        )


class Ownership(Protocol):
    """The right to have a store open for others."""

    @property
    def is_lost(self) -> bool:
        """Whether another process has it by now."""
        ...

    def release(self) -> None:
        """Let others own the store."""
        ...


class Catalog(Protocol):
    """The stores of a server; used in threads, since it reads folders."""

    @property
    def creates_on_use(self) -> bool:
        """Whether a store that is not there yet is created by its first use."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where the stores are; None: in a database."""
        ...

    def canonical(self, name: str) -> str:
        """Return the one name of a store that may have two; it need not exist."""
        ...

    def locate(self, name: str) -> Url:
        """Return the file or the URL of a store, or raise `NotFound`."""
        ...

    def own(self, name: str, address: str) -> Ownership:
        """Become the owner of a store, or raise `StoreBusy` with the one that it has."""
        ...

    def close(self) -> None:
        """Use the catalog no more."""
        ...

    def missing(self, name: str) -> NotFound:
        """Return the error of a store that is not there."""
        ...

    def names(self) -> list[str]:
        """Return the names of all stores, in order."""
        ...

    def check_readable(self) -> None:
        """Raise `Unavailable` if the stores cannot be read."""
        ...

    def create(self, name: str) -> None:
        """Create an empty store."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a store that nobody has open another name."""
        ...

    def drop(self, name: str) -> RemovedStore:
        """Remove a store that nobody has open, for good."""
        ...


class FolderCatalog:
    """A folder in which each `<name>.db` is a store; other files there are left alone."""

    creates_on_use = False

    def __init__(self, folder: Path, address: str) -> None:
        if not path_exists(folder):
            raise NotFound(f"there is no folder {folder}: make it first")
        if not folder.is_dir():
            raise InvalidInput("stores", f"{folder} is not a folder: name one")
        self.folder = folder.resolve()
        self._address = address
        """What the owner's lock says of this process while it changes a store's file."""

    def canonical(self, name: str) -> str:
        """Return the name itself; an empty one names no store where there are many."""
        if not name:
            raise NotFound("no store was named, and this server has many: name one")
        return name

    def locate(self, name: str) -> Path:
        """Return the file of a store, or raise `NotFound`; no name leads out of the folder."""
        path = self._file(name) if is_name(name) else None
        if path is None or not path.is_file():
            raise self.missing(name)
        return path

    def describe(self, name: str) -> str:
        """Return where a store is, for people."""
        return str(self.locate(name))

    def own(self, name: str, address: str) -> OwnerLock:
        """Take the lock of a store's owner."""
        return OwnerLock.acquire(self._file(name), address)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def missing(self, name: str) -> NotFound:
        """Return the error of a store that is not there."""
        return NotFound(f"there is no store {short_repr(name)}: check its name, or create it")

    def names(self) -> list[str]:
        """Return the names of all stores, in order."""
        files = [path.name for path in self.folder.glob(f"*{SUFFIX}") if path.is_file()]
        names = [file.removesuffix(SUFFIX) for file in files]
        return sorted(filter(is_name, names))

    def check_readable(self) -> None:
        """Raise `Unavailable` if the folder cannot be listed."""
        try:
            next(self.folder.iterdir(), None)
        except OSError as error:
            raise Unavailable(
                f"the folder of the stores cannot be read ({error.strerror}): mount it again, or "
                "give the server access to it"
            ) from error

    def create(self, name: str) -> None:
        """Create an empty store."""
        path = self._file(check_name("name", name))
        with self._owning(path):
            store_files.create(path)

    def rename(self, old: str, new: str) -> None:
        """Give a store that nobody has open another name."""
        path, target = self.locate(old), self._file(check_name("new", new))
        if path == target:
            raise InvalidInput("new", f"{short_repr(new)} is its name already: give another one")
        with self._owning(path, target):
            store_files.rename(path, target)

    def drop(self, name: str) -> RemovedStore:
        """Remove a store that nobody has open, for good."""
        path = self.locate(name)
        with self._owning(path):
            return store_files.remove(name, path)

    def summarize(self, name: str) -> StoreSummary:
        """Return the size of a store, its commits and its owner."""
        return store_files.summarize(name, self.locate(name))

    def summaries(self) -> Iterator[StoreSummary]:
        """Yield the summaries of all stores, in the order of their names."""
        for name in self.names():
            with suppress(NotFound):  # it was dropped meanwhile
                yield self.summarize(name)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    @contextmanager
    def _owning(self, *paths: Path) -> Iterator[None]:
        """Own the stores at some paths for the length of a block, in the order of their names."""
        with ExitStack() as locks:
            for path in sorted(paths):
                locks.callback(OwnerLock.acquire(path, self._address).release)
            yield


class FileCatalog:
    """One file, which is the store without a name, and that with the name of the file."""

    creates_on_use = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self.folder = path.parent
        self._name = path.name.removesuffix(SUFFIX)

    def canonical(self, name: str) -> str:
        """Return the name of the file for the empty name."""
        return name or self._name

    def locate(self, name: str) -> Path:
        """Return the file, or raise `NotFound` for the name of another store."""
        if name != self._name:
            raise self.missing(name)
        return self._path

    def own(self, name: str, address: str) -> OwnerLock:
        """Take the lock of the store's owner."""
        return OwnerLock.acquire(self.locate(name), address)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def missing(self, name: str) -> NotFound:
        """Return the error of a store that is not there."""
        return NotFound(f"there is no store {short_repr(name)}: this server has one only")

    def names(self) -> list[str]:
        """Return the name of the file."""
        return [self._name]

    def check_readable(self) -> None:
        """Raise `Unavailable` if the file is gone, or may not be read."""
        check_file("store", self._path)

    def create(self, name: str) -> None:
        """Refuse: the server was started for one file."""
        raise self._refusal("name", name)

    def rename(self, old: str, new: str) -> None:
        """Refuse: the server was started for one file."""
        raise self._refusal("old", f"{old} as {new}")

    def drop(self, name: str) -> RemovedStore:
        """Refuse: the server was started for one file."""
        raise self._refusal("name", name)

    def _refusal(self, field: str, name: str) -> InvalidInput:
        return InvalidInput(
            field,
            f"{short_repr(name)}: this server has the one store {self._path}; start it for a "
            "folder of stores to create, rename and drop them",
        )
