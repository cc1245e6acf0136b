"""References as callers give them: checked, and with the caller's scope where they name none."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.errors import InvalidInput
from memoranda.memory.inputs import check_id
from memoranda.model.limits import Limits, check_text, shown
from memoranda.model.refs import Evidence, FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.sdk.core import Defaults, check_version


def check_because(because: object, writer: Scope, limits: Limits) -> tuple[Ref, ...]:
    """Return what a value is said to rest on."""
    if because == ():
        return ()
    if not isinstance(because, Iterable) or isinstance(because, str):
        raise InvalidInput("because", f"{shown(because)} is not a list of references")
    asker = Defaults(writer.agent_id, writer.namespace)
    return tuple(check_ref("because", each, asker, limits) for each in because)


def check_ref(field: str, value: object, asker: Defaults, limits: Limits) -> Ref:
    """Return the reference that a caller gave, or that the record has which was given."""
    ref = value if isinstance(value, Ref) else getattr(value, "ref", None)
    if isinstance(ref, KeyRef):
        return _check_key(field, ref, asker, limits)
    if isinstance(ref, MemoryRef):
        return _check_memory(field, ref)
    if isinstance(ref, FactRef):
        return FactRef(check_id(f"{field}.assertion_id", ref.assertion_id))
    if isinstance(value, TranscriptRef):
        raise InvalidInput(field, f"{shown(value)} names bare words: name a memory of them")
    raise InvalidInput(
        field,
        f"{shown(value)} is not a reference: use KeyRef('some key'), MemoryRef(id), FactRef(id), "
        "or a memory or fact that was read",
    )


def check_evidence(value: object) -> Evidence | str | None:
    """Return what a fact comes from: a reference, or an id of which it is not known yet whose."""
    if value is None:
        return None
    if isinstance(value, str):
        return check_id("source", value)
    ref = value if isinstance(value, Evidence) else getattr(value, "ref", None)
    if isinstance(ref, MemoryRef):
        return _check_memory("source", ref)
    if isinstance(ref, TranscriptRef):
        return TranscriptRef(check_id("source.transcript_id", ref.transcript_id), ref.spans)
    raise InvalidInput(
        "source", f"{shown(value)} is no source: give the id of a memory or of a transcript"
    )


def _check_memory(field: str, ref: MemoryRef) -> MemoryRef:
    version = check_version(f"{field}.version", ref.version, least=1)
    return MemoryRef(check_id(f"{field}.memory_id", ref.memory_id), version)


def _check_key(field: str, ref: KeyRef, asker: Defaults, limits: Limits) -> KeyRef:
    scope = asker.scope(ref.agent_id, ref.namespace, limits)
    return KeyRef(
        key=check_text(f"{field}.key", ref.key, most_bytes=limits.key_bytes),
        version=check_version(f"{field}.version", ref.version, least=1),
        agent_id=scope.agent_id,
        namespace=scope.namespace,
    )
