"""Named queries, read from `.sql` files.

A query begins with `-- name: its_name`; the comment lines after it describe it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import takewhile
from types import MappingProxyType

from memoranda.model.intervals import OPEN_END

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*\n")
_FORMAT = re.compile(r"^Format \d+: ")
_CONSTANT = re.compile(r"\bOPEN_END\b")


def load(*packages: str) -> dict[str, str]:
    """Return the queries of each package's `queries.sql`; a later package overrides."""
    queries: dict[str, str] = {}
    for package in packages:
        queries |= _load_package(package)
    return queries


@cache  # they are part of the installed package, and parsing takes longer than opening a store
def _load_package(package: str) -> Mapping[str, str]:
    return MappingProxyType(parse(read_sql(package, "queries.sql")))


def read_sql(package: str, name: str) -> str:
    """Return the text of a package's SQL file, with its named constants replaced by their values.

    They are literals, not parameters: SQLite uses a partial index only if it can prove from the
    text of a query that the condition of the index holds.
    """
    return _CONSTANT.sub(str(OPEN_END), (files(package) / name).read_text("utf-8"))


def parse(text: str) -> dict[str, str]:
    """Return the queries of a file's text by their names."""
    _, *parts = _HEADING.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) < len(names):
        raise ValueError(f"a query is named twice: {sorted(names)}")
    return {
        name: " ".join(_COMMENT.sub("", body).split())
        for name, body in zip(names, bodies, strict=True)
    }


def first_sentence(script: str) -> str:
    """Return the first sentence of the comment that a script begins with, without `Format N: `."""
    lines = takewhile(lambda line: line.startswith("--"), script.splitlines())
    text = " ".join(line.removeprefix("--").strip() for line in lines)
    return _FORMAT.sub("", text).partition(". ")[0].removesuffix(".")
