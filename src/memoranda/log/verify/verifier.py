"""Verification: one walk over the log that checks the hash chain and everything beside it.

It reads a page at a time and remembers only counts, so the log may be of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import get_args

import msgspec

from memoranda.errors import ChainBroken, ViewsDiffer
from memoranda.log import blobs, chain, field_commitments, pages
from memoranda.log.chain import OpenedEvent
from memoranda.log.field_commitments import ScopeCommitments
from memoranda.log.read import cursors
from memoranda.log.read.scope_index import INDEX_VERSION, touched_scopes
from memoranda.log.verify.erasure_claims import Erasures
from memoranda.model.clock import Clock, to_datetime
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import (
    AnyOperation,
    Erase,
    Erased,
    Operation,
    Redacted,
    RetireKey,
    TrustKey,
    effective_operation,
    is_unproven,
)
from memoranda.model.scope import DEFAULT_ACTOR
from memoranda.storage.port import Engine, Progress, Reader, Row

_MAX_SKIPPED_EVENTS = 2048
"""Events that are checked in one snapshot: a long one would keep the write-ahead log from
shrinking."""
_SALTS_COLUMN = 3
"""Index of the salts in an event's row."""
_ContentOwner = tuple[int, int, AnyOperation]
"""The position of an operation that has long content beside the log, and the operation."""
_PLAIN_KINDS = frozenset(
    kind
    for kind in get_args(AnyOperation)
    if kind.blob is Operation.blob
    and not issubclass(kind, Erased | Redacted | Erase | TrustKey | RetireKey)
    and not hasattr(kind, "by")
)
"""Kinds of operation that the event's hash checks completely: they have nothing beside the log, and
their actor is the envelope's."""


def _is_plain(event: OpenedEvent) -> bool:
    """Return whether an event's hash checks it completely.

    It has one plain operation, by its own agent, unsigned, and nothing of it was erased.
    """
    row, envelope, operations = event
    return (
        len(operations) == 1
        and type(operations[0]) in _PLAIN_KINDS
        and envelope.actor in (operations[0].agent_id, DEFAULT_ACTOR)
        and envelope.signature is None
        and bool(envelope.txn_id)
        and not row[_SALTS_COLUMN].startswith(field_commitments.NO_SALT)
    )


EventObserver = Callable[[Reader, SealedEvent, Envelope, Sequence[AnyOperation]], None]
"""Called with the events that concern keys, and with signed ones."""


