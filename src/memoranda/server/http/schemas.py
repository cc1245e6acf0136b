"""JSON schemas of the answers of calls.

A struct is an object with its fields. Those that `calls/as_json.py` or `answers.py` give another
form have a schema of their own below, and a test compares the schemas with answers of every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from memoranda.calls.results import AssertedFacts
from memoranda.graph.edge_resolver import EdgeResolution, ExistingEdge
from memoranda.graph.entities import Literal as FactLiteral
from memoranda.graph.records import Assertion, Fact, Neighbor
from memoranda.log.compaction.compactor import Compaction
from memoranda.log.erasure.certificate import Certificate
from memoranda.memory.records import Invalidation, Memory, Origin
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import OperationType
from memoranda.model.receipt import CommitFields, Outcome, Written
from memoranda.model.refs import Evidence, Ref
from memoranda.search.results import Hit
from memoranda.server.http.arguments import union_of
from memoranda.state.reads import StateChange, StateRecord, StateVersion
from memoranda.why.reason import Reason

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
TIME: Schema = {"type": "string", "format": "date-time"}
HEX: Schema = {"type": "string", "pattern": "^[0-9a-f]*$"}
TRUE: Schema = {"const": True}
_SCALARS: Mapping[Any, Schema] = {
    NoneType: {"type": "null"},
    bool: {"type": "boolean"},
    bytes: HEX,
    date: {"type": "string", "format": "date"},
    datetime: TIME,
    float: {"type": "number"},
    int: INTEGER,
    str: TEXT,
    FactLiteral: TEXT,
}
_COMMIT_FIELDS = tuple(CommitFields.__annotations__)


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return any_of([schema, _SCALARS[NoneType]])


def array_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def object_of(properties: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """Return the schema of an object with these members, all but some of them always there."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def any_of(schemas: Sequence[Schema]) -> Schema:
    """Return the schema of a value that one of the schemas allows."""
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    if len(distinct) == 1:
        return distinct[0]
    if all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in distinct):
        return {"type": [schema["type"] for schema in distinct]}
    return {"anyOf": distinct}


class SchemaBook:
    """Schemas by type; those of structs are kept under their names, and referred to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of the JSON that a value of a type becomes."""
        if kind is Any:
            return {}
        if kind in _SCALARS:
            return dict(_SCALARS[kind])
        if get_origin(kind) is Literal:
            return {"enum": [*get_args(kind)]}
        parts = union_of(kind)
        if len(parts) > 1:
            return any_of([self.of(part) for part in parts])
        return self._composite(kind)

    def _composite(self, kind: Any) -> Schema:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is tuple and arguments[-1] is not Ellipsis:
            return {
                "type": "array",
                "prefixItems": [self.of(part) for part in arguments],
                "minItems": len(arguments),
                "maxItems": len(arguments),
            }
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin in (list, tuple, frozenset, Sequence):
            return array_of(self.of(arguments[0]))
        if kind in (dict, list):
            return {"type": "object" if kind is dict else "array"}
        if issubclass(kind, Enum):
            return {"enum": [member.value for member in kind]}
        return self.named(kind.__name__, lambda: self._record(kind))

    def named(self, name: str, make: Callable[[], Schema]) -> Schema:
        """Return a reference to the schema of a name, which is made if there is none yet."""
        if name not in self.components:
            self.components[name] = {}  # records may refer to themselves
            self.components[name] = make()
        return {"$ref": f"#/components/schemas/{name}"}

    def _record(self, kind: Any) -> Schema:
        form = _FORMS.get(kind, _written if issubclass(kind, Written) else None)
        schema = self.fields(kind) if form is None else form(self, kind)
        documented = (kind.__doc__ or "").strip().split("\n\n")[0]
        return {"description": " ".join(documented.split()), **schema}

    def fields(self, kind: Any, /, *, omit: Sequence[str] = (), **additions: Schema) -> Schema:
        """Return the schema of an object with the fields of a struct, and more members."""
        hints = get_type_hints(kind)
        names = getattr(kind, "__struct_fields__", None) or kind._fields
        properties = {name: self.of(hints[name]) for name in names if name not in omit}
        return object_of(properties | additions)


