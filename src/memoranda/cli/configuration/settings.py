"""Every setting by its path in the file, such as `server.grpc`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, get_args

import msgspec
from msgspec import Meta

from memoranda.cli.configuration.schema import Configuration
from memoranda.cli.configuration.variables import variable_of


class Setting(msgspec.Struct, frozen=True):
    """One key of the file."""

    path: str
    type: Any
    default: Any
    description: str
    is_secret: bool
    is_path: bool

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable_of(self.path)

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        plain = getattr(self.type, "__origin__", self.type)
        return bool in (plain, *get_args(plain))


@cache
def all_settings() -> Mapping[str, Setting]:
    """Return the settings by their paths, in the order of the schema."""
    return MappingProxyType({setting.path: setting for setting in _settings_of(Configuration, "")})


def _settings_of(section: type[msgspec.Struct], prefix: str) -> Iterator[Setting]:
    for field in msgspec.structs.fields(section):
        path = f"{prefix}{field.name}"
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _settings_of(field.type, f"{path}.")
            continue
        notes = [note for note in _notes(field.type) if isinstance(note, Meta)]
        extra = {name: value for note in notes for name, value in (note.extra or {}).items()}
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        yield Setting(
            path,
            field.type,
            default,
            next((note.description for note in notes if note.description), ""),
            bool(extra.get("is_secret")),
            bool(extra.get("is_path")),
        )


def _notes(annotation: Any) -> tuple[Any, ...]:
    """Return the annotations of an `Annotated` type; Python flattens nested ones."""
    return get_args(annotation)[1:] if hasattr(annotation, "__metadata__") else ()
