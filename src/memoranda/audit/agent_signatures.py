"""Verification of agents' signatures on their transactions.

A signature is valid if it signs exactly this transaction and its key was trusted for the actor at
that commit. Trust is read from the log's own `TrustKey` and `RetireKey` operations, not from the
`public_key` table, which is only a view. A key counts from the commit that trusts it through the
commit that retires it, both included, so an agent can sign the retirement of its own key. An
invalid signature raises; it is never skipped.

A signature of a request alone does not cover the place of its event, so an event could be repeated
under it. Its txn_id is therefore looked up: the table has one commit for each, so of two events at
most one is that commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.audit import keys
from memoranda.errors import Corruption, NotProven
from memoranda.log import chain
from memoranda.log.commit import request_signature, transaction_signature
from memoranda.log.commit.request_signature import THIRD_FORM
from memoranda.log.commit.transaction_signature import AgentSignature, SigningContext
from memoranda.log.field_commitments import is_version_2
from memoranda.log.lineage import Lineage
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.operations import AnyOperation, RetireKey, TrustKey, effective_operation
from memoranda.storage.port import Reader


class AgentSignatureVerifier:
    """Checks signatures over the events of a log, given in commit order.

    The caller may leave out events that are neither signed nor contain key operations.
    """

    def __init__(self, log_id: str) -> None:
        self._lineage = Lineage(log_id)
        self.signed_count = 0
        """The number of events with a valid agent signature."""
        self.request_signed_count = 0
        """The number of those whose signature covers the request alone."""
        self._keys: dict[tuple[str, bytes], str | None] = {}
        """(name, public key) → the agent it signs for; None for a key that signs checkpoints."""
        self._retired: dict[tuple[str, bytes], int] = {}
        """(name, public key) → the commit that retired it. Retirement is permanent."""

    def check_event(
        self,
        reader: Reader,
        event: SealedEvent,
        envelope: Envelope,
        operations: Sequence[AnyOperation],
    ) -> None:
        """Check the next event's signature, or raise `NotProven`. Its hash was checked before."""
        retired: list[tuple[str, bytes]] = []
        for operation in map(effective_operation, operations):
            if isinstance(operation, TrustKey):
                self._trust(operation)
            elif isinstance(operation, RetireKey):
                retired.append((operation.name, operation.public_key))
        if envelope.signature is not None:
            self._check_signature(reader, event, envelope, operations)
        for key in retired:  # after the check: the retiring transaction may use the key itself
            self._keys.pop(key, None)
            self._retired.setdefault(key, event.commit_ts)

    def _trust(self, operation: TrustKey) -> None:
        if (key := (operation.name, operation.public_key)) not in self._retired:
            self._keys.setdefault(key, operation.agent)

    def _check_signature(
        self,
        reader: Reader,
        event: SealedEvent,
        envelope: Envelope,
        operations: Sequence[AnyOperation],
    ) -> None:
        commit_ts = event.commit_ts
        try:
            attestation = AgentSignature.of(envelope)
        except Corruption as error:
            raise _not_proven(commit_ts, envelope, str(error)) from error
        assert attestation is not None, "check_event passes signed envelopes only"
        self._check_key(commit_ts, envelope, attestation.key)
        if attestation.form == THIRD_FORM:
            message = self._request_message(reader, event, envelope, attestation.digest)
            self.request_signed_count += 1
        else:
            message = self._commit_message(reader, event, envelope, operations, attestation.form)
        if not keys.verify(attestation.key, message, attestation.signature):
            raise _not_proven(commit_ts, envelope, "its signature does not match its content")
        self.signed_count += 1

    def _commit_message(
        self,
        reader: Reader,
        event: SealedEvent,
        envelope: Envelope,
        operations: Sequence[AnyOperation],
        form: bytes,
    ) -> bytes:
        """Return what the agent signed, if its signature covers what was decided."""
        commit_ts, context = event.commit_ts, None
        if form == transaction_signature.SECOND_FORM:
            context = SigningContext(*self._lineage.origin(reader, commit_ts))
        elif is_version_2(event.salts):
            raise _not_proven(commit_ts, envelope, "its signature has a form older than the event")
        position, leaves = (commit_ts, event.committed_at), chain.operation_leaves(event)
        return transaction_signature.message(envelope, position, operations, leaves, context)

    def _request_message(
        self, reader: Reader, event: SealedEvent, envelope: Envelope, digest: bytes
    ) -> bytes:
        """Return what the agent signed, if its signature covers the request alone."""
        commit_ts, txn_id, actor = event.commit_ts, envelope.txn_id, envelope.actor
        row = reader.row("txn_find", txn_id=txn_id, actor=actor)
        if row != (commit_ts,):
            stored = "none" if row is None else row[0]
            raise _not_proven(
                commit_ts,
                envelope,
                f"it is signed as the request of txn_id {txn_id!r}, whose commit is {stored}",
            )
        log_id, _ = self._lineage.origin(reader, commit_ts)
        return request_signature.message(log_id, txn_id, actor, digest)

    def _check_key(self, commit_ts: int, envelope: Envelope, key: bytes) -> None:
        owners = [agent for (_, trusted_key), agent in self._keys.items() if trusted_key == key]
        if envelope.actor in owners:
            return
        retired = [
            commit for (_, trusted_key), commit in self._retired.items() if trusted_key == key
        ]
        if owners:
            problem = "it is signed with a key of another agent"
        elif retired:
            problem = f"it is signed with a key that was retired at commit {retired[0]}"
        else:
            problem = "it is signed with a key that the log does not know"
        raise _not_proven(commit_ts, envelope, f"{problem} ({key.hex()})")


def _not_proven(commit_ts: int, envelope: Envelope, problem: str) -> NotProven:
    return NotProven(
        f"commit {commit_ts} is not proven to be agent {envelope.actor!r}'s: {problem}. Do not "
        "rely on it; compare the log with a backup, or with a checkpoint kept elsewhere",
        commit_ts=commit_ts,
    )
