"""Targets of an erasure, and the retention period a namespace is configured with."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import Final, Literal

import msgspec

from memoranda.model.ids import is_derived_id
from memoranda.model.scope import Scope

# Retention.


class _Retention(enum.Enum):
    RETENTION = "RETENTION"

    def __repr__(self) -> str:
        return self.value


RETENTION: Final = _Retention.RETENTION
"""The moment to compact before that the namespace's setting `log_retention` names."""

Retention = Literal[_Retention.RETENTION]
"""The constant `RETENTION`."""


# Targets of an erasure.

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
"""The target of the erasure that a compaction makes; no caller can request it."""

TargetKind = Literal[
    "memory", "transcript", "key", "fact", "entity", "agent", "namespace", "facts", "sweep"
]
DEFAULT_SWEEP_AGE = timedelta(days=30)
"""The default age of expired data that a sweep erases."""

PSEUDONYM_PREFIX: Final = "forgotten-"
"""Prefix of the pseudonym of an erased agent or namespace."""

LogPosition = tuple[int, int]
"""A commit, and the index of an operation in it."""


class Due(msgspec.Struct, frozen=True, array_like=True):
    """The bounds of a sweep: it erases what expired by `before`; `now` is the time of the call."""

    before: int
    now: int


class Target(msgspec.Struct, frozen=True, array_like=True):
    """The target of an erasure, by id or name; a key or an entity has a scope.

    A sweep erases expired data of a namespace and those below it; with an empty name, of all.
    """

    kind: TargetKind
    name: str
    scope: Scope | None = None
    due: Due | None = None
    children: bool = False
    """Whether the namespaces below are erased with a namespace."""
    derived: bool = False
    """Whether the memories that cite a transcript are erased with it."""

    @property
    def identity(self) -> str | None:
        """Its id; None if the target is a name, or an id that is derived from content."""
        if self.kind == FACT:
            return None if is_derived_id(self.name) else self.name
        return self.name if self.kind in (MEMORY, TRANSCRIPT, FACTS) else None

    def __str__(self) -> str:
        if self.scope is not None:
            agent, namespace = self.scope.agent_id, self.scope.namespace
            return f"{self.kind} {self.name!r} of agent {agent!r} in namespace {namespace!r}"
        return f"{self.kind} {self.name!r}"


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=61):
    """A request to erase a target as far as `viewer` sees it; None, the engine, sees everything."""

    target: Target
    viewer: str | None
    erasure_id: str
    reason: str | None = None
