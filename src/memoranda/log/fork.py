"""Forks: a new log that begins with another log's events.

It has their erasures, too. Those whose erasing commit is not part of the fork are attested by a
commit of the fork itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from memoranda.errors import ChainBroken
from memoranda.log import blobs, chain, field_commitments, lineage
from memoranda.log.erasure.rewrite_events import ENVELOPE, Tally
from memoranda.log.verify.verifier import verified_pages
from memoranda.log.views import Commit, Views
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, ResumeToken, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import ENGINE_SCOPE, Erase, ErasedOperation, Redacted
from memoranda.model.operations.redacted import AnySlot, HiddenName, NameSlot, PseudonymSlot
from memoranda.storage.port import Engine, Progress, Reader, Writer

FORK = "fork"
"""The target of an erasure that a fork attests."""


class InheritedErasures:
    """Erasures of a log by commits that its fork does not have."""

    def __init__(self, through: int) -> None:
        self._through = through
        self._tally = Tally()
        self._rows: list[tuple[int, int, bytes]] = []
        self._pseudonyms: dict[str, None] = {}
        """Pseudonyms that were named by commits the fork does not have."""

    def adopt(self, event: SealedEvent) -> SealedEvent:
        """Return an event in which every erasure names a commit that the fork has or will have."""
        envelope = codec.decode_erased_envelope(event.envelope)
        if envelope is not None and envelope.erasure > self._through:
            self._pseudonyms[envelope.actor] = None
            encoded = codec.encode(replace(envelope, erasure=self._through + 1))
            self._note(event.commit_ts, ENVELOPE, encoded)
            event = replace(event, envelope=encoded)
        parts = codec.split(event.operations)
        is_changed = False
        for position, operation in enumerate(codec.decode_operations(event.operations)):
            if isinstance(operation, ErasedOperation) and operation.erasure > self._through:
                parts[position] = codec.encode(self._attributed_to_fork(operation))
                self._note(event.commit_ts, position, parts[position])
                is_changed = True
        return replace(event, operations=codec.join(parts)) if is_changed else event

    def _attributed_to_fork(self, residue: ErasedOperation) -> ErasedOperation:
        """Return a residue that names the fork's own commit as the erasing one."""
        residue = replace(residue, erasure=self._through + 1)
        if not isinstance(residue, Redacted):
            return residue
        first, second = residue.scope_slots
        names = (
            self._adopt_name(first, residue.namespace),
            self._adopt_name(second, residue.agent_id),
        )
        return replace(
            residue, scope_slots=names, slots=tuple(map(self._adopt_slot, residue.slots))
        )

    def _adopt_name(self, slot: NameSlot, name: str) -> NameSlot:
        if not isinstance(slot, HiddenName) or slot.erasure <= self._through:
            return slot
        self._pseudonyms[name] = None
        return replace(slot, erasure=self._through + 1)

    def _adopt_slot(self, slot: AnySlot) -> AnySlot:
        if not isinstance(slot, PseudonymSlot) or slot.erasure <= self._through:
            return slot
        self._pseudonyms[slot.name] = None
        return replace(slot, erasure=self._through + 1)

    def _note(self, commit_ts: int, position: int, encoded: bytes) -> None:
        digest = sha256(encoded).digest()
        self._tally.add((commit_ts, position), digest)
        self._rows.append((commit_ts, position, digest))

    def copy_rows(self, reader: Reader, writer: Writer) -> None:
        """Copy the rows of erasures that the fork's own commits attest."""
        for row in reader.stream("erased_through", through=self._through):
            writer.put("erased_add", *row)

    def attest(self, writer: Writer, last: Head, ids: IdSource) -> SealedEvent | None:
        """Return the event that attests the other erasures, if there are any, and add its rows."""
        if not self._rows:
            return None
        for row in self._rows:
            writer.put("erased_add", self._through + 1, *row)
        erase = Erase(
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
        salts = field_commitments.SaltSource(ids).draw([erase])
        envelope = Envelope(ids.unique(), ENGINE_SCOPE.agent_id, chain.request_hash(salts, b"", 1))
        return chain.seal(last, last.committed_at + 1, salts, envelope, [erase])


# Forks: a new log that begins with another log's events.
#
# The events keep their times, envelopes, operations and salts, byte by byte. Their hashes are new,
# since the log's id is part of the first hash. The epoch in the first event names the origin, and
# resume tokens of one log are not valid in the other. Erasures by commits that the fork does not
# have are attested by one more event of the fork.


class Fork(msgspec.Struct, frozen=True):
    """A new log, and the position in another log where it begins."""

    log_id: str
    commits: int
    origin: str


def fork(
    source: Engine,
    log_id: str,
    target: Engine,
    *,
    through: int,
    views: Views,
    ids: IdSource,
    progress: Progress | None = None,
) -> Fork:
    """Fill an empty target with the source's events up to a commit, and build its views.

    The source's chain is verified on the way: a fork would give an altered log a valid chain.
    """
    token = _token(source, log_id, through)
    origin = str(token)
    new_id = lineage.log_id_of(target, ids)
    last, erasures = chain.genesis(new_id), InheritedErasures(through)
    for page in verified_pages(source, log_id, through):
        if not last.commit_ts:
            page[0] = _begin_as_fork(page[0], token, ids)
        with source.reading() as reader:
            copy = partial(_copy_events, reader, page, views, erasures, last)
            last = target.write(copy)
        if progress is not None:
            progress(last.commit_ts, through)

    def finish(writer: Writer) -> Head:
        erasures.copy_rows(reader, writer)
        attestation = erasures.attest(writer, last, ids)
        head = last if attestation is None else _append(writer, attestation, views)
        writer.run("meta_set", name="home", value=target.identity(writer))
        views.record_versions(writer)
        return head

    with source.snapshot() as reader:
        head = target.write(finish)
    return Fork(log_id=new_id, commits=head.commit_ts, origin=origin)


def _copy_events(
    reader: Reader,
    page: Sequence[SealedEvent],
    views: Views,
    erasures: InheritedErasures,
    head: Head,
    writer: Writer,
) -> Head:
    """Append a page of the source's events to the fork, and return the fork's new head."""
    for event in page:
        sealed = chain.seal_again(head, erasures.adopt(event))
        blobs.copy(reader, writer, sealed.commit_ts)
        head = _append(writer, sealed, views)
    return head


def _append(writer: Writer, event: SealedEvent, views: Views) -> Head:
    writer.put("event_append", *msgspec.structs.astuple(event))
    views.apply(writer, Commit.of(event))
    return Head(event.commit_ts, event.committed_at, event.hash)


def _token(engine: Engine, log_id: str, commit_ts: int) -> ResumeToken:
    with engine.reading() as reader:
        row = reader.row("event_get", commit_ts=commit_ts)
    if row is None:
        raise ChainBroken(commit_ts, "it is missing")
    return ResumeToken(log_id, commit_ts, SealedEvent(*row).hash)


def _begin_as_fork(event: SealedEvent, token: ResumeToken, ids: IdSource) -> SealedEvent:
    """Return the first event with an epoch that names the fork's origin."""
    parts = codec.split(event.operations)
    position, epoch = lineage.first_epoch(event)
    parts[position] = codec.encode(
        msgspec.structs.replace(
            epoch,
            epoch_id=ids.unique(),
            cause="forked",
            origin=str(token),
            lineage=lineage.fork_lineage(event, token.log_id, token.commit_ts, token.hash),
        )
    )
    return msgspec.structs.replace(event, operations=codec.join(parts))
