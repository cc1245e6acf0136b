"""Every call, with its handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from memoranda.calls import (
    audit,
    bulk_facts,
    copies,
    directory,
    erasure,
    erasure_writes,
    extraction,
    facts,
    graph,
    keys,
    links,
    log,
    maintenance,
    memories,
    recall,
    subscriptions,
    transactions,
    transcripts,
    trust,
    why,
    within,
)
from memoranda.calls.call import Answer, Call, Handlers, WriteCall, call_name
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.signing import check_signature
from memoranda.calls.write import StagedWrite, Writes
from memoranda.errors import PermissionDenied
from memoranda.log.commit.transaction_signature import Signing, TransactionSigner
from memoranda.storage.coverage import CoveredEngine
from memoranda.storage.port import Progress

HANDLERS: Handlers = {
    **audit.HANDLERS,
    **bulk_facts.HANDLERS,
    **copies.HANDLERS,
    **directory.HANDLERS,
    **erasure.HANDLERS,
    **erasure_writes.HANDLERS,
    **extraction.HANDLERS,
    **facts.HANDLERS,
    **graph.HANDLERS,
    **keys.HANDLERS,
    **links.HANDLERS,
    **log.HANDLERS,
    **maintenance.HANDLERS,
    **memories.HANDLERS,
    **recall.HANDLERS,
    **subscriptions.HANDLERS,
    **transactions.HANDLERS,
    **transcripts.HANDLERS,
    **trust.HANDLERS,
    **why.HANDLERS,
    **within.HANDLERS,
}
"""The calls that are answered at once."""
WRITES: Writes = {
    **erasure_writes.WRITES,
    **transactions.STAGED,
    **transactions.WRITES,
    **trust.WRITES,
}
"""The calls that are staged, committed and then answered."""
CALLS: Mapping[str, type[Call[Any]]] = {call_name(kind): kind for kind in (*HANDLERS, *WRITES)}
"""Every kind of call by its name."""


def handle(
    core: Core,
    grant: Grant,
    call: Call[Answer],
    progress: Progress | None = None,
    signing: TransactionSigner | None = None,
) -> Answer:
    """Return the handler's answer, or the pages of a long answer.

    A call that the grant does not allow raises `PermissionDenied`. A handler reads the store as
    far as the grant covers it.
    """
    if call.verb not in grant.verbs:
        grant.check_verb(call.verb)
    if core.replica is not None and not (call.needs_primary or call.verb != "read"):
        core = core.on_replica()
    if grant.agents is not None or grant.namespaces is not None:  # inline: it costs every call
        core = _covered(core, grant, call)
    answer: Answer
    if call.signs:
        answer = HANDLERS[type(call)](core, grant, call, progress, signing)
    elif progress is None:
        answer = HANDLERS[type(call)](core, grant, call)
    else:
        answer = HANDLERS[type(call)](core, grant, call, progress)
    return answer


def stage_write(
    core: Core,
    grant: Grant,
    call: WriteCall[Answer],
    signing: TransactionSigner | None = None,
    *,
    is_named: bool = True,
) -> StagedWrite[Answer]:
    """Check a call that writes, and return it staged: it can be committed, and then answered.

    `signing` signs the commit, unless the client has signed the call itself. `is_named`: whether
    the caller chose the `txn_id`, as `StagedWrite` explains.
    """
    if call.verb not in grant.verbs:
        grant.check_verb(call.verb)
    own_signing: Signing | None = signing
    if call.signature is not None:
        own_signing = check_signature(core, grant.acting(None), call)
    covered = core
    if grant.agents is not None or grant.namespaces is not None:
        covered = _covered(core, grant, call)
    handler = WRITES[type(call)]
    return StagedWrite(core, covered, grant, own_signing, handler, call, is_named=is_named)


def may_read_to_stage(grant: Grant, call: WriteCall[Any]) -> bool:
    """Say whether staging a write may read the store or take long: not for an event loop.

    A write that gives out ids derives them from its `txn_id`, if it has one, and looks that up.
    Under a restricted grant, the items that a write names are looked up. A signature takes a while
    to check, and if it is wrong, the log records that.
    """
    if call.looks_up or call.lane != "short" or call.signature is not None:
        return True
    derives_ids = call.txn_id is not None and WRITES[type(call)].request is None
    return derives_ids or not grant.covers_everything


def _covered(core: Core, grant: Grant, call: Call[Any]) -> Core:
    """Return the store as far as the grant covers it; raise if the call needs all of it."""
    if call.reach == "store" or not (call.verb == "read" or call.obeys_grants):
        name = call_name(type(call))
        raise PermissionDenied(f"{name} needs a grant that covers every agent and namespace")
    covered = CoveredEngine(core.engine, grant.coverage)
    return replace(core, engine=covered, numbers=core.engine)
