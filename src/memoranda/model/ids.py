"""Where ids and randomness come from. Nothing outside this file draws either."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol, runtime_checkable

import uuid_utils


@runtime_checkable
class IdSource(Protocol):
    """A source of unique ids and of unpredictable bytes."""

    def unique(self) -> str:
        """Return an id nobody else has; later ones sort behind earlier ones."""
        ...

    def entropy(self, size: int) -> bytes:
        """Return unpredictable bytes."""
        ...


def derived(*parts: str) -> str:
    """Return the id that these parts always have, in the form of a UUID."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def is_derived(identity: str) -> bool:
    """Say whether an id may follow from something that could be guessed."""
    return identity[14:15] == "8"


class SystemIds:
    """UUIDv7 and the operating system's randomness."""

    def unique(self) -> str:
        """Return a UUIDv7 as text."""
        return str(uuid_utils.uuid7())

    def entropy(self, size: int) -> bytes:
        """Return bytes from the operating system."""
        return os.urandom(size)


class FixedIds:
    """The same ids and bytes in the same order for the same seed: what tests inject."""

    def __init__(self, seed: str = "recollect") -> None:
        self._seed = seed
        self._drawn = 0

    def unique(self) -> str:
        """Return the next id of the sequence, in the form of a UUIDv7."""
        self._drawn += 1
        tail = hashlib.sha256(f"{self._seed}:id:{self._drawn}".encode()).hexdigest()
        return f"{self._drawn:08x}-0000-7000-8{tail[:3]}-{tail[3:15]}"

    def entropy(self, size: int) -> bytes:
        """Return the next bytes of the sequence."""
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:bytes:{self._drawn}".encode()).digest(size)
