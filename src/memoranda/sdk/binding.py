"""Binding a handle: to an agent, a namespace, and whoever signs for the agent."""

from __future__ import annotations

import os

from memoranda.audit.signers import Signer
from memoranda.audit.trust import KeyRules, TrustRequest
from memoranda.errors import InvalidInput
from memoranda.log.signing import Signing
from memoranda.model.limits import plain_text
from memoranda.sdk.core import Core, Defaults
from memoranda.sdk.signing import as_signer

SignerOrPath = Signer | str | os.PathLike[str]


def rebound(
    core: Core,
    defaults: Defaults,
    agent_id: str | None,
    namespace: str | None,
    signer: SignerOrPath | None,
) -> Defaults:
    """Return what a handle is bound to, given what another is; a signer stays with its agent."""
    agent = defaults.agent_id if agent_id is None else plain_text("agent_id", agent_id)
    signing = defaults.signing if agent == defaults.agent_id else None
    bound = Defaults(agent, defaults.namespace if namespace is None else namespace, signing)
    bound.scope(bound.actor, None, core.limits)
    if signer is None:
        return bound
    return Defaults(bound.agent_id, bound.namespace, _signing(core, bound.agent_id, signer))


def _signing(core: Core, agent_id: str | None, given: SignerOrPath) -> Signing:
    """Return who signs for an agent, unless the log as it is now would not take it."""
    if agent_id is None:
        raise InvalidInput("agent_id", "is missing: a signer signs for an agent")
    signer = as_signer(given)
    claim = TrustRequest(signer.public.name, signer.public.key, agent_id)
    with core.engine.reading() as reader:
        list(KeyRules(reader).decide(claim))
    return Signing(signer.public.key, signer.signing(), claim)
