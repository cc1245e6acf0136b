"""Streaming check of a log, from its first event to its last.

It needs no store, so export and import both use it. An erased part is attested by a later event,
the one that erased it; until that event arrives, the checker keeps one running hash for each
erasing commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from memoranda.audit import checkpoints, merkle
from memoranda.errors import ChainBroken, Corruption, NotProven
from memoranda.log import chain
from memoranda.log.erasure import forget
from memoranda.log.erasure.rewrite_events import ENVELOPE, Tally, has_erased_salts
from memoranda.log.field_commitments import is_version_2
from memoranda.model import codec
from memoranda.model.event import ErasedEnvelope, SealedEvent
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation, effective_operation


class ErasedRow(NamedTuple):
    """An erased position of an event: the erasing commit, and the hash of the tombstone there."""

    position: int
    erasure: int
    digest: bytes


class _ErasureClaim(Tally):
    """The erasures that one erasing commit must attest, as far as the log was read."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.first = first
        """The first commit with an erased part."""
        self.pseudonyms: set[str] = set()
        """The pseudonyms that replace erased names."""


class LogChecker:
    """Checks the events and checkpoints of one log in order."""

    def __init__(self, log_id: str) -> None:
        self.head = chain.genesis(log_id)
        self._origin = checkpoints.origin_of(log_id)
        self._tree = merkle.Frontier()
        self._claims: dict[int, _ErasureClaim] = {}

    def add_event(self, event: SealedEvent, rows: Sequence[ErasedRow]) -> tuple[AnyOperation, ...]:
        """Check the next event and return its operations, or raise `ChainBroken`."""
        self.head = chain.check(self.head, event)
        operations = codec.decode_operations(event.operations)
        self._check_erased(event, operations, rows)
        for row in rows:
            claim = self._claims.setdefault(row.erasure, _ErasureClaim(event.commit_ts))
            claim.add((event.commit_ts, row.position), row.digest)
        self._check_erase_operation(event.commit_ts, operations)
        self._tree.append(event.hash)
        return operations

    def check_checkpoint(self, size: int, note: str) -> None:
        """Raise `Corruption` unless a note has the origin, size and root of the log so far."""
        try:
            checkpoint = checkpoints.parse_note(note)
        except NotProven as error:
            raise Corruption(str(error)) from error
        current = (self._origin, self._tree.size, self._tree.root())
        if (
            size != self._tree.size
            or (checkpoint.origin, checkpoint.size, checkpoint.root) != current
        ):
            raise Corruption(
                f"the checkpoint of {size} events is of another log, or in the wrong place"
            )

    def finish(self) -> None:
        """Raise `ChainBroken` if an erasure is left that no event attests."""
        if self._claims:
            first = min(self._claims.values(), key=lambda claim: claim.first).first
            raise ChainBroken(first, "something was erased, and no event attests it")

    def _check_erased(
        self, event: SealedEvent, operations: Sequence[AnyOperation], rows: Sequence[ErasedRow]
    ) -> None:
        """Check that the erased positions, and no others, match the last row of each."""
        commit_ts = event.commit_ts
        is_intact = not any(isinstance(item, ErasedOperation) for item in operations)
        envelope = codec.decode_erased_envelope(event.envelope)
        if is_intact and not rows and envelope is None:
            return
        if [*rows] != sorted({row[:2]: row for row in rows}.values()):
            raise ChainBroken(commit_ts, "the rows of its erased operations are out of order")
        last = {row.position: row for row in rows}
        parts = codec.split(event.operations)
        tombstones: dict[int, tuple[ErasedOperation | ErasedEnvelope, bytes]] = {
            position: (operation, parts[position])
            for position, operation in enumerate(operations)
            if isinstance(operation, ErasedOperation)
        }
        if envelope is not None:
            tombstones[ENVELOPE] = (envelope, event.envelope)
        if tombstones.keys() != last.keys():
            raise ChainBroken(commit_ts, "its erased operations do not match their rows")
        for position, (tombstone, encoded) in tombstones.items():
            _check_tombstone(event, position, last[position], tombstone.erasure, encoded)
            self._add_pseudonym_claims(event, {row[:2] for row in rows}, position, tombstone)

    def _add_pseudonym_claims(
        self,
        event: SealedEvent,
        erasures: set[tuple[int, int]],
        position: int,
        tombstone: ErasedOperation | ErasedEnvelope,
    ) -> None:
        """Record which erasing commits must name the pseudonyms in a tombstone."""
        try:
            claims = [*forget.pseudonym_claims(tombstone)]
        except Corruption as error:
            raise ChainBroken(event.commit_ts, str(error)) from error
        for erasure, name in claims if is_version_2(event.salts) else ():
            if (position, erasure) not in erasures:
                raise ChainBroken(event.commit_ts, "it has a pseudonym that no commit names")
            claim = self._claims.setdefault(erasure, _ErasureClaim(event.commit_ts))
            claim.pseudonyms.add(name)

    def _check_erase_operation(self, commit_ts: int, operations: Sequence[AnyOperation]) -> None:
        """Check that an erasing event attests exactly the erasures made in its name."""
        current = map(
            effective_operation, operations
        )  # the agent that erased something may be forgotten since
        erasing = [operation for operation in current if isinstance(operation, Erase)]
        claim = self._claims.pop(commit_ts, None)
        if not erasing and claim is None:
            return
        claim = claim or _ErasureClaim(commit_ts)
        totals = [(operation.count, operation.digest) for operation in erasing]
        if totals != [(claim.count, claim.digest)]:
            raise ChainBroken(
                claim.first, f"the erasures of commit {commit_ts} are not those it attests"
            )
        if not claim.pseudonyms <= forget.named_pseudonyms(erasing[0]):
            raise ChainBroken(claim.first, "something has a pseudonym that no commit names")


def _check_tombstone(
    event: SealedEvent, position: int, row: ErasedRow, erasure: object, encoded: bytes
) -> None:
    is_claimed = row.erasure == erasure and row.erasure > event.commit_ts
    if not is_claimed or sha256(encoded).digest() != row.digest:
        raise ChainBroken(event.commit_ts, "the tombstone of something erased was changed")
    if not has_erased_salts(event, position):
        raise ChainBroken(event.commit_ts, "the salt of something erased is still there")
