"""Versions of memories: creating, changing, promoting and retracting them.

Each function stages the new state in the overlay and yields the operation that records it. A
request that changes nothing yields nothing and writes no version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET
from msgspec.structs import asdict, replace

from memoranda.errors import InvalidInput, ReflectionTooDeep, TitleTaken, VersionMismatch
from memoranda.memory.overlay import TransactionOverlay
from memoranda.memory.requests import (
    MemoryChanges,
    RememberMemory,
    RememberMemoryAs,
    ReviseMemory,
    TitleKey,
)
from memoranda.memory.settings import Settings
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.model.memory import REFLECTION, TIERS, Details, Expiry
from memoranda.model.operations import AnyOperation, Remember, Retract, Revise

_DETAILS_FIELDS = frozenset(Details.__struct_fields__)


def remember(overlay: TransactionOverlay, request: RememberMemory) -> Iterable[AnyOperation]:
    """Create a memory, or add a version to the one that has its title."""
    key, stored_id = None, None
    if request.title is not None:
        key = TitleKey.of(request.scope, request.title, private=request.private)
        stored_id = overlay.find_by_title(key)
    overlay.put_draft_id(request.memory_id, stored_id or request.memory_id)
    if stored_id is not None:
        return _update_titled(overlay, stored_id, request)
    kind, tier = request.kind or "observation", request.tier or "long"
    settings = overlay.settings(request.scope.namespace)
    if kind == REFLECTION:
        _check_reflections_allowed(settings, request.scope.namespace, request.memory_id)
    lifetime = settings.lifetime(tier) if request.ttl is None else request.ttl
    operation = Remember(
        request.scope.namespace,
        request.scope.agent_id,
        request.memory_id,
        kind,
        tier,
        request.title,
        request.private,
        request.content,
        request.details,
        Expiry(lifetime),
    )
    overlay.begin(new_snapshot(operation))
    if key is not None:
        overlay.put_title(key, request.memory_id)
    return (operation,)


def _update_titled(
    overlay: TransactionOverlay, memory_id: str, request: RememberMemory
) -> Iterator[AnyOperation]:
    """Change the memory with this title: fields that are not given stay, the tier never falls."""
    if not request.update:
        raise TitleTaken(
            f"memory {memory_id!r} has the title {request.title!r} in {request.scope.namespace!r}: "
            "choose another one, or remember with on_conflict='update'"
        )
    memory = overlay.memory(memory_id)
    assert memory is not None, "a title belongs to a memory"
    tier = max(request.tier or memory.tier, memory.tier, key=TIERS.index)
    expiry = Expiry(request.ttl)
    if request.ttl is None:
        lifetime = overlay.settings(memory.namespace).lifetime(tier)
        expiry = Expiry(overlay.lifetime(memory) if tier == memory.tier else lifetime, extends=True)
    revised = replace(
        memory,
        kind=request.kind or memory.kind,
        tier=tier,
        content=request.content,
        details=_merged(memory.details, request),
        retracted=False,
        reason=None,
    )
    if revised != memory or request.ttl is not None or memory.has_expiry:
        yield from _add_version(overlay, memory, revised, expiry)


def _merged(details: Details, request: RememberMemory) -> Details:
    """Return a memory's details with those that a request gives."""
    reset = request.reset if isinstance(request, RememberMemoryAs) else ()
    unset = asdict(Details())
    values = asdict(request.details)
    return replace(
        details,
        **{name: values[name] for name in values if values[name] != unset[name] or name in reset},
    )


def revise(
    overlay: TransactionOverlay, memory: MemorySnapshot, request: ReviseMemory
) -> Iterator[AnyOperation]:
    """Change fields of a memory; raise `VersionMismatch` if it is not at `expect_version`."""
    if request.expect_version not in (None, memory.version):
        assert request.expect_version is not None
        raise VersionMismatch(
            key=f"memory:{memory.memory_id}", expected=request.expect_version, actual=memory.version
        )
    changes = request.changes
    values = {name: value for name, value in asdict(changes).items() if value is not UNSET}
    details = {name: value for name, value in values.items() if name in _DETAILS_FIELDS}
    fields = {name: values[name] for name in ("kind", "tier", "title", "content") if name in values}
    revised = replace(memory, **fields, details=replace(memory.details, **details))
    expiry = _expiry(overlay, memory, changes)
    stays = expiry is not None and expiry.lifetime is None and not memory.has_expiry
    if revised == memory and (changes.ttl is UNSET or stays):
        return
    if revised.title != memory.title:
        _move_title(overlay, memory, revised)
    yield from _add_version(overlay, memory, revised, expiry)


