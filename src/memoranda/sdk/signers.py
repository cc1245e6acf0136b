"""Signers as callers pass them, and handles bound to an agent, a namespace and a signer."""

from __future__ import annotations

import os

import msgspec

from memoranda.audit import keys as public_keys
from memoranda.audit import signers
from memoranda.audit.checkpointer import Checkpointer, LogSigner
from memoranda.audit.keys import PublicKey
from memoranda.audit.signers import Signer
from memoranda.audit.trusted_keys import TrustRequest
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.ids import SystemIds
from memoranda.model.limits import Limits, check_integer, plain_text, renamed_fields, short_repr
from memoranda.model.receipt import HasCommit


def create_signer(path: str | os.PathLike[str], *, name: str) -> Signer:
    """Create a private key in a new file with mode 0600; its name ends with `.key`.

    `name` is the signer's name in signed notes, such as `example.com/agents`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput("path", f"{short_repr(path)} is not a path")
    return signers.create(path, name, ids=SystemIds())


def load_signer(path: str | os.PathLike[str]) -> Signer:
    """Return the signer in a file that only its owner can read."""
    return as_signer(path)


def as_signer(signer: Signer | str | os.PathLike[str]) -> Signer:
    """Return a signer: the argument itself, or loaded from its file."""
    if isinstance(signer, Signer):
        return signer
    if isinstance(signer, (str, os.PathLike)):
        return signers.load(signer)
    raise InvalidInput("signer", f"{short_repr(signer)} is neither a signer nor a path")


def public_key(field: str, key: PublicKey | Signer | str) -> PublicKey:
    """Return a public key given as such, as its line, or as its signer, without commit limits."""
    if isinstance(key, Signer):
        return key.public
    with renamed_fields(key=field):
        public = key if isinstance(key, PublicKey) else public_keys.parse(plain_text(field, key))
    return PublicKey(public.name, public.key)


def with_signer(
    core: Core, signer: Signer | str | os.PathLike[str] | None, every: int, seconds: float
) -> Core:
    """Return the store with a started checkpointer, if a signer is given."""
    if signer is None:
        return core
    try:
        signs = log_signer(core, as_signer(signer), "local")
        checkpointer = Checkpointer(core.engine, signs, core.clock, every=every, seconds=seconds)
        checkpointer.start()
    except MemorandaError:
        core.close()
        raise
    return msgspec.structs.replace(core, checkpointer=checkpointer)


def log_signer(core: Core, signer: Signer, actor: str) -> LogSigner:
    """Return the object that signs checkpoints of a store's log."""

    def commit(staged: TrustRequest) -> int:
        return core.committer.commit(core.request(actor, staged, None)).commit_ts

    return LogSigner(core.engine, core.log_id, signer, commit)


# Binding a handle to an agent, a namespace and a signer.

SignerOrPath = Signer | str | os.PathLike[str]
"""A signer, or the path of its file."""


def rebound(
    limits: Limits,
    defaults: Defaults,
    agent_id: str | None,
    namespace: str | None,
    signer: SignerOrPath | None,
    min_commit: int | HasCommit | None,
) -> Defaults:
    """Return the defaults of a new handle; a signer is kept only for the same agent."""
    agent = defaults.agent_id if agent_id is None else plain_text("agent_id", agent_id)
    signing = defaults.signing if agent == defaults.agent_id else None
    lowest_commit = max(defaults.min_commit, _checked_commit(min_commit))
    bound = Defaults(
        agent, defaults.namespace if namespace is None else namespace, signing, lowest_commit
    )
    bound.scope(bound.actor, None, limits)
    if signer is None:
        return bound
    return msgspec.structs.replace(bound, signing=_signing(bound.agent_id, signer))


def _checked_commit(min_commit: int | HasCommit | None) -> int:
    """Return the number of a commit that is given as such, or by what its call returned."""
    number = getattr(min_commit, "commit_ts", 0 if min_commit is None else min_commit)
    return check_integer("min_commit", number, minimum=0, noun="the number of a commit")


def _signing(agent_id: str | None, signer_or_path: SignerOrPath) -> TransactionSigner:
    """Return the transaction signer of an agent."""
    if agent_id is None:
        raise InvalidInput("agent_id", "is missing: a signer signs for an agent")
    signer = as_signer(signer_or_path)
    claim = TrustRequest(signer.public.name, signer.public.key, agent_id)
    return TransactionSigner(signer.public.key, signer.message_signer(), claim)
