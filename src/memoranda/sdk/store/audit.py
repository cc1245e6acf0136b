"""The store's calls about audit events, checkpoints, proofs, keys and exporting the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.events import AuditEvent
from memoranda.audit.keys import PublicKey
from memoranda.audit.log_file.exporter import ExportedLog
from memoranda.audit.proofs import CheckpointRef, ConsistencyProof, InclusionProof
from memoranda.audit.signers import Signer
from memoranda.audit.trusted_keys import TrustedKey
from memoranda.calls.arguments import plain_items
from memoranda.calls.audit import AuditEvents, Checkpoints, Prove, ProveGrowth, TrustedKeys
from memoranda.calls.copies import ExportLog, Sink
from memoranda.calls.trust import Checkpoint, RetireKey, RotateKey, TrustKey
from memoranda.log.read.as_of import check_commit, plain_commit
from memoranda.model.limits import check_callable
from memoranda.model.receipt import HasCommit, Receipt
from memoranda.model.scope import ALL_AGENTS, AllAgents
from memoranda.sdk.calls import listed
from memoranda.sdk.signers import SignerOrPath, as_signer, public_key
from memoranda.sdk.store.handle import Handle
from memoranda.storage.port import Progress
from memoranda.storage.store_url import Url

# Audit events.


class AuditCalls(Handle):
    """Listing what was done, by whom."""

    def audit_events(
        self,
        *,
        event_type: str | Iterable[str] | None = None,
        agent_id: str | AllAgents | None = None,
        after_commit: int | str = 0,
    ) -> Iterator[AuditEvent]:
        """Yield the audit events in commit order, up to the current end of the log.

        `event_type` is one type or several; `link.*` selects all types with this prefix. `agent_id`
        selects what one agent did or was refused; the default is all agents. An event has a salted
        hash in place of content. `after_commit` takes an event's `token` or a commit number.
        """
        agent = None if agent_id is ALL_AGENTS else agent_id
        after = plain_commit("after_commit", after_commit)
        return listed(self._calls, AuditEvents(plain_items(event_type), agent, after))


# Checkpoints, proofs and trusted keys.


class CheckpointCalls(Handle):
    """Signing checkpoints, making proofs, and managing trusted keys."""

    def checkpoint(self, *, signer: SignerOrPath | None = None) -> SignedCheckpoint:
        """Sign how long the log is and its root, and return it; its `note` is for others to keep.

        Only what is durable is signed, and only what goes on from what the signer has signed of
        this log before. Without a signer, it is the one the store was opened with. The first one
        is trusted by the log with this call.
        """
        if signer is None:
            return self._calls.ask(Checkpoint())
        return self._calls.sign_checkpoint(as_signer(signer), self._defaults.actor)

    def checkpoints(self) -> Iterator[SignedCheckpoint]:
        """Yield every stored checkpoint, the smallest first."""
        return listed(self._calls, Checkpoints())

    def prove(
        self, commit_ts: int | HasCommit, *, checkpoint: CheckpointRef | None = None
    ) -> InclusionProof:
        """Prove that a commit is in the log: `json()` is for others who have the log's public key.

        It is proven for a checkpoint, given by its size or as its note; without one, for the last.
        """
        number = commit_ts if isinstance(commit_ts, int) else check_commit("commit_ts", commit_ts)
        return self._calls.ask(Prove(number, _plain_checkpoint(checkpoint)))

    def prove_growth(
        self, old: CheckpointRef, new: CheckpointRef | None = None
    ) -> ConsistencyProof:
        """Prove that the log only grew from one checkpoint to another, by default to the last."""
        return self._calls.ask(ProveGrowth(_plain_checkpoint(old), _plain_checkpoint(new)))

    def trusted_keys(self) -> list[TrustedKey]:
        """Return every key that the log trusts or trusted, with its range of commits."""
        return self._calls.ask(TrustedKeys())

    def trust_key(self, key: PublicKey | Signer | str, *, agent_id: str | None = None) -> Receipt:
        """Trust a key to sign for the log, or for an agent."""
        return self._write(TrustKey(public_key("key", key).text, agent_id))

    def retire_key(self, key: PublicKey | Signer | str, *, reason: str | None = None) -> Receipt:
        """Retire a key for good: later signatures by it are invalid."""
        return self._write(RetireKey(public_key("key", key).text, reason))

    def rotate_key(
        self,
        *,
        old: PublicKey | Signer | str,
        new: PublicKey | Signer | str,
        reason: str | None = None,
    ) -> Receipt:
        """Replace a trusted key by another for the same agent or log."""
        keys = public_key("old", old).text, public_key("new", new).text
        return self._write(RotateKey(*keys, reason))


def _plain_checkpoint(checkpoint: CheckpointRef | None) -> Any:
    """Return a checkpoint as plain data: its size or its note."""
    return checkpoint.note if isinstance(checkpoint, SignedCheckpoint) else checkpoint


# The log as a file.


class ExportCalls(Handle):
    """Exporting the log."""

    def export_log(self, path: Url | Sink, *, progress: Progress | None = None) -> ExportedLog:
        """Export the log as of now to a new file, as JSON Lines; others can write meanwhile.

        `path` may also be a file that is open for writing bytes. `memoranda.import_log` creates a
        store from it; `memoranda-verify log` checks it without Memoranda.
        """
        check_callable("progress", progress)
        return self._calls.ask(ExportLog(path), progress)
