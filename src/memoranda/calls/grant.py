"""Grants: what a caller may see and do, as a value that every handler gets.

To a handler that obeys grants, what a grant does not cover looks like what does not exist. A call
whose handler does not (`Call.obeys_grants`) is refused under a grant that leaves anything out.
"""

from __future__ import annotations

import msgspec

from memoranda.calls.call import VERBS, Verb
from memoranda.errors import PermissionDenied
from memoranda.model.limits import Limits
from memoranda.model.scope import DEFAULT_ACTOR, Scope, checked_scope

NOWHERE = Scope("", "")
"""A scope that nothing can be written in: a read of it finds what a read of nothing finds."""


class Grant(msgspec.Struct, frozen=True):
    """The authority of a caller."""

    actor: str | None = None
    """The agent in whose name the caller acts, and with whose eyes it sees. None: the agent that
    each call names, as for a host that serves all agents."""
    agents: frozenset[str] | None = None
    """The agents whose data it may see; None: all."""
    namespaces: frozenset[str] | None = None
    """The namespaces, each with those below it; None: all."""
    verbs: frozenset[Verb] = frozenset(VERBS)

    @property
    def covers_everything(self) -> bool:
        """Whether it covers every agent in every namespace."""
        return self.agents is None is self.namespaces

    def check_verb(self, verb: Verb) -> None:
        """Refuse a call that the grant does not allow.

        Which calls there are is no secret, unlike what they would find.
        """
        if verb not in self.verbs:
            raise PermissionDenied(
                f"the grant of this caller has no verb {verb!r}: ask for one that has it"
            )

    def acting(self, agent_id: str | None) -> str:
        """Return the agent whose visibility applies to a call that names this agent, or none."""
        if self.actor is not None:
            return self.actor
        return DEFAULT_ACTOR if agent_id is None else agent_id

    def scope(self, namespace: str, agent_id: str, limits: Limits) -> Scope:
        """Return the checked scope of a read; `NOWHERE` if the grant does not cover it."""
        scope = checked_scope(namespace, agent_id, limits, engine=True)
        if self.agents is None is self.namespaces or self.covers(namespace, agent_id):
            return scope
        return NOWHERE

    def writable_scope(self, namespace: str, agent_id: str, limits: Limits) -> Scope:
        """Return the checked scope of a write; raise if the grant does not cover it.

        The engine's own scopes are nobody's to write in. The refusal tells nothing that the caller
        did not say: whether there is anything in the scope stays unknown.
        """
        scope = checked_scope(namespace, agent_id, limits, engine=False)
        if self.agents is None is self.namespaces or self.covers(namespace, agent_id):
            return scope
        raise PermissionDenied(
            f"the grant of this caller does not cover agent {agent_id!r} in namespace "
            f"{namespace!r}: ask for one that does"
        )

    def covers(self, namespace: str, agent_id: str) -> bool:
        """Say whether the data of an agent in a namespace is covered."""
        return (self.agents is None or agent_id in self.agents) and self.covers_namespace(namespace)

    def covers_namespace(self, namespace: str) -> bool:
        """Say whether a namespace is covered: it is granted itself, or one above it is."""
        if self.namespaces is None or namespace in self.namespaces:
            return True
        return any(namespace.startswith(f"{granted}/") for granted in self.namespaces)


EVERYTHING = Grant()
"""The authority of whoever opens the file."""
