"""Hits: what a search gives, and how the score of each came about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import prod
from typing import Final

import msgspec

from memoranda.graph.records import Fact
from memoranda.memory.records import Memory
from memoranda.model.refs import Evidence

ADDED: Final = ("text", "vector", "graph")
"""The parts of a score that are added up: why something was found."""
MULTIPLIED: Final = ("recency", "priority", "confidence", "tier", "superseded", "newer")
"""The parts that the sum is multiplied by: what else speaks for it or against it. 1 is neither."""


class Hit(msgspec.Struct, frozen=True):
    """Something that was found.

    Its score is `(text + vector + graph) * recency * priority * confidence * tier * superseded *
    newer`, with the numbers that `parts` has under these names.
    """

    id: str
    """The id of the memory, of the fact's first assertion, or of the transcript."""
    kind: str
    """`memory`, `fact` or `passage`."""
    text: str
    score: float
    parts: Mapping[str, float]
    memory: Memory | None
    """The memory, if it is one."""
    provenance: tuple[Evidence, ...]
    """The spans of transcripts and the memories that it rests on."""
    fact: Fact | None = None
    """The fact, if it is one."""
    context: tuple[str, str] = ("", "")
    """What stands before and behind it in the transcript that it is from."""
    duplicates: tuple[str, ...] = ()
    """The ids of what says the same and was left out for it, the first twenty."""
    time: datetime | None = None
    """When it was said, happened, or began to hold, as far as is known."""


def score_of(parts: Mapping[str, float]) -> float:
    """Return the score that these parts make up."""
    return sum(parts[name] for name in ADDED) * prod(parts[name] for name in MULTIPLIED)
