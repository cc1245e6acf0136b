"""What a search found, as the JSON a program reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoranda.cli import belief_shapes, fact_shapes
from memoranda.cli.shapes import time_text

if TYPE_CHECKING:
    from memoranda.search.hits import Hit

Shape = dict[str, Any]


def hit(found: Hit) -> Shape:
    """Return a hit, with how its score came about."""
    return {
        "id": found.id,
        "kind": found.kind,
        "text": found.text,
        "score": found.score,
        "parts": dict(found.parts),
        "time": found.time and time_text(found.time),
        "memory": found.memory and belief_shapes.memory(found.memory),
        "fact": found.fact and fact_shapes.fact(found.fact),
        "provenance": [fact_shapes.source(each) for each in found.provenance],
        "context": {"before": found.context[0], "after": found.context[1]},
        "duplicates": list(found.duplicates),
    }
