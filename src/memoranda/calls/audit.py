"""Calls that read audit events, checkpoints, proofs and trusted keys."""

from __future__ import annotations

from memoranda.audit import trusted_keys as audit_keys
from memoranda.audit.checkpoints import CheckpointPages, SignedCheckpoint
from memoranda.audit.events import AuditEvent, AuditFilter, AuditTrail, check_event_types
from memoranda.audit.proofs import ConsistencyProof, InclusionProof, Prover
from memoranda.audit.trusted_keys import TrustedKey
from memoranda.calls.arguments import check_agent
from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import commit_of_token


class AuditEvents(Call[AuditEvent], frozen=True):
    """List the audit events in commit order, up to the current end of the log."""

    reach = "scopes"
    shape = "pages"

    event_type: tuple[str, ...] | None = None
    agent_id: str | None = None
    """None: all agents."""
    after_commit: int | str = 0


class Checkpoints(Call[SignedCheckpoint], frozen=True):
    """List every stored checkpoint, the smallest first."""

    needs_primary = True
    reach = "store"
    shape = "pages"


class Prove(Call[InclusionProof], frozen=True):
    """Prove that a commit is in the log of a checkpoint."""

    needs_primary = True
    reach = "store"
    lane = "search"

    commit_ts: int
    checkpoint: int | str | None = None
    """Its size, or its note; None: the last."""


class ProveGrowth(Call[ConsistencyProof], frozen=True):
    """Prove that the log only grew from one checkpoint to another."""

    needs_primary = True
    reach = "store"
    lane = "search"

    old: int | str
    new: int | str | None = None
    """None: the last."""


class TrustedKeys(Call[list[TrustedKey]], frozen=True):
    """List every key that the log trusts or trusted, with its range of commits."""

    needs_primary = True
    reach = "store"


def audit_events(core: Core, _: Grant, call: AuditEvents) -> Pages[AuditEvent]:
    """Return the events."""
    types, through = check_event_types(call.event_type), core.head()
    with core.engine.reading() as reader:
        after = commit_of_token(reader, "after_commit", core.log_id, call.after_commit)
    event_filter = AuditFilter(event_types=types, agent_id=check_agent(core, call.agent_id))
    return AuditTrail(core.engine, event_filter, after=min(after, through), through=through)


def checkpoints(core: Core, _: Grant, __: Checkpoints) -> Pages[SignedCheckpoint]:
    """Return the checkpoints."""
    return CheckpointPages(core.engine)


def prove(core: Core, _: Grant, call: Prove) -> InclusionProof:
    """Return the proof."""
    return Prover(core.engine, core.log_id).inclusion(call.commit_ts, call.checkpoint)


def prove_growth(core: Core, _: Grant, call: ProveGrowth) -> ConsistencyProof:
    """Return the proof."""
    return Prover(core.engine, core.log_id).consistency(call.old, call.new)


def trusted_keys(core: Core, _: Grant, __: TrustedKeys) -> list[TrustedKey]:
    """Return the keys."""
    with core.engine.reading() as reader:
        return audit_keys.all_keys(reader)


HANDLERS: Handlers = {
    AuditEvents: audit_events,
    Checkpoints: checkpoints,
    Prove: prove,
    ProveGrowth: prove_growth,
    TrustedKeys: trusted_keys,
}
