"""Retention: a moment that a namespace's own setting names."""

from __future__ import annotations

import enum
from typing import Final, Literal


class _Retention(enum.Enum):
    RETENTION = "RETENTION"

    def __repr__(self) -> str:
        return self.value


RETENTION: Final = _Retention.RETENTION
"""Given as the moment to compact before: as long ago as the namespace's `log_retention` says."""

Retention = Literal[_Retention.RETENTION]
