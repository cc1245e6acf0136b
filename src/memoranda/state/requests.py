"""What can be asked of state in a transaction: requests to stage and reads to track."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from memoranda.model.refs import Ref
from memoranda.model.scope import Scope


class WriteKey(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Give a key a value."""

    stays_in_scope: ClassVar = True

    scope: Scope
    key: str
    encoded: bytes
    expect_version: int | None = None
    because: tuple[Ref, ...] = ()


class DeleteKey(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Take a key's value away."""

    stays_in_scope: ClassVar = True

    scope: Scope
    key: str
    expect_version: int | None = None


KeyRequest = WriteKey | DeleteKey


class KeyRead(msgspec.Struct, frozen=True, gc=False):
    """A key was read."""

    scope: Scope
    key: str

    def __str__(self) -> str:
        return f"key {self.key!r} of {self.scope.agent_id!r} in {self.scope.namespace!r}"


class PrefixRead(msgspec.Struct, frozen=True, gc=False):
    """All keys with a prefix were read, and so was the absence of others."""

    is_range: ClassVar = True

    scope: Scope
    prefix: str

    def overlaps(self, other: object) -> bool:
        """Say whether another read is about any of these keys."""
        if isinstance(other, KeyRead):
            return other.scope == self.scope and other.key.startswith(self.prefix)
        if not isinstance(other, PrefixRead) or other.scope != self.scope:
            return False
        return other.prefix.startswith(self.prefix) or self.prefix.startswith(other.prefix)

    def __str__(self) -> str:
        scope = self.scope
        return f"a key under {self.prefix!r} of {scope.agent_id!r} in {scope.namespace!r}"
