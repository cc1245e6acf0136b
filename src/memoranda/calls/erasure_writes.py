"""Calls that erase for good: forgetting, sweeping, compacting, and their previews."""

from __future__ import annotations

from msgspec.structs import replace

from memoranda.calls.arguments import check_namespace, check_viewer
from memoranda.calls.call import AnyDuration, AnyMoment, Call, Handlers, WriteCall
from memoranda.calls.core import Core, all_views
from memoranda.calls.defaults import Defaults
from memoranda.calls.erasure import unfinished_copies
from memoranda.calls.grant import Grant
from memoranda.calls.requests import check_target
from memoranda.calls.write import WriteHandler, Writes, Written, is_retry
from memoranda.errors import InvalidInput, PermissionDenied
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.compaction.compactor import Compaction, Plan
from memoranda.log.erasure import certificate as erasure_certificate
from memoranda.log.erasure.certificate import Certificate, pending_reason
from memoranda.log.erasure.forget import find, search_ahead
from memoranda.log.erasure.log_search import LogSearch
from memoranda.log.erasure.preview import preview
from memoranda.log.erasure.purge import purge_or_defer
from memoranda.log.read.as_of import commit_at_time
from memoranda.memory import settings
from memoranda.memory.requests import check_note
from memoranda.model.clock import check_duration
from memoranda.model.erasure import AGENT, DEFAULT_SWEEP_AGE, NAMESPACE, SWEEP, Due, Target
from memoranda.model.erasure import Forget as ForgetRequest
from memoranda.model.limits import short_repr
from memoranda.model.scope import DEFAULT_ACTOR
from memoranda.storage.port import Progress


class Forget(WriteCall[Certificate], frozen=True):
    """Erase one target for good: exactly one of the first eight arguments is given."""

    verb = "forget"
    reach = "walk"
    lane = "search"

    memory_id: str | None = None
    transcript_id: str | None = None
    key: str | None = None
    fact: str | None = None
    entity: str | None = None
    whole_agent: str | None = None
    whole_namespace: str | None = None
    facts_from: str | None = None
    agent_id: str | None = None
    """The agent that acts; of a key or an entity, the owner."""
    namespace: str | None = None
    """The namespace of a key or an entity."""
    children: bool = False
    derived: bool = False
    reason: str | None = None
    purge: bool | None = None
    """Whether its bytes are removed from the files at once; None: yes, if the store is small."""


class Sweep(WriteCall[Certificate], frozen=True):
    """Erase what has been expired for a while; raise `NotFound` if there is nothing to erase."""

    verb = "forget"
    reach = "store"
    lane = "search"

    namespace: str | None
    """A namespace and those below it; None: all."""
    expired_for: AnyDuration = DEFAULT_SWEEP_AGE.total_seconds()
    reason: str | None = None
    purge: bool | None = None


class PreviewErasure(Call[Certificate], frozen=True):
    """Say what an erasure would erase."""

    verb = "forget"
    reach = "store"
    lane = "search"

    erasure: Forget | Sweep


class Compact(Call[Compaction], frozen=True):
    """Compact the log of a namespace up to a moment, for all agents and for good."""

    verb = "forget"
    reach = "store"
    lane = "long"
    signs = True

    namespace: str
    before: AnyMoment
    """A commit or a time; None: as long ago as the `log_retention` of the namespace says."""
    confirm: bool = False
    """Without it, nothing changes, and the answer is a preview."""
    reason: str | None = None
    purge: bool = False


# Forgetting and sweeping.


def _forget_request(core: Core, grant: Grant, call: Forget) -> ForgetRequest:
    options = {
        "memory": call.memory_id,
        "transcript": call.transcript_id,
        "key": call.key,
        "fact": call.fact,
        "entity": call.entity,
        "agent": call.whole_agent,
        "namespace": call.whole_namespace,
        "facts": call.facts_from,
        "children": call.children,
        "derived": call.derived,
    }
    asker = Defaults(DEFAULT_ACTOR if grant.actor is None else grant.actor)
    target = check_target(options, asker, call.agent_id, call.namespace, core.limits)
    if target.scope is not None:
        grant.scope(target.scope.namespace, target.scope.agent_id, core.limits, writing=True)
    viewer = check_viewer(core, grant, call.agent_id)
    return _erasure(core, target, viewer, call.reason)


def _sweep_request(core: Core, _: Grant, call: Sweep) -> ForgetRequest:
    over = check_duration("expired_for", call.expired_for)
    if over is None:
        raise InvalidInput("expired_for", "is missing: give a length of time, such as 30d")
    now = core.clock.now()
    place = check_namespace(core, call.namespace) or ""
    return _erasure(core, Target(SWEEP, place, None, Due(now - over, now)), None, call.reason)


