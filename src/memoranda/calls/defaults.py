"""The defaults of a handle: the agent, the namespace and the signer of calls that name none."""

from __future__ import annotations

import msgspec

from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.errors import InvalidInput
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.limits import Limits, plain_text
from memoranda.model.scope import DEFAULT_ACTOR, DEFAULT_NAMESPACE, Scope, checked_scope


class Defaults(msgspec.Struct, frozen=True):
    """The agent, namespace and signer of a handle, for calls that name none."""

    agent_id: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    signing: TransactionSigner | None = None
    """Signs each transaction of the handle; None: they are not signed."""
    min_commit: int = 0
    """The oldest commit that a replica must have before it answers reads of the handle."""

    @property
    def actor(self) -> str:
        """The agent recorded in the log for calls through this handle."""
        return DEFAULT_ACTOR if self.agent_id is None else self.agent_id

    def acting(self, agent_id: str | None) -> str:
        """Return the agent whose visibility applies: the bound one, else the one the call names."""
        return self.actor if agent_id is None or self.agent_id is not None else agent_id

    @property
    def grant(self) -> Grant:
        """The authority of calls through this handle: all data that the bound agent may see."""
        return EVERYTHING if self.agent_id is None else Grant(self.agent_id)

    def agent(self, agent_id: str | None) -> str:
        """Return the agent a call names, or else the bound one; raise if there is neither."""
        agent = self.agent_id if agent_id is None else agent_id
        if agent is None:
            raise InvalidInput("agent_id", "is missing: give one, or use store.bind(agent_id=…)")
        return agent if type(agent) is str else plain_text("agent_id", agent)

    def place(self, agent_id: str | None, namespace: str | None) -> tuple[str, str]:
        """Return the agent and the namespace of a call, which its handler checks."""
        return self.agent(agent_id), self.namespace if namespace is None else namespace

    def scope(
        self, agent_id: str | None, namespace: str | None, limits: Limits, *, writing: bool = False
    ) -> Scope:
        """Return the scope of a call. The engine's own scope can be read, but not written."""
        path = self.namespace if namespace is None else namespace
        return checked_scope(path, self.agent(agent_id), limits, engine=not writing)

    def describe(self, place: str, *, is_closed: bool) -> str:
        """Return a store and the scope of a handle of it, for its `repr`."""
        agent = "" if self.agent_id is None else f" agent_id={self.agent_id!r}"
        closed = ", closed" if is_closed else ""
        return f"{place}{agent} namespace={self.namespace!r}{closed}"
