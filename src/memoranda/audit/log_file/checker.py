"""Following a log from its first event: what is checked of it as it goes by.

Nothing is looked up, so a log can be checked on its way into a file, or out of one. What was erased
is vouched for by a later event; until that comes, one hash for each erasure is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from memoranda.audit import merkle, stored
from memoranda.errors import ChainBroken, Corruption, NotProven
from memoranda.log import chain, pseudonyms
from memoranda.log.erasing import ENVELOPE, Tally, salts_gone
from memoranda.log.salting import is_second
from memoranda.model import codec
from memoranda.model.event import ErasedEnvelope, SealedEvent
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation, standing


class ErasedRow(NamedTuple):
    """That something at a position was erased, by which commit, and the hash of what is left."""

    position: int
    erasure: int
    digest: bytes


class _Claim(Tally):
    """What an erasing event has to vouch for, as far as the log has been followed."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.first = first
        """The first commit of which it erased something."""
        self.pseudonyms: set[str] = set()
        """What stands for names that it erased."""


class Following:
    """A log, as far as it was followed and found sound."""

    def __init__(self, log_id: str) -> None:
        self.head = chain.genesis(log_id)
        self._origin = stored.origin_of(log_id)
        self._tree = merkle.Frontier()
        self._claims: dict[int, _Claim] = {}

    def take(self, event: SealedEvent, rows: Sequence[ErasedRow]) -> tuple[AnyOperation, ...]:
        """Go on by an event and return its operations, or raise `ChainBroken`."""
        self.head = chain.check(self.head, event)
        operations = codec.decode_operations(event.operations)
        self._check_erased(event, operations, rows)
        for row in rows:
            claim = self._claims.setdefault(row.erasure, _Claim(event.commit_ts))
            claim.add((event.commit_ts, row.position), row.digest)
        self._settle(event.commit_ts, operations)
        self._tree.append(event.hash)
        return operations

    def check_checkpoint(self, size: int, note: str) -> None:
        """Raise `Corruption` if a note at this place in the log says another root."""
        try:
            found = stored.read(note)
        except NotProven as error:
            raise Corruption(str(error)) from error
        here = (self._origin, self._tree.size, self._tree.root())
        if size != self._tree.size or (found.origin, found.size, found.root) != here:
            raise Corruption(f"the checkpoint of {size} events is of another log, or stands wrong")

    def finish(self) -> None:
        """Raise `ChainBroken` if something was erased that no event vouches for."""
        if self._claims:
            first = min(self._claims.values(), key=lambda claim: claim.first).first
            raise ChainBroken(first, "something was erased, and no event says so")

    def _check_erased(
        self, event: SealedEvent, operations: Sequence[AnyOperation], rows: Sequence[ErasedRow]
    ) -> None:
        """Check that what is erased, and nothing else, is what its last row says."""
        commit_ts = event.commit_ts
        whole = not any(isinstance(each, ErasedOperation) for each in operations)
        envelope = codec.decode_erased_envelope(event.envelope)
        if whole and not rows and envelope is None:
            return
        if [*rows] != sorted({row[:2]: row for row in rows}.values()):
            raise ChainBroken(commit_ts, "what is said of its erased operations is out of order")
        last = {row.position: row for row in rows}
        parts = codec.split(event.operations)
        erased: dict[int, tuple[ErasedOperation | ErasedEnvelope, bytes]] = {
            position: (operation, parts[position])
            for position, operation in enumerate(operations)
            if isinstance(operation, ErasedOperation)
        }
        if envelope is not None:
            erased[ENVELOPE] = (envelope, event.envelope)
        if erased.keys() != last.keys():
            raise ChainBroken(commit_ts, "something was erased and nothing says why, or was not")
        for position, (left, encoded) in erased.items():
            _check_place(event, position, last[position], left.erasure, encoded)
            self._claim_pseudonyms(event, {row[:2] for row in rows}, position, left)

    def _claim_pseudonyms(
        self,
        event: SealedEvent,
        erasures: set[tuple[int, int]],
        position: int,
        left: ErasedOperation | ErasedEnvelope,
    ) -> None:
        """Note which commits have to name the pseudonyms that stand in a place."""
        try:
            claims = [*pseudonyms.claims(left)]
        except Corruption as error:
            raise ChainBroken(event.commit_ts, str(error)) from error
        for erasure, name in claims if is_second(event.salts) else ():
            if (position, erasure) not in erasures:
                raise ChainBroken(event.commit_ts, "it has a pseudonym that no commit names")
            claim = self._claims.setdefault(erasure, _Claim(event.commit_ts))
            claim.pseudonyms.add(name)

    def _settle(self, commit_ts: int, operations: Sequence[AnyOperation]) -> None:
        """Check what an erasing event vouches for: exactly what was erased in its name."""
        stands = map(standing, operations)  # who erased something may be forgotten since
        erasing = [each for each in stands if isinstance(each, Erase)]
        claim = self._claims.pop(commit_ts, None)
        if not erasing and claim is None:
            return
        claim = claim or _Claim(commit_ts)
        said = [(each.count, each.digest) for each in erasing]
        if said != [(claim.count, claim.digest)]:
            raise ChainBroken(claim.first, f"what commit {commit_ts} erased is not what it says")
        if not claim.pseudonyms <= pseudonyms.named(erasing[0]):
            raise ChainBroken(claim.first, "something has a pseudonym that no commit names")


def _check_place(
    event: SealedEvent, position: int, row: ErasedRow, erasure: object, left: bytes
) -> None:
    known = row.erasure == erasure and row.erasure > event.commit_ts
    if not known or sha256(left).digest() != row.digest:
        raise ChainBroken(event.commit_ts, "what stands for something erased was changed")
    if not salts_gone(event, position):
        raise ChainBroken(event.commit_ts, "the salt of something erased is still there")
