"""What an engine does with its file as a whole: naming, measuring and copying it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path

from memoranda.storage.newfiles import keep_private
from memoranda.storage.port import Footprint, Progress
from memoranda.storage.sqlite.connection import Connection
from memoranda.storage.sqlite.copying import copy_snapshot
from memoranda.storage.sqlite.exclusive import place_file
from memoranda.storage.sqlite.home import home_of
from memoranda.storage.sqlite.paths import footprint_of
from memoranda.storage.sqlite.vacancy import check_vacant


class WholeFile(ABC):
    """A store's file, or none for one in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader for a short while."""

    @property
    def path(self) -> Path | None:
        """The file the store is in."""
        return self._path

    def home(self) -> str:
        """Name the file by its inode: a copy has another."""
        if self._path is None:
            return "memory"
        return home_of(self._path)

    def copy_to(self, path: Path, progress: Progress | None = None) -> None:
        """Copy what one reader sees."""
        with self.reading() as reader:
            copy_snapshot(reader, path, progress)
        keep_private(path, self._path)

    def check_vacant(self, field: str, path: Path) -> None:
        """Refuse a path where a copy could not be put."""
        check_vacant(field, path)

    def place(self, field: str, draft: Path, path: Path) -> None:
        """Give a copy its name, unless a journal is beside it that would be taken for its own."""
        place_file(field, draft, path)

    def footprint(self) -> Footprint:
        """Return the sizes of the file and of its write-ahead log."""
        if self._path is None:
            with self.reading() as reader:
                size = reader.database.pragma("page_count") * reader.database.pragma("page_size")
            return Footprint(data=size, journal=0)
        return footprint_of(self._path)
