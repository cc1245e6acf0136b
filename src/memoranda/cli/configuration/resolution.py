"""Where each setting comes from: the environment, the file, or its default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from memoranda.cli.configuration.file import ConfigurationFile, read_file
from memoranda.cli.configuration.schema import Configuration
from memoranda.cli.configuration.settings import Setting, all_settings
from memoranda.cli.configuration.variables import API_KEY, CONFIG, HOOK_SECONDS, PREFIX
from memoranda.errors import InvalidInput
from memoranda.model.suggestions import did_you_mean

DEFAULT = "default"
_MASK = "********"
_FLAG_WORDS = {"yes": True, "y": True, "on": True, "t": True} | {
    "no": False, "n": False, "off": False, "f": False
}  # fmt: skip
"""Words for true and false that flags take too, besides those of JSON and 1 and 0."""


class Value(msgspec.Struct, frozen=True):
    """A setting with its value, and where that comes from."""

    setting: Setting
    value: Any
    source: str
    """The variable, the file with its line, or `default`."""

    @property
    def display(self) -> Any:
        """The value, or a mask in its place if it is a secret."""
        return _MASK if self.setting.is_secret and self.value is not None else self.value


class Resolution(msgspec.Struct, frozen=True):
    """All settings of a process, before the flags of a command."""

    configuration: Configuration
    values: Mapping[str, Value]
    """Values by the path of the setting."""
    file: Path | None
    """None: there is none."""

    def given(self, setting: str) -> Any:
        """Return the value of a setting; None if it has only its default."""
        value = self.values[setting]
        return None if value.source == DEFAULT else value.value


def resolve(path: Path | None, environment: Mapping[str, str]) -> Resolution:
    """Read and check the file and the environment; the environment takes precedence."""
    file = None if path is None else read_file(path)
    values = {
        setting.path: _value(setting, file, environment) for setting in all_settings().values()
    }
    return Resolution(build(values.values()), values, path)


def build(values: Iterable[Value]) -> Configuration:
    """Build the configuration from values; an error names the source of the value."""
    by_path = {value.setting.path: value for value in values if value.source != DEFAULT}
    document: dict[str, Any] = {}
    for path, value in by_path.items():
        *tables, name = path.split(".")
        table = document
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = value.value
    try:
        return msgspec.convert(document, Configuration)
    except InvalidInput as error:
        raise _named(error, by_path) from error


def _named(error: InvalidInput, values: Mapping[str, Value]) -> InvalidInput:
    """Return the error with the source of its setting, or of another one of the same table."""
    table = error.field.rpartition(".")[0]
    siblings = [value for path, value in values.items() if path.rpartition(".")[0] == table]
    value = values.get(error.field) or next(iter(siblings), None)
    if value is None:
        return error
    return InvalidInput(value.source, f"{error.field} {error.problem}")


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables with our prefix that no setting reads, with suggestions."""
    variables = {setting.variable for setting in all_settings().values()} | {
        API_KEY,
        CONFIG,
        HOOK_SECONDS,
    }
    names = sorted(name for name in environment if name.startswith(PREFIX))
    return [name + did_you_mean(name, variables) for name in names if name not in variables]


def from_text(setting: Setting, text: str, source: str) -> Value:
    """Return the value of a setting that is given as text, such as that of a variable."""
    plain: Any = text.split() if isinstance(setting.default, list) else text
    if setting.is_flag:
        plain = _FLAG_WORDS.get(text.lower(), text)
    try:
        return Value(setting, msgspec.convert(plain, setting.type, strict=False), source)
    except msgspec.ValidationError as error:
        display = _MASK if setting.is_secret else repr(text)
        raise InvalidInput(source, f"{display} does not fit: {error}") from error


def _value(
    setting: Setting, file: ConfigurationFile | None, environment: Mapping[str, str]
) -> Value:
    text = environment.get(setting.variable)
    if text:
        return from_text(setting, text, setting.variable)
    if file is not None and setting.path in file.values:
        return Value(setting, file.values[setting.path], file.place(setting.path))
    return Value(setting, setting.default, DEFAULT)
