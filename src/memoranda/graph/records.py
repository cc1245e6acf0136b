"""What callers see of facts and entities."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.graph.literal import Literal
from memoranda.model.refs import Evidence, FactRef


class Fact(msgspec.Struct, frozen=True):
    """Something that holds, or held: a stretch of a subject's timeline."""

    subject: str
    relation: str
    object: str | Literal
    valid_from: datetime
    valid_to: datetime | None
    """Where it stops; None: nothing is known of an end."""
    confidence: float
    """The highest of its assertions."""
    sources: tuple[Evidence, ...]
    """What its assertions come from, each once; one without a source is its own."""
    known_from: datetime | None
    """When it was first said; None: it is only staged."""
    assertions: tuple[str, ...]
    """The ids of what was said, oldest first."""
    namespace: str
    agent_id: str

    @property
    def ref(self) -> FactRef:
        """How a value can name this fact as what it rests on."""
        return FactRef(self.assertions[0])

    def __str__(self) -> str:
        return f"{self.subject} {self.relation} {self.object}"


class Entity(msgspec.Struct, frozen=True):
    """Somebody or something that facts are about."""

    name: str
    key: str
    aliases: tuple[str, ...]
    """Its other names, in the order they were first heard."""
    known_from: datetime
    namespace: str
    agent_id: str


class Assertion(msgspec.Struct, frozen=True):
    """What was said, in the words it was said in, and where it comes from."""

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
    """The words of its source: spans of a transcript, or a memory's content."""


class Ending(msgspec.Struct, frozen=True):
    """That something was said to have stopped being true, and where that comes from."""

    id: str
    """Of the assertion, where it was said with one."""
    at: datetime
    commit_ts: int
    committed_at: datetime
    actor: str
    source: Evidence | None = None
    quotes: tuple[str, ...] = ()
    """The words of its source."""


class Explanation(msgspec.Struct, frozen=True):
    """A fact, and everything that was said for it."""

    fact: Fact
    assertions: tuple[Assertion, ...]
    end: Ending | None = None
    """What ended it; None: nothing did, or that another object took its place."""


class Neighbor(msgspec.Struct, frozen=True):
    """What a walk through facts came to."""

    node: str | Literal
    """An entity, by its name, or a value, where a walk goes no further."""
    hop: int
    """How many facts away it is."""
    via: Fact
    """The fact by which it was reached first."""


class Subgraph(msgspec.Struct, frozen=True):
    """A part of the graph at one instant."""

    entities: tuple[str, ...]
    """Their names, in the order of first mention."""
    facts: tuple[Fact, ...]
    """Everything that holds between them, and of the values within reach."""


class MergeSuggestion(msgspec.Struct, frozen=True):
    """Two entities whose names are so alike that they may be one. It is for somebody to decide."""

    entity: str
    """The one that was mentioned first."""
    other: str
    score: float
    """How alike they are, up to 1."""
