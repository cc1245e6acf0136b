"""Rewriting committed events: content is erased, hashes stay.

An erasure runs under the write lock, in the storage transaction of the commit that records it. For
each affected event, in the order of their numbers:

1. Decide the replacement of every operation (`Redactor`), and whether the envelope goes too.
2. Compute the envelope's leaf while its salt still exists, and encode the redacted operations.
   They open the slots that remain and carry the commitments to the others. In an event of chain
   version 1 an `Erased` operation with the leaf hash takes the operation's place.
3. Add a row to `erased` for each position: the erasing commit and a hash of the new bytes.
4. Drop long content whose operation no longer names it.
5. Update the event: new envelope, operations and salts. Salts of erased parts are zeroed; its hash
   does not change, since the leaves that it covers are the same.
6. Show the event before and after to each view's `Eraser`, which updates the view's tables.

Then the erasers finish, the erasure is noted as pending for a purge, and the caller appends the
event with the `Erase` operation, which has a digest over the rows of step 3.

A crash at any point is safe: all of this is one storage transaction, so after a restart the store
has either everything as it was, or the erasure and the commit that records it. Until the purge has
run, erased bytes may remain in free pages of the file; that it is due is part of the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from struct import Struct

from msgspec.structs import replace

from memoranda.log import chain, field_commitments, pages
from memoranda.log.erasure.purge import note_pending
from memoranda.log.erasure.redact_operations import Replacement, redact
from memoranda.log.field_commitments import NO_SALT, SALT_SIZE, Salts
from memoranda.log.views import Commit, Eraser, RewrittenEvent, Views
from memoranda.model import codec
from memoranda.model.erasure import LogPosition
from memoranda.model.event import TOKEN_SIZE, Envelope, ErasedEnvelope, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    AnyOperation,
    Epoch,
    Erased,
    ErasedOperation,
    MemoryTombstone,
    Redacted,
    TranscriptTombstone,
    effective_operation,
)
from memoranda.storage.port import WriteBuffer, Writer

# Envelopes: when they are erased, and what remains.
#
# A txn_id and an actor can reveal whom content was about. So an envelope is erased with its actor,
# and as soon as its transaction has no content left. A retry under the caller's own txn_id must
# still be recognised, or it would repeat what was forgotten: a token remains, a hash of txn_id and
# actor. A signed envelope stays, since the signature cannot be checked without it.

HASH_SIZE = 32
"""Bytes of `request_hash` that are the salted hash; the fingerprint follows."""
# The domain keeps the project's first name: changing it would invalidate stored tokens.
_DOMAIN = b"recollect retry token\0"
_WITHOUT_CONTENT = (Erased, Redacted, Epoch, MemoryTombstone, TranscriptTombstone)
"""Operations that have no content: residues with ids only, and the engine's own."""


def retry_token(txn_id: str, actor: str) -> bytes:
    """Return the token that identifies an erased txn_id and actor to a retry."""
    return sha256(_DOMAIN + f"{actor}\0{txn_id}".encode()).digest()[:TOKEN_SIZE]


def actor_pseudonym(event: SealedEvent, actor: tuple[str, str] | None) -> str | None:
    """Return the pseudonym for an envelope whose actor is erased; None if it has another actor."""
    if actor is None or codec.decode_envelope(event.envelope).actor != actor[0]:
        return None
    return actor[1]


def envelope_residue(
    event: SealedEvent, residues: Mapping[int, AnyOperation | None], actor: tuple[str, str] | None
) -> tuple[str, bytes] | None:
    """Return the pseudonym and the retry token of an envelope; None: it stays as it is.

    `residues` has those of the operations that change. Erasing an agent drops its tokens as well:
    an agent that uses the name later is a new one.
    """
    operations: Sequence[AnyOperation] = codec.decode_effective(event.operations)
    remaining = (residues.get(position, operation) for position, operation in enumerate(operations))
    if not all(
        operation is None or isinstance(operation, _WITHOUT_CONTENT) for operation in remaining
    ):
        return None
    erased_envelope = codec.decode_erased_envelope(event.envelope)
    if erased_envelope is not None:
        return (erased_envelope.actor, b"") if actor is not None and erased_envelope.retry else None
    envelope = codec.decode_envelope(event.envelope)
    return None if envelope.signature is not None else ("", _retry_key(envelope))


