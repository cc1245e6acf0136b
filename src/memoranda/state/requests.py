"""The requests of a transaction about keys, and its tracked reads."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from memoranda.model.refs import Ref
from memoranda.model.scope import Scope


class WriteKey(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A request to write a value."""

    stays_in_scope: ClassVar = True

    scope: Scope
    key: str
    encoded: bytes
    expect_version: int | None = None
    because: tuple[Ref, ...] = ()


class DeleteKey(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A request to delete a value."""

    stays_in_scope: ClassVar = True

    scope: Scope
    key: str
    expect_version: int | None = None


KeyRequest = WriteKey | DeleteKey


class KeyRead(msgspec.Struct, frozen=True, gc=False):
    """A read of a key."""

    scope: Scope
    key: str

    def __str__(self) -> str:
        return f"key {self.key!r} of {self.scope.agent_id!r} in {self.scope.namespace!r}"


class PrefixRead(msgspec.Struct, frozen=True, gc=False):
    """A read of all keys with a prefix, and so of the absence of others."""

    is_range: ClassVar = True

    scope: Scope
    prefix: str

    def overlaps(self, read: object) -> bool:
        """Say whether another read has any of these keys."""
        if isinstance(read, KeyRead):
            return read.scope == self.scope and read.key.startswith(self.prefix)
        if not isinstance(read, PrefixRead) or read.scope != self.scope:
            return False
        return read.prefix.startswith(self.prefix) or self.prefix.startswith(read.prefix)

    def __str__(self) -> str:
        scope = self.scope
        return f"a key under {self.prefix!r} of {scope.agent_id!r} in {scope.namespace!r}"
