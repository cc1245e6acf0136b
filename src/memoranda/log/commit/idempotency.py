"""Idempotency keys: whether the log already has a request, and in which commit.

A request under a txn_id that the log has is compared with the earlier one:

1. The earlier request's salt still exists: the salted hashes are compared.
2. The salt was erased with a part of the transaction: the fingerprints are compared. Requests that
   differ only in erased content have the same fingerprint, so the later one counts as a retry.
3. The fingerprint of an erasure by name covers only the target's kind. Such a request is a retry
   only if nothing is left that it would erase.
4. The event is older than fingerprints: unless case 3 decides, it can no longer be compared.

A different request under a txn_id that is taken raises; it is never skipped and reported as done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from memoranda.errors import IdempotencyMismatch
from memoranda.log import chain, pages
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.erasure.forget import would_erase
from memoranda.log.erasure.redact_operations import ENGINE_NAMESPACES
from memoranda.log.erasure.rewrite_events import HASH_SIZE, retry_token
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.erasure import AGENT, PSEUDONYM_PREFIX, SWEEP, Forget
from memoranda.model.event import TOKEN_SIZE, SealedEvent
from memoranda.model.ids import is_derived_id
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

# Fingerprints: identify a request without its content.
#
# A request is compared with an earlier one of its txn_id by a salted hash. That salt is erased as
# soon as a part of the earlier transaction is. The fingerprint remains: a hash over the kinds of
# the requests, in order, and over the ids they name. Erased values cannot be confirmed by guessing,
# since it covers no text, no name and no id that is derived from one.

FINGERPRINT_SIZE = 16
"""Bytes: 128 bits, so that two requests do not share a fingerprint by chance."""
# The domain keeps the project's first name: changing it would invalidate stored fingerprints.
_DOMAIN = b"recollect request fingerprint\0"
_ASSERTION_ID = "assertion_id"
"""The field whose ids may be derived from an assertion's content."""


def fingerprint_of(staged: Sequence[msgspec.Struct]) -> bytes:
    """Return the fingerprint of a transaction's requests."""
    shapes = [_shape(request) for request in staged]
    return sha256(_DOMAIN + msgspec.msgpack.encode(shapes)).digest()[:FINGERPRINT_SIZE]


def _shape(request: msgspec.Struct) -> list[object]:
    """Return a request's kind, and the ids and kinds it names."""
    tag = request.__struct_config__.tag
    if isinstance(request, Forget):
        return [tag, *_target_shape(request)]
    return [tag, *_identity(request)]


def _target_shape(request: Forget) -> Iterator[object]:
    target = request.target
    yield target.kind
    yield target.identity
    yield target.children
    yield target.derived


def _identity(request: msgspec.Struct) -> Iterator[str | None]:
    fields: Sequence[str] = getattr(type(request), "identity", ())
    for field in fields:
        value = getattr(request, field)
        yield None if field == _ASSERTION_ID and is_derived_id(value) else value


# Retries: find the earlier commit of a request.


def find_earlier(reader: Reader, views: Views, request: Request) -> int | None:
    """Return the commit of the same request, if the log has it; raise if it has another one."""
    commit_ts = commit_of(reader, request.txn_id, request.actor)
    if commit_ts is None:
        return None
    event = _load_event(reader, commit_ts)
    operations = codec.decode_operations(event.operations)
    if not chain.can_compare(event, operations):
        _check_fingerprint(reader, views, request, event, _stored_fingerprint(event))
    else:
        request_hash = codec.decode_envelope(event.envelope).request_hash[:HASH_SIZE]
        if chain.request_hash(event.salts, request.encoded, len(operations)) != request_hash:
            raise _mismatch(request, commit_ts)
    return commit_ts


def commit_of(reader: Reader, txn_id: str, actor: str) -> int | None:
    """Return the commit of a txn_id, whether or not its envelope was erased."""
    token = retry_token(txn_id, actor).hex()
    row = reader.row("txn_find_or_token", txn_id=txn_id, actor=actor, token=token)
    return None if row is None else int(row[0])


def find_farewell(reader: Reader, request: Request) -> int | None:
    """Return the commit in which an agent erased itself, if nothing of it is left.

    The log has it under a pseudonym, so it is found by its txn_id alone. If several agents used
    that txn_id, they cannot be told apart, and the request is refused.
    """
    commits = [
        int(commit_ts)
        for actor, commit_ts in reader.rows("txn_any", txn_id=request.txn_id)
        if _is_farewell(_load_event(reader, commit_ts), actor)
    ]
    if len(commits) > 1:
        raise _not_comparable(request, commits[-1])
    return commits[0] if commits else None


