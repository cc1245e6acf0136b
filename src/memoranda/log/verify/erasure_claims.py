"""Verifying erasures: each one must be attested by the commit it names.

An erased part leaves a commitment or a leaf hash that nobody can open any more. So its residue must
name a commit whose `Erase` operation has a digest over everything that this commit erased,
including this position. Otherwise anybody could erase anything unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from memoranda.errors import ChainBroken, Corruption
from memoranda.log import pages
from memoranda.log.erasure import forget, rewrite_events
from memoranda.log.erasure.rewrite_events import ENVELOPE, Tally
from memoranda.log.field_commitments import NO_SALT, is_version_2
from memoranda.model import codec
from memoranda.model.event import ErasedEnvelope, SealedEvent
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation, effective_operation
from memoranda.storage.port import Reader, Row


class _Residue(NamedTuple):
    """A position of an event that was erased, the last erasing commit, and the residue."""

    position: int
    erasure: int
    content: ErasedOperation | ErasedEnvelope
    encoded: bytes

    @property
    def name(self) -> str:
        """How an error message names the position."""
        return "its envelope" if self.position == ENVELOPE else f"its operation {self.position}"


class Erasures:
    """Checks erasures event by event, and caches what commits attest.

    If a commit does not attest an erasure, that commit may have been altered itself. So the error
    is held back until the walk reaches that commit: if it is altered, it is the one that is
    reported.
    """

    def __init__(self) -> None:
        self._attested: dict[int, bool] = {}
        self._pseudonyms: dict[int, frozenset[str]] = {}
        self._doubt: tuple[int, ChainBroken] | None = None
        """The attesting commit, and the error to raise if that commit is sound."""

    def check(self, reader: Reader, event: SealedEvent, operations: Sequence[AnyOperation]) -> None:
        """Check that everything erased of an event is attested, and what the event itself attests.

        Raises `ChainBroken` once it is certain which commit is to blame.
        """
        residues = [*_residues(event, operations)]
        erases = any(isinstance(operation, Erase) for operation in operations)
        if event.salts.startswith(NO_SALT) and operations and not (residues or erases):
            raise ChainBroken(
                event.commit_ts, "its request's salt is gone, and nothing of it was erased"
            )
        for residue in residues:
            if not rewrite_events.has_erased_salts(event, residue.position):
                raise ChainBroken(
                    event.commit_ts, "something of it was erased, and its salt was not"
                )
            self._check_attested(reader, event, residue)
        self.settle(event.commit_ts)
        for operation in map(effective_operation, operations):
            if isinstance(operation, Erase):
                self._check_completed(reader, event.commit_ts)

    def check_all(self, reader: Reader) -> None:
        """Raise `ChainBroken` if a commit has rows in `erased` and does not attest them."""
        if self._doubt is not None:
            raise self._doubt[1]
        if not reader.has("erased"):
            return
        if (row := reader.row("erased_of_no_event")) is not None:  # no page of rows begins there
            raise ChainBroken(row[0], f"it is said to have erased commit {row[1]}, which is none")
        for (erasure,) in reader.rows("erasures"):
            if not self._is_attested(reader, erasure):
                raise ChainBroken(erasure, "it does not say that it erased anything")

    def settle(self, commit_ts: int) -> None:
        """Raise the error held back, if the commit that should attest it was found sound."""
        if self._doubt is not None and self._doubt[0] <= commit_ts:
            raise self._doubt[1]

    def _check_attested(self, reader: Reader, event: SealedEvent, residue: _Residue) -> None:
        """Hold back an error unless the erasing commits attest a residue and its pseudonyms."""
        commit_ts, position = event.commit_ts, residue.position
        row = _row(reader, residue.erasure, commit_ts, position)
        if row != (sha256(residue.encoded).digest(),) or not self._is_attested(
            reader, residue.erasure
        ):
            doubt = ChainBroken(commit_ts, f"{residue.name} was erased, and no commit says why")
            self._note(residue.erasure, doubt)
        try:
            claims = [*forget.pseudonym_claims(residue.content)]
        except Corruption as error:
            raise ChainBroken(commit_ts, str(error)) from error
        for erasure, name in claims if is_version_2(event.salts) else ():
            is_attested = _row(reader, erasure, commit_ts, position) is not None
            if not is_attested or name not in self._named_pseudonyms(reader, erasure):
                doubt = ChainBroken(
                    commit_ts, f"{residue.name} has a pseudonym that no commit names"
                )
                self._note(erasure, doubt)

    def _named_pseudonyms(self, reader: Reader, erasure: int) -> frozenset[str]:
        if erasure not in self._pseudonyms:
            names = map(forget.named_pseudonyms, _erase_operations(reader, erasure))
            self._pseudonyms[erasure] = frozenset[str]().union(*names)
        return self._pseudonyms[erasure]

    def _note(self, erasure: int, doubt: ChainBroken) -> None:
        if self._doubt is None:
            self._doubt = (erasure, doubt)

    def _is_attested(self, reader: Reader, erasure: int) -> bool:
        if erasure not in self._attested:
            self._attested[erasure] = _has_valid_digest(reader, erasure)
        return self._attested[erasure]

    def _check_completed(self, reader: Reader, erasure: int) -> None:
        """Raise unless everything a commit attests is erased, by it or by a later commit."""
        if not self._is_attested(reader, erasure):
            raise ChainBroken(erasure, "what it erased is not what it says")
        for commit_ts, rows in groupby(erased_rows(reader, erasure), key=lambda row: row[0]):
            (event,) = pages.events_of(reader, [commit_ts])
            operations = codec.decode_operations(event.operations)
            erasures = {
                residue.position: residue.erasure for residue in _residues(event, operations)
            }
            for _, position, _ in rows:
                if erasures.get(position, 0) < erasure:
                    raise ChainBroken(
                        event.commit_ts, f"what commit {erasure} erased of it is there"
                    )


def erased_rows(reader: Reader, erasure: int) -> Iterator[Row]:
    """Yield the rows of `erased` of one commit in pages: a compaction may have very many."""
    after = (0, ENVELOPE - 1)
    while rows := reader.rows(
        "erased_by", erasure=erasure, after=after[0], after_position=after[1], limit=pages.PAGE_ROWS
    ):
        yield from rows
        after = (rows[-1][0], rows[-1][1])


def _residues(event: SealedEvent, operations: Sequence[AnyOperation]) -> Iterator[_Residue]:
    """Yield each position of an event that was erased."""
    envelope = codec.decode_erased_envelope(event.envelope)
    if envelope is not None:
        yield _Residue(ENVELOPE, envelope.erasure, envelope, event.envelope)
    if any(isinstance(operation, ErasedOperation) for operation in operations):
        parts = codec.split(event.operations)
        for position, operation in enumerate(operations):
            if isinstance(operation, ErasedOperation):
                yield _Residue(position, operation.erasure, operation, parts[position])


def _row(reader: Reader, erasure: int, commit_ts: int, position: int) -> Row | None:
    return reader.row("erased_get", erasure=erasure, commit_ts=commit_ts, position=position)


def _erase_operations(reader: Reader, erasure: int) -> list[Erase]:
    """Return the `Erase` operations of a commit."""
    row = reader.row("event_get", commit_ts=erasure)
    try:
        readable = row is not None and type(row[-1]) is bytes
        operations = codec.decode_effective(row[-1]) if row and readable else ()
    except Corruption:  # the walk reports it when it gets there
        return []
    return [operation for operation in operations if isinstance(operation, Erase)]


def _has_valid_digest(reader: Reader, erasure: int) -> bool:
    """Return whether a commit has a digest over the rows that name it."""
    erases = _erase_operations(reader, erasure)
    tally = Tally()
    for commit_ts, position, digest in erased_rows(reader, erasure):
        if not (type(commit_ts) is type(position) is int and type(digest) is bytes):
            return False
        tally.add((commit_ts, position), digest)
    return [(erase.count, erase.digest) for erase in erases] == [(tally.count, tally.digest)]
