"""Comparison of a log with its signed checkpoints, during the verification of the chain.

It computes the Merkle tree from the events and reads the keys from the log's operations, so it
trusts no table beside the log: not the stored nodes, not the table of keys, not the checkpoints.
A checkpoint with an invalid signature raises; it is never skipped. The signature of a note is
verified by `checkpoints.verify`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memoranda.audit import checkpoints, merkle_store, trusted_keys
from memoranda.audit.keys import PublicKey
from memoranda.audit.merkle import Frontier
from memoranda.errors import ChainBroken, Corruption, NotProven
from memoranda.log import pages
from memoranda.model import codec
from memoranda.model.event import SealedEvent
from memoranda.model.operations import ENGINE_SCOPE, RetireKey, TrustKey
from memoranda.storage.port import Engine

_ENGINE_NAMESPACE = msgspec.msgpack.encode(ENGINE_SCOPE.namespace)
"""The encoded namespace of key operations: an event without these bytes need not be decoded."""


class Claim(msgspec.Struct, frozen=True):
    """A note that claims the log's root at a size."""

    size: int
    note: str
    is_stored: bool
    """Whether the note comes from the store; otherwise the caller passed it."""

    @property
    def label(self) -> str:
        """The checkpoint as error messages name it."""
        return f"{'the' if self.is_stored else 'your'} checkpoint of {self.size} commits"


