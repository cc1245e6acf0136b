"""The head row of a store: what its writers check when they find that others have written."""

from __future__ import annotations

from memoranda.errors import StoreBusy, UnsupportedFormat
from memoranda.storage.sqlite.schema import FORMAT


class StoreFrozen(StoreBusy):
    """The store takes no writes here at the moment, or no more. Try again shortly."""


def check_head(number: int, frozen: str | None) -> None:
    """Raise if a store was migrated by another version, or takes no writes here."""
    if number != FORMAT:
        raise UnsupportedFormat(
            f"the store has format {number} by now, and this version writes {FORMAT}: the database "
            "was migrated; close the store, upgrade Memoranda, and open it again"
        )
    if frozen is not None:
        raise StoreFrozen(f"the store takes no writes here: {frozen}; try again shortly")
