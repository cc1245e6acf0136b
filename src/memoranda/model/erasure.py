"""What can be asked to be erased."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal

import msgspec

from memoranda.model.ids import is_derived
from memoranda.model.scope import Scope

MEMORY: Final = "memory"
TRANSCRIPT: Final = "transcript"
KEY: Final = "key"
AGENT: Final = "agent"
NAMESPACE: Final = "namespace"
FACTS: Final = "facts"
FACT: Final = "fact"
ENTITY: Final = "entity"
SWEEP: Final = "sweep"
COMPACTION: Final = "compaction"
"""What an erasure is called that nobody asks for by itself."""

TargetKind = Literal[
    "memory", "transcript", "key", "fact", "entity", "agent", "namespace", "facts", "sweep"
]
SWEPT_AFTER = timedelta(days=30)
"""How long something must have been over to be swept, unless another time is given."""

PSEUDONYM_PREFIX: Final = "forgotten-"
"""What the pseudonym of a forgotten agent or namespace begins with."""

Place = tuple[int, int]
"""A commit, and the position of an operation in it."""


class Due(msgspec.Struct, frozen=True, array_like=True):
    """When something is due to be swept: its time was over by `before`; `now` is when is asked."""

    before: int
    now: int


class Target(msgspec.Struct, frozen=True, array_like=True):
    """What is to be erased: something by its id or its name; a key or an entity in its scope.

    To sweep is to erase what is due in a namespace and those below it; no name: in all of them.
    """

    kind: TargetKind
    name: str
    scope: Scope | None = None
    due: Due | None = None
    children: bool = False
    """Whether namespaces below go with a namespace."""
    derived: bool = False
    """Whether memories that cite a transcript go with it."""

    @property
    def identity(self) -> str | None:
        """Its id, if it is asked for by one; None: by a name, or an id that follows from words."""
        if self.kind == FACT:
            return None if is_derived(self.name) else self.name
        return self.name if self.kind in (MEMORY, TRANSCRIPT, FACTS) else None

    def __str__(self) -> str:
        if self.scope is not None:
            scope = self.scope
            return f"{self.kind} {self.name!r} of {scope.agent_id!r} in {scope.namespace!r}"
        return f"{self.kind} {self.name!r}"


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=61):
    """Somebody asks that something be erased; `viewer` is whose eyes count for what there is.

    None: the engine's, which sees everything.
    """

    target: Target
    viewer: str | None
    erasure_id: str
    reason: str | None = None
