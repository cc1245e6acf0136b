"""Paths: what a file can be called, before anybody asks a file system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, shown

MOST_FILE_NAME: Final = 247
"""Bytes of a file's name: what is commonly allowed, without `-journal`."""
MOST_PATH: Final = 4000
"""Bytes of a whole path."""


def check_path(field: str, path: object) -> Path:
    """Return a path as its plain characters say it, refusing what no file can be called."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(field, f"{shown(path)} is {type(path).__name__}, not a path")
    target = Path(plain_text(field, os.fspath(path)))
    check_names(field, target)
    return target


def check_names(field: str, path: Path) -> None:
    """Refuse names that are longer than a file system takes, with what an engine puts behind."""
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    if longest > MOST_FILE_NAME or len(os.fsencode(path)) > MOST_PATH:
        raise InvalidInput(
            field,
            f"{shown(str(path))} is too long: a name has at most {MOST_FILE_NAME} bytes, and a "
            f"path {MOST_PATH}",
        )
