"""Retries: whether the log has a request already, under the caller's txn_id.

    1. The request's salt is there: the salted hash of the request decides.
    2. It went with something that was erased: the fingerprint decides. Requests that differ in
       erased content alone have one fingerprint, so the later one counts as a retry.
    3. An erasure that is asked for by a name has no more in its fingerprint than its kind. It is a
       retry only if there is nothing left that it would erase.
    4. The event is older than fingerprints: unless 3 decides, it can no longer be compared.

Another request under a txn_id that is taken raises; never is it left out and passed for done.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memoranda.errors import IdempotencyMismatch
from memoranda.log import chain, fingerprints, pages
from memoranda.log.envelopes import HASH_SIZE, token
from memoranda.log.forgetting import would_erase
from memoranda.log.reducing import ENGINE_SPACES
from memoranda.log.transaction import Request
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import AGENT, PSEUDONYM_PREFIX, SWEEP, Forget
from memoranda.model.event import TOKEN_SIZE, SealedEvent
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


def find_earlier(reader: Reader, views: Views, request: Request) -> int | None:
    """Return the commit of the same request, if the log has it; another one raises."""
    commit_ts = commit_of(reader, request.txn_id, request.actor)
    if commit_ts is None:
        return None
    event = _event(reader, commit_ts)
    operations = codec.decode_operations(event.operations)
    if not chain.can_compare(event, operations):
        _check_fingerprint(reader, views, request, event, _fingerprint(event))
    else:
        known = codec.decode_envelope(event.envelope).request_hash[:HASH_SIZE]
        if chain.request_hash(event.salts, request.encoded, len(operations)) != known:
            raise _other(request, commit_ts)
    return commit_ts


def commit_of(reader: Reader, txn_id: str, actor: str) -> int | None:
    """Return the commit that a transaction of this name became, be its envelope gone or not."""
    row = reader.row("txn_find", txn_id=txn_id, actor=actor)
    if row is None:
        row = reader.row("txn_find", txn_id=token(txn_id, actor).hex(), actor="")
    return None if row is None else int(row[0])


def find_farewell(reader: Reader, request: Request) -> int | None:
    """Return the commit in which an agent of which nothing is left had itself forgotten.

    It stands there under a pseudonym, so it is known by its txn_id alone. If several agents used
    that, nothing tells whose farewell is whose.
    """
    commits = [
        int(commit_ts)
        for actor, commit_ts in reader.rows("txn_any", txn_id=request.txn_id)
        if _is_farewell(_event(reader, commit_ts), actor)
    ]
    if len(commits) > 1:
        raise _incomparable(request, commits[-1])
    return commits[0] if commits else None


def era(reader: Reader, txn_id: str, actor: str, head: int) -> int:
    """Return the commit that last took txn_ids out of the log, as of the txn_id's own commit.

    What uses a txn_id again that is gone is another transaction, and so are its ids. A retry has
    those of its first attempt, whatever was erased since.
    """
    commit_ts = commit_of(reader, txn_id, actor)
    if commit_ts is not None:
        if not _fingerprint(_event(reader, commit_ts)):
            return 0  # its ids are older than eras
        head = commit_ts
    found = reader.row("envelope_erasure", through=head)
    return 0 if found is None else int(found[0])


def _check_fingerprint(
    reader: Reader, views: Views, request: Request, event: SealedEvent, fingerprint: bytes
) -> None:
    """Raise unless a request is the one that an event was, as far as that can be known."""
    erases = request.erases
    if fingerprint:
        differs = fingerprint != fingerprints.of(request.staged)
        if differs or not _Left(reader, event).allows(request.staged):
            raise _other(request, event.commit_ts)
    elif erases is None or not _is_erasure_of(erases, event):
        raise _incomparable(request, event.commit_ts)
    if erases is None or erases.target.kind == SWEEP:
        return
    known = fingerprint and erases.target.identity is not None
    if not known and would_erase(reader, views, erases):
        raise _incomparable(request, event.commit_ts)


class _Left:
    """Where what is left of a transaction stands, and which scopes it may have been in."""

    def __init__(self, reader: Reader, event: SealedEvent) -> None:
        self._reader = reader
        found = codec.decode_operations(event.operations)
        self._operations = [each for each in found if each.namespace not in ENGINE_SPACES]

    def allows(self, staged: Sequence[msgspec.Struct]) -> bool:
        """Say whether it can be what is left of these requests.

        A request that changes nothing leaves no operation. So only what always leaves one is
        looked for, and the namespace of a single request if there is any operation.
        """
        for request in staged:
            scope: Scope | None = getattr(request, "scope", None)
            if scope is None:
                continue
            if getattr(type(request), "stays_in_scope", False):
                if not any(self._fits(scope, each) for each in self._operations):
                    return False
            elif len(staged) == 1 and self._operations:
                return any(self._is_in(scope.namespace, each) for each in self._operations)
        return True

    def _fits(self, scope: Scope, operation: AnyOperation) -> bool:
        if not self._is_in(scope.namespace, operation):
            return False
        if not _is_pseudonym(operation.agent_id):
            return scope.agent_id == operation.agent_id
        through = _erased_in(operation)
        known = self._reader.rows(
            "scopes_with_events", agent_id=scope.agent_id, after=0, through=through
        )
        return not known

    def _is_in(self, namespace: str, operation: AnyOperation) -> bool:
        """Say whether an operation may have been in a namespace; one that went has no commits."""
        if not _is_pseudonym(operation.namespace):
            return namespace == operation.namespace
        through = _erased_in(operation)
        known = self._reader.row(
            "namespace_touched", namespace=namespace, agent_id=None, after=0, through=through
        )
        return known is None


def _is_pseudonym(name: str) -> bool:
    return name.startswith(PSEUDONYM_PREFIX)


def _erased_in(operation: AnyOperation) -> int:
    """Return the commit behind which a name that went can have come back."""
    return operation.erasure if isinstance(operation, ErasedOperation) else 0


def _is_erasure_of(erases: Forget, event: SealedEvent) -> bool:
    """Say whether an event erased a target of the same kind."""
    return any(
        isinstance(operation, Erase) and operation.target == erases.target.kind
        for operation in codec.decode_standing(event.operations)
    )


def _is_farewell(event: SealedEvent, actor: str) -> bool:
    return any(
        isinstance(operation, Erase)
        and operation.target == AGENT
        and actor == operation.by == operation.pseudonym
        for operation in codec.decode_standing(event.operations)
    )


def _fingerprint(event: SealedEvent) -> bytes:
    """Return the fingerprint of the request that an event was; empty: it is older than these."""
    envelope = codec.decode_envelope(event.envelope)
    return envelope.request_hash[HASH_SIZE if envelope.txn_id else TOKEN_SIZE :]


def _event(reader: Reader, commit_ts: int) -> SealedEvent:
    (event,) = pages.events_of(reader, [commit_ts])
    return event


def _other(request: Request, commit_ts: int) -> IdempotencyMismatch:
    return IdempotencyMismatch(
        f"txn_id {request.txn_id!r} was committed as {commit_ts} with other operations: "
        "use a new txn_id"
    )


def _incomparable(request: Request, commit_ts: int) -> IdempotencyMismatch:
    return IdempotencyMismatch(
        f"txn_id {request.txn_id!r} was committed as {commit_ts}, and as something was erased "
        "since, that request can no longer be compared with this one: use a new txn_id"
    )
