"""The head row of a store: its stamps, and what writers check when others have written."""

from __future__ import annotations

import msgspec

from memoranda.errors import StoreBusy, UnsupportedFormat
from memoranda.model.ids import IdSource, SystemIds
from memoranda.storage.sqlite.schema import FORMAT

_RETRY_SECONDS = 0.1
"""Seconds after which clients of a server try again: it has found where the store is by then."""


class StoreFrozen(StoreBusy):
    """The store takes no writes here at the moment, or no more. Try again shortly."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the store takes no writes here: {reason}; try again shortly")
        self.retry_after = _RETRY_SECONDS


class LockedHead(msgspec.Struct, frozen=True):
    """What a writer that has locked a store finds."""

    stamp: int
    number: int
    """The format."""
    frozen: str | None
    """Why the store takes no writes; None: it does."""
    token: str
    """The token of the store: another one, if it was moved away and back."""


def draw_number(ids: IdSource | None = None) -> int:
    """Draw a stamp, or the id of a store, by chance: of 63 bits, so that none comes twice."""
    return int.from_bytes((ids or SystemIds()).entropy(8)) >> 1


def check_head(number: int, frozen: str | None, move: str | None = None) -> None:
    """Raise if a store was migrated by another version, or takes no writes here.

    `move` is what the store is frozen for while it is copied to here: then only the copier writes.
    """
    if number != FORMAT:
        raise UnsupportedFormat(
            f"the store has format {number} by now, and this version writes {FORMAT}: the database "
            "was migrated; close the store, upgrade Memoranda, and open it again"
        )
    if frozen != move:
        raise StoreFrozen(frozen or "the move that was to fill it has ended")
