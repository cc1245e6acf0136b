"""Minimal edits of JSON files: entries are set and removed, and every other byte stays.

A file may have comments and trailing commas where its program allows them. They are blanked out in
a copy of the same length, so that offsets in the copy are offsets in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_TOKEN = re.compile(rf'{_STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]+', re.DOTALL)
_FIRST_INDENT = re.compile(r"\s*[{\[][ \t\r]*\n([ \t]+)")
_DEFAULT_INDENT = "  "
_IN_PLACE = "it has a form that cannot be edited in place"

Path = tuple[str | int, ...]
"""Names of members and indexes of items, from the root."""


class Uneditable(ValueError):
    """The file can be read, but this change would need a rewrite of the whole file."""


class JsonText:
    """The text of a JSON file, and its parsed value."""

    def __init__(self, text: str, *, comments: bool = False) -> None:
        """Parse a text, or raise `ValueError`; an empty one is an empty object."""
        self.text = text if text.strip() else "{}\n"
        self._comments = comments
        uncommented = _COMMENT.sub(_blank_comment, self.text) if comments else self.text
        self._with_commas = uncommented
        self._json = _TRAILING_COMMA.sub(_blank_comma, uncommented) if comments else uncommented
        self.value: Any = json.loads(self._json)

    def get(self, path: Path) -> Any:
        """Return the value at a path; None if there is none."""
        value = self.value
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def with_value(self, path: Path, value: Any) -> JsonText:
        """Set a member, or replace an item, and make the objects on the way to it.

        Raise `Uneditable` if a value on the way is not an object.
        """
        for depth in range(1, len(path)):
            if self.get(path[:depth]) is None:
                return self.with_value(path[:depth], _nested(path[depth:], value))
        return self._changed(self._set(path, value), _set(self.value, path, value))

    def with_item(self, path: Path, value: Any) -> JsonText:
        """Append an item to a list; a missing list is made."""
        items = self.get(path)
        if items is None:
            return self.with_value(path, [value])
        if not isinstance(items, list):
            raise Uneditable(f"{_name(path)} is not a list")
        return self._changed(
            self._insert(path, None, value), _set(self.value, path, [*items, value])
        )

    def without(self, path: Path) -> JsonText:
        """Remove a member or an item, if there is one."""
        parent = self.get(path[:-1])
        if self.get(path) is None:
            return self
        if isinstance(parent, list):
            remaining: Any = [item for index, item in enumerate(parent) if index != path[-1]]
        else:
            remaining = {name: item for name, item in parent.items() if name != path[-1]}
        expected = _set(self.value, path[:-1], remaining) if path[:-1] else remaining
        return self._changed(self._remove(path), expected)

    # Texts.

    def _changed(self, text: str, expected: Any) -> JsonText:
        """Return the changed text; raise `Uneditable` if it parses to another value."""
        try:
            changed = JsonText(text, comments=self._comments)
        except ValueError as error:
            raise Uneditable(_IN_PLACE) from error
        if changed.value != expected:
            raise Uneditable(_IN_PLACE)
        return changed

    def _set(self, path: Path, value: Any) -> str:
        entry = self._find(path)
        if entry is None:
            return self._insert(path[:-1], str(path[-1]), value)
        text = self._render(value, len(path))
        return self.text[: entry.value] + text + self.text[entry.end :]

    def _insert(self, path: Path, name: str | None, value: Any) -> str:
        """Append an entry to a container that exists."""
        start = self._start_of(path)
        entries, close = _entries(self._json, start)
        depth = len(path) + 1
        text = self._render(value, depth)
        if name is not None:
            text = f"{_quoted(name)}: {text}"
        place = len(self.text[:close].rstrip())
        body = self.text[start:place]
        if entries and not self._with_commas[entries[-1].end : close].lstrip().startswith(","):
            end = entries[-1].end
            body = f"{self.text[start:end]},{self.text[end:place]}"
        line = f"{self._newline}{self._indent * depth}{text}"
        rest = self.text[place:]
        if "\n" not in self.text[place:close]:
            rest = self._newline + self._indent * (depth - 1) + rest.lstrip(" \t")
        return self.text[:start] + body + line + rest

    def _remove(self, path: Path) -> str:
        entries, _ = _entries(self._json, self._start_of(path[:-1]))
        index = next(number for number, entry in enumerate(entries) if entry.key == path[-1])
        entry = entries[index]
        start, end = entry.start, entry.end
        comma = _comma_behind(self._with_commas, end)
        if comma is not None:
            end = comma + 1
        before = self.text[:start]
        if before.rstrip(" \t").endswith("\n"):
            before = before.rstrip(" \t").removesuffix("\n").removesuffix("\r")
        if comma is None and index > 0:
            previous = _comma_behind(self._with_commas, entries[index - 1].end)
            assert previous is not None, "a comma stands between two entries"
            before = before[:previous] + before[previous + 1 :]
        return before + self.text[end:]

    def _find(self, path: Path) -> _Entry | None:
        entries, _ = _entries(self._json, self._start_of(path[:-1]))
        return next((entry for entry in reversed(entries) if entry.key == path[-1]), None)

    def _start_of(self, path: Path) -> int:
        """Return where a container starts."""
        if not path:
            start = len(self._json) - len(self._json.lstrip("\ufeff \t\r\n"))
        else:
            entry = self._find(path)
            assert entry is not None, "the container was looked up"
            start = entry.value
        if self._json[start] not in "{[":
            raise Uneditable(f"{_name(path)} is neither an object nor a list")
        return start

    def _render(self, value: Any, depth: int) -> str:
        return rendered(value, self._indent).replace("\n", self._newline + self._indent * depth)

    @property
    def _indent(self) -> str:
        match = _FIRST_INDENT.match(self.text.removeprefix("\ufeff"))
        return match[1] if match else _DEFAULT_INDENT

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"


def rendered(value: Any, indent: str = _DEFAULT_INDENT) -> str:
    """Return a value as indented JSON, with lists of texts and numbers on one line."""
    if isinstance(value, dict) and value:
        entries = [(f"{_quoted(name)}: ", item) for name, item in value.items()]
        opening, closing = "{}"
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        entries = [("", item) for item in value]
        opening, closing = "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    lines = [
        f"\n{indent}{name}" + rendered(item, indent).replace("\n", f"\n{indent}")
        for name, item in entries
    ]
    return f"{opening}{','.join(lines)}\n{closing}"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


class _Entry(NamedTuple):
    """A member of an object or an item of a list: where it is in the text."""

    key: str | int
    start: int
    value: int
    end: int


def _entries(text: str, start: int) -> tuple[list[_Entry], int]:
    """Return the entries of the container that starts here, and where it is closed."""
    entries: list[_Entry] = []
    tokens = _TOKEN.finditer(text, start + 1)
    is_object = text[start] == "{"
    for token in tokens:
        if token.group() in ("}", "]"):
            return entries, token.start()
        if token.group() == ",":
            continue
        key: str | int = len(entries)
        begin = token.start()
        if is_object:
            key = json.loads(token.group())
            next(tokens)  # the colon
            token = next(tokens)
        entries.append(_Entry(key, begin, token.start(), _end_of_value(token, tokens)))
    raise AssertionError("a parsed container is closed")


def _end_of_value(first: re.Match[str], tokens: Iterator[re.Match[str]]) -> int:
    depth, token = 0, first
    while True:
        depth += (token.group() in ("{", "[")) - (token.group() in ("}", "]"))
        if not depth:
            return token.end()
        token = next(tokens)


def _comma_behind(text: str, place: int) -> int | None:
    """Return where a comma is, if nothing but space stands before it."""
    rest = text[place:].lstrip()
    return len(text) - len(rest) if rest.startswith(",") else None


def _blank_comment(match: re.Match[str]) -> str:
    text = match.group()
    return text if text.startswith('"') else re.sub(r"[^\r\n]", " ", text)


def _blank_comma(match: re.Match[str]) -> str:
    return " " if match.group() == "," else match.group()


def _set(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of a value in which another one stands at a path."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, list):
        return [
            _set(item, tuple(rest), new) if index == step else item
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        raise Uneditable(f"{step!r} has something else than an object above it")
    return {**value, step: _set(value.get(step), tuple(rest), new) if rest else new}


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value}
    return value


def _name(path: Path) -> str:
    return ".".join(map(str, path)) or "the file"