def _retry_key(envelope: Envelope) -> bytes:
    fingerprint = envelope.request_hash[HASH_SIZE:]
    if not fingerprint and _is_generated(envelope.txn_id):
        return b""
    return retry_token(envelope.txn_id, envelope.actor) + fingerprint


def _is_generated(txn_id: str) -> bool:
    """Return whether the engine generated a txn_id (UUID version 7): no caller can retry it."""
    return len(txn_id) == 36 and txn_id[14] == "7"


# Erasing: rewrite events and update the views.

ENVELOPE = -1
"""The position of an envelope in the rows of an erasure."""
_POSITION = Struct(">qq").pack


Redactor = Callable[[LogPosition, AnyOperation], Replacement | None]
"""Returns the replacement of an effective operation; None: it stays."""


class Tally:
    """Counts the rows of an erasure, and hashes them in the order of their positions."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = sha256()

    def add(self, place: LogPosition, digest: bytes) -> None:
        """Add the next row."""
        self.count += 1
        self._hash.update(_POSITION(*place) + digest)

    @property
    def digest(self) -> bytes:
        """The hash over all rows so far."""
        return self._hash.digest()


class Erasure:
    """An erasure in progress, in the transaction of the commit that records it."""

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
        self._rows = WriteBuffer(writer)
        self.tally = Tally()

    def erase(
        self,
        commits: Iterable[int],
        redactor: Redactor,
        actor: tuple[str, str] | None = None,
        *,
        envelopes: bool = False,
    ) -> None:
        """Erase from these events what the redactor replaces, in the order of their numbers.

        `actor` is the erased agent and its pseudonym for envelopes. With `envelopes`, the envelopes
        of events that have no content left are erased too.
        """
        self._views.drop_caches()
        for event in pages.events_of(self._writer, sorted(commits)):
            rewritten = self._rewrite(event, redactor, actor, envelopes=envelopes)
            if rewritten is not None:
                for eraser in self._erasers:
                    eraser.apply_rewrite(rewritten)
        self._rows.flush()
        for eraser in self._erasers:
            eraser.finish()
        if self.tally.count:
            note_pending(self._writer, self._commit_ts)
        self._views.drop_caches()

    def forget_requests(self) -> None:
        """Zero the request salts of all transactions that changed nothing.

        They have no operations, so nothing tells which of them named what is erased now; with the
        salt, their request hash would confirm a guess.
        """
        for commit_ts, salts in self._writer.rows("event_salts_without_effect", size=SALT_SIZE):
            self._writer.put(
                "event_salts_set", field_commitments.salts_without_request(salts), commit_ts
            )

    def _rewrite(
        self,
        event: SealedEvent,
        redactor: Redactor,
        actor: tuple[str, str] | None,
        *,
        envelopes: bool,
    ) -> RewrittenEvent | None:
        """Rewrite one event; return it before and after, or None if nothing of it is erased."""
        operations = codec.decode_operations(event.operations)
        operations_before = tuple(map(effective_operation, operations))
        replacements = _find_replacements(event.commit_ts, operations_before, redactor)
        pseudonym, retry = actor_pseudonym(event, actor), b""
        if not replacements and pseudonym is None:
            return None
        if envelopes and pseudonym is None:
            residues = {
                position: replacement.residue for position, (_, replacement) in replacements.items()
            }
            pseudonym, retry = envelope_residue(event, residues, actor) or (None, b"")
        envelope = event.envelope
        if pseudonym is not None:
            leaf = chain.leaves_in(event)[0]
            envelope = codec.encode(ErasedEnvelope(leaf, pseudonym, self._commit_ts, retry))
            self._note((event.commit_ts, ENVELOPE), envelope)
        parts, after = codec.split(event.operations), [*operations]
        for position, redacted in self._redact_all(event, operations, replacements).items():
            parts[position] = codec.encode(redacted)
            after[position] = codec.decode_operation(parts[position])
            self._note((event.commit_ts, position), parts[position])
        for position, (before, replacement) in replacements.items():
            if before.blob is not None and (
                replacement.residue is None or replacement.residue.blob is None
            ):
                self._writer.run("blob_remove", commit_ts=event.commit_ts, position=position)
        new = replace(event, envelope=envelope, operations=codec.join(parts))
        new = replace(new, salts=_remaining_salts(event, operations, new, after))
        self._writer.run(
            "event_rewrite",
            commit_ts=new.commit_ts,
            salts=new.salts,
            envelope=new.envelope,
            operations=new.operations,
        )
        effective = [*operations_before]
        for position in replacements:
            effective[position] = effective_operation(after[position])
        return RewrittenEvent(
            Commit.with_operations(event, operations_before),
            Commit.with_operations(new, tuple(effective)),
            tuple(replacements),
        )

    def _redact_all(
        self,
        event: SealedEvent,
        operations: Sequence[AnyOperation],
        replacements: dict[int, tuple[AnyOperation, Replacement]],
    ) -> dict[int, AnyOperation]:
        """Return the operations that take the places of the replaced ones, by position."""
        if not field_commitments.is_version_2(event.salts):
            leaves = chain.operation_leaves(event)
            return {
                position: Erased(
                    replacement.namespace,
                    replacement.agent_id,
                    leaves[position],
                    self._commit_ts,
                    replacement.residue,
                    self._salt(),
                )
                for position, (_, replacement) in replacements.items()
            }
        salts, results = Salts(event.salts, operations), dict[int, AnyOperation]()
        for position, (_, replacement) in replacements.items():
            before = operations[position]
            scope = salts.scopes.get((before.namespace, before.agent_id), b"")
            own = (scope, salts.operations[position])
            results[position] = redact(before, own, replacement, self._commit_ts, self._salt())
        return results

    def _salt(self) -> bytes:
        return self._ids.entropy(SALT_SIZE)

    def _note(self, place: LogPosition, encoded: bytes) -> None:
        digest = sha256(encoded).digest()
        self.tally.add(place, digest)
        self._rows.add("erased_add", self._commit_ts, *place, digest)


def _find_replacements(
    commit_ts: int, operations_before: Sequence[AnyOperation], redactor: Redactor
) -> dict[int, tuple[AnyOperation, Replacement]]:
    """Return the operations that change with their replacements, by position."""
    replacements: dict[int, tuple[AnyOperation, Replacement]] = {}
    for position, operation in enumerate(operations_before):
        replacement = redactor((commit_ts, position), operation)
        if replacement is not None:
            replacements[position] = (operation, replacement)
    return replacements


def _remaining_salts(
    before: SealedEvent,
    operations_before: Sequence[AnyOperation],
    after: SealedEvent,
    operations: Sequence[AnyOperation],
) -> bytes:
    """Return the salts of an event, zeros in place of those of erased parts."""
    envelope_erased = codec.decode_erased_envelope(after.envelope) is not None
    is_erased = [isinstance(operation, ErasedOperation) for operation in operations]
    if not field_commitments.is_version_2(before.salts):
        flags = [True, envelope_erased, *is_erased]
        return b"".join(
            NO_SALT if was_erased else salt
            for was_erased, salt in zip(flags, _split_salts(before.salts), strict=True)
        )
    salts = Salts(before.salts, operations_before)
    own = [
        NO_SALT if was_erased else salt
        for was_erased, salt in zip(is_erased or [True], salts.operations, strict=True)
    ]
    envelope = NO_SALT if envelope_erased else salts.envelope
    return field_commitments.join_salts(envelope, salts.scopes, own, operations)


def _split_salts(salts: bytes) -> list[bytes]:
    size = SALT_SIZE
    return [salts[first : first + size] for first in range(0, len(salts), size)]


def has_erased_salts(event: SealedEvent, position: int) -> bool:
    """Return whether the salts that are erased with this position are zero."""
    size = SALT_SIZE
    if field_commitments.is_version_2(event.salts):
        return position != ENVELOPE or not any(event.salts[1 : 1 + size])
    first = (position + 2) * size
    return not any(event.salts[:size] + event.salts[first : first + size])
