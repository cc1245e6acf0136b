"""What a store proves to others: checkpoints, proofs, and the keys it trusts."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memoranda.audit import trust
from memoranda.audit.keys import PublicKey
from memoranda.audit.proofs import ConsistencyProof, InclusionProof
from memoranda.audit.proving import Prover, Which
from memoranda.audit.signers import Signer
from memoranda.audit.stored import Listing, SignedCheckpoint
from memoranda.audit.trust import RetireRequest, TrustedKey, TrustRequest
from memoranda.log.transaction import Request
from memoranda.model.limits import check_text
from memoranda.sdk.calls import paged
from memoranda.sdk.core import TIMEOUT
from memoranda.sdk.handle import Handle
from memoranda.sdk.signing import chosen_signer, log_signer, public_key

SignerLike = Signer | str | os.PathLike[str]


class CheckpointCalls(Handle):
    """Signing the log as it is, proving things about it, and saying whose signature counts."""

    def checkpoint(self, *, signer: SignerLike | None = None) -> SignedCheckpoint:
        """Sign how long the log is and its root, and return it; its `note` is for others to keep.

        Only what is durable is signed, and only what goes on from what the signer has signed of
        this log before. Without a signer, it is the one the store was opened with. The first one
        is trusted by the log with this call.
        """
        chosen = chosen_signer(self._core, signer)
        return self._calls.run(log_signer(self._core, chosen, self._defaults.actor).sign)

    def checkpoints(self) -> Iterator[SignedCheckpoint]:
        """Yield every checkpoint that the store keeps, the shortest first."""
        return paged(self._calls, Listing(self._core.engine))

    def prove(self, commit_ts: int, *, checkpoint: Which | None = None) -> InclusionProof:
        """Prove that a commit is in the log: `json()` is for whoever holds the log's key.

        It is proven for a checkpoint, given by its size or as its note; without one, for the last.
        """
        prover = Prover(self._core.engine, self._core.log_id)
        return self._calls.run(prover.inclusion, commit_ts, checkpoint)

    def prove_growth(self, old: Which, new: Which | None = None) -> ConsistencyProof:
        """Prove that the log only grew from one checkpoint to another, by default to the last."""
        prover = Prover(self._core.engine, self._core.log_id)
        return self._calls.run(prover.growth, old, new)

    def trusted_keys(self) -> list[TrustedKey]:
        """Return every key that the log trusts or did, and for which commits."""
        return self._calls.run(self._known_keys)

    def trust_key(self, key: PublicKey | Signer | str, *, agent_id: str | None = None) -> int:
        """Let a key sign for the log from here on, or for an agent; returns the commit."""
        given = public_key("key", key)
        agent = None if agent_id is None else self._scope(agent_id, None).agent_id
        staged = TrustRequest(given.name, given.key, agent)
        return self._calls.commit(self._core.committer, self._about_keys(staged))

    def retire_key(self, key: PublicKey | Signer | str, *, reason: str | None = None) -> int:
        """Let a key sign nothing any more, for good; returns the commit."""
        staged = self._retirement(key, reason)
        return self._calls.commit(self._core.committer, self._about_keys(staged))

    def rotate_key(
        self,
        *,
        old: PublicKey | Signer | str,
        new: PublicKey | Signer | str,
        reason: str | None = None,
    ) -> int:
        """Let one key sign in the place of another, for whom that signed; returns the commit."""
        given, retired = public_key("new", new), self._retirement(old, reason)
        whose = self._calls.run(self._agent_of, retired.name, retired.public_key)
        request = self._about_keys(retired, TrustRequest(given.name, given.key, whose))
        return self._calls.commit(self._core.committer, request)

    def _retirement(self, key: PublicKey | Signer | str, reason: str | None) -> RetireRequest:
        given = public_key("key", key)
        told = None
        if reason is not None:
            told = check_text("reason", reason, most_bytes=self._core.limits.note_bytes)
        return RetireRequest(given.name, given.key, told)

    def _about_keys(self, *staged: TrustRequest | RetireRequest) -> Request:
        by = self._defaults
        draft = self._core.draft(by.actor, TIMEOUT, None, by.signing)
        draft.stage(*staged)
        return draft.request()

    def _agent_of(self, name: str, key: bytes) -> str | None:
        """Return whom a key signs for; the log, or nobody yet: None."""
        with self._core.engine.reading() as reader:
            row = reader.row("public_key_find", name=name, public_key=key)
        return None if row is None else row[0]

    def _known_keys(self) -> list[TrustedKey]:
        with self._core.engine.reading() as reader:
            return trust.known(reader)
