"""Erasures, as verification sees them: whether each is vouched for by the commit it names.

Where something was erased, a commitment or a leaf is left that nobody can open any more. So what
stands there must name a commit whose `Erase` operation has a digest over what that commit erased,
this place among it; else anybody could erase anything, and say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from memoranda.errors import ChainBroken, Corruption
from memoranda.log import erasing, pages, pseudonyms
from memoranda.log.erasing import ENVELOPE, Tally
from memoranda.log.salting import NO_SALT, is_second
from memoranda.model import codec
from memoranda.model.event import ErasedEnvelope, SealedEvent
from memoranda.model.operations import AnyOperation, Erase, ErasedOperation, standing
from memoranda.storage.port import Reader, Row


class _Place(NamedTuple):
    """Where something of an event was erased, by which commit last, and what is left there."""

    position: int
    erasure: int
    what: ErasedOperation | ErasedEnvelope
    encoded: bytes

    @property
    def name(self) -> str:
        """What stood there."""
        return "its envelope" if self.position == ENVELOPE else f"its operation {self.position}"


class Erasures:
    """Checks what was erased, event by event; what commits vouch for is looked up once.

    A commit that vouches for nothing may itself have been altered. So it is only doubted until the
    walk has come there and found it sound: the commit that is named is the one that was altered.
    """

    def __init__(self) -> None:
        self._fits: dict[int, bool] = {}
        self._pseudonyms: dict[int, frozenset[str]] = {}
        self._doubt: tuple[int, ChainBroken] | None = None
        """What is wrong with an event, unless the commit that erased something of it is altered."""

    def check(self, reader: Reader, event: SealedEvent, operations: Sequence[AnyOperation]) -> None:
        """Look whether what was erased of an event is vouched for, and what it vouches for itself.

        Raises `ChainBroken` once it is known which commit is to blame.
        """
        erased = [*_erased(event, operations)]
        erases = any(isinstance(operation, Erase) for operation in operations)
        if event.salts.startswith(NO_SALT) and operations and not (erased or erases):
            raise ChainBroken(
                event.commit_ts, "its request's salt is gone, and nothing of it was erased"
            )
        for each in erased:
            if not erasing.salts_gone(event, each.position):
                raise ChainBroken(
                    event.commit_ts, "something of it was erased, and its salt was not"
                )
            self._check_vouched_for(reader, event, each)
        self.settle(event.commit_ts)
        for operation in map(standing, operations):
            if isinstance(operation, Erase):
                self._check_carried_out(reader, event.commit_ts)

    def check_all(self, reader: Reader) -> None:
        """Raise `ChainBroken` if a commit is said to have erased something, and does not say so."""
        if self._doubt is not None:
            raise self._doubt[1]
        if reader.row("has_erasures") is None:
            return
        for (erasure,) in reader.rows("erasures"):
            if not self._is_vouched_for(reader, erasure):
                raise ChainBroken(erasure, "it does not say that it erased anything")

    def settle(self, commit_ts: int) -> None:
        """Raise what is doubted, if all is sound up to a commit that was to vouch for it."""
        if self._doubt is not None and self._doubt[0] <= commit_ts:
            raise self._doubt[1]

    def _check_vouched_for(self, reader: Reader, event: SealedEvent, left: _Place) -> None:
        """Note a doubt unless the commit that erased something says so, and every pseudonym."""
        commit_ts, position = event.commit_ts, left.position
        row = _row(reader, left.erasure, commit_ts, position)
        if row != (sha256(left.encoded).digest(),) or not self._is_vouched_for(
            reader, left.erasure
        ):
            doubt = ChainBroken(commit_ts, f"{left.name} was erased, and no commit says why")
            self._note(left.erasure, doubt)
        try:
            claims = [*pseudonyms.claims(left.what)]
        except Corruption as error:
            raise ChainBroken(commit_ts, str(error)) from error
        for erasure, name in claims if is_second(event.salts) else ():
            vouched = _row(reader, erasure, commit_ts, position) is not None
            if not vouched or name not in self._named(reader, erasure):
                doubt = ChainBroken(commit_ts, f"{left.name} has a pseudonym that no commit names")
                self._note(erasure, doubt)

    def _named(self, reader: Reader, erasure: int) -> frozenset[str]:
        if erasure not in self._pseudonyms:
            said = map(pseudonyms.named, _said(reader, erasure))
            self._pseudonyms[erasure] = frozenset[str]().union(*said)
        return self._pseudonyms[erasure]

    def _note(self, erasure: int, doubt: ChainBroken) -> None:
        if self._doubt is None:
            self._doubt = (erasure, doubt)

    def _is_vouched_for(self, reader: Reader, erasure: int) -> bool:
        if erasure not in self._fits:
            self._fits[erasure] = _fits(reader, erasure)
        return self._fits[erasure]

    def _check_carried_out(self, reader: Reader, erasure: int) -> None:
        """Raise unless all that a commit says it erased is erased: by it, or later once more."""
        if not self._is_vouched_for(reader, erasure):
            raise ChainBroken(erasure, "what it erased is not what it says")
        for commit_ts, rows in groupby(rows_of(reader, erasure), key=lambda row: row[0]):
            (event,) = pages.events_of(reader, [commit_ts])
            found = codec.decode_operations(event.operations)
            since = {each.position: each.erasure for each in _erased(event, found)}
            for _, position, _ in rows:
                if since.get(position, 0) < erasure:
                    raise ChainBroken(
                        event.commit_ts, f"what commit {erasure} erased of it is there"
                    )


def rows_of(reader: Reader, erasure: int) -> Iterator[Row]:
    """Yield what a commit erased, in order: a compaction may have erased very much."""
    after = (0, ENVELOPE - 1)
    while rows := reader.rows(
        "erased_by", erasure=erasure, after=after[0], after_position=after[1], most=pages.PAGE_ROWS
    ):
        yield from rows
        after = (rows[-1][0], rows[-1][1])


def _erased(event: SealedEvent, operations: Sequence[AnyOperation]) -> Iterator[_Place]:
    """Yield each place of an event that was erased, by which commit, and what is left there."""
    envelope = codec.decode_erased_envelope(event.envelope)
    if envelope is not None:
        yield _Place(ENVELOPE, envelope.erasure, envelope, event.envelope)
    if any(isinstance(operation, ErasedOperation) for operation in operations):
        parts = codec.split(event.operations)
        for position, operation in enumerate(operations):
            if isinstance(operation, ErasedOperation):
                yield _Place(position, operation.erasure, operation, parts[position])


def _row(reader: Reader, erasure: int, commit_ts: int, position: int) -> Row | None:
    return reader.row("erased_get", erasure=erasure, commit_ts=commit_ts, position=position)


def _said(reader: Reader, erasure: int) -> list[Erase]:
    """Return what a commit says that it erased."""
    row = reader.row("event_get", commit_ts=erasure)
    try:
        readable = row is not None and type(row[-1]) is bytes
        operations = codec.decode_standing(row[-1]) if row and readable else ()
    except Corruption:  # the walk will come there, and say so
        return []
    return [operation for operation in operations if isinstance(operation, Erase)]


def _fits(reader: Reader, erasure: int) -> bool:
    """Say whether a commit has a digest over what it erased."""
    said = _said(reader, erasure)
    tally = Tally()
    for commit_ts, position, digest in rows_of(reader, erasure):
        if not (type(commit_ts) is type(position) is int and type(digest) is bytes):
            return False
        tally.add((commit_ts, position), digest)
    return [(each.count, each.digest) for each in said] == [(tally.count, tally.digest)]