def _expiry(
    overlay: TransactionOverlay, memory: MemorySnapshot, changes: MemoryChanges
) -> Expiry | None:
    if changes.ttl is not UNSET and changes.ttl is not None:
        return Expiry(changes.ttl)
    if changes.ttl is None or changes.tier is not UNSET:
        tier = memory.tier if changes.tier is UNSET else changes.tier
        return Expiry(overlay.settings(memory.namespace).lifetime(tier))
    return None


def _move_title(
    overlay: TransactionOverlay, memory: MemorySnapshot, revised: MemorySnapshot
) -> None:
    if revised.title is not None:
        key = TitleKey.of(memory.scope, revised.title, private=memory.private)
        owner_id = overlay.find_by_title(key)
        if owner_id is not None:
            raise TitleTaken(
                f"memory {owner_id!r} has the title {revised.title!r} in {memory.namespace!r}: "
                "choose another one"
            )
        overlay.put_title(key, memory.memory_id)
    if memory.title is not None:
        key = TitleKey.of(memory.scope, memory.title, private=memory.private)
        overlay.put_title(key, None)


def promote(
    overlay: TransactionOverlay, memory: MemorySnapshot, tier: str
) -> Iterator[AnyOperation]:
    """Move a memory to a higher tier; raise `InvalidInput` for a lower one."""
    if TIERS.index(tier) < TIERS.index(memory.tier):
        raise InvalidInput(
            "tier",
            f"{tier!r} is below {memory.tier!r}, the tier of {memory.memory_id!r}: "
            "update_memory can lower it",
        )
    if tier != memory.tier:
        expiry = Expiry(overlay.settings(memory.namespace).lifetime(tier), extends=True)
        yield from _add_version(overlay, memory, replace(memory, tier=tier), expiry)


def retract(
    overlay: TransactionOverlay, memory: MemorySnapshot, reason: str | None
) -> Iterator[AnyOperation]:
    """Retract a memory."""
    version = memory.version + 1
    overlay.put(replace(memory, version=version, retracted=True, reason=reason))
    yield Retract(
        memory.namespace, memory.agent_id, memory.memory_id, version, reason, memory.private
    )


def _add_version(
    overlay: TransactionOverlay,
    memory: MemorySnapshot,
    revised: MemorySnapshot,
    expiry: Expiry | None,
) -> Iterator[AnyOperation]:
    if revised.kind == REFLECTION != memory.kind:
        settings = overlay.settings(memory.namespace)
        _check_reflections_allowed(settings, memory.namespace, memory.memory_id)
    version = memory.version + 1
    blob = memory.blob if revised.content == memory.content else None
    is_partly_unchanged = revised.content == memory.content or revised.details == memory.details
    unproven = memory.unproven and is_partly_unchanged
    staged = replace(revised, version=version, blob=blob, unproven=unproven)
    overlay.put(staged if expiry is None else with_lifetime(staged, expiry))
    yield Revise(
        memory.namespace,
        memory.agent_id,
        memory.memory_id,
        version,
        revised.kind,
        revised.tier,
        revised.title,
        None if revised.content == memory.content else revised.content,
        None if revised.details == memory.details else revised.details,
        expiry,
        memory.private,
    )


def with_lifetime(memory: MemorySnapshot, expiry: Expiry) -> MemorySnapshot:
    """Return a snapshot with a staged lifetime; its end is computed at commit.

    An expiry that extends does not shorten a memory that lasts for ever.
    """
    endless = expiry.extends and not memory.has_expiry
    return replace(memory, expires_at=None, lifetime=None if endless else expiry.lifetime)


def _check_reflections_allowed(settings: Settings, namespace: str, memory_id: str) -> None:
    """Raise `ReflectionTooDeep` if the namespace allows no reflections."""
    if not settings.max_reflection_depth:
        raise ReflectionTooDeep(namespace, 1, 0, (memory_id,))


def new_snapshot(operation: Remember) -> MemorySnapshot:
    """Return the snapshot of a memory that an operation creates."""
    return MemorySnapshot(
        memory_id=operation.memory_id,
        namespace=operation.namespace,
        agent_id=operation.agent_id,
        private=operation.private,
        kind=operation.kind,
        tier=operation.tier,
        title=operation.title,
        details=operation.details,
        content=operation.content,
        lifetime=operation.expiry.lifetime,
    )
