"""The locations of the store that a command opens and of the settings file."""

from __future__ import annotations

from pathlib import Path

CONFIG_NAME = "config.toml"


def default_path() -> Path:
    """Return the default path of the store, if the user names none."""
    from platformdirs import user_data_path

    return user_data_path("memoranda") / "store.db"


def location_of(db: str | None) -> str:
    """Return the path or URL of the store: `--db`, or the default path."""
    return str(default_path()) if db is None else db


def default_config() -> Path:
    """Return the default path of the settings file."""
    from platformdirs import user_config_path

    return user_config_path("memoranda") / CONFIG_NAME


def config_file(name: str | None) -> Path | None:
    """Return the settings file: the named one, or the default one if it exists."""
    if name:
        return Path(name)
    path = default_config()
    return path if path.is_file() else None
