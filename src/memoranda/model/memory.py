"""What memories and transcripts consist of, as the log keeps them."""

from __future__ import annotations

from typing import Final

import msgspec

from memoranda.model import document

KINDS: Final = (
    "observation",
    "reflection",
    "decision",
    "event",
    "conversation",
    "claim",
    "concept",
    "persona",
)
TIERS: Final = ("short", "mid", "long")
"""How long a memory is to last, from the shortest."""
VISIBILITIES: Final = ("namespace", "private")

REFLECTION: Final = "reflection"
REFLECTS_ON: Final = "reflects_on"
SUPERSEDES: Final = "supersedes"
DERIVED_FROM: Final = "derived_from"
RELATIONS: Final = ("related_to", SUPERSEDES, "contradicts", DERIVED_FROM, REFLECTS_ON)
ACYCLIC: Final = (REFLECTS_ON, SUPERSEDES, DERIVED_FROM)
"""The relations in which nothing may lead back to itself."""

INBOX: Final = "_invalidations"
"""The last segment of the namespaces that notices stand in."""
NOTICE_KIND: Final = "reflection_invalidation"
NOTICE_TIER: Final = "mid"

Span = tuple[int, int]
"""A stretch of a transcript: half-open byte offsets into its UTF-8."""


class Content(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A text: itself while it is short, else the hash of what is kept beside the log."""

    text: str | None
    digest: bytes | None = None
    size: int = 0

    def shown(self) -> document.Document:
        """Return the text, or what stands for it, as plain JSON."""
        if self.digest is None:
            return {"content": self.text}
        return {"content_hash": self.digest.hex(), "content_size": self.size}


class Details(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is said of a memory beside its content. `metadata` is a JSON object's bytes."""

    tags: tuple[str, ...] = ()
    priority: int = 5
    confidence: float = 1.0
    source: str = "api"
    metadata: bytes | None = None
    event_time: int | None = None
    source_uri: str | None = None
    citations: tuple[str, ...] = ()
    entity_id: str | None = None
    confidence_source: str | None = None

    def shown(self) -> document.Document:
        """Return the details as plain JSON."""
        plain = document.Document(msgspec.structs.asdict(self))
        plain["tags"], plain["citations"] = list(self.tags), list(self.citations)
        plain["metadata"] = document.decode(self.metadata) if self.metadata else None
        return plain


class Expiry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How long something lasts from the commit on, in microseconds; None: for ever.

    One that `extends` never ends anything sooner than it would have ended.
    """

    lifetime: int | None
    extends: bool = False

    def end(self, committed_at: int, before: int | None) -> int | None:
        """Return when it ends, given when it would have ended before."""
        if self.lifetime is None or (self.extends and before is None):
            return None
        end = committed_at + self.lifetime
        return max(end, before) if self.extends and before is not None else end


class Depth(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The reflection depth that a memory has from here on."""

    memory_id: str
    depth: int


def inbox_of(namespace: str) -> str:
    """Return the namespace for notices about memories of a namespace; never one inside another."""
    return namespace if namespace.split("/")[-1] == INBOX else f"{namespace}/{INBOX}"
