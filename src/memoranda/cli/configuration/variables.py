"""The names of environment variables: a module of its own, since every command imports it."""

from __future__ import annotations

PREFIX = "MEMORANDA_"
CONFIG = "MEMORANDA_CONFIG"
"""The variable that names the file."""
API_KEY = "MEMORANDA_API_KEY"
"""The key of a model's endpoint. It is read where it is used, and never from a file."""
HOOK_SECONDS = "MEMORANDA_HOOK_SECONDS"
"""The time limit of a hook, which starts before any file is read."""


def variable_of(path: str) -> str:
    """Return the variable of a setting: `MEMORANDA_SERVER_GRPC` for `server.grpc`."""
    return PREFIX + path.replace(".", "_").upper()
