"""Whether agents' signatures hold: each is of its transaction, by a key trusted for its actor then.

What is trusted is learnt from the log itself, not from the table of keys beside it. A key counts
from the transaction that trusts it up to the one that retires it, both included: an agent can say
itself that its key is no longer one. What is claimed and does not hold is refused, never skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.audit import ed25519
from memoranda.errors import Corruption, NotProven
from memoranda.log import chain, signing
from memoranda.log.lineage import Lineage
from memoranda.log.salting import is_second
from memoranda.log.signing import Attestation, Within
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.operations import AnyOperation, RetireKey, TrustKey, standing
from memoranda.storage.port import Reader


class Attestations:
    """Takes the events of a log in order that say something of keys, or are signed."""

    def __init__(self, log_id: str) -> None:
        self._lineage = Lineage(log_id)
        self.signed = 0
        """How many events an agent has signed."""
        self._keys: dict[tuple[str, bytes], str | None] = {}
        """For whom each key is, by its name and itself; the log's own are for nobody."""
        self._retired: dict[tuple[str, bytes], int] = {}
        """When each key was retired, which is for good."""

    def take(
        self,
        reader: Reader,
        event: SealedEvent,
        envelope: Envelope,
        operations: Sequence[AnyOperation],
    ) -> None:
        """Take the next event, whose chain holds, or raise `NotProven`."""
        retired: list[tuple[str, bytes]] = []
        for operation in map(standing, operations):
            if isinstance(operation, TrustKey):
                self._trust(operation)
            elif isinstance(operation, RetireKey):
                retired.append((operation.name, operation.public_key))
        if envelope.signature is not None:
            self._check(reader, event, envelope, operations)
        for key in retired:
            self._keys.pop(key, None)
            self._retired.setdefault(key, event.commit_ts)

    def _trust(self, said: TrustKey) -> None:
        if (key := (said.name, said.public_key)) not in self._retired:
            self._keys.setdefault(key, said.agent)

    def _check(
        self,
        reader: Reader,
        event: SealedEvent,
        envelope: Envelope,
        operations: Sequence[AnyOperation],
    ) -> None:
        commit_ts = event.commit_ts
        try:
            found = Attestation.of(envelope)
        except Corruption as error:
            raise _not_proven(commit_ts, envelope, str(error)) from error
        assert found is not None, "it has something where a signature stands"
        self._check_key(commit_ts, envelope, found.key)
        place = (commit_ts, event.committed_at)
        leaves = chain.operation_leaves(event)
        within = None
        if found.form == signing.SECOND_FORM:
            within = Within(*self._lineage.origin(reader, commit_ts))
        elif is_second(event.salts):
            raise _not_proven(commit_ts, envelope, "its signature has a form older than the event")
        message = signing.message(envelope, place, operations, leaves, within)
        if not ed25519.verify(found.key, message, found.signature):
            raise _not_proven(commit_ts, envelope, "its signature is not of what stands there")
        self.signed += 1

    def _check_key(self, commit_ts: int, envelope: Envelope, key: bytes) -> None:
        owners = [agent for (_, known), agent in self._keys.items() if known == key]
        if envelope.actor in owners:
            return
        retired = [commit for (_, known), commit in self._retired.items() if known == key]
        if owners:
            problem = "it is signed with a key that is not for this agent"
        elif retired:
            problem = f"it is signed with a key that was retired at commit {retired[0]}"
        else:
            problem = "it is signed with a key that the log does not know"
        raise _not_proven(commit_ts, envelope, f"{problem} ({key.hex()})")


def _not_proven(commit_ts: int, envelope: Envelope, problem: str) -> NotProven:
    return NotProven(
        f"commit {commit_ts} is not proven to be agent {envelope.actor!r}'s: {problem}. Do not "
        "rely on it; compare the log with a backup, or with a checkpoint from elsewhere",
        commit_ts=commit_ts,
    )