class ChainWalk:
    """The progress of one check of the log."""

    def __init__(
        self,
        reader: Reader,
        log_id: str,
        through: int | None = None,
        on_event: EventObserver | None = None,
    ) -> None:
        self._log_id = log_id
        self._on_event = on_event
        self.through = pages.head_commit(reader) if through is None else through
        self.head = chain.genesis(log_id)
        self._transactions = 0
        """Events with a row in the index of transactions."""
        self._touched_scopes = 0
        """Sum of the scopes that each event touched: the rows expected in the index of scopes."""
        self._erasures = Erasures()
        self.unproven = 0
        """Residues in events of chain version 1, which nothing proves."""
        self._scopes: ScopeCommitments = {}
        self._has_blobs = reader.has("blob")
        stray = reader.row("event_before_first")
        if stray is not None:
            raise ChainBroken(stray[0], "commits are numbered from 1")

    def next_page(self, reader: Reader) -> list[OpenedEvent]:
        """Return the next events, empty at the end, or raise `ChainBroken` for a bad one."""
        events: list[OpenedEvent] = []
        if not self.ended:
            rows = pages.rows(reader, after=self.head.commit_ts, through=self.through)
            self._advance(reader, rows, events.append)
        return events

    def skip(self, reader: Reader) -> None:
        """Check the next events without returning them: faster, as plain events are not kept."""
        page = {"after": self.head.commit_ts, "through": self.through, "limit": _MAX_SKIPPED_EVENTS}
        self._advance(reader, reader.stream("event_page", **page))

    @property
    def ended(self) -> bool:
        """Whether every event is checked."""
        return self.head.commit_ts >= self.through

    def _advance(
        self, reader: Reader, rows: Iterable[Row], keep: Callable[[OpenedEvent], None] | None = None
    ) -> None:
        before, heads = self.head, [self.head]
        content_owners: list[_ContentOwner] = []
        quiet_kinds = _PLAIN_KINDS if keep is None else frozenset[type]()
        for event in chain.verify_rows(before, rows, quiet_kinds, heads.append, self._scopes):
            if keep is None or not _is_plain(event):
                self._check_event(reader, event, content_owners)
            if keep is not None:
                keep(event)
        self.head = heads[-1]
        if self.head.commit_ts == before.commit_ts:
            raise ChainBroken(before.commit_ts + 1, "it went missing while the log was read")
        self._erasures.settle(self.head.commit_ts)
        self._transactions += self.head.commit_ts - before.commit_ts
        self._touched_scopes += self.head.commit_ts - before.commit_ts
        if self._has_blobs or content_owners:
            self._check_blobs(reader, before, content_owners)

    def check_erasures(self, reader: Reader) -> None:
        """Check that every commit that erased something records it."""
        self._erasures.check_all(reader)

    def finish(self, reader: Reader) -> None:
        """Check that the tables beside the log have neither more nor fewer commits than it."""
        self.check_erasures(reader)
        if not self._was_erased_since(reader):
            self._check_indexes(reader)
        stray = reader.row("blob_of_missing_commit") if self._has_blobs else None
        if stray is not None:
            raise self._truncation_error(stray[0], "content of it is kept")
        cursors.check_all(reader, self._log_id)

    def _check_event(
        self, reader: Reader, event_parts: OpenedEvent, content_owners: list[_ContentOwner]
    ) -> None:
        """Check an event's erasures, and collect the operations that have long content."""
        row, envelope, operations = event_parts
        event = SealedEvent(*row)
        self._erasures.check(reader, event, operations)
        if self._on_event is not None:
            self._on_event(reader, event, envelope, operations)
        self._transactions -= envelope.retry_key is None  # its envelope was erased
        self._touched_scopes += (
            len(touched_scopes(envelope.actor, [*map(effective_operation, operations)])) - 1
        )
        self.unproven += sum(map(is_unproven, operations))
        for position, operation in enumerate(operations):
            if operation.blob is not None:
                content_owners.append((row[0], position, operation))

    def _check_blobs(
        self, reader: Reader, before: Head, content_owners: list[_ContentOwner]
    ) -> None:
        """Check the long content of a page's operations, and that there is no other."""
        positions = set[tuple[int, int]]()
        if self._has_blobs:
            positions.update(
                (row[0], row[1])
                for row in reader.rows(
                    "blob_places", after=before.commit_ts, through=self.head.commit_ts
                )
            )
        for commit_ts, position, operation in content_owners:
            if (commit_ts, position) not in positions:
                raise ChainBroken(commit_ts, f"the content of its operation {position} is missing")
            blobs.check(reader, commit_ts, position, operation)
            positions.remove((commit_ts, position))
        if positions:
            commit_ts, position = min(positions, key=lambda place: place[0])
            raise ChainBroken(int(commit_ts), f"content is kept for its operation {position}")

    def _was_erased_since(self, reader: Reader) -> bool:
        """Return whether an erasure since the walk began may have changed the counts."""
        if not reader.has("erased"):
            return False
        return reader.row("erased_since", after=self.through) is not None

    def _check_indexes(self, reader: Reader) -> None:
        """Compare the row counts of the log's own view; cheap, so it does not see every change."""
        end = self.head.commit_ts
        current = reader.row("meta_get", name="view:log") == (str(INDEX_VERSION),)
        for table, query, own_count in (
            ("txn", "txn_census", self._transactions),
            ("event_scope", "event_scope_census", self._touched_scopes),
        ):
            count, stray = reader.row(query, through=end) or (0, None)
            if stray is not None:
                raise self._truncation_error(stray, f"table {table!r} has it")
            if count != own_count and current:
                raise ViewsDiffer(
                    "log", table, f"{count} rows are of the first {end} commits, not {own_count}"
                )

    def _truncation_error(self, commit_ts: object, witness: str) -> ChainBroken:
        """Return the error for a commit that the log does not have."""
        following = self.head.commit_ts + 1
        return ChainBroken(
            min(commit_ts, following) if isinstance(commit_ts, int) else following,
            f"it is missing, although {witness}: the log was truncated, or an index beside it "
            "was changed",
        )


# Verification: walk the whole log, from the first event to the head.

