"""The names of environment variables; apart, since every command needs them at its start."""

from __future__ import annotations

PREFIX = "MEMORANDA_"
CONFIG = "MEMORANDA_CONFIG"
"""The variable that names the file."""
API_KEY = "MEMORANDA_API_KEY"
"""The key of a model's endpoint: read where it is used, and in no file."""
HOOK_SECONDS = "MEMORANDA_HOOK_SECONDS"
"""How long a hook may work: it begins before any file is read."""


def variable_of(path: str) -> str:
    """Return the variable of a setting: `MEMORANDA_SERVER_GRPC` for `server.grpc`."""
    return PREFIX + path.replace(".", "_").upper()
