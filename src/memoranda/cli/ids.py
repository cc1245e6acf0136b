"""Abbreviated ids on the command line; the store completes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.main import FIELD_NAMES

if TYPE_CHECKING:
    from memoranda.sdk.store.store import Store


def full_id(store: Store, text: str, *kinds: str) -> str:
    """Return the id that begins with a text; an empty text is returned as it is."""
    if not text:
        return text
    meta = click.get_current_context().meta
    meta[FIELD_NAMES] = {**meta.get(FIELD_NAMES, {}), "prefix": "ID"}
    return store.find_id(text, kinds=kinds)
