"""References: how a value names what it rests on."""

from __future__ import annotations

import msgspec


class KeyRef(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A state key at one of its versions.

    What is left out is filled in when the write is decided: the writer's own scope, and the
    version the key has at that moment.
    """

    key: str
    version: int | None = None
    agent_id: str | None = None
    namespace: str | None = None


Ref = KeyRef
"""Everything a value can rest on."""