def _erasure(core: Core, target: Target, viewer: str | None, reason: str | None) -> ForgetRequest:
    note = check_note("reason", reason, core.limits)
    return ForgetRequest(target, viewer, core.ids.unique(), note)


def _search_forget(
    core: Core, covered: Core, grant: Grant, call: Forget
) -> tuple[ForgetRequest, LogSearch]:
    request = _forget_request(core, grant, call)
    if covered is not core:
        _check_extent(request.target)
        if not is_retry(core, grant, call.txn_id):
            _check_target_covered(covered, request)
    return _searched(core, request)


def _check_extent(target: Target) -> None:
    """Refuse an erasure of data that other agents own, in any scope."""
    extent = f"a whole {target.kind}" if target.kind in (AGENT, NAMESPACE) else None
    if target.derived:
        extent = "what is derived from something"
    if extent is not None:
        raise PermissionDenied(
            f"forgetting {extent} needs a grant that covers every agent and namespace"
        )


def _check_target_covered(covered: Core, request: ForgetRequest) -> None:
    """Raise `NotFound` for a target that is not covered."""
    with covered.engine.snapshot() as reader:
        find(reader, all_views(), request.target, request.viewer)


def _search_sweep(
    core: Core, _: Core, grant: Grant, call: Sweep
) -> tuple[ForgetRequest, LogSearch]:
    return _searched(core, _sweep_request(core, grant, call))


def _searched(core: Core, request: ForgetRequest) -> tuple[ForgetRequest, LogSearch]:
    """Search the log for data that rests on the target, before the commit is queued."""
    with core.engine.snapshot() as reader:
        return request, search_ahead(reader, core.views, request)


def _answer(core: Core, call: Forget | Sweep, written: Written) -> Certificate:
    """Purge the files, if requested and possible now, and return the certificate.

    Its counts cover the part of the log that the grant covers.
    """
    reason = purge_or_defer(written.whole.engine, at_once=call.purge)
    with core.engine.snapshot() as reader:
        commit = written.committed.result.load(reader)
        certificate = erasure_certificate.certificate_of(reader, commit)
    assert certificate is not None, "what was just erased has a certificate"
    if certificate.pending_purge and reason is not None:
        certificate = replace(certificate, pending_reason=pending_reason(reason))
    return replace(certificate, copies=unfinished_copies(core))


def preview_erasure(core: Core, grant: Grant, call: PreviewErasure) -> Certificate:
    """Return a certificate without an id, with the preview."""
    if isinstance(call.erasure, Sweep):
        request = _sweep_request(core, grant, call.erasure)
    elif isinstance(call.erasure, Forget):
        request = _forget_request(core, grant, call.erasure)
    else:
        raise InvalidInput("erasure", f"{short_repr(call.erasure)} is neither a forget nor a sweep")
    with core.engine.snapshot() as reader:
        erasure_preview = preview(reader, core.views, request)
    return Certificate(
        erasure_id="",
        target=request.target.kind,
        commit_ts=None,
        committed_at=None,
        by=grant.acting(None),
        reason=request.reason,
        operations=erasure_preview.operations,
        events=erasure_preview.events,
        digest="",
        copies=unfinished_copies(core),
        preview=erasure_preview,
    )


# Compaction.


def compact(
    core: Core,
    grant: Grant,
    call: Compact,
    progress: Progress | None = None,
    signing: TransactionSigner | None = None,
) -> Compaction:
    """Compact in slices, between which others write."""
    actor = grant.acting(None)
    namespace = grant.scope(call.namespace, actor, core.limits, writing=True).namespace
    note = check_note("reason", call.reason, core.limits)
    if call.before is None:
        horizon = _retained_from(core, namespace)
    else:
        horizon = core.commit_at("before", call.before)
    plan = Plan(namespace, horizon, actor, note, progress, signing)
    compaction = core.committer.compact(plan, confirmed=call.confirm is True)
    if compaction.commit_ts is not None and call.purge:
        purge_or_defer(core.engine, at_once=True)
    return compaction


def _retained_from(core: Core, namespace: str) -> int:
    """Return the last commit that is older than the log retention of a namespace."""
    with core.engine.reading() as reader:
        retention = settings.fold(settings.load(reader), namespace).log_retention
        if retention is None:
            problem = f"namespace {namespace!r} has no log_retention"
            remedy = "give a moment, or configure(log_retention=…)"
            raise InvalidInput("before", f"{problem}: {remedy}")
        return commit_at_time(reader, core.clock.now() - retention)


HANDLERS: Handlers = {
    PreviewErasure: preview_erasure,
    Compact: compact,
}
WRITES: Writes = {
    Forget: WriteHandler(None, _answer, search=_search_forget),
    Sweep: WriteHandler(None, _answer, search=_search_sweep),
}
