"""Configuration files of other programs: read, edited in place, backed up, written atomically."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoranda.cli.assistants.json_edits import JsonText, Uneditable
from memoranda.cli.assistants.json_edits import Path as Place
from memoranda.cli.assistants.toml_edits import TomlText
from memoranda.errors import InvalidInput, StoreBusy
from memoranda.storage.files import atomic_file, translate_os_errors

BACKUP_SUFFIX = ".memoranda-backup"
_BOM = "\ufeff"


class ConfigFile:
    """A configuration file: its stored text, and the text with our edits."""

    def __init__(self, path: Path, form: str) -> None:
        """Read a file; a missing one is empty. Raise `InvalidInput` if it cannot be parsed."""
        self.path = path
        self._form = form
        self._before = self._read(path)
        self._text = self._parse(self._before or b"")
        self._has_changed = False
        self.is_installed = False
        """Whether the file has our entries already; then a backup without them exists."""

    @property
    def backup(self) -> Path:
        """The copy of the file without our entries."""
        return self.path.with_name(self.path.name + BACKUP_SUFFIX)

    @property
    def has_changed(self) -> bool:
        """Whether there is something to write."""
        return self._has_changed

    # The content.

    def get(self, place: Place) -> Any:
        """Return a value; None if there is none."""
        if isinstance(self._text, TomlText):
            return self._text.get(tuple(map(str, place)))
        return self._text.get(place)

    def set(self, place: Place, value: Any) -> None:
        """Set a value, unless it is there already."""
        if self.get(place) == value:
            return
        with _editing(self.path):
            if isinstance(self._text, TomlText):
                self._text = self._text.with_table(tuple(map(str, place)), value)
            else:
                self._text = self._text.with_value(place, value)
        self._has_changed = True

    def append(self, place: Place, value: Any) -> None:
        """Append an item to a list."""
        assert isinstance(self._text, JsonText), "only JSON files have lists that are ours"
        with _editing(self.path):
            self._text = self._text.with_item(place, value)
        self._has_changed = True

    def remove(self, place: Place) -> None:
        """Remove a value, if it is there."""
        if self.get(place) is None:
            return
        with _editing(self.path):
            if isinstance(self._text, TomlText):
                self._text = self._text.without_table(tuple(map(str, place)))
            else:
                self._text = self._text.without(place)
        self._has_changed = True

    def remove_empty(self, place: Place) -> None:
        """Remove an object or a list that has nothing left, if something was removed before."""
        if self._has_changed and self.get(place) in ({}, []):
            self.remove(place)

    # The disk.

    def write(self) -> None:
        """Write the changes, and keep the previous version as a backup."""
        is_kept = self.is_installed and self.backup.exists()
        if self._before is None:
            self.backup.unlink(missing_ok=True)
        elif not is_kept:
            with translate_os_errors(self.backup):
                shutil.copy2(self.path, self.backup)
        self._put(self._encoded())

    def write_undone(self) -> None:
        """Write the file without our entries.

        If nothing else was changed since, it equals the backup.
        """
        saved = self._read(self.backup)
        if saved is not None and self._parse(saved).value == self._text.value:
            self._put(saved)
        elif saved is None and not self._text.value:
            with translate_os_errors(self.path):
                self.path.unlink()
        else:
            self._put(self._encoded())
        self.backup.unlink(missing_ok=True)

    def _encoded(self) -> bytes:
        mark = _BOM if (self._before or b"").startswith(_BOM.encode()) else ""
        return (mark + self._text.text).encode()

    def _put(self, content: bytes) -> None:
        path = self.path.resolve()  # a link to a file stays one
        with translate_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        if self._read(self.path) != self._before:
            raise StoreBusy(f"{self.path} was changed meanwhile by another program: try again")
        with atomic_file("path", path, put=_replace) as draft:
            draft.write_bytes(content)
            if self._before is not None:
                shutil.copymode(path, draft)

    def _parse(self, content: bytes) -> JsonText | TomlText:
        try:
            text = content.decode().removeprefix(_BOM)
            if self._form == "toml":
                return TomlText(text)
            parsed = JsonText(text, comments=self._form == "jsonc")
        except (ValueError, RecursionError) as error:
            noun = "TOML" if self._form == "toml" else "JSON"
            raise _unreadable(self.path, f"is not {noun}: {error}") from error
        if not isinstance(parsed.value, dict):
            raise _unreadable(self.path, "is not a JSON object")
        return parsed

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, f"cannot be read: {error.strerror}") from error


def _replace(draft: Path, path: Path) -> None:
    draft.replace(path)


def _unreadable(path: Path, problem: str) -> InvalidInput:
    return InvalidInput(
        "client", f"{path} {problem}; nothing was changed: mend it, or paste what --print prints"
    )


@contextmanager
def _editing(path: Path) -> Iterator[None]:
    """Turn a failed edit into an error that names the file."""
    try:
        yield
    except Uneditable as error:
        raise _unreadable(path, f"cannot be edited: {error}") from error
