"""Arguments of calls, checked and turned into requests.

Each request has one builder, which the call on the store and the call in a transaction share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from memoranda.calls.core import check_optional_integer
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput
from memoranda.graph.requests import (
    AliasEntity,
    Cardinality,
    MergeEntities,
    Object,
    RetractAssertion,
    RetractFact,
    SetCardinality,
    ShareFacts,
    check_cardinality,
    check_entity,
    check_object,
    check_relation,
)
from memoranda.graph.sharing import check_facts
from memoranda.memory.requests import (
    LinkMemories,
    PromoteMemory,
    ResolveNotice,
    RetractMemory,
    TouchMemory,
    UnlinkMemories,
    check_choice,
    check_id,
    check_note,
)
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.erasure import (
    AGENT,
    ENTITY,
    FACT,
    KEY,
    MEMORY,
    NAMESPACE,
    TRANSCRIPT,
    Target,
    TargetKind,
)
from memoranda.model.limits import (
    Limits,
    check_text,
    plain_text,
    renamed_fields,
    short_repr,
)
from memoranda.model.memory import RELATIONS, SUPERSEDES, TIERS
from memoranda.model.operations import ENGINE_SCOPE
from memoranda.model.refs import (
    Evidence,
    FactRef,
    IdLike,
    KeyRef,
    MemoryRef,
    Ref,
    TranscriptRef,
    id_in,
    ref_of,
)
from memoranda.model.scope import Scope
from memoranda.state.requests import DeleteKey, WriteKey

# References in arguments: an id, a reference, or a record that has one. There is one checker for
# each kind of target that a call expects.

_KINDS: Mapping[type[Ref], str] = {
    KeyRef: "a key",
    MemoryRef: "a memory",
    FactRef: "a fact",
    TranscriptRef: "a transcript",
}


def check_refs(field: str, value: object, writer: Scope, limits: Limits) -> tuple[Ref, ...]:
    """Return the references in a list of records or references, or in a single one of them.

    The spans of transcripts are not checked yet: that needs their texts.
    """
    if type(value) is tuple and not value:  # by type: a hostile object may raise in ==
        return ()
    asker = Defaults(writer.agent_id, writer.namespace)
    if not isinstance(value, (list, tuple)) and ref_of(value) is not None:
        return (check_ref(field, value, asker, limits),)
    return tuple(
        check_ref(f"{field}[{index}]", item, asker, limits)
        for index, item in enumerate(_items(field, value, "references or records"))
    )


def check_ref(field: str, value: object, asker: Defaults, limits: Limits) -> Ref:
    """Return a checked reference: the argument itself, or the `ref` of a record.

    A reference to a key without a scope takes the scope of the call.
    """
    ref = ref_of(value)
    if isinstance(ref, KeyRef):
        return _check_key(field, ref, asker, limits)
    if isinstance(ref, MemoryRef):
        return _check_memory(field, ref)
    if isinstance(ref, FactRef):
        return FactRef(check_id(f"{field}.assertion_id", ref.assertion_id))
    if isinstance(ref, TranscriptRef):
        return _check_transcript(field, ref)
    raise InvalidInput(
        field,
        f"{short_repr(value)} is not a reference: use what a read returned, such as a memory, a "
        "fact or a hit, or KeyRef('some key'), MemoryRef(id), FactRef(id), TranscriptRef(id)",
    )


def check_memory_ids(field: str, value: object) -> tuple[str, ...]:
    """Return the ids of memories, each once, from a list of ids or records or a single record."""
    if not isinstance(value, (list, tuple)) and ref_of(value) is not None:
        return (check_memory_id(field, value),)
    items = _items(field, value, "memories or memory ids")
    ids = (check_memory_id(f"{field}[{index}]", item) for index, item in enumerate(items))
    return tuple(dict.fromkeys(ids))


def check_memory_id(field: str, value: object) -> str:
    """Return the id of a memory, from an id, a reference or a record; its version is ignored."""
    ref = ref_of(value)
    if ref is None:
        return check_id(field, value)
    if isinstance(ref, MemoryRef):
        return check_id(field, ref.memory_id)
    raise _other_kind(field, value, ref, "a memory or its id")


def check_transcript_ref(field: str, value: object) -> TranscriptRef:
    """Return a reference to a transcript, from an id, a reference or a record.

    Its spans, as of the passage that a search found, are not checked yet.
    """
    ref = ref_of(value)
    if ref is None:
        return TranscriptRef(check_id(field, value))
    if isinstance(ref, TranscriptRef):
        return _check_transcript(field, ref)
    raise _other_kind(field, value, ref, "a transcript or its id")


def check_fact_id(field: str, value: object) -> str:
    """Return the id of one assertion of a fact, from an id, a reference or a record."""
    ref = ref_of(value)
    if ref is None:
        return check_id(field, value)
    if isinstance(ref, FactRef):
        return check_id(field, ref.assertion_id)
    raise _other_kind(field, value, ref, "a fact or the id of an assertion")


def check_assertion_id(field: str, value: object) -> str:
    """Return the id of an assertion, from an id, a reference or a record that has only this one."""
    assertions = getattr(getattr(value, "fact", None) or value, "assertions", ())
    if len(assertions) > 1:
        raise InvalidInput(
            field,
            f"{short_repr(value)} has {len(assertions)} assertions: give the id of one of them, or "
            "name the fact by its subject, relation and object",
        )
    return check_fact_id(field, value)


def check_evidence(value: object) -> Evidence | str | None:
    """Return the source of a fact: a reference, or an id of a memory or of a transcript."""
    if value is None or isinstance(value, str):
        return None if value is None else check_id("source", value)
    ref = ref_of(value)
    if isinstance(ref, MemoryRef):
        return _check_memory("source", ref)
    if isinstance(ref, TranscriptRef):
        return _check_transcript("source", ref)
    if ref is not None:
        raise _other_kind("source", value, ref, "a memory or a transcript, or the id of one")
    raise InvalidInput(
        "source", f"{short_repr(value)} is no source: give the id of a memory or of a transcript"
    )


def check_source_id(field: str, value: object) -> str:
    """Return the id of a memory or a transcript, from an id, a reference or a record."""
    ref = ref_of(value)
    if isinstance(ref, MemoryRef | TranscriptRef):
        return check_id(field, id_in(ref))
    return check_id(field, value)


def _items(field: str, value: object, expected: str) -> Iterable[object]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"{short_repr(value)} is not a list of {expected}")
    return value


def _other_kind(field: str, value: object, ref: Ref, expected: str) -> InvalidInput:
    return InvalidInput(field, f"{short_repr(value)} is {_KINDS[type(ref)]}: give {expected}")


def _check_memory(field: str, ref: MemoryRef) -> MemoryRef:
    version = check_optional_integer(f"{field}.version", ref.version, minimum=1)
    return MemoryRef(check_id(f"{field}.memory_id", ref.memory_id), version)


def _check_transcript(field: str, ref: TranscriptRef) -> TranscriptRef:
    return TranscriptRef(check_id(f"{field}.transcript_id", ref.transcript_id), ref.spans)


def _check_key(field: str, ref: KeyRef, asker: Defaults, limits: Limits) -> KeyRef:
    scope = asker.scope(ref.agent_id, ref.namespace, limits)
    return KeyRef(
        key=check_text(f"{field}.key", ref.key, max_bytes=limits.key_bytes),
        version=check_optional_integer(f"{field}.version", ref.version, minimum=1),
        agent_id=scope.agent_id,
        namespace=scope.namespace,
    )


# Requests about keys.


def write_key(
    limits: Limits,
    scope: Scope,
    key: str,
    value: Document,
    expect_version: int | None,
    because: tuple[Ref, ...],
) -> WriteKey:
    """Return the request to write a key."""
    return WriteKey(
        scope,
        check_text("key", key, max_bytes=limits.key_bytes),
        document.encode("value", value, limits),
        check_optional_integer("expect_version", expect_version, minimum=0),
        because,
    )


def delete_key(limits: Limits, scope: Scope, key: str, expect_version: int | None) -> DeleteKey:
    """Return the request to delete a key."""
    return DeleteKey(
        scope,
        check_text("key", key, max_bytes=limits.key_bytes),
        check_optional_integer("expect_version", expect_version, minimum=0),
    )


# Requests about memories: links between them, notices, their lifetime, and settings.

_DECISIONS = ("keep", "revise", "retract")


def link_memories(actor: str, source: IdLike, target: IdLike, relation: str) -> LinkMemories:
    """Return the request to link one memory to another."""
    relation = check_choice("relation", relation, RELATIONS)
    ends = (check_memory_id("source", source), check_memory_id("target", target))
    return LinkMemories(actor, *ends, relation)


def unlink_memories(actor: str, source: IdLike, target: IdLike, relation: str) -> UnlinkMemories:
    """Return the request to close a link between two memories."""
    relation = check_choice("relation", relation, RELATIONS)
    ends = (check_memory_id("source", source), check_memory_id("target", target))
    return UnlinkMemories(actor, *ends, relation)


SUPERSEDE_ARGUMENTS = {"source": "new", "target": "old"}
"""Field of the request -> the argument of `supersede`."""


def supersede_memory(actor: str, old: IdLike, new: IdLike) -> LinkMemories:
    """Return the request to let one memory supersede another."""
    ends = (check_memory_id("new", new), check_memory_id("old", old))
    return LinkMemories(actor, *ends, SUPERSEDES)


def resolve_notice(
    limits: Limits,
    actor: str,
    notice_id: IdLike,
    decision: str,
    note: str | None,
    replacement: IdLike | None,
) -> ResolveNotice:
    """Return the request to close a notice; only `revise` takes a replacement."""
    notice = check_memory_id("notice_id", notice_id)
    decision = check_choice("decision", decision, _DECISIONS)
    if decision != "revise" and replacement is not None:
        raise InvalidInput(
            "replacement", f"goes with the decision 'revise' only, and this is {decision!r}"
        )
    new = None if replacement is None else check_memory_id("replacement", replacement)
    return ResolveNotice(actor, notice, decision, check_note("note", note, limits), new)


def retract_memory(
    limits: Limits, actor: str, memory_id: IdLike, reason: str | None
) -> RetractMemory:
    """Return the request to retract a memory."""
    memory = check_memory_id("memory_id", memory_id)
    return RetractMemory(actor, memory, check_note("reason", reason, limits))


def touch_memory(actor: str, memory_id: IdLike) -> TouchMemory:
    """Return the request to count a use of a memory."""
    return TouchMemory(actor, check_memory_id("memory_id", memory_id))


def promote_memory(actor: str, memory_id: IdLike, tier: str) -> PromoteMemory:
    """Return the request to move a memory to another tier."""
    memory = check_memory_id("memory_id", memory_id)
    return PromoteMemory(actor, memory, check_choice("tier", tier, TIERS))


# Requests about facts.


def retract_fact(
    limits: Limits,
    scope: Scope,
    assertion_id: IdLike | None,
    subject: str | None,
    relation: str | None,
    object: Object | None,
    reason: str | None,
) -> RetractAssertion | RetractFact:
    """Return the request to retract one assertion, or every assertion of a fact."""
    reason = check_note("reason", reason, limits)
    if assertion_id is not None:
        if not subject is relation is object is None:
            raise InvalidInput(
                "assertion_id", "says which one already: leave out subject, relation, object"
            )
        return RetractAssertion(scope, check_assertion_id("assertion_id", assertion_id), reason)
    if subject is None or relation is None:
        raise InvalidInput(
            "assertion_id", "is missing: give one, or the subject and relation of a fact"
        )
    return RetractFact(
        scope,
        check_entity("subject", subject, limits),
        check_relation("relation", relation, limits),
        None if object is None else check_object(object, limits),
        reason,
    )


def set_cardinality(
    limits: Limits, scope: Scope, relation: str, cardinality: Cardinality, *, allow_large: bool
) -> SetCardinality:
    """Return the request to let a relation have one object at a time, or many."""
    return SetCardinality(
        scope,
        check_relation("relation", relation, limits),
        check_cardinality(cardinality),
        _derivation_limit(limits, allow_large=allow_large),
    )


def share_facts(limits: Limits, scope: Scope, facts: str, *, allow_large: bool) -> ShareFacts:
    """Return the request to let the agents of a namespace share their facts, or not."""
    limit = _derivation_limit(limits, allow_large=allow_large)
    return ShareFacts(scope, check_facts(facts), limit)


def alias_entity(
    limits: Limits, scope: Scope, entity: str, alias: str, *, allow_large: bool
) -> AliasEntity:
    """Return the request to give an entity another name."""
    return AliasEntity(
        scope,
        check_entity("entity", entity, limits),
        check_entity("alias", alias, limits),
        _derivation_limit(limits, allow_large=allow_large),
    )


def merge_entities(
    limits: Limits, scope: Scope, source: str, into: str, *, allow_large: bool
) -> MergeEntities:
    """Return the request to merge one entity into another."""
    return MergeEntities(
        scope,
        check_entity("source", source, limits),
        check_entity("into", into, limits),
        _derivation_limit(limits, allow_large=allow_large),
    )


def _derivation_limit(limits: Limits, *, allow_large: bool) -> int | None:
    """Return how many assertions a request may derive anew; None: any number."""
    return None if allow_large else limits.derived_statements


# Targets of an erasure: exactly one, by its id or its name.

_FIELDS: Mapping[TargetKind, str] = {
    "memory": "memory_id",
    "transcript": "transcript_id",
    "key": "key",
    "fact": "fact",
    "entity": "entity",
    "agent": "whole_agent",
    "namespace": "whole_namespace",
    "facts": "facts_from",
}


def check_target(
    options: Mapping[str, object],
    defaults: Defaults,
    agent_id: str | None,
    namespace: str | None,
    limits: Limits,
) -> Target:
    """Return the one target that the arguments of `forget` name."""
    kinds = [kind for kind in get_args(TargetKind) if options.get(kind) is not None]
    if len(kinds) != 1:
        fields = " and ".join(_FIELDS[kind] for kind in kinds) or "nothing"
        raise InvalidInput(
            "forget", f"{fields} is given: give exactly one of {', '.join(_FIELDS.values())}"
        )
    (kind,) = kinds
    value, field = options[kind], _FIELDS[kind]
    _check_reach(kind, options)
    _check_scope_of(kind, agent_id, namespace)
    if kind in (ENTITY, KEY):
        name = (
            check_entity(field, value, limits).text
            if kind == ENTITY
            else check_text(field, value, max_bytes=limits.key_bytes)
        )
        return Target(kind, name, defaults.scope(agent_id, namespace, limits, writing=True))
    if kind == AGENT:
        return Target(kind, _check_whole_agent(field, value, limits))
    if kind == NAMESPACE:
        path = _check_whole_namespace(field, value, defaults, limits)
        return Target(kind, path, children=bool(options.get("children")))
    return Target(
        kind,
        _check_target_id(kind, value),
        derived=kind == TRANSCRIPT and bool(options.get("derived")),
    )


def _check_target_id(kind: TargetKind, value: object) -> str:
    """Return the id of a target, from an id, a reference or a record."""
    field = _FIELDS[kind]
    if kind == MEMORY:
        return check_memory_id(field, value)
    if kind == TRANSCRIPT:
        return check_transcript_ref(field, value).transcript_id
    if kind == FACT:
        return check_assertion_id(field, value)
    return check_source_id(field, value)


def _check_whole_agent(field: str, value: object, limits: Limits) -> str:
    agent_id = plain_text(field, value)
    if agent_id == ENGINE_SCOPE.agent_id:
        raise InvalidInput(field, f"{short_repr(value)} is the engine itself: name an agent")
    with renamed_fields(agent_id=field):
        return Defaults(agent_id).scope(None, None, limits, writing=True).agent_id


def _check_whole_namespace(field: str, value: object, defaults: Defaults, limits: Limits) -> str:
    path = plain_text(field, value)
    with renamed_fields(namespace=field):
        return Defaults(defaults.actor, path).scope(None, None, limits, writing=True).namespace


def _check_scope_of(kind: TargetKind, agent_id: object, namespace: object) -> None:
    """Refuse a scope for targets that have none: an agent and a namespace are erased as a whole."""
    if kind in (ENTITY, KEY):
        return
    if namespace is not None or (agent_id is not None and kind in (AGENT, NAMESPACE)):
        field = "agent_id" if namespace is None else "namespace"
        raise InvalidInput(
            field,
            f"is the scope of a key or an entity, and not of {_FIELDS[kind]}: leave it out",
        )


def _check_reach(kind: TargetKind, options: Mapping[str, object]) -> None:
    """Refuse `children` and `derived` for targets that have neither."""
    reaches: Mapping[str, TargetKind] = {"children": NAMESPACE, "derived": TRANSCRIPT}
    for option, only in reaches.items():
        if options.get(option) and kind != only:
            raise InvalidInput(option, f"goes with {_FIELDS[only]} only, and not {_FIELDS[kind]}")