def era(reader: Reader, txn_id: str, actor: str, head: int) -> int:
    """Return the commit that last erased an envelope, as of the txn_id's own commit.

    A txn_id that was erased and is used again names another transaction, which needs other ids. So
    the era is part of derived ids. A retry gets the ids of its first attempt, whatever was erased
    since.
    """
    commit_ts = commit_of(reader, txn_id, actor)
    if commit_ts is not None:
        if not _stored_fingerprint(_load_event(reader, commit_ts)):
            return 0  # its ids were derived without an era
        head = commit_ts
    row = reader.row("envelope_erasure", through=head)
    return 0 if row is None else int(row[0])


def _check_fingerprint(
    reader: Reader, views: Views, request: Request, event: SealedEvent, fingerprint: bytes
) -> None:
    """Raise unless a request is the one an event was made from, as far as that is known."""
    erases = request.erases
    if fingerprint:
        differs = fingerprint != fingerprint_of(request.staged)
        if differs or not _Residues(reader, event).allows(request.staged):
            raise _mismatch(request, event.commit_ts)
    elif erases is None or not _is_erasure_of(erases, event):
        raise _not_comparable(request, event.commit_ts)
    if erases is None or erases.target.kind == SWEEP:
        return
    is_same_target = fingerprint and erases.target.identity is not None
    if not is_same_target and would_erase(reader, views, erases):
        raise _not_comparable(request, event.commit_ts)


class _Residues:
    """The residues of a transaction, and the scopes they may have been in."""

    def __init__(self, reader: Reader, event: SealedEvent) -> None:
        self._reader = reader
        operations = codec.decode_operations(event.operations)
        self._operations = [
            operation for operation in operations if operation.namespace not in ENGINE_NAMESPACES
        ]

    def allows(self, staged: Sequence[msgspec.Struct]) -> bool:
        """Return whether these can be the residues of the requests.

        A request that changes nothing leaves no operation. So only requests that always leave one
        are searched for, and the namespace of a single request if there is any operation.
        """
        for request in staged:
            scope: Scope | None = getattr(request, "scope", None)
            if scope is None:
                continue
            if getattr(type(request), "stays_in_scope", False):
                if not any(self._fits(scope, operation) for operation in self._operations):
                    return False
            elif len(staged) == 1 and self._operations:
                return any(
                    self._is_in(scope.namespace, operation) for operation in self._operations
                )
        return True

    def _fits(self, scope: Scope, operation: AnyOperation) -> bool:
        if not self._is_in(scope.namespace, operation):
            return False
        if not _is_pseudonym(operation.agent_id):
            return scope.agent_id == operation.agent_id
        through = _erasing_commit(operation)
        rows = self._reader.rows(
            "scopes_with_events", agent_id=scope.agent_id, after=0, through=through
        )
        return not rows

    def _is_in(self, namespace: str, operation: AnyOperation) -> bool:
        """Return whether an operation may have been in a namespace.

        An erased name has no commits under it any more.
        """
        if not _is_pseudonym(operation.namespace):
            return namespace == operation.namespace
        through = _erasing_commit(operation)
        row = self._reader.row(
            "namespace_touched", namespace=namespace, agent_id=None, after=0, through=through
        )
        return row is None


def _is_pseudonym(name: str) -> bool:
    return name.startswith(PSEUDONYM_PREFIX)


def _erasing_commit(operation: AnyOperation) -> int:
    """Return the commit after which an erased name may have been used again."""
    return operation.erasure if isinstance(operation, ErasedOperation) else 0


def _is_erasure_of(erases: Forget, event: SealedEvent) -> bool:
    """Return whether an event erased a target of the same kind."""
    return any(
        isinstance(operation, Erase) and operation.target == erases.target.kind
        for operation in codec.decode_effective(event.operations)
    )


def _is_farewell(event: SealedEvent, actor: str) -> bool:
    return any(
        isinstance(operation, Erase)
        and operation.target == AGENT
        and actor == operation.by == operation.pseudonym
        for operation in codec.decode_effective(event.operations)
    )


def _stored_fingerprint(event: SealedEvent) -> bytes:
    """Return the fingerprint of an event's request; empty if the event has none."""
    envelope = codec.decode_envelope(event.envelope)
    return envelope.request_hash[HASH_SIZE if envelope.txn_id else TOKEN_SIZE :]


def _load_event(reader: Reader, commit_ts: int) -> SealedEvent:
    (event,) = pages.events_of(reader, [commit_ts])
    return event


def _mismatch(request: Request, commit_ts: int) -> IdempotencyMismatch:
    return IdempotencyMismatch(
        f"txn_id {request.txn_id!r} was committed as {commit_ts} with other operations: if this is "
        "a retry, its work is done; if it is something else, use a new txn_id",
        commit_ts=commit_ts,
    )


def _not_comparable(request: Request, commit_ts: int) -> IdempotencyMismatch:
    return IdempotencyMismatch(
        f"txn_id {request.txn_id!r} was committed as {commit_ts}, and as something was erased "
        "since, that request can no longer be compared with this one: if this is a retry, its work "
        "is done; if it is something else, use a new txn_id",
        commit_ts=commit_ts,
    )
