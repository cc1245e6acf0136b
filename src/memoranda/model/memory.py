"""The parts of memories and transcripts, and the layout of their text in lines."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import msgspec

from memoranda.model import document

# Lines: the text of several speakers, laid out so that no speaker can forge another's line.
#
# Only the engine begins a line in the first column; further lines of a message are indented. Every
# character that a reader may take for a line break counts as one, not only U+000A.

INDENT: Final = "  "
"""Indents every line of a message but its first."""
_MARK: Final = "¶"
_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_PLAIN_SPEAKER: Final = re.compile(
    '[^\\s:\\[\\]"\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]'
    '[^:\\[\\]"\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,120}'
)
_UNPRINTED: Final = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def indent_continuation_lines(text: str) -> str:
    """Indent all lines but the first, so that none can look like a new message."""
    return _BREAK.sub("\n" + INDENT, text)


def one_line(text: str) -> str:
    """Join the words of a text on one line, with single spaces."""
    return " ".join(text.split())


def join_lines(text: str) -> str:
    """Join lines of several speakers on one line, with a mark before each message."""
    marked = text.replace(_MARK, "|").replace("\n" + INDENT, " ").replace("\n", f" {_MARK} ")
    return one_line(marked)


def replace_line_breaks(text: str) -> str:
    """Replace each line break by a space."""
    return _BREAK.sub(" ", text)


def speaker_label(speaker: str) -> str:
    """Return a speaker's label before a colon, as a JSON string if it has special characters."""
    return speaker if _PLAIN_SPEAKER.fullmatch(speaker) else json_line(speaker)


def json_line(value: object) -> str:
    """Return a value as JSON on one line, with every line break escaped."""
    encoded = msgspec.json.encode(value).decode()
    return _UNPRINTED.sub(lambda match: f"\\u{ord(match.group()):04x}", encoded)


# The parts of memories and transcripts, as the log stores them.

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
"""Lifetime classes of memories, shortest first."""
VISIBILITIES: Final = ("namespace", "private")

REFLECTION: Final = "reflection"
REFLECTS_ON: Final = "reflects_on"
SUPERSEDES: Final = "supersedes"
DERIVED_FROM: Final = "derived_from"
RELATIONS: Final = ("related_to", SUPERSEDES, "contradicts", DERIVED_FROM, REFLECTS_ON)
ACYCLIC: Final = (REFLECTS_ON, SUPERSEDES, DERIVED_FROM)
"""The relations whose links must not form a cycle."""

INBOX: Final = "_invalidations"
"""The last segment of the namespaces of notices."""
NOTICE_KIND: Final = "reflection_invalidation"
"""The kind of a notice that a memory reflects on a superseded reflection."""
NOTICE_TIER: Final = "mid"

Span = tuple[int, int]
"""A part of a transcript: half-open byte offsets into its UTF-8."""


class Content(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A text, inline if it is short; otherwise the hash of a blob beside the log."""

    text: str | None
    digest: bytes | None = None
    size: int = 0

    def to_document(self) -> document.Document:
        """Return the text, or its hash and size, as plain JSON."""
        if self.digest is None:
            return {"content": self.text}
        return {"content_hash": self.digest.hex(), "content_size": self.size}


class Details(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The attributes of a memory beside its content. `metadata` is a JSON object's bytes."""

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

    def defaults_among(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the fields with these names that have their default value, in order."""
        unset = Details()
        return tuple(
            name
            for name in self.__struct_fields__
            if name in names and getattr(self, name) == getattr(unset, name)
        )

    def to_document(self) -> document.Document:
        """Return the details as plain JSON."""
        plain = document.Document(msgspec.structs.asdict(self))
        plain["tags"], plain["citations"] = list(self.tags), list(self.citations)
        plain["metadata"] = document.decode(self.metadata) if self.metadata else None
        return plain


class Expiry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A lifetime from the commit on, in microseconds; None never expires.

    With `extends`, the new end is never before the old one.
    """

    lifetime: int | None
    extends: bool = False

    def end(self, committed_at: int, before: int | None) -> int | None:
        """Return the time of the end, given the old end."""
        if self.lifetime is None or (self.extends and before is None):
            return None
        end = committed_at + self.lifetime
        return max(end, before) if self.extends and before is not None else end


class Depth(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The new reflection depth of a memory."""

    memory_id: str
    depth: int


def inbox_of(namespace: str) -> str:
    """Return the namespace of the notices about a namespace's memories; they are never nested."""
    return namespace if namespace.split("/")[-1] == INBOX else f"{namespace}/{INBOX}"
