"""Settings of namespaces: lifetimes, retention and the depth of reflections.

A setting applies to its namespace and to all namespaces below it. The nearest one wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from memoranda.storage.port import Reader

_HOUR = 3_600_000_000
"""In microseconds, as all lengths of time here."""
_DAY = 24 * _HOUR
"""In microseconds."""

MAX_REFLECTION_DEPTH = "max_reflection_depth"
TRANSCRIPT_RETENTION = "transcript_retention"
LOG_RETENTION = "log_retention"

_DEFAULTS: Mapping[str, int | None] = {
    MAX_REFLECTION_DEPTH: 3,
    TRANSCRIPT_RETENTION: 30 * _DAY,
    LOG_RETENTION: None,
    "tier:short": 6 * _HOUR,
    "tier:mid": 7 * _DAY,
    "tier:long": None,
}
"""The settings of a namespace that has none; None: no end."""


class Setting(msgspec.Struct, frozen=True):
    """One setting of one namespace."""

    namespace: str
    name: str
    value: int | None

    def applies_to(self, namespace: str) -> bool:
        """Say whether it applies to a namespace that has no nearer setting."""
        return self.namespace == namespace or namespace.startswith(f"{self.namespace}/")


class Settings(msgspec.Struct, frozen=True):
    """The effective settings of one namespace."""

    values: Mapping[str, int | None]

    @property
    def max_reflection_depth(self) -> int:
        """Longest chain of reflections on reflections; 0 forbids reflections."""
        return self.values[MAX_REFLECTION_DEPTH] or 0

    @property
    def transcript_retention(self) -> int | None:
        """Shortest time a transcript is kept, in microseconds; None: for ever."""
        return self.values[TRANSCRIPT_RETENTION]

    @property
    def log_retention(self) -> int | None:
        """Age from which operations are compacted, in microseconds; None: never."""
        return self.values[LOG_RETENTION]

    def lifetime(self, tier: str) -> int | None:
        """Return the lifetime of a tier's memories, in microseconds; None: for ever."""
        return self.values[f"tier:{tier}"]


def fold(settings: Iterable[Setting], namespace: str) -> Settings:
    """Return the effective settings of a namespace: the nearest wins, then the latest."""
    values = dict(_DEFAULTS)
    for setting in sorted(settings, key=lambda row: len(row.namespace)):
        if setting.applies_to(namespace):
            values[setting.name] = setting.value
    return Settings(values)


def load(reader: Reader) -> list[Setting]:
    """Return the settings of all namespaces."""
    return [Setting(*row) for row in reader.rows("setting_rows")]


class SettingsCache:
    """Caches settings between commits; `forget` invalidates it when they may have changed."""

    def __init__(self) -> None:
        self._rows: list[Setting] | None = None
        self._effective: dict[str, Settings] = {}

    def rows(self, reader: Reader) -> list[Setting]:
        """Return the settings of all namespaces."""
        if self._rows is None:
            self._rows = load(reader)
        return self._rows

    def of(self, reader: Reader, namespace: str) -> Settings:
        """Return the effective settings of a namespace."""
        settings = self._effective.get(namespace)
        if settings is None:
            settings = self._effective[namespace] = fold(self.rows(reader), namespace)
        return settings

    def forget(self) -> None:
        """Empty the cache."""
        self._rows = None
        self._effective.clear()
