"""Durability: when SQLite calls fsync, and so what an acknowledged commit survives.

SQLite writes a commit to the write-ahead log. With `synchronous=FULL` it calls fsync on that log
before COMMIT returns, so the commit survives power loss. With `synchronous=NORMAL` it calls fsync
only at checkpoints: a commit survives the death of the process, but power loss may take the newest
commits, never a part of one.

The pragma is set on every connection by `Opener.connect` (connection.py). `SqliteEngine.sync`
(engine.py) makes earlier relaxed commits durable, and `SqliteEngine._settle` does so after a COMMIT
whose outcome is unknown. Whole files are synced by `storage/files.py`.
"""

from __future__ import annotations

from memoranda import errors
from memoranda.model.limits import plain_text, short_repr

_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}
"""The value of SQLite's `synchronous` pragma for each durability."""


def synchronous_value(durability: str) -> str:
    """Return the value of the `synchronous` pragma, or raise `InvalidInput`."""
    durability = plain_text("durability", durability)
    if durability not in _SYNCHRONOUS:
        raise errors.InvalidInput(
            "durability", f"{short_repr(durability)} is not 'full' or 'relaxed'"
        )
    return _SYNCHRONOUS[durability]
