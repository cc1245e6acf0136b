"""Sources of ids and random bytes. No other module makes either."""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from typing import Protocol, runtime_checkable

import uuid_utils


@runtime_checkable
class IdSource(Protocol):
    """A source of unique ids and of unpredictable bytes."""

    def unique(self) -> str:
        """Return a unique id; later ids sort after earlier ones."""
        ...

    def entropy(self, size: int) -> bytes:
        """Return unpredictable bytes."""
        ...


def derive_id(*parts: str) -> str:
    """Return the id that is derived from some parts, in the form of a UUID of version 8."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


_UUID7 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_ORDERED = len("00000000-0000-7000-8000")
"""Characters of a UUIDv7 that order it: its time, and the first of its other bits."""


def derive_ordered_id(txn_id: str, number: int, *parts: str) -> str:
    """Return the id of the n-th thing that a transaction makes, for one with a random id.

    It sorts as an id sorts that was made at the same time. It has the form of a UUIDv7, not that of
    a derived id, because nobody can guess it without the `txn_id`.
    """
    if _UUID7.fullmatch(txn_id) is None:
        return derive_id(*parts, txn_id, str(number))
    digest = hashlib.sha256("\0".join((*parts, txn_id, str(number))).encode()).hexdigest()
    return f"{txn_id[:_ORDERED]}-{number & 0xFFFF:04x}{digest[:8]}"


def is_derived_id(identity: str) -> bool:
    """Say whether an id has the form of a derived id, whose parts could be guessed."""
    return identity[14:15] == "8"


_PIECE_BYTES = 16
"""Bytes of randomness that are taken from a reserve at once: every salt is a multiple of them."""
_RESERVE_PIECES = 64
"""Pieces that are asked of the operating system at once."""
_MAX_RESERVED_BYTES = 8 * _PIECE_BYTES
"""Bytes up to which randomness comes from the reserve: more is rare."""


class SystemIds:
    """UUIDv7 and the operating system's randomness, of which a reserve is kept.

    Each call into the operating system lets another thread have the interpreter, which a commit
    among many threads then waits for. A piece is taken from the reserve by one C call, so that none
    is used twice, and a forked process begins without one.
    """

    def __init__(self) -> None:
        self._reserve: deque[bytes] = deque()
        self._process = os.getpid()

    def unique(self) -> str:
        """Return a UUIDv7 as text."""
        return str(uuid_utils.uuid7())

    def entropy(self, size: int) -> bytes:
        """Return bytes from the operating system."""
        if size > _MAX_RESERVED_BYTES:
            return os.urandom(size)
        if self._process != os.getpid():
            self._reserve, self._process = deque(), os.getpid()
        pieces = (self._piece() for _ in range(0, size, _PIECE_BYTES))
        return b"".join(pieces)[:size]

    def _piece(self) -> bytes:
        try:
            return self._reserve.pop()
        except IndexError:
            fresh = os.urandom(_PIECE_BYTES * _RESERVE_PIECES)
            self._reserve.extend(
                fresh[first : first + _PIECE_BYTES]
                for first in range(_PIECE_BYTES, len(fresh), _PIECE_BYTES)
            )
            return fresh[:_PIECE_BYTES]


class FixedIds:
    """Ids and bytes for tests: the same sequence for the same seed."""

    # The project's first name; a new default would change every id that tests expect.
    def __init__(self, seed: str = "recollect") -> None:
        self._seed = seed
        self._count = 0

    def unique(self) -> str:
        """Return the next id of the sequence, in the form of a UUIDv7."""
        self._count += 1
        tail = hashlib.sha256(f"{self._seed}:id:{self._count}".encode()).hexdigest()
        return f"{self._count:08x}-0000-7000-8{tail[:3]}-{tail[3:15]}"

    def entropy(self, size: int) -> bytes:
        """Return the next bytes of the sequence."""
        self._count += 1
        return hashlib.shake_256(f"{self._seed}:bytes:{self._count}".encode()).digest(size)
