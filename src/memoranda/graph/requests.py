"""What can be asked of facts in a transaction: requests to stage and reads to track."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from memoranda.model.graph_operations import Name
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope


class AssertFact(msgspec.Struct, frozen=True, array_like=True, tag=31, gc=False):
    """Say that something holds, and perhaps until when."""

    scope: Scope
    assertion_id: str
    subject: Name
    relation: Name
    object: Name
    valid_from: int | None
    valid_to: int | None
    confidence: float
    source: Evidence | None
    once: bool = False
    """Whether it is said only if nothing was said under its id before."""


class AssertFactAs(AssertFact, frozen=True, array_like=True, tag=39, gc=False):
    """Say so to everybody or to oneself, whatever it comes from."""

    private: bool = False


class EndFact(msgspec.Struct, frozen=True, array_like=True, tag=32, gc=False):
    """Say that something stopped being true."""

    scope: Scope
    assertion_id: str
    subject: Name
    relation: Name
    object: Name | None
    at: int | None

    @property
    def source(self) -> Evidence | None:
        """What it comes from; one that names nothing is its own."""
        return None


class EndFactFrom(EndFact, frozen=True, array_like=True, tag=38, gc=False):
    """Say so on the ground of a memory or of words; asking without has the bytes it always had."""

    source: Evidence


class EndFactAs(EndFact, frozen=True, array_like=True, tag=40, gc=False):
    """Say so to everybody or to oneself, whatever it comes from."""

    source: Evidence | None = None
    private: bool = False


class RetractAssertion(msgspec.Struct, frozen=True, array_like=True, tag=33, gc=False):
    """Take back what was said under an id."""

    identity: ClassVar = ("assertion_id",)

    scope: Scope
    assertion_id: str
    reason: str | None


class RetractFact(msgspec.Struct, frozen=True, array_like=True, tag=34, gc=False):
    """Take back every assertion of a fact; no object: of whichever there is."""

    scope: Scope
    subject: Name
    relation: Name
    object: Name | None
    reason: str | None


class SetCardinality(msgspec.Struct, frozen=True, array_like=True, tag=35, gc=False):
    """Let a relation have one object at a time in a namespace, or many."""

    scope: Scope
    relation: Name
    single: bool
    most: int | None
    """How many statements may be derived anew; None: any number."""


class AliasEntity(msgspec.Struct, frozen=True, array_like=True, tag=36, gc=False):
    """Let a name mean what another one means."""

    scope: Scope
    entity: Name
    alias: Name
    most: int | None


class MergeEntities(msgspec.Struct, frozen=True, array_like=True, tag=37, gc=False):
    """Let two entities be one."""

    scope: Scope
    source: Name
    into: Name
    most: int | None


GraphRequest = (
    AssertFact
    | AssertFactAs
    | EndFactAs
    | EndFact
    | EndFactFrom
    | RetractAssertion
    | RetractFact
    | SetCardinality
    | AliasEntity
    | MergeEntities
)


class TimelineRead(msgspec.Struct, frozen=True):
    """A timeline was read, by the keys of its subject and relation."""

    scope: Scope
    subject: str
    relation: str

    def __str__(self) -> str:
        scope = self.scope
        return (
            f"the timeline of {self.subject!r} {self.relation!r} "
            f"of {scope.agent_id!r} in {scope.namespace!r}"
        )
