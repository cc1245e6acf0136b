"""Erasing: taking content out of events that are committed, while their hashes stay.

The unit is an operation at its place. Its bytes are replaced by an `Erased` operation with its leaf
hash, its salt and that of the request are zeroed, its long content is dropped, and a row says which
commit did it. All of that happens in the storage transaction of that commit, whose
`Erase` operation has a digest over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from struct import Struct

import msgspec
from msgspec.structs import replace

from recollect.log import chain, pages
from recollect.log.envelopes import left_of_actor, left_of_nothing
from recollect.log.purging import note_pending
from recollect.log.views import Commit, Eraser, Rewritten, Views
from recollect.model import codec
from recollect.model.erasure import Place
from recollect.model.event import ErasedEnvelope, SealedEvent
from recollect.model.ids import IdSource
from recollect.model.operations import AnyOperation, Erased, Rest
from recollect.storage.port import Writer

ENVELOPE = -1
"""The position of an envelope among the places of an erasure."""
_PLACE = Struct(">qq").pack


class Left(msgspec.Struct, frozen=True):
    """What is to stay of an operation: whose it was, and what applies in its place."""

    namespace: str
    agent_id: str
    rest: Rest | None = None


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

    def __init__(self, writer: Writer, views: Views, commit_ts: int, ids: IdSource) -> None:
        self._writer = writer
        self._commit_ts = commit_ts
        self._erasers: list[Eraser] = [view.eraser(writer) for view in views.all]
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
            self._forget_requests()
            note_pending(self._writer, self._commit_ts)
        self._views.forget()

    def _forget_requests(self) -> None:
        """Let nobody confirm a guess from a transaction that asked for what was so already.

        Nothing tells which of them named what is erased now: they have no operations.
        """
        size = chain.SALT_SIZE
        for commit_ts, salts in self._writer.rows("event_salts_without_effect", size=size):
            self._writer.put("event_salts_set", chain.NO_SALT + salts[size:], commit_ts)

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
        first, *leaves = chain.leaves(event)
        envelope = None
        if pseudonym is not None:
            envelope = codec.encode(ErasedEnvelope(first, pseudonym, self._commit_ts, retry))
        parts = codec.split(event.operations)
        salts = bytearray(event.salts)
        salts[: chain.SALT_SIZE] = chain.NO_SALT
        if envelope is not None:
            salts[_place_of_salt(ENVELOPE)] = chain.NO_SALT
            self._note((event.commit_ts, ENVELOPE), envelope)
        for position, (before, stays) in left.items():
            parts[position] = codec.encode(self._erased(leaves[position], stays))
            salts[_place_of_salt(position)] = chain.NO_SALT
            self._note((event.commit_ts, position), parts[position])
            if before.blob is not None:
                self._writer.run("blob_remove", commit_ts=event.commit_ts, position=position)
        new = replace(
            event,
            salts=bytes(salts),
            envelope=envelope or event.envelope,
            operations=codec.join(parts),
        )
        self._writer.run(
            "event_rewrite",
            commit_ts=new.commit_ts,
            salts=new.salts,
            envelope=new.envelope,
            operations=new.operations,
        )
        return Rewritten(Commit.of(event), Commit.of(new), tuple(left))

    def _erased(self, leaf: bytes, left: Left) -> Erased:
        salt = self._ids.entropy(chain.SALT_SIZE)
        return Erased(left.namespace, left.agent_id, leaf, self._commit_ts, left.rest, salt)

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


def _place_of_salt(position: int) -> slice:
    first = (position + 2) * chain.SALT_SIZE
    return slice(first, first + chain.SALT_SIZE)


def salts_of(event: SealedEvent, position: int) -> tuple[bytes, bytes]:
    """Return the salts that go when something is erased: the request's, and its own."""
    return event.salts[: chain.SALT_SIZE], event.salts[_place_of_salt(position)]


def zero_request_salt(event: SealedEvent) -> SealedEvent:
    """Return an event from which no guess of what was asked for can be confirmed."""
    return replace(event, salts=chain.NO_SALT + event.salts[chain.SALT_SIZE :])
