"""Erasing: taking content out of events that are committed, while their hashes stay.

The unit is an operation at its place. Its bytes are replaced by what is left of it, which opens
what stays and has the commitments to the rest; its salt is zeroed, its long content is dropped, and
a row says which commit did it. In an event of chain version 1 an `Erased` operation with the leaf
hash takes its place, and the request's salt is zeroed too. All of that happens in the storage
transaction of that commit, whose `Erase` operation has a digest over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from struct import Struct

from msgspec.structs import replace

from memoranda.log import chain, pages, salting
from memoranda.log.commitments import SALT_SIZE
from memoranda.log.envelopes import left_of_actor, left_of_nothing
from memoranda.log.purging import note_pending
from memoranda.log.redaction import Left, redacted
from memoranda.log.salting import NO_SALT, Salts
from memoranda.log.views import Commit, Eraser, Rewritten, Views
from memoranda.model import codec
from memoranda.model.erasure import Place
from memoranda.model.event import ErasedEnvelope, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, Erased, ErasedOperation
from memoranda.storage.port import Writer

ENVELOPE = -1
"""The position of an envelope among the places of an erasure."""
_PLACE = Struct(">qq").pack


Reduce = Callable[[Place, AnyOperation], Left | None]
"""Returns what is to stay of what applies at a place; None: all of it."""


class Tally:
    """Counts the rows of an erasure, and hashes them in the order of their places."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = sha256()

    def add(self, place: Place, digest: bytes) -> None:
        """Take in the next row."""
        self.count += 1
        self._hash.update(_PLACE(*place) + digest)

    @property
    def digest(self) -> bytes:
        """The hash over all rows so far."""
        return self._hash.digest()


class Erasure:
    """An erasure that is being carried out, in the commit that says so."""

    def __init__(
        self,
        writer: Writer,
        views: Views,
        commit_ts: int,
        ids: IdSource,
        *,
        erasers: Sequence[Eraser] | None = None,
    ) -> None:
        self._writer = writer
        self._commit_ts = commit_ts
        if erasers is None:
            erasers = [view.eraser(writer) for view in views.all]
        self._erasers = erasers
        self._views = views
        self._ids = ids
        self.tally = Tally()

    def erase(
        self,
        commits: Iterable[int],
        reduce: Reduce,
        actor: tuple[str, str] | None = None,
        *,
        envelopes: bool = False,
    ) -> None:
        """Erase what is to go from these events, in the order of their numbers.

        `actor` is who is forgotten, and the pseudonym that takes the name's place in envelopes;
        with `envelopes`, those go of which nothing else is left.
        """
        self._views.forget()
        for event in pages.events_of(self._writer, sorted(commits)):
            rewritten = self._rewrite(event, reduce, actor, envelopes=envelopes)
            if rewritten is not None:
                for eraser in self._erasers:
                    eraser.take(rewritten)
        for eraser in self._erasers:
            eraser.finish()
        if self.tally.count:
            note_pending(self._writer, self._commit_ts)
        self._views.forget()

    def forget_requests(self) -> None:
        """Let nobody confirm a guess from a transaction that asked for what was so already.

        Nothing tells which of them named what is erased now: they have no operations.
        """
        for commit_ts, salts in self._writer.rows("event_salts_without_effect", size=SALT_SIZE):
            self._writer.put("event_salts_set", salting.without_request(salts), commit_ts)

    def _rewrite(
        self,
        event: SealedEvent,
        reduce: Reduce,
        actor: tuple[str, str] | None,
        *,
        envelopes: bool,
    ) -> Rewritten | None:
        """Put what is left in the place of what goes; None: nothing of the event does."""
        left = _reduced(event, reduce)
        pseudonym, retry = left_of_actor(event, actor), b""
        if not left and pseudonym is None:
            return None
        if envelopes and pseudonym is None:
            residues = {position: each.rest for position, (_, each) in left.items()}
            pseudonym, retry = left_of_nothing(event, residues, actor) or (None, b"")
        envelope = event.envelope
        if pseudonym is not None:
            leaf = chain.leaves_in(event)[0]
            envelope = codec.encode(ErasedEnvelope(leaf, pseudonym, self._commit_ts, retry))
            self._note((event.commit_ts, ENVELOPE), envelope)
        parts = codec.split(event.operations)
        for position, erased in self._erased(event, left).items():
            parts[position] = codec.encode(erased)
            self._note((event.commit_ts, position), parts[position])
        for position, (before, stays) in left.items():
            if before.blob is not None and (stays.rest is None or stays.rest.blob is None):
                self._writer.run("blob_remove", commit_ts=event.commit_ts, position=position)
        new = replace(event, envelope=envelope, operations=codec.join(parts))
        new = replace(new, salts=_salts_left(event, new))
        self._writer.run(
            "event_rewrite",
            commit_ts=new.commit_ts,
            salts=new.salts,
            envelope=new.envelope,
            operations=new.operations,
        )
        return Rewritten(Commit.of(event), Commit.of(new), tuple(left))

    def _erased(
        self, event: SealedEvent, left: dict[int, tuple[AnyOperation, Left]]
    ) -> dict[int, AnyOperation]:
        """Return what is to stand in the places of what goes, by their positions."""
        operations = codec.decode_operations(event.operations)
        if not salting.is_second(event.salts):
            leaves = chain.operation_leaves(event)
            return {
                position: Erased(
                    stays.namespace,
                    stays.agent_id,
                    leaves[position],
                    self._commit_ts,
                    stays.rest,
                    self._salt(),
                )
                for position, (_, stays) in left.items()
            }
        salts, found = Salts(event.salts, operations), dict[int, AnyOperation]()
        for position, (_, stays) in left.items():
            before = operations[position]
            scope = salts.scopes.get((before.namespace, before.agent_id), b"")
            own = (scope, salts.operations[position])
            found[position] = redacted(before, own, stays, self._commit_ts, self._salt())
        return found

    def _salt(self) -> bytes:
        return self._ids.entropy(SALT_SIZE)

    def _note(self, place: Place, left: bytes) -> None:
        digest = sha256(left).digest()
        self.tally.add(place, digest)
        self._writer.put("erased_add", self._commit_ts, *place, digest)


