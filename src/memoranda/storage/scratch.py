"""Scratch databases: empty ones, in the folder for temporary files, removed when they are done."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from memoranda.errors import StoreFull
from memoranda.storage.files import TEMP_PREFIX, translate_os_errors, work_folder
from memoranda.storage.port import Engine

_FILE = "views.db"


@contextmanager
def scratch_database(open_at: Callable[[Path], Engine], tag: str) -> Iterator[Engine]:
    """Provide an empty database for the length of a block; `open_at` makes it in a file."""
    place = Path(tempfile.gettempdir())
    with ExitStack() as stack:
        with translate_os_errors(place / _FILE):
            folder = stack.enter_context(work_folder(place, TEMP_PREFIX, tag))
        scratch = stack.enter_context(closing(open_at(folder / _FILE)))
        try:
            yield scratch
        except StoreFull as error:
            raise StoreFull(
                f"there is no room in {place} to build the views again: free some, or name another "
                "folder in TMPDIR"
            ) from error
