"""Store URLs: the file that a path or a URL names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from memoranda.errors import InvalidInput
from memoranda.model.limits import check_path_length, plain_text, short_repr
from memoranda.storage.server_url import is_server_url

Url = str | os.PathLike[str]
"""A path, `sqlite:///path`, or `:memory:`."""


def path_of(field: str, url: object) -> Path | None:
    """Return the file a URL names; None for a store in memory."""
    if not isinstance(url, (str, os.PathLike)):
        raise InvalidInput(field, f"{short_repr(url)} is {type(url).__name__}, not a path or URL")
    text = plain_text(field, os.fspath(url))
    if text == ":memory:":
        return None
    scheme, separator, location = text.partition("://")
    if not separator and text:
        return _absolute(field, text)
    if is_server_url(text):
        raise InvalidInput(
            field, f"{short_repr(text)} is a store of a server, and here a file is needed"
        )
    if scheme in ("postgres", "postgresql"):
        raise InvalidInput(  # without the URL, which may have a password
            field, "it names a store in PostgreSQL, and here a file is needed: give a path"
        )
    if scheme != "sqlite" or not location.startswith("/") or location == "/":
        raise InvalidInput(
            field,
            f"{short_repr(text)} is not understood: give a path, sqlite:///path, ':memory:' or "
            "postgresql://host/database?store=name",
        )
    return _absolute(field, plain_text(field, unquote(location[1:])))


def _absolute(field: str, text: str) -> Path:
    path = Path(text).absolute()
    check_path_length(field, path)
    return path


def file_of(field: str, url: object) -> Path:
    """Return the file a URL names; a store in memory has none."""
    path = path_of(field, url)
    if path is None:
        raise InvalidInput(field, "a store in memory has no file: give a path")
    return path
