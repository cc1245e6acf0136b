"""The status of a server's scheduled jobs, for one store."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

Outcome = Literal["ok", "failed"]


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled job of the server, its last run on this store, and its next one."""

    name: str
    every: str
    """How often it runs, such as `1d`."""
    is_running: bool = False
    last_started_at: datetime | None = None
    """None: it has not run yet."""
    last_seconds: float | None = None
    """How long it took."""
    last_outcome: Outcome | None = None
    last_detail: str | None = None
    """What the last run did, or why it failed."""
    failures: int = 0
    """The number of failed runs since the last successful one."""
    next_run_at: datetime
