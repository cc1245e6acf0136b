"""Inclusion and consistency proofs: their JSON form, and the prover.

A proof contains its signed checkpoints, so `memoranda_verify` needs only the proof and a public key
from a trusted source. The version fixes the fields: a new field needs a new version.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memoranda.audit import checkpoints, merkle, merkle_store, trusted_keys
from memoranda.audit.checkpoints import Checkpoint, SignedCheckpoint
from memoranda.audit.merkle import Tree
from memoranda.errors import Corruption, InvalidInput, NotFound, NotProven
from memoranda.log import pages
from memoranda.model.limits import short_repr
from memoranda.storage.port import Engine, Reader

VERSION = 1
"""The version of the form: a new field needs a new version."""
# Proofs keep the project's first name: changing it would make verifiers refuse them.
_INCLUSION, _CONSISTENCY = "recollect.inclusion-proof", "recollect.consistency-proof"


class InclusionProof(msgspec.Struct, frozen=True, kw_only=True):
    """Proves that an event, identified by its hash, is in the log of a checkpoint."""

    commit_ts: int
    event_hash: bytes
    path: Sequence[bytes]
    checkpoint: str

    def json(self) -> str:
        """Return the proof as it is handed on."""
        return to_json_text(
            type=_INCLUSION,
            version=VERSION,
            commit_ts=self.commit_ts,
            event_hash=self.event_hash.hex(),
            path=[digest.hex() for digest in self.path],
            checkpoint=self.checkpoint,
        )


class ConsistencyProof(msgspec.Struct, frozen=True, kw_only=True):
    """Proves that the log of a checkpoint begins with the whole log of an older checkpoint."""

    old_checkpoint: str
    new_checkpoint: str
    path: Sequence[bytes]

    def json(self) -> str:
        """Return the proof as it is handed on."""
        return to_json_text(
            type=_CONSISTENCY,
            version=VERSION,
            old_checkpoint=self.old_checkpoint,
            new_checkpoint=self.new_checkpoint,
            path=[digest.hex() for digest in self.path],
        )


def to_json_text(**fields: object) -> str:
    """Return the fields of a proof as text."""
    return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode() + "\n"


# The prover builds proofs from the stored tree and checkpoints, and verifies them before returning.

CheckpointRef = int | str | SignedCheckpoint
"""A checkpoint: the size of a stored one, or a note."""


class Prover:
    """Builds proofs about one log."""

    def __init__(self, engine: Engine, log_id: str) -> None:
        self._engine = engine
        self._origin = checkpoints.origin_of(log_id)

    def inclusion(self, commit_ts: int, checkpoint: CheckpointRef | None) -> InclusionProof:
        """Prove that the event of a commit is in the log of a checkpoint."""
        _check_number("commit_ts", commit_ts, minimum=1)
        self._fill_tree()
        with self._engine.snapshot() as reader:
            row = reader.row("event_hash", commit_ts=commit_ts)
            if row is None:
                raise NotFound(f"there is no commit {commit_ts}")
            reference = self._covering(reader, commit_ts) if checkpoint is None else checkpoint
            note, signed = self._checkpoint(reader, "checkpoint", reference)
            if commit_ts > signed.size:
                raise InvalidInput(
                    "checkpoint", f"covers {signed.size} commits, and commit {commit_ts} is later"
                )
            tree = self._tree_matching(reader, signed)
            path = tree.inclusion_proof(commit_ts - 1, signed.size)
        proven = merkle.verify_inclusion(
            data=row[0], index=commit_ts - 1, size=signed.size, path=path, root=signed.root
        )
        if not proven:
            raise _damaged(f"connect commit {commit_ts} to the root")
        return InclusionProof(commit_ts=commit_ts, event_hash=row[0], path=path, checkpoint=note)

    def consistency(self, old: CheckpointRef, new: CheckpointRef | None) -> ConsistencyProof:
        """Prove that the log of one checkpoint begins with the whole log of another."""
        self._fill_tree()
        with self._engine.snapshot() as reader:
            old_note, before = self._checkpoint(reader, "old", old)
            reference = self._covering(reader, before.size) if new is None else new
            new_note, after = self._checkpoint(reader, "new", reference)
            if before.size > after.size:
                raise InvalidInput(
                    "new", f"covers {after.size} commits, fewer than the {before.size} of the old"
                )
            self._tree_matching(reader, before)
            path = self._tree_matching(reader, after).consistency_proof(before.size, after.size)
        proven = merkle.verify_consistency(
            old=before.size,
            new=after.size,
            old_root=before.root,
            new_root=after.root,
            path=path,
        )
        if not proven:
            raise _damaged(f"connect the roots of {before.size} and {after.size} commits")
        return ConsistencyProof(old_checkpoint=old_note, new_checkpoint=new_note, path=path)

    def _fill_tree(self) -> None:
        with self._engine.reading() as reader:
            head = pages.head_commit(reader)
        merkle_store.grow(self._engine, head)

    def _covering(self, reader: Reader, size: int) -> int:
        row = reader.row("checkpoint_covering", size=size)
        if row is None or row[0] is None:
            raise NotFound(
                f"no checkpoint covers commit {size} yet: sign one with `memoranda checkpoint`"
            )
        return int(row[0])

    def _checkpoint(
        self, reader: Reader, field: str, reference: CheckpointRef
    ) -> tuple[str, Checkpoint]:
        """Return the note and the checkpoint, verified with the log's keys."""
        note = (
            self._stored_note(reader, field, reference)
            if isinstance(reference, int)
            else _note(field, reference)
        )
        return note, checkpoints.verify_for_log(note, trusted_keys.log_keys(reader), self._origin)

    def _stored_note(self, reader: Reader, field: str, size: int) -> str:
        _check_number(field, size, minimum=0)
        note = checkpoints.note_of_size(reader, size, self._origin)
        if note is None:
            raise NotFound(
                f"there is no checkpoint of {size} commits: `memoranda checkpoints` lists them"
            )
        return note

    def _tree_matching(self, reader: Reader, signed: Checkpoint) -> Tree:
        """Return the stored tree if it has the signed root, or raise `NotProven`."""
        tree = merkle_store.load_tree(reader)
        if signed.size > tree.size:
            raise NotProven(
                f"the checkpoint covers {signed.size} commits, and the log has {tree.size}: "
                "it was truncated"
            )
        if tree.root(signed.size) != signed.root:
            raise NotProven(
                f"the first {signed.size} commits are not those that were signed, or the tree over "
                "them is damaged: run `memoranda verify` to find out which"
            )
        return tree


def _note(field: str, reference: object) -> str:
    if isinstance(reference, SignedCheckpoint):
        return reference.note
    if isinstance(reference, str):
        return reference
    raise InvalidInput(field, f"{short_repr(reference)} is neither a size nor a checkpoint")


def _check_number(field: str, value: object, *, minimum: int) -> None:
    if type(value) is not int or not minimum <= value <= merkle.MAX_LEAVES:
        raise InvalidInput(
            field, f"{short_repr(value)} is not a number of commits from {minimum} on"
        )


def _damaged(problem: str) -> Corruption:
    return Corruption(f"the tree's nodes do not {problem}: run `memoranda rebuild` to rebuild it")
