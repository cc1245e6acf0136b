"""Operations on facts, entities and relations."""

from __future__ import annotations

import msgspec

from memoranda.model import document
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.refs import Evidence

ENTITY = "entity"
RELATION = "relation"


class Name(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entity, a relation or a literal: its text as it was given, and its normalised key.

    `kind` is "entity", "relation" or the type of a literal, whose key is its canonical value.
    """

    text: str
    key: str
    kind: str = ENTITY

    @property
    def escaped(self) -> str:
        """The key as a part of an address."""
        return self.key.replace("%", "%25").replace("|", "%7C")


class Assert(Operation, frozen=True, tag=15, gc=False):
    """An assertion of a fact from an instant on; without one, from the commit on."""

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
        """The statement, with the names as they were given."""
        return _statement_fields(self.subject, self.relation, self.object) | {
            "assertion_id": self.assertion_id,
            "valid_from": self.valid_from,
            "confidence": self.confidence,
            "source": None if self.source is None else msgspec.structs.asdict(self.source),
        }


class End(Operation, frozen=True, tag=16, gc=False):
    """The end of a fact: of one object, or of whichever the relation had.

    An end that was made with an assertion has its id, and is withdrawn with it.
    """

    type = OperationType.END

    assertion_id: str
    subject: Name
    relation: Name
    object: Name | None
    at: int | None

    @property
    def key(self) -> str:
        """The address of the fact, without an object if the end is of whichever it had."""
        object_ = "" if self.object is None else self.object.escaped
        return f"fact:{self.subject.escaped}|{self.relation.escaped}|{object_}"

    @property
    def value(self) -> document.Document:
        """The statement, with the names as they were given."""
        statement = _statement_fields(self.subject, self.relation, self.object)
        return statement | {"assertion_id": self.assertion_id, "at": self.at}

    @property
    def source(self) -> Evidence | None:
        """The source of the end; None if none was given."""
        return None


class EndFrom(End, frozen=True, tag=28, gc=False):
    """An end with a source, a memory or a transcript, with which it is erased.

    It has a tag of its own, so that the bytes of an end without a source stay as they were.
    """

    source: Evidence

    @property
    def value(self) -> document.Document:
        """The statement, with the names as they were given, and its source."""
        return super().value | {"source": msgspec.structs.asdict(self.source)}


class AssertPrivately(Assert, frozen=True, tag=29, gc=False):
    """A private assertion: only its agent sees it, and what is derived from it alone."""

    @property
    def private(self) -> bool:
        """Always true."""
        return True


class EndPrivately(End, frozen=True, tag=30, gc=False):
    """A private end of a fact."""

    source: Evidence | None = None

    @property
    def value(self) -> document.Document:
        """The statement, with the names as they were given, and its source."""
        source = None if self.source is None else msgspec.structs.asdict(self.source)
        return super().value | {"source": source}

    @property
    def private(self) -> bool:
        """Always true."""
        return True


class Withdraw(Operation, frozen=True, tag=17, gc=False):
    """The withdrawal of a statement about a fact that was wrong."""

    type = OperationType.WITHDRAW
    address = "assertion:{0.assertion_id}"
    value_fields = ("reason",)

    assertion_id: str
    reason: str | None = None


class WithdrawPrivately(Withdraw, frozen=True, tag=31, gc=False):
    """The withdrawal of a private statement."""

    @property
    def private(self) -> bool:
        """Always true."""
        return True


class Classify(Operation, frozen=True, tag=18, gc=False):
    """The cardinality of a relation in a namespace: one object at a time, or many."""

    type = OperationType.CARDINALITY
    address = "relation:{0.relation.escaped}"

    relation: Name
    single: bool

    @property
    def value(self) -> document.Document:
        """The relation and its cardinality."""
        return {"relation": self.relation.text, "cardinality": "single" if self.single else "multi"}


class Alias(Operation, frozen=True, tag=19, gc=False):
    """An alias: a name that means the same entity as another from here on."""

    type = OperationType.ALIAS
    address = "entity:{0.entity.escaped}"

    entity: Name
    alias: Name

    @property
    def value(self) -> document.Document:
        """Both names."""
        return {"entity": self.entity.text, "alias": self.alias.text}


class Merge(Operation, frozen=True, tag=20, gc=False):
    """The merge of an entity into another from here on."""

    type = OperationType.MERGE
    address = "entity:{0.into.escaped}"

    source: Name
    into: Name

    @property
    def value(self) -> document.Document:
        """Both names."""
        return {"source": self.source.text, "into": self.into.text}


def _statement_fields(subject: Name, relation: Name, object_: Name | None) -> document.Document:
    return {
        "subject": subject.text,
        "relation": relation.text,
        "object": None if object_ is None else object_.text,
        "object_kind": None if object_ is None else object_.kind,
    }
