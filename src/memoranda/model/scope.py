"""Scopes: the namespace of data and the agent that owns it."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Final, Literal

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import Limits, check_printable, plain_text, short_repr

DEFAULT_NAMESPACE = "default"
DEFAULT_ACTOR = "local"
"""The actor of a handle that is bound to no agent."""


class _All(enum.Enum):
    AGENTS = "ALL_AGENTS"
    NAMESPACES = "ALL_NAMESPACES"

    def __repr__(self) -> str:
        return self.value


ALL_AGENTS: Final = _All.AGENTS
"""As an agent: every agent, future ones included."""
ALL_NAMESPACES: Final = _All.NAMESPACES
"""As a namespace: every namespace that the agent has written in."""

AllAgents = Literal[_All.AGENTS]
"""The constant `ALL_AGENTS`."""
AllNamespaces = Literal[_All.NAMESPACES]
"""The constant `ALL_NAMESPACES`."""


class Scope(msgspec.Struct, frozen=True, order=True, gc=False):
    """One agent in one namespace. The parts are never joined, so two scopes cannot collide."""

    namespace: str
    agent_id: str

    @classmethod
    def of(cls, *, agent_id: str, org_id: str, user_id: str) -> Scope:
        """Return memoir's scope of organisation, user and agent: the namespace `org/user`."""
        return cls(
            namespace=f"{_escape('org_id', org_id)}/{_escape('user_id', user_id)}",
            agent_id=plain_text("agent_id", agent_id),
        )

    def check(self, limits: Limits, *, engine: bool = False) -> Scope:
        """Return this scope, or raise `InvalidInput`; only the engine writes in `_` segments."""
        return checked_scope(self.namespace, self.agent_id, limits, engine=engine)


def check_scope(field: str, value: object) -> Scope:
    """Return a scope, and refuse anything else."""
    if not isinstance(value, Scope):
        raise InvalidInput(field, f"{short_repr(value)} is not a Scope")
    return value


def _escape(field: str, part: object) -> str:
    return plain_text(field, part).replace("%", "%25").replace("/", "%2F")


def checked_scope(namespace: str, agent_id: str, limits: Limits, *, engine: bool) -> Scope:
    """Return the scope of these names, or raise `InvalidInput`."""
    if type(namespace) is not str or type(agent_id) is not str:
        namespace, agent_id = plain_text("namespace", namespace), plain_text("agent_id", agent_id)
    return _checked(namespace, agent_id, limits, engine)


@lru_cache(maxsize=4096)
def _checked(namespace: str, agent_id: str, limits: Limits, engine: bool) -> Scope:  # noqa: FBT001
    """Check a scope; cached, since calls name the same scopes again and again."""
    plain_text("namespace", namespace)
    plain_text("agent_id", agent_id)
    _check_namespace(namespace, limits, engine=engine)
    _check_agent_id(agent_id, limits)
    return Scope(namespace, agent_id)


def _check_namespace(namespace: str, limits: Limits, *, engine: bool) -> None:
    check_printable("namespace", namespace)
    segments = namespace.split("/")
    for segment in segments:
        if segment in ("", ".", ".."):
            raise InvalidInput(
                "namespace",
                f"{short_repr(namespace)} has the segment {segment!r}: use a path like team/eng",
            )
    owned = [segment for segment in segments if not segment.startswith("_")]
    if len(owned) < len(segments) and not engine:
        raise InvalidInput(
            "namespace",
            f"{short_repr(namespace)}: segments that begin with '_' are the engine's own",
        )
    if len(owned) > limits.namespace_segments:
        raise InvalidInput(
            "namespace", f"has {len(owned)} segments, and the limit is {limits.namespace_segments}"
        )
    size = len("/".join(owned).encode())
    if size > limits.namespace_bytes:
        raise InvalidInput(
            "namespace", f"has {size} bytes of UTF-8, and the limit is {limits.namespace_bytes}"
        )


def _check_agent_id(agent_id: str, limits: Limits) -> None:
    check_printable("agent_id", agent_id)
    if not agent_id:
        raise InvalidInput("agent_id", "is empty: give at least one character")
    if len(agent_id) > limits.agent_id_characters:
        raise InvalidInput(
            "agent_id",
            f"has {len(agent_id)} characters, and the limit is {limits.agent_id_characters}",
        )