def _reduced(event: SealedEvent, reduce: Reduce) -> dict[int, tuple[AnyOperation, Left]]:
    """Return what is to stay of the operations that are to change, by their positions."""
    found: dict[int, tuple[AnyOperation, Left]] = {}
    for position, operation in enumerate(codec.decode_standing(event.operations)):
        left = reduce((event.commit_ts, position), operation)
        if left is not None:
            found[position] = (operation, left)
    return found


def _salts_left(before: SealedEvent, after: SealedEvent) -> bytes:
    """Return the salts of an event without those of what was erased."""
    operations = codec.decode_operations(after.operations)
    envelope_gone = codec.decode_erased_envelope(after.envelope) is not None
    erased = [isinstance(operation, ErasedOperation) for operation in operations]
    if not salting.is_second(before.salts):
        gone = [True, envelope_gone, *erased]
        return b"".join(
            NO_SALT if is_gone else salt
            for is_gone, salt in zip(gone, _cut(before.salts), strict=True)
        )
    salts = Salts(before.salts, codec.decode_operations(before.operations))
    own = [
        NO_SALT if is_gone else salt
        for is_gone, salt in zip(erased or [True], salts.operations, strict=True)
    ]
    envelope = NO_SALT if envelope_gone else salts.envelope
    return salting.joined(envelope, salts.scopes, own, operations)


def _cut(salts: bytes) -> list[bytes]:
    size = SALT_SIZE
    return [salts[first : first + size] for first in range(0, len(salts), size)]


def salts_gone(event: SealedEvent, position: int) -> bool:
    """Say whether the salts are gone that go when something at a position is erased."""
    size = SALT_SIZE
    if salting.is_second(event.salts):
        return position != ENVELOPE or not any(event.salts[1 : 1 + size])
    first = (position + 2) * size
    return not any(event.salts[:size] + event.salts[first : first + size])
