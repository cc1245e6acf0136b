"""Named queries, read from `.sql` files.

A query begins with `-- name: its_name`; comment lines behind that say what it is for.
"""

from __future__ import annotations

import re
from importlib.resources import files

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*\n")


def load(*packages: str) -> dict[str, str]:
    """Return the queries of each package's `queries.sql`; a later package's own version wins."""
    queries: dict[str, str] = {}
    for package in packages:
        queries |= parse((files(package) / "queries.sql").read_text("utf-8"))
    return queries


def parse(text: str) -> dict[str, str]:
    """Return the queries a file's text names."""
    _, *parts = _HEADING.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) < len(names):
        raise ValueError(f"a query is named twice: {sorted(names)}")
    return {
        name: " ".join(_COMMENT.sub("", body).split())
        for name, body in zip(names, bodies, strict=True)
    }
