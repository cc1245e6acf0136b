"""What a caller asks to be forgotten: exactly one thing, by its id or its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from memoranda.errors import InvalidInput
from memoranda.graph.inputs import check_entity
from memoranda.memory.inputs import check_id
from memoranda.model.erasure import AGENT, ENTITY, KEY, NAMESPACE, TRANSCRIPT, Target, TargetKind
from memoranda.model.limits import Limits, check_text, plain_text, shown
from memoranda.model.operations import ENGINE_SCOPE
from memoranda.sdk.core import Defaults

_FIELDS: Mapping[TargetKind, str] = {
    "memory": "memory_id",
    "transcript": "transcript_id",
    "key": "key",
    "fact": "fact",
    "entity": "entity",
    "agent": "agent_id",
    "namespace": "namespace",
    "facts": "facts_from",
}


def check_target(given: Mapping[str, object], defaults: Defaults, limits: Limits) -> Target:
    """Return what is to be forgotten, or say what is wrong with what was given."""
    kinds = [kind for kind in get_args(TargetKind) if given.get(kind) is not None]
    if len(kinds) != 1:
        named = " and ".join(_FIELDS[kind] for kind in kinds) or "nothing"
        raise InvalidInput(
            "forget", f"{named} is given: give exactly one of {', '.join(_FIELDS.values())}"
        )
    (kind,) = kinds
    value = given[kind]
    _check_reach(kind, given)
    if kind == ENTITY:
        name = check_entity("entity", value, limits)
        return Target(kind, name.text, defaults.scope(None, None, limits, writing=True))
    if kind == KEY:
        key = check_text("key", value, most_bytes=limits.key_bytes)
        return Target(kind, key, defaults.scope(None, None, limits, writing=True))
    if kind == AGENT:
        agent_id = plain_text("agent_id", value)
        if agent_id == ENGINE_SCOPE.agent_id:
            raise InvalidInput("agent_id", f"{shown(value)} is the engine itself: name an agent")
        scope = Defaults(agent_id).scope(None, None, limits, writing=True)
        return Target(kind, scope.agent_id)
    if kind == NAMESPACE:
        path = plain_text("namespace", value)
        scope = Defaults(defaults.actor, path).scope(None, None, limits, writing=True)
        return Target(kind, scope.namespace, children=bool(given.get("children")))
    checked = check_id(_FIELDS[kind], value)
    return Target(kind, checked, derived=kind == TRANSCRIPT and bool(given.get("derived")))


def _check_reach(kind: TargetKind, given: Mapping[str, object]) -> None:
    """Refuse to reach further than from what can be reached from."""
    reaches: Mapping[str, TargetKind] = {"children": NAMESPACE, "derived": TRANSCRIPT}
    for option, only in reaches.items():
        if given.get(option) and kind != only:
            raise InvalidInput(option, f"goes with {_FIELDS[only]} only, and not {_FIELDS[kind]}")