# Forms that differ from the fields of a struct.


def _with_proof(book: SchemaBook, kind: Any) -> Schema:
    schema = book.fields(kind, omit=("unproven",))
    schema["properties"]["unproven"] = TRUE
    return schema


def _written(book: SchemaBook, kind: Any) -> Schema:
    """Return a schema in which the fields that only writes return are optional."""
    schema = book.fields(kind, omit=(*_COMMIT_FIELDS, "unproven"))
    schema["properties"] |= {
        "outcome": book.of(Outcome),
        "commit_ts": INTEGER,
        "committed_at": TIME,
    }
    return schema


def _memory(book: SchemaBook, kind: Any) -> Schema:
    schema = _written(book, kind)
    schema["properties"]["unproven"] = TRUE
    return schema


def _notice(book: SchemaBook, kind: Any) -> Schema:
    schema = _written(book, kind)
    schema["properties"]["status"] = TEXT
    schema["required"].append("status")
    return schema


def _with_outcome(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, outcome=book.of(Outcome))


def _change(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, kind={"enum": ["added", "removed", "changed"]})


def _event(book: SchemaBook, _: Any) -> Schema:
    properties: dict[str, Schema] = {
        "commit_ts": INTEGER,
        "committed_at": TIME,
        "txn_id": TEXT,
        "actor": TEXT,
        "token": TEXT,
        "operations": array_of(book.named("Operation", lambda: _operation(book))),
        "unproven": TRUE,
        "attest_level": TEXT,
        "signature": TEXT,
        "summary": TRUE,
    }
    return object_of(properties, ("unproven", "attest_level", "signature", "summary"))


def _operation(book: SchemaBook) -> Schema:
    properties: dict[str, Schema] = {
        "type": book.of(OperationType),
        "namespace": TEXT,
        "agent_id": TEXT,
        "key": TEXT,
        "value": {"type": ["object", "null"]},
        "version": INTEGER,
        "because": array_of(book.of(Ref)),
    }
    schema = object_of(properties, ("because",))
    return {"description": "An operation of a transaction.", **schema}


def _transcript(_: SchemaBook, __: Any) -> Schema:
    return object_of(
        {
            "id": TEXT,
            "namespace": TEXT,
            "agent_id": TEXT,
            "created_at": TIME,
            "occurred_at": nullable(TIME),
            "expires_at": nullable(TIME),
            "original_size": INTEGER,
            "compressed_size": INTEGER,
        }
    )


def _origin(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, omit=("origins",))


def _fact(book: SchemaBook, kind: Any) -> Schema:
    schema = book.fields(kind, omit=("unproven",), object_kind=nullable(TEXT))
    schema["properties"]["unproven"] = TRUE
    return schema


def _assertion(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, object_kind=nullable(TEXT))


def _neighbor(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, node_kind=nullable(TEXT))


def _resolution(book: SchemaBook, kind: Any) -> Schema:
    edge = book.of(ExistingEdge)
    schema = _written(book, kind)
    schema["properties"]["changed"] = array_of(object_of({"before": edge, "after": edge}))
    return schema


def _hit(book: SchemaBook, kind: Any) -> Schema:
    schema = book.fields(kind)
    schema["properties"]["context"] = object_of({"before": TEXT, "after": TEXT})
    schema["properties"]["provenance"] = array_of(book.of(Evidence))
    return schema


def _reason(book: SchemaBook, kind: Any) -> Schema:
    return book.fields(kind, omit=("because",), believed={"type": "boolean"})


_FORMS: Mapping[Any, Callable[[SchemaBook, Any], Schema]] = {
    AssertedFacts: _with_outcome,
    Assertion: _assertion,
    Certificate: _with_outcome,
    Compaction: _with_outcome,
    EdgeResolution: _resolution,
    Fact: _fact,
    Hit: _hit,
    Invalidation: _notice,
    Memory: _memory,
    Neighbor: _neighbor,
    Origin: _origin,
    Reason: _reason,
    ReplayEvent: _event,
    StateChange: _change,
    StateRecord: _with_proof,
    StateVersion: _with_proof,
    TranscriptInfo: _transcript,
}
"""Types whose JSON is not the fields of the struct."""
