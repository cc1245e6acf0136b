"""Floors: how near the meaning of a passage has to be if nothing but that speaks for it.

Every text has some direction, so something is always nearest. Below its model's floor that says
nothing, and a query that nothing answers is to find nothing.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.model.limits import shown

USUAL: Final = 0.2
"""The least cosine that counts by itself, where an embedder has no `floor` of its own."""


def floor_of(embedder: object) -> float:
    """Return the least cosine at which something is found by meaning alone."""
    floor = getattr(embedder, "floor", USUAL)
    number = isinstance(floor, (int, float)) and not isinstance(floor, bool) and isfinite(floor)
    if not number or not -1 <= floor <= 1:
        raise InvalidInput("embedder.floor", f"{shown(floor)} is not a number from -1 to 1")
    return float(floor)
