"""References: how a value names what it rests on, and a fact where it comes from."""

from __future__ import annotations

from typing import Protocol

import msgspec

from memoranda.model.memory import Span


class KeyRef(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A state key at one of its versions.

    What is left out is filled in when the write is decided: the writer's own scope, and the
    version the key has at that moment.
    """

    key: str
    version: int | None = None
    agent_id: str | None = None
    namespace: str | None = None


class MemoryRef(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A memory at one of its versions; no version: the one it has when this is decided."""

    memory_id: str
    version: int | None = None


class FactRef(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A fact, by one of the assertions it follows from."""

    assertion_id: str


class TranscriptRef(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """Words as they were said: these spans of a transcript, or the whole of it."""

    transcript_id: str
    spans: tuple[Span, ...] = ()


Ref = KeyRef | MemoryRef | FactRef
"""Everything a value can rest on."""


class Referable(Protocol):
    """A record of something that a value can rest on, such as a memory."""

    @property
    def ref(self) -> Ref:
        """What names it, as it was when it was read."""
        ...


Ground = Ref | Referable
"""What a caller may give where something to rest on is asked for."""
Evidence = MemoryRef | TranscriptRef
"""Everything a fact can come from."""


class Referent(msgspec.Struct, frozen=True):
    """What a reference turned out to mean, once it was looked up."""

    ref: Ref | TranscriptRef
    """The reference with everything said that was left out."""
    event_time: int | None = None
    """When what it names happened, if that is known."""
    private: bool = False
    """Whether its own agent alone is shown it."""
