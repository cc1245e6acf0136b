"""The TOML file of the configuration: its location, its values, and their lines."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memoranda.cli.configuration.settings import Setting, all_settings
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.suggestions import did_you_mean

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


class ConfigurationFile(msgspec.Struct, frozen=True):
    """The values of a file, checked key by key."""

    path: Path
    values: Mapping[str, Any]
    """Values by the path of the setting; settings that the file leaves out are missing."""
    lines: Mapping[str, int]
    """Where the keys and tables are."""

    def place(self, setting: str) -> str:
        """Return the file and the line of a setting, for messages."""
        while setting not in self.lines and "." in setting:
            setting = setting.rpartition(".")[0]  # a member of an inline table
        line = self.lines.get(setting)
        return f"{self.path}" if line is None else f"{self.path}, line {line}"

    def error(self, setting: str, problem: str) -> InvalidInput:
        """Return the error of a setting in the file."""
        return InvalidInput(self.place(setting), f"{setting} {problem}")


def read_file(path: Path) -> ConfigurationFile:
    """Return the values of a file; raise `InvalidInput` with the line of an invalid one."""
    path = path.absolute()
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput("config", f"{path} is not TOML: {error}") from error
    file = ConfigurationFile(path, {}, _lines(text))
    values = {setting.path: value for setting, value in _checked(file, document)}
    return msgspec.structs.replace(file, values=values)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}: check the path", field="config") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("config", f"{path} cannot be read: {error}") from error


def _checked(file: ConfigurationFile, document: dict[str, Any]) -> Iterator[tuple[Setting, Any]]:
    settings = all_settings()
    tables = {path.rpartition(".")[0] for path in settings}
    tables |= {table.rpartition(".")[0] for table in tables}
    for path, value in _leaves(document, "", tables):
        setting = settings.get(path)
        if setting is None:
            raise file.error(path, _unknown(path, [*settings, *tables - {""}]))
        try:
            checked = msgspec.convert(value, setting.type)
        except msgspec.ValidationError as error:
            raise file.error(path, f"does not fit: {error}") from error
        yield setting, _absolute(file.path.parent, checked) if setting.is_path else checked


def _leaves(table: dict[str, Any], prefix: str, tables: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and those below it, by their paths."""
    for name, value in table.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path in tables:
            yield from _leaves(value, f"{path}.", tables)
        else:
            yield path, value


def _unknown(path: str, names: list[str]) -> str:
    """Return the error for an unknown key, with similar keys, those of the same table first."""
    table = path.rpartition(".")[0]
    siblings = [name for name in names if name.rpartition(".")[0] == table]
    if path in names:
        return "is a table: write its keys below [" + path + "]"
    suggestion = did_you_mean(path, siblings) or did_you_mean(path, names)
    return f"is not a setting{suggestion or ': `memoranda config show` lists them'}"


def _absolute(folder: Path, value: Any) -> Any:
    """Return a path of the file, relative to the file's own folder; a URL stays as it is."""
    if not isinstance(value, str) or "://" in value or value == ":memory:":
        return value
    return os.path.abspath(folder / Path(value).expanduser())  # noqa: PTH100  # links stay


def _lines(text: str) -> dict[str, int]:
    """Return on which line each table and each key begins."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.fullmatch(line)
        if header is not None:
            table = _dotted(header[1])
            lines.setdefault(table, number)
        elif (key := _KEY.match(line)) is not None:
            path = _dotted(key[1])
            lines.setdefault(f"{table}.{path}" if table else path, number)
    return lines


def _dotted(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
