"""The vocabulary of the log, where it speaks of facts and of what they are about."""

from __future__ import annotations

import msgspec

from memoranda.model import document
from memoranda.model.operation import Operation, OperationType
from memoranda.model.refs import Evidence

ENTITY = "entity"
RELATION = "relation"


class Name(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a fact is about, as it was said, and the key it was decided to mean.

    Whatever is no entity is a literal of that kind; its key is its value in one fixed form.
    """

    text: str
    key: str
    kind: str = ENTITY

    @property
    def escaped(self) -> str:
        """The key as a part of an address."""
        return self.key.replace("%", "%25").replace("|", "%7C")


class Assert(Operation, frozen=True, tag=15, gc=False):
    """Somebody says that something holds from an instant on; none: from the commit on."""

    type = OperationType.ASSERT
    address = "fact:{0.subject.escaped}|{0.relation.escaped}|{0.object.escaped}"

    assertion_id: str
    subject: Name
    relation: Name
    object: Name
    valid_from: int | None
    confidence: float
    source: Evidence | None = None

    @property
    def value(self) -> document.Document:
        """What was said, in the words it was said in."""
        return _said(self.subject, self.relation, self.object) | {
            "assertion_id": self.assertion_id,
            "valid_from": self.valid_from,
            "confidence": self.confidence,
            "source": None if self.source is None else msgspec.structs.asdict(self.source),
        }


class End(Operation, frozen=True, tag=16, gc=False):
    """Somebody says that something stopped being true: one object, or whichever there was.

    One that belongs to an assertion has its id, and goes with it.
    """

    type = OperationType.END

    assertion_id: str
    subject: Name
    relation: Name
    object: Name | None
    at: int | None

    @property
    def key(self) -> str:
        """The address of the fact, or of all of its subject and relation."""
        object_ = "" if self.object is None else self.object.escaped
        return f"fact:{self.subject.escaped}|{self.relation.escaped}|{object_}"

    @property
    def value(self) -> document.Document:
        """What was said, in the words it was said in."""
        said = _said(self.subject, self.relation, self.object)
        return said | {"assertion_id": self.assertion_id, "at": self.at}

    @property
    def source(self) -> Evidence | None:
        """What it comes from; one that names nothing is its own."""
        return None


class EndFrom(End, frozen=True, tag=28, gc=False):
    """Somebody says so on the ground of a memory or of words, and it goes with that.

    It has a number of its own, so that an end of no source has the bytes it always had.
    """

    source: Evidence

    @property
    def value(self) -> document.Document:
        """What was said, in the words it was said in, and what it comes from."""
        return super().value | {"source": msgspec.structs.asdict(self.source)}


class AssertPrivately(Assert, frozen=True, tag=29, gc=False):
    """Somebody says so to itself: no other agent is shown it, nor what follows from it alone."""

    @property
    def private(self) -> bool:
        """It is its agent's own."""
        return True


class EndPrivately(End, frozen=True, tag=30, gc=False):
    """Somebody says to itself that something stopped being true."""

    source: Evidence | None = None

    @property
    def value(self) -> document.Document:
        """What was said, in the words it was said in, and what it comes from."""
        source = None if self.source is None else msgspec.structs.asdict(self.source)
        return super().value | {"source": source}

    @property
    def private(self) -> bool:
        """It is its agent's own."""
        return True


class Withdraw(Operation, frozen=True, tag=17, gc=False):
    """What was said of a fact was said in error."""

    type = OperationType.WITHDRAW
    address = "assertion:{0.assertion_id}"
    told = ("reason",)

    assertion_id: str
    reason: str | None = None


class WithdrawPrivately(Withdraw, frozen=True, tag=31, gc=False):
    """What was said privately was said in error."""

    @property
    def private(self) -> bool:
        """It is its agent's own."""
        return True


class Classify(Operation, frozen=True, tag=18, gc=False):
    """A relation has one object at a time in a namespace, or many."""

    type = OperationType.CARDINALITY
    address = "relation:{0.relation.escaped}"

    relation: Name
    single: bool

    @property
    def value(self) -> document.Document:
        """The relation and its cardinality."""
        return {"relation": self.relation.text, "cardinality": "single" if self.single else "multi"}


class Alias(Operation, frozen=True, tag=19, gc=False):
    """From here on a name means what another one means."""

    type = OperationType.ALIAS
    address = "entity:{0.entity.escaped}"

    entity: Name
    alias: Name

    @property
    def value(self) -> document.Document:
        """Both names."""
        return {"entity": self.entity.text, "alias": self.alias.text}


class Merge(Operation, frozen=True, tag=20, gc=False):
    """Two entities turned out to be one: from here on it is the second."""

    type = OperationType.MERGE
    address = "entity:{0.into.escaped}"

    source: Name
    into: Name

    @property
    def value(self) -> document.Document:
        """Both names."""
        return {"source": self.source.text, "into": self.into.text}


def _said(subject: Name, relation: Name, object_: Name | None) -> document.Document:
    return {
        "subject": subject.text,
        "relation": relation.text,
        "object": None if object_ is None else object_.text,
        "object_kind": None if object_ is None else object_.kind,
    }
