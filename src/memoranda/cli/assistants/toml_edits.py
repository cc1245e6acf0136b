"""Minimal edits of TOML files: one table is set or removed, and every other byte stays."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from memoranda.cli.assistants.json_edits import Uneditable

_HEADER = re.compile(r"^[ \t]*\[([^\[\]\r\n]+)\][ \t]*(?:#[^\r\n]*)?$", re.MULTILINE)
_ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_IN_PLACE = "it has a form that cannot be edited in place"
_BARE = re.compile(r"[A-Za-z0-9_-]+")

Table = tuple[str, ...]
"""The names of a table, from the root."""


class TomlText:
    """The text of a TOML file, and its parsed value."""

    def __init__(self, text: str) -> None:
        """Parse a text, or raise `ValueError`."""
        self.text = text
        self.value: dict[str, Any] = tomllib.loads(text)

    def get(self, table: Table) -> Any:
        """Return what is at a path; None if there is nothing."""
        value: Any = self.value
        for name in table:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def with_table(self, table: Table, value: dict[str, Any]) -> TomlText:
        """Set a table; raise `Uneditable` if the file has it in a form without a header."""
        newline = "\r\n" if "\r\n" in self.text else "\n"
        lines = newline.join(_render(table, value)) + newline
        blocks = self._blocks(table)
        if not blocks or self.get(table) is None:
            body = self.text.rstrip("\r\n")
            text = f"{body}{newline * 2 if body else ''}{lines}"
            return _checked(text, _with(self.value, table, value))
        text = self.text
        for start, end in reversed(blocks[1:]):
            text = text[:start] + text[end:].lstrip("\r\n")
        start, end = blocks[0]
        rest = text[end:].lstrip("\r\n")
        text = text[:start] + lines + (newline + rest if rest else "")
        return _checked(text, _with(self.value, table, value))

    def without_table(self, table: Table) -> TomlText:
        """Remove a table and those below it, if there is one."""
        if self.get(table) is None:
            return self
        text = self.text
        for start, end in reversed(self._blocks(table)):
            text = text[:start] + text[end:]
        if not text[self._first(table) :].strip():
            text = text.rstrip() + ("\n" if text.strip() else "")
        return _checked(text, _with(self.value, table, None))

    def _first(self, table: Table) -> int:
        blocks = self._blocks(table)
        return blocks[0][0] if blocks else len(self.text)

    def _blocks(self, table: Table) -> list[tuple[int, int]]:
        """Return where a table and those below it are: each from its header to its last key.

        Comments behind that belong to what follows.
        """
        blocks = []
        for match in _HEADER.finditer(self.text):
            if _names(match[1])[: len(table)] == table:
                following = _ANY_HEADER.search(self.text, match.end())
                end = following.start() if following else len(self.text)
                blocks.append((match.start(), end - len(_between(self.text[match.start() : end]))))
        return blocks


def _between(block: str) -> str:
    """Return the comments and empty lines at the end of a block, without its first newlines."""
    lines = block.splitlines(keepends=True)
    count = len(lines)
    while count and (not lines[count - 1].strip() or lines[count - 1].lstrip().startswith("#")):
        count -= 1
    return "".join(lines[count:]).lstrip("\r\n")


def _names(header: str) -> Table:
    """Return the names in a header; none if it is in a text of several lines."""
    try:
        value: Any = tomllib.loads(f"[{header}]")
    except ValueError:
        return ()
    names: list[str] = []
    while isinstance(value, dict) and value:
        (name,) = value
        names.append(name)
        value = value[name]
    return tuple(names)


def _render(table: Table, value: dict[str, Any]) -> list[str]:
    header = ".".join(name if _BARE.fullmatch(name) else json.dumps(name) for name in table)
    lines = [f"[{header}]"]
    for name, item in value.items():
        if not isinstance(item, dict):
            lines.append(f"{name} = {_literal(item)}")
    for name, item in value.items():
        if isinstance(item, dict):
            lines += ["", *_render((*table, name), item)]
    return lines


def _literal(item: Any) -> str:
    """Return a text, a number or a list of them; JSON writes these as TOML does."""
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with(value: dict[str, Any], table: Table, new: dict[str, Any] | None) -> dict[str, Any]:
    """Return a copy in which a table has another value, or is missing."""
    name, *rest = table
    if not rest and new is None:
        return {key: item for key, item in value.items() if key != name}
    below = value.get(name, {})
    changed = _with(below, tuple(rest), new) if rest else new
    if rest and not changed:
        return {key: item for key, item in value.items() if key != name}
    return {**value, name: changed}


def _checked(text: str, expected: dict[str, Any]) -> TomlText:
    """Return the changed text; raise `Uneditable` if it parses to another value."""
    try:
        changed = TomlText(text)
    except ValueError as error:
        raise Uneditable(_IN_PLACE) from error
    if changed.value != expected:
        raise Uneditable(_IN_PLACE)
    return changed
