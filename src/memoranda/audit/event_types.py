"""The types of audit events: what each operation of the log is called by who looks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoranda.errors import InvalidInput
from memoranda.log import refusals
from memoranda.model.limits import plain_text
from memoranda.model.limits import shown as quoted
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AnyOperation,
    OperationType,
    Refuse,
    shown,
)
from memoranda.model.scope import Scope

EVENT_TYPES: Mapping[OperationType, str] = {
    OperationType.WRITE: "state.written",
    OperationType.DELETE: "state.deleted",
    OperationType.REMEMBER: "memory.stored",
    OperationType.UPDATE: "memory.updated",
    OperationType.RETRACT: "memory.retracted",
    OperationType.TOUCH: "memory.touched",
    OperationType.LINK: "link.created",
    OperationType.UNLINK: "link.closed",
    OperationType.TRANSCRIPT: "transcript.stored",
    OperationType.CITE: "transcript.linked",
    OperationType.NOTIFY: "reflection.invalidation_notified",
    OperationType.RESOLVE: "reflection.invalidation_resolved",
    OperationType.CONFIGURE: "namespace.configured",
    OperationType.ASSERT: "fact.asserted",
    OperationType.END: "fact.ended",
    OperationType.WITHDRAW: "fact.retracted",
    OperationType.CARDINALITY: "relation.classified",
    OperationType.ALIAS: "entity.aliased",
    OperationType.MERGE: "entity.merged",
    OperationType.ERASED: "content.erased",
    OperationType.ERASE: "erasure.carried_out",
    OperationType.SUMMARY: "log.compacted",
    OperationType.EPOCH: "log.epoch_begun",
    OperationType.TRUST: "key.trusted",
    OperationType.RETIRE: "key.retired",
}
"""What operations are called. Refusals are called by what was refused."""

KNOWN = frozenset({*EVENT_TYPES.values(), *refusals.KINDS})
_FAMILY = ".*"
_ENGINES_OWN = (AUDIT_SCOPE.namespace, ENGINE_SCOPE.namespace)
_SCOPES: Mapping[str, Scope] = {
    **dict.fromkeys(refusals.KINDS, AUDIT_SCOPE),
    **{
        EVENT_TYPES[kind]: ENGINE_SCOPE
        for kind in (
            OperationType.ERASE,
            OperationType.EPOCH,
            OperationType.TRUST,
            OperationType.RETIRE,
        )
    },
}
"""Where the engine's own operations stand, and nowhere else."""


def event_type(operation: AnyOperation) -> str:
    """Return what an operation is called.

    What the engine did itself has no content. If the name of an agent in it is erased, it stays
    what it is.
    """
    found = shown(operation) if operation.namespace in _ENGINES_OWN else operation
    return found.what if isinstance(found, Refuse) else EVENT_TYPES[found.type]


def check_event_types(value: object) -> frozenset[str] | None:
    """Return the types of event asked for, `link.*` meaning all of a family; None: every type."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    return frozenset(name for each in value for name in _named(each))


def scopes_of(types: frozenset[str] | None) -> frozenset[Scope] | None:
    """Return the scopes in which all events of these types stand, if they are the engine's own."""
    if types is None or not types <= _SCOPES.keys():
        return None
    return frozenset(_SCOPES[name] for name in types)


def _named(value: object) -> set[str]:
    name = plain_text("event_type", value)
    found = {known for known in KNOWN if _is_named(known, name)}
    if not found:
        known = ", ".join(sorted(KNOWN))
        raise InvalidInput(
            "event_type", f"{quoted(name)} is not one of {known}, nor a family such as link.*"
        )
    return found


def _is_named(known: str, name: str) -> bool:
    family = name.endswith(_FAMILY) and known.startswith(name.removesuffix("*"))
    return family or known == name