class CheckpointVerifier:
    """Checks every checkpoint of a log against its events, given in commit order."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        *,
        checkpoint: str | None = None,
        keys: Sequence[PublicKey] | None = None,
    ) -> None:
        self._engine = engine
        self._origin = checkpoints.origin_of(log_id)
        self._external_keys = None if keys is None else [*keys]
        self._keys: dict[tuple[str, bytes], PublicKey] = {}
        self._frontier = Frontier()
        self._pending_leaves: list[bytes] = []
        """Leaves not appended to the frontier yet: appending blocks is faster."""
        self._tree_error: Corruption | None = None
        self._matching_commits = 0
        """The last commit below a stored node that matches the log."""
        self.last_valid_size: int | None = None
        """The size of the last checkpoint found valid so far."""
        self._tree_size = self._read_tree_size()
        self._claims = _collect_claims(engine, checkpoint)
        self.external_size = next(
            (claim.size for claim in self._claims if not claim.is_stored), None
        )
        """The size of the checkpoint that the caller passed, if any."""
        self._checked_claims = 0
        self.idle = not self._claims and not self._tree_size
        """Whether there is neither a checkpoint nor a stored tree to compare with."""
        self._check_claims()

    def add_events(self, events: Sequence[SealedEvent]) -> None:
        """Add the next events, whose hashes were checked before."""
        if self.idle:
            return
        for event in events:
            if _ENGINE_NAMESPACE in event.operations:
                self._apply_key_operations(event)
            self._pending_leaves.append(event.hash)
            if event.commit_ts == self._next_claim_size():
                self._extend_tree()
                self._check_claims()
        self._extend_tree()

    def finish(self) -> int:
        """Return the number of valid checkpoints at the log's end; raise if one does not match."""
        for claim in self._claims[self._checked_claims :]:
            self._signed_root(claim)
            raise ChainBroken(
                self._frontier.size + 1,
                f"it is missing: {claim.label} is signed, so the log was truncated",
                last_checkpoint=self.last_valid_size,
            )
        if self._tree_error is not None:
            raise self._tree_error
        return len({claim.note for claim in self._claims})

    def with_last_checkpoint(self, error: ChainBroken) -> ChainBroken:
        """Return a chain error with the last valid checkpoint before it, or an earlier error."""
        if not self._claims:
            return error
        try:
            self._add_events_through(error.commit_ts - 1)
        except ChainBroken as sooner:
            return sooner
        except NotProven:  # the chain error is certain, whatever the checkpoints say
            return error
        return ChainBroken(
            error.commit_ts, error.problem, last_checkpoint=self.last_valid_size or 0
        )

    def _add_events_through(self, commit_ts: int) -> None:
        """Add the valid events that were read in one page with a bad one."""
        with self._engine.reading() as reader:
            events = pages.page(reader, after=self._frontier.size, through=commit_ts)
        self.add_events(events)

    def _read_tree_size(self) -> int:
        with self._engine.snapshot() as reader:
            (rows,) = reader.row("tree_node_count") or (0,)
            try:
                filled = merkle_store.size(reader)
            except Corruption as error:
                self._tree_error = error
                return 0
        if rows > merkle_store.expected_rows(filled):
            self._tree_error = Corruption(
                f"the tree has {rows} nodes, too many for its {filled} events: "
                "run `memoranda rebuild` to rebuild it"
            )
        return filled

    def _next_claim_size(self) -> int | None:
        return (
            self._claims[self._checked_claims].size
            if self._checked_claims < len(self._claims)
            else None
        )

    def _apply_key_operations(self, event: SealedEvent) -> None:
        for operation in codec.decode_operations(event.operations):
            if isinstance(operation, TrustKey) and operation.agent is None:
                key = trusted_keys.key_with_validity(
                    operation.name, operation.public_key, event.commit_ts
                )
                self._keys[key.name, key.key] = key
            elif isinstance(operation, RetireKey):
                trusted = self._keys.get((operation.name, operation.public_key))
                if trusted is not None:
                    self._keys[trusted.name, trusted.key] = trusted_keys.key_with_validity(
                        trusted.name, trusted.key, trusted.valid_from_commit, event.commit_ts
                    )

    def _extend_tree(self) -> None:
        """Append the pending leaves, and compare the completed nodes with the stored ones."""
        completed = merkle_store.extend(self._frontier, self._pending_leaves)
        self._pending_leaves.clear()
        nodes = [node for node in completed if (node.index + 1) << node.level <= self._tree_size]
        for level in sorted({node.level for node in nodes}):
            computed_hashes = {node.index: node.hash for node in nodes if node.level == level}
            with self._engine.reading() as reader:
                rows = reader.rows(
                    "tree_nodes",
                    level=level,
                    first=min(computed_hashes),
                    end=max(computed_hashes) + 1,
                )
            stored_hashes: dict[int, bytes] = dict(rows)
            for place, digest in computed_hashes.items():
                if self._tree_error is not None:
                    return
                if stored_hashes.get(place) == digest:
                    self._matching_commits = max(self._matching_commits, (place + 1) << level)
                else:
                    problem = "does not match the log" if place in stored_hashes else "is missing"
                    self._tree_error = merkle_store.node_error(level, place, problem)

    def _check_claims(self) -> None:
        """Compare the checkpoints of the present size with the tree."""
        while self._next_claim_size() == self._frontier.size:
            claim = self._claims[self._checked_claims]
            if self._signed_root(claim) != self._frontier.root():
                good = self.last_valid_size or 0
                raise ChainBroken(
                    good + 1,
                    f"here or later, up to commit {claim.size}, history is not the signed one: "
                    f"{claim.label} has another root, so the log was rewritten and re-chained"
                    f"{self._hint()}",
                    last_checkpoint=good,
                )
            self.last_valid_size = claim.size
            self._checked_claims += 1

    def _hint(self) -> str:
        """Name the first bad commit as far as the stored tree, which is unsigned, can tell."""
        if self._tree_error is None or self._matching_commits <= (self.last_valid_size or 0):
            return ""
        return f" (the stored tree matches up to commit {self._matching_commits})"

    def _signed_root(self, claim: Claim) -> bytes:
        """Return the root that a trusted key signed, or raise `NotProven`."""
        keys = [*self._keys.values()] if self._external_keys is None else self._external_keys
        checkpoint = checkpoints.verify_for_log(claim.note, keys, self._origin)
        if checkpoint.size != claim.size:
            raise NotProven(
                f"a checkpoint is stored with size {claim.size}, but its note says "
                f"{checkpoint.size}"
            )
        return checkpoint.root


def _collect_claims(engine: Engine, checkpoint: str | None) -> list[Claim]:
    claims = [Claim(size, note, is_stored=True) for size, note in checkpoints.iterate(engine)]
    if checkpoint is not None:
        claims.append(Claim(checkpoints.parse_note(checkpoint).size, checkpoint, is_stored=False))
    if any(claim.size < 0 for claim in claims):
        raise NotProven(f"a checkpoint is stored with the impossible size {claims[0].size}")
    return sorted(claims, key=lambda claim: claim.size)
