"""URLs: how a caller names a store."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, shown
from memoranda.model.paths import check_names

Url = str | os.PathLike[str]
"""A path, `sqlite:///path`, or `:memory:`."""


def path_of(field: str, url: object) -> Path | None:
    """Return the file a URL names; None for a store in memory."""
    if not isinstance(url, (str, os.PathLike)):
        raise InvalidInput(field, f"{shown(url)} is {type(url).__name__}, not a path or URL")
    text = plain_text(field, os.fspath(url))
    if text == ":memory:":
        return None
    scheme, separator, rest = text.partition("://")
    if not separator and text:
        return _absolute(field, text)
    if scheme != "sqlite" or not rest.startswith("/") or rest == "/":
        raise InvalidInput(
            field, f"{shown(text)} is not understood: give a path, sqlite:///path or ':memory:'"
        )
    return _absolute(field, plain_text(field, unquote(rest[1:])))


def _absolute(field: str, text: str) -> Path:
    path = Path(text).absolute()
    check_names(field, path)
    return path


def file_of(field: str, url: object) -> Path:
    """Return the file a URL names; a store in memory has none."""
    path = path_of(field, url)
    if path is None:
        raise InvalidInput(field, "a store in memory has no file: give a path")
    return path
