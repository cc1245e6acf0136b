"""Revisions: how a memory begins, and what makes it take a new version."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import asdict, replace

from memoranda.errors import InvalidInput, ReflectionTooDeep, TitleTaken, VersionMismatch
from memoranda.memory.requests import MemoryChanges, RememberMemory, ReviseMemory, TitleKey
from memoranda.memory.settings import Settings
from memoranda.memory.standing import Standing
from memoranda.memory.working import Working
from memoranda.model.memory import REFLECTION, TIERS, Details, Expiry
from memoranda.model.operations import AnyOperation, Remember, Retract, Revise

_OF_DETAILS = frozenset(Details.__struct_fields__)


def remember(working: Working, asked: RememberMemory) -> Iterator[AnyOperation]:
    """Begin a memory, or give the one that has its title a new version."""
    key, known = None, None
    if asked.title is not None:
        key = TitleKey.of(asked.scope, asked.title, private=asked.private)
        known = working.titled(key)
    working.put_drafted(asked.memory_id, known or asked.memory_id)
    if known is not None:
        yield from _remember_again(working, known, asked)
        return
    kind, tier = asked.kind or "observation", asked.tier or "long"
    settings = working.settings(asked.scope.namespace)
    if kind == REFLECTION:
        _check_reflections(settings, asked.scope.namespace, asked.memory_id)
    lifetime = settings.lifetime(tier) if asked.ttl is None else asked.ttl
    operation = Remember(
        asked.scope.namespace,
        asked.scope.agent_id,
        asked.memory_id,
        kind,
        tier,
        asked.title,
        asked.private,
        asked.content,
        asked.details,
        Expiry(lifetime),
    )
    working.begin(begun(operation))
    if key is not None:
        working.put_title(key, asked.memory_id)
    yield operation


def _remember_again(
    working: Working, memory_id: str, asked: RememberMemory
) -> Iterator[AnyOperation]:
    """Say a memory anew: all as given, but for its id, its creator and a tier that would sink."""
    if not asked.update:
        raise TitleTaken(
            f"memory {memory_id!r} has the title {asked.title!r} in {asked.scope.namespace!r}: "
            "choose another one, or remember with on_conflict='update'"
        )
    memory = working.memory(memory_id)
    assert memory is not None, "a title is a memory's"
    tier = max(asked.tier or memory.tier, memory.tier, key=TIERS.index)
    expiry = Expiry(asked.ttl)
    if asked.ttl is None:
        lifetime = working.settings(memory.namespace).lifetime(tier)
        expiry = Expiry(working.lifetime(memory) if tier == memory.tier else lifetime, extends=True)
    revised = replace(
        memory,
        kind=asked.kind or memory.kind,
        tier=tier,
        content=asked.content,
        details=asked.details,
        retracted=False,
        reason=None,
    )
    if revised != memory or asked.ttl is not None or memory.ends:
        yield from _revised(working, memory, revised, expiry)


def revise(working: Working, memory: Standing, asked: ReviseMemory) -> Iterator[AnyOperation]:
    """Change what is to be different, if anything is."""
    if asked.expect_version not in (None, memory.version):
        assert asked.expect_version is not None
        raise VersionMismatch(
            key=f"memory:{memory.memory_id}", expected=asked.expect_version, actual=memory.version
        )
    changes = asked.changes
    given = {name: value for name, value in asdict(changes).items() if value is not UNSET}
    details = {name: value for name, value in given.items() if name in _OF_DETAILS}
    rest = {name: given[name] for name in ("kind", "tier", "title", "content") if name in given}
    revised = replace(memory, **rest, details=replace(memory.details, **details))
    expiry = _expiry(working, memory, changes)
    stays = expiry is not None and expiry.lifetime is None and not memory.ends
    if revised == memory and (changes.ttl is UNSET or stays):
        return
    if revised.title != memory.title:
        _move_title(working, memory, revised)
    yield from _revised(working, memory, revised, expiry)


def _expiry(working: Working, memory: Standing, changes: MemoryChanges) -> Expiry | None:
    if changes.ttl is not UNSET and changes.ttl is not None:
        return Expiry(changes.ttl)
    if changes.ttl is None or changes.tier is not UNSET:
        tier = memory.tier if changes.tier is UNSET else changes.tier
        return Expiry(working.settings(memory.namespace).lifetime(tier))
    return None


def _move_title(working: Working, memory: Standing, revised: Standing) -> None:
    if revised.title is not None:
        key = TitleKey.of(memory.scope, revised.title, private=memory.private)
        other = working.titled(key)
        if other is not None:
            raise TitleTaken(
                f"memory {other!r} has the title {revised.title!r} in {memory.namespace!r}: "
                "choose another one"
            )
        working.put_title(key, memory.memory_id)
    if memory.title is not None:
        key = TitleKey.of(memory.scope, memory.title, private=memory.private)
        working.put_title(key, None)


def promote(working: Working, memory: Standing, tier: str) -> Iterator[AnyOperation]:
    """Let a memory last longer; one that does already stays as it is."""
    if TIERS.index(tier) < TIERS.index(memory.tier):
        raise InvalidInput(
            "tier",
            f"{tier!r} is below {memory.tier!r}, the tier of {memory.memory_id!r}: "
            "update_memory can lower it",
        )
    if tier != memory.tier:
        expiry = Expiry(working.settings(memory.namespace).lifetime(tier), extends=True)
        yield from _revised(working, memory, replace(memory, tier=tier), expiry)


def retract(working: Working, memory: Standing, reason: str | None) -> Iterator[AnyOperation]:
    """Take a memory back."""
    version = memory.version + 1
    working.put(replace(memory, version=version, retracted=True, reason=reason))
    yield Retract(
        memory.namespace, memory.agent_id, memory.memory_id, version, reason, memory.private
    )


def _revised(
    working: Working, memory: Standing, revised: Standing, expiry: Expiry | None
) -> Iterator[AnyOperation]:
    if revised.kind == REFLECTION != memory.kind:
        settings = working.settings(memory.namespace)
        _check_reflections(settings, memory.namespace, memory.memory_id)
    version = memory.version + 1
    place = memory.place if revised.content == memory.content else None
    staged = replace(revised, version=version, place=place)
    working.put(staged if expiry is None else lasting(staged, expiry))
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


def lasting(memory: Standing, expiry: Expiry) -> Standing:
    """Return a memory that is to last from the commit on, the time of which is not known yet."""
    endless = expiry.extends and not memory.ends
    return replace(memory, expires_at=None, lifetime=None if endless else expiry.lifetime)


def _check_reflections(settings: Settings, namespace: str, memory_id: str) -> None:
    """Refuse a reflection where there are to be none."""
    if not settings.max_reflection_depth:
        raise ReflectionTooDeep(namespace, 1, 0, (memory_id,))


def begun(operation: Remember) -> Standing:
    """Return a memory as it is before anything else happens to it."""
    return Standing(
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
