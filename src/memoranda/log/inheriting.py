"""What a fork inherits of erasures.

It has their rows as far as it has the commits that vouch for them. What a later commit erased
is erased in the fork too, and a commit of the fork's own vouches for that.
"""

from __future__ import annotations

from hashlib import sha256

from msgspec.structs import replace

from memoranda.log import chain, salting
from memoranda.log.erasing import ENVELOPE, Tally
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import ENGINE_SCOPE, Erase, ErasedOperation, Redacted
from memoranda.model.redacted import AnySlot, Hidden, NameSlot, Renamed
from memoranda.storage.port import Reader, Writer

FORK = "fork"
"""What an erasure's target is called where a fork vouches for it."""


class Inheritance:
    """What was erased of a log by commits that its fork does not have."""

    def __init__(self, through: int) -> None:
        self._through = through
        self._tally = Tally()
        self._rows: list[tuple[int, int, bytes]] = []
        self._pseudonyms: dict[str, None] = {}
        """The pseudonyms that commits named which the fork does not have."""

    def take(self, event: SealedEvent) -> SealedEvent:
        """Return an event in which what was erased names a commit that the fork has, or will."""
        envelope = codec.decode_erased_envelope(event.envelope)
        if envelope is not None and envelope.erasure > self._through:
            self._pseudonyms[envelope.actor] = None
            left = codec.encode(replace(envelope, erasure=self._through + 1))
            self._note(event.commit_ts, ENVELOPE, left)
            event = replace(event, envelope=left)
        parts = codec.split(event.operations)
        changed = False
        for position, operation in enumerate(codec.decode_operations(event.operations)):
            if isinstance(operation, ErasedOperation) and operation.erasure > self._through:
                parts[position] = codec.encode(self._named_anew(operation))
                self._note(event.commit_ts, position, parts[position])
                changed = True
        return replace(event, operations=codec.join(parts)) if changed else event

    def _named_anew(self, left: ErasedOperation) -> ErasedOperation:
        """Return what is left of an operation, in the name of the fork's own commit."""
        left = replace(left, erasure=self._through + 1)
        if not isinstance(left, Redacted):
            return left
        first, second = left.scope_slots
        names = (self._hidden(first, left.namespace), self._hidden(second, left.agent_id))
        return replace(left, scope_slots=names, slots=tuple(map(self._renamed, left.slots)))

    def _hidden(self, slot: NameSlot, name: str) -> NameSlot:
        if not isinstance(slot, Hidden) or slot.erasure <= self._through:
            return slot
        self._pseudonyms[name] = None
        return replace(slot, erasure=self._through + 1)

    def _renamed(self, slot: AnySlot) -> AnySlot:
        if not isinstance(slot, Renamed) or slot.erasure <= self._through:
            return slot
        self._pseudonyms[slot.name] = None
        return replace(slot, erasure=self._through + 1)

    def _note(self, commit_ts: int, position: int, left: bytes) -> None:
        digest = sha256(left).digest()
        self._tally.add((commit_ts, position), digest)
        self._rows.append((commit_ts, position, digest))

    def copy_rows(self, reader: Reader, writer: Writer) -> None:
        """Copy what the fork's own commits vouch for."""
        for row in reader.stream("erased_through", through=self._through):
            writer.put("erased_add", *row)

    def vouch(self, writer: Writer, last: Head, ids: IdSource) -> SealedEvent | None:
        """Return the event that vouches for the rest, if there is any, and add its rows."""
        if not self._rows:
            return None
        for row in self._rows:
            writer.put("erased_add", self._through + 1, *row)
        said = Erase(
            ENGINE_SCOPE.namespace,
            ENGINE_SCOPE.agent_id,
            ids.unique(),
            FORK,
            ENGINE_SCOPE.agent_id,
            None,
            self._tally.count,
            self._tally.digest,
            pseudonyms=tuple(self._pseudonyms),
        )
        salts = salting.SaltSource(ids).draw([said])
        envelope = Envelope(ids.unique(), ENGINE_SCOPE.agent_id, chain.request_hash(salts, b"", 1))
        return chain.seal(last, last.committed_at + 1, salts, envelope, [said])
