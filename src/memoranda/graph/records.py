"""The public records of facts and entities."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.graph.entities import Literal
from memoranda.model.refs import Evidence, FactRef


class Fact(msgspec.Struct, frozen=True):
    """A relation that holds or held during an interval of valid time."""

    subject: str
    relation: str
    object: str | Literal
    valid_from: datetime
    valid_to: datetime | None
    """The instant at which it no longer holds; None: no end is known."""
    confidence: float
    """The highest of its assertions."""
    sources: tuple[Evidence, ...]
    """The evidence of its assertions, each once: `MemoryRef`s and `TranscriptRef`s."""
    known_from: datetime | None
    """When its first assertion was committed; None: it is only staged."""
    assertions: tuple[str, ...]
    """The ids of its assertions, oldest first."""
    namespace: str
    agent_id: str | None
    """The agent that believes it; None: the agents of the namespace share it."""
    unproven: bool = False
    """Whether an erasure left one of its assertions, or its end, without proof."""
    asserted_by: tuple[str, ...] = ()
    """The agent of each of its assertions, in the same order."""

    @property
    def ref(self) -> FactRef:
        """A reference to this fact, to give as a reason or evidence."""
        return FactRef(self.assertions[0])

    def __str__(self) -> str:
        return f"{self.subject} {self.relation} {self.object}"


class Entity(msgspec.Struct, frozen=True):
    """A person or thing that facts are about."""

    name: str
    key: str
    aliases: tuple[str, ...]
    """Its other names, in the order of first mention."""
    known_from: datetime
    namespace: str
    agent_id: str | None
    """The agent whose facts are about it; None: the agents of the namespace share it."""


class Assertion(msgspec.Struct, frozen=True):
    """An assertion with the names it was made with, and its evidence."""

    id: str
    subject: str
    relation: str
    object: str | Literal
    valid_from: datetime
    confidence: float
    commit_ts: int
    committed_at: datetime
    actor: str
    source: Evidence | None = None
    quotes: tuple[str, ...] = ()
    """The text of its source: spans of a transcript, or the content of a memory."""
    agent_id: str = ""
    """The agent that it is an assertion of."""

    @property
    def ref(self) -> FactRef:
        """The reference to the fact, by this assertion."""
        return FactRef(self.id)


class Ending(msgspec.Struct, frozen=True):
    """A statement that a fact no longer holds, and its evidence."""

    id: str
    """The id of the end, or of the assertion that it came with."""
    at: datetime
    commit_ts: int
    committed_at: datetime
    actor: str
    source: Evidence | None = None
    quotes: tuple[str, ...] = ()
    """The text of its source."""
    agent_id: str = ""
    """The agent that ended it."""


class Explanation(msgspec.Struct, frozen=True):
    """A fact with its assertions and its end."""

    fact: Fact
    assertions: tuple[Assertion, ...]
    end: Ending | None = None
    """The statement that ended it; None: it has no end, or another object replaced it."""

    @property
    def ref(self) -> FactRef:
        """The reference to the fact."""
        return self.fact.ref


class Neighbor(msgspec.Struct, frozen=True):
    """A node that a traversal reached."""

    node: str | Literal
    """The name of an entity, or a value. A traversal does not continue from a value."""
    hop: int
    """The number of facts on the path to it."""
    via: Fact
    """The last fact on that path."""

    @property
    def ref(self) -> FactRef:
        """The reference to that fact."""
        return self.via.ref


class Subgraph(msgspec.Struct, frozen=True):
    """A part of the graph at one instant of valid time."""

    entities: tuple[str, ...]
    """Their names, in the order of first mention."""
    facts: tuple[Fact, ...]
    """The facts between these entities, and those that lead to values in reach."""


class MergeSuggestion(msgspec.Struct, frozen=True):
    """Two entities with similar names that may be the same. The caller decides."""

    entity: str
    """The one that was mentioned first."""
    other: str
    score: float
    """The similarity of their names, up to 1."""
