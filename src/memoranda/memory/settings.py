"""Settings of namespaces: how long things last, and how deep reflections go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from memoranda.storage.port import Reader

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR

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


class Setting(msgspec.Struct, frozen=True):
    """One setting of one namespace."""

    namespace: str
    name: str
    value: int | None

    def reaches(self, namespace: str) -> bool:
        """Say whether it holds in a namespace, unless something nearer does."""
        return self.namespace == namespace or namespace.startswith(f"{self.namespace}/")


class Settings(msgspec.Struct, frozen=True):
    """What holds in one namespace."""

    values: Mapping[str, int | None]

    @property
    def max_reflection_depth(self) -> int:
        """How deep reflections may rest on reflections."""
        return self.values[MAX_REFLECTION_DEPTH] or 0

    @property
    def transcript_retention(self) -> int | None:
        """How long a transcript is kept at least; None: for ever."""
        return self.values[TRANSCRIPT_RETENTION]

    @property
    def log_retention(self) -> int | None:
        """How old operations are at least when they are summed up; None: they never are."""
        return self.values[LOG_RETENTION]

    def lifetime(self, tier: str) -> int | None:
        """Return how long a memory of a tier lasts; None: for ever."""
        return self.values[f"tier:{tier}"]


def fold(settings: Iterable[Setting], namespace: str) -> Settings:
    """Return what holds in a namespace: what is set nearest to it, and last, counts."""
    values = dict(_DEFAULTS)
    for setting in sorted(settings, key=lambda each: len(each.namespace)):
        if setting.reaches(namespace):
            values[setting.name] = setting.value
    return Settings(values)


def load(reader: Reader) -> list[Setting]:
    """Return everything that is set."""
    return [Setting(*row) for row in reader.rows("setting_rows")]


class KnownSettings:
    """Remembers what is set between commits; forgotten when it may have changed."""

    def __init__(self) -> None:
        self._rows: list[Setting] | None = None
        self._folded: dict[str, Settings] = {}

    def rows(self, reader: Reader) -> list[Setting]:
        """Return everything that is set."""
        if self._rows is None:
            self._rows = load(reader)
        return self._rows

    def of(self, reader: Reader, namespace: str) -> Settings:
        """Return what holds in a namespace."""
        known = self._folded.get(namespace)
        if known is None:
            known = self._folded[namespace] = fold(self.rows(reader), namespace)
        return known

    def forget(self) -> None:
        """Remember nothing."""
        self._rows = None
        self._folded.clear()
