"""Making proofs: from a store's tree and its checkpoints, checked before they are handed out."""

from __future__ import annotations

from memoranda.audit import merkle, stored, tree, trust
from memoranda.audit.checkpoints import Checkpoint
from memoranda.audit.merkle import Tree
from memoranda.audit.proofs import ConsistencyProof, InclusionProof
from memoranda.audit.stored import SignedCheckpoint
from memoranda.errors import Corruption, InvalidInput, NotFound, NotProven
from memoranda.log import pages
from memoranda.model.limits import shown
from memoranda.storage.port import Engine, Reader

Which = int | str | SignedCheckpoint
"""A checkpoint: its size, if the store has one of it, or its note."""


class Prover:
    """Proves things about one log to those who hold its checkpoints."""

    def __init__(self, engine: Engine, log_id: str) -> None:
        self._engine = engine
        self._origin = stored.origin_of(log_id)

    def inclusion(self, commit_ts: int, checkpoint: Which | None) -> InclusionProof:
        """Prove that the event of a commit is in the log that a checkpoint is of."""
        _check_number("commit_ts", commit_ts, least=1)
        self._fill()
        with self._engine.snapshot() as reader:
            row = reader.row("event_hash", commit_ts=commit_ts)
            if row is None:
                raise NotFound(f"there is no commit {commit_ts}")
            which = self._covering(reader, commit_ts) if checkpoint is None else checkpoint
            note, signed = self._checkpoint(reader, "checkpoint", which)
            if commit_ts > signed.size:
                raise InvalidInput(
                    "checkpoint", f"is of {signed.size} commits, and {commit_ts} is behind them"
                )
            kept = self._fitting(reader, signed)
            path = kept.inclusion_proof(commit_ts - 1, signed.size)
        proven = merkle.verify_inclusion(
            data=row[0], index=commit_ts - 1, size=signed.size, path=path, root=signed.root
        )
        if not proven:
            raise _damaged(f"lead from commit {commit_ts} to the root")
        return InclusionProof(commit_ts=commit_ts, event_hash=row[0], path=path, checkpoint=note)

    def growth(self, old: Which, new: Which | None) -> ConsistencyProof:
        """Prove that the log of one checkpoint begins with the whole log of another."""
        self._fill()
        with self._engine.snapshot() as reader:
            old_note, before = self._checkpoint(reader, "old", old)
            which = self._covering(reader, before.size) if new is None else new
            new_note, after = self._checkpoint(reader, "new", which)
            if before.size > after.size:
                raise InvalidInput(
                    "new", f"is of {after.size} commits, fewer than the {before.size} of the old"
                )
            self._fitting(reader, before)
            path = self._fitting(reader, after).consistency_proof(before.size, after.size)
        proven = merkle.verify_consistency(
            old=before.size,
            new=after.size,
            old_root=before.root,
            new_root=after.root,
            path=path,
        )
        if not proven:
            raise _damaged(f"lead from {before.size} commits to {after.size}")
        return ConsistencyProof(old_checkpoint=old_note, new_checkpoint=new_note, path=path)

    def _fill(self) -> None:
        with self._engine.reading() as reader:
            head = pages.head_commit(reader)
        tree.grow(self._engine, head)

    def _covering(self, reader: Reader, size: int) -> int:
        row = reader.row("checkpoint_covering", size=size)
        if row is None or row[0] is None:
            raise NotFound(
                f"no checkpoint covers commit {size} yet: sign one with `memoranda checkpoint`"
            )
        return int(row[0])

    def _checkpoint(self, reader: Reader, field: str, which: Which) -> tuple[str, Checkpoint]:
        """Return a checkpoint that a key of the log signed, and its note."""
        note = self._kept(reader, field, which) if isinstance(which, int) else _note(field, which)
        return note, stored.checked(note, trust.of_the_log(reader), self._origin)

    def _kept(self, reader: Reader, field: str, size: int) -> str:
        _check_number(field, size, least=0)
        found = stored.of_size(reader, size, self._origin)
        if found is None:
            raise NotFound(
                f"there is no checkpoint of {size} commits: `memoranda checkpoints` lists them"
            )
        return found

    def _fitting(self, reader: Reader, signed: Checkpoint) -> Tree:
        """Return the tree, if it has the root that was signed."""
        kept = tree.at(reader)
        if signed.size > kept.size:
            raise NotProven(
                f"the checkpoint is of {signed.size} commits, and the log has {kept.size}: "
                "it was truncated"
            )
        if kept.root(signed.size) != signed.root:
            raise NotProven(
                f"the first {signed.size} commits are not those that were signed, or the tree over "
                "them is damaged: `memoranda verify` tells which"
            )
        return kept


def _note(field: str, which: object) -> str:
    if isinstance(which, SignedCheckpoint):
        return which.note
    if isinstance(which, str):
        return which
    raise InvalidInput(field, f"{shown(which)} is neither a size nor a checkpoint")


def _check_number(field: str, value: object, *, least: int) -> None:
    if type(value) is not int or not least <= value <= merkle.MOST_LEAVES:
        raise InvalidInput(field, f"{shown(value)} is not a number of commits from {least} on")


def _damaged(what: str) -> Corruption:
    return Corruption(f"the tree's nodes do not {what}: `memoranda rebuild` makes the tree anew")
