"""Proofs that are handed to outsiders: JSON that says everything but whom to trust.

Each carries the signed checkpoints it is about, so a proof and a public key from elsewhere are all
that `memoranda_verify` needs. A shape's fields are fixed by its version: a new field is a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

VERSION = 1


class InclusionProof(msgspec.Struct, frozen=True, kw_only=True):
    """That the event of a commit, known by its hash, is in the log a checkpoint is of."""

    commit_ts: int
    event_hash: bytes
    path: Sequence[bytes]
    checkpoint: str

    def json(self) -> str:
        """Return the proof as it is handed on."""
        return _text(
            type="recollect.inclusion-proof",
            version=VERSION,
            commit_ts=self.commit_ts,
            event_hash=self.event_hash.hex(),
            path=[each.hex() for each in self.path],
            checkpoint=self.checkpoint,
        )


class ConsistencyProof(msgspec.Struct, frozen=True, kw_only=True):
    """That the log of a checkpoint begins with the whole log of an older one."""

    old_checkpoint: str
    new_checkpoint: str
    path: Sequence[bytes]

    def json(self) -> str:
        """Return the proof as it is handed on."""
        return _text(
            type="recollect.consistency-proof",
            version=VERSION,
            old_checkpoint=self.old_checkpoint,
            new_checkpoint=self.new_checkpoint,
            path=[each.hex() for each in self.path],
        )


def _text(**fields: object) -> str:
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"
