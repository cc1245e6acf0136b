"""References: the evidence of a value, and the source of a fact."""

from __future__ import annotations

from typing import Protocol, get_args

import msgspec

from memoranda.model.memory import Span


class KeyRef(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A state key at one of its versions.

    Fields that are None are filled in when the write is decided: with the writer's own scope, and
    with the version that the key has then.
    """

    key: str
    version: int | None = None
    agent_id: str | None = None
    namespace: str | None = None


class MemoryRef(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A memory at one of its versions; without one, at the version when the write is decided."""

    memory_id: str
    version: int | None = None


class FactRef(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A fact, by one of the assertions it follows from."""

    assertion_id: str


class TranscriptRef(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    """Spans of a transcript, or all of it without spans."""

    transcript_id: str
    spans: tuple[Span, ...] = ()


class OperationRef(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """A key's value or an assertion, by the operation that made it.

    Only notices have it. A key, and an id that is derived from content, are content themselves; a
    position in the log is an id that tells nothing of what is erased there.
    """

    commit_ts: int
    position: int


Belief = KeyRef | MemoryRef | FactRef
"""What can rest on evidence, and change."""
Ref = Belief | TranscriptRef
"""Evidence that a value can cite."""


class Referable(Protocol):
    """A record that has a reference, such as a memory, a fact or a hit of a search."""

    @property
    def ref(self) -> Ref | None:
        """The reference to the record, at the version that was read; None: it cannot be cited."""
        ...


RefLike = Ref | Referable
"""A reference from a caller, or a record that has one."""
IdLike = str | RefLike
"""The id of something, a reference to it, or a record of it."""


_REF_TYPES = get_args(Ref)


def ref_of(value: object) -> Ref | None:
    """Return a reference itself, or that of a record; None for anything else."""
    if type(value) is str:  # an id, which is the common case
        return None
    ref = value if isinstance(value, _REF_TYPES) else getattr(value, "ref", None)
    return ref if isinstance(ref, _REF_TYPES) else None


def id_in(ref: MemoryRef | FactRef | TranscriptRef) -> str:
    """Return the id of what a reference names."""
    if isinstance(ref, MemoryRef):
        return ref.memory_id
    return ref.assertion_id if isinstance(ref, FactRef) else ref.transcript_id


Evidence = MemoryRef | TranscriptRef
"""Sources that a fact can have."""


class Referent(msgspec.Struct, frozen=True):
    """The target of a reference, looked up."""

    ref: Ref
    """The reference with all fields filled in."""
    event_time: int | None = None
    """The time of the event that the target describes, if it has one."""
    private: bool = False
    """Whether only its own agent may see it."""