_MAX_CLOCK_LEAD_MICROS = 5 * 60 * 1_000_000
"""Microseconds that commits may be ahead of the clock without a warning: clocks differ a little."""
PageObserver = Callable[[Sequence[SealedEvent]], None]
"""Called with each page of verified events."""


class Verification(msgspec.Struct, frozen=True):
    """The result of a verification that found the log sound."""

    log_id: str
    commits: int
    head_hash: str
    last_committed_at: datetime | None
    warnings: tuple[str, ...] = ()
    checkpoints: int = 0
    """Signed checkpoints that were compared with the log, and agree."""
    last_checkpoint: int | None = None
    """The size of the last one of them."""
    rows: int | None = None
    """Rows of views that were compared; None: only the log was verified."""
    signed: int = 0
    """Events with a valid signature of their agent."""
    unproven: int = 0
    """Residues in events of chain version 1, which only the erasing commit attests."""
    request_signed: int = 0
    """Those of the signed events whose signature covers the request, and not what was decided."""

    def __str__(self) -> str:
        """Return the result as one line: the counts, and the number of warnings."""
        counts = (
            (self.signed, "signed by its agent", "signed by their agents"),
            (self.request_signed, "of them as a request", "of them as requests"),
            (self.checkpoints, "checkpoint agrees", "checkpoints agree"),
            (self.rows, "row of the views matches", "rows of the views match"),
            (self.unproven, "part is unproven", "parts are unproven"),
            (len(self.warnings), "warning", "warnings"),
        )
        commits = "1 commit" if self.commits == 1 else f"{self.commits:,} commits"
        details = (
            f"; {count:,} {singular if count == 1 else plural}"
            for count, singular, plural in counts
            if count
        )
        return f"The chain of {commits} holds{''.join(details)}."


def clock_warnings(last_committed_at: int, clock: Clock) -> tuple[str, ...]:
    """Return a warning if commits are ahead of the clock: it was set back, or had been wrong."""
    lead = last_committed_at - clock.now()
    if lead <= _MAX_CLOCK_LEAD_MICROS:
        return ()
    return (
        f"the last commit is {lead // 1_000_000} s ahead of this machine's clock, and the next "
        "ones will be just behind it: check the clock",
    )


def verified_pages(engine: Engine, log_id: str, through: int) -> Iterator[list[SealedEvent]]:
    """Yield the events up to a commit, or raise `ChainBroken` for the first bad one."""
    with engine.reading() as reader:
        walk = ChainWalk(reader, log_id, through)
    while not walk.ended:
        with engine.snapshot() as reader:  # an erasure between two reads would look like damage
            events = walk.next_page(reader)
        yield sealed_events(events)
    with engine.snapshot() as reader:
        walk.check_erasures(reader)


def verify(
    engine: Engine,
    log_id: str,
    clock: Clock,
    progress: Progress | None = None,
    on_page: PageObserver | None = None,
    on_event: EventObserver | None = None,
) -> Verification:
    """Check every event up to the head, or raise `ChainBroken` for the first bad one.

    `on_page` is called with each page of sound events, and `on_event` with those that concern keys
    or are signed; both may raise.
    """
    with engine.reading() as reader:
        walk = ChainWalk(reader, log_id, on_event=on_event)
    while not walk.ended:
        events: list[OpenedEvent] = []
        with engine.snapshot() as reader:
            if on_page is None:
                walk.skip(reader)
            else:
                events = walk.next_page(reader)
        if on_page is not None:
            on_page(sealed_events(events))
        if progress is not None:
            progress(walk.head.commit_ts, walk.through)
    with engine.snapshot() as reader:
        walk.finish(reader)
    return verification_of(walk, log_id, clock)


def sealed_events(events: Sequence[OpenedEvent]) -> list[SealedEvent]:
    """Return verified events as they are stored."""
    return [SealedEvent(*row) for row, _, _ in events]


def verification_of(
    walk: ChainWalk, log_id: str, clock: Clock, rows: int | None = None
) -> Verification:
    """Return the result of a walk that reached the end of the log."""
    last = walk.head
    return Verification(
        log_id=log_id,
        commits=last.commit_ts,
        head_hash=last.hash.hex(),
        last_committed_at=to_datetime(last.committed_at) if last.commit_ts else None,
        warnings=clock_warnings(last.committed_at, clock) if last.commit_ts else (),
        rows=rows,
        unproven=walk.unproven,
    )
