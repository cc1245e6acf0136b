"""Where the store is that a command opens."""

from __future__ import annotations

from pathlib import Path


def default_path() -> Path:
    """Return the path of the store of a user who names none."""
    from platformdirs import user_data_path

    return user_data_path("memoranda") / "store.db"


def location_of(db: str | None) -> str:
    """Return the path or URL of the store: `--db`, or the default path."""
    return str(default_path()) if db is None else db
