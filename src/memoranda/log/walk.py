"""The walk: one pass over the log, checking each event and all that must stand beside it.

It is read a page at a time and remembers numbers only, so a log may be as long as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from memoranda.errors import ChainBroken, ViewsDiffer
from memoranda.log import blobs, chain, cursors, pages, salting
from memoranda.log.chain import Opened
from memoranda.log.commitments import Scopes
from memoranda.log.erasures import Erasures
from memoranda.log.scopes import INDEX_VERSION, touched
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import (
    AnyOperation,
    Erase,
    Erased,
    Operation,
    Redacted,
    RetireKey,
    TrustKey,
    is_unproven,
    standing,
)
from memoranda.model.scope import NOBODY
from memoranda.storage.port import Reader, Row

_MOST_SKIPPED = 2048
"""How many events are checked before others can have the snapshot released."""
_SALTS = 3
"""Where an event's salts stand in its row."""
_Wanted = tuple[int, int, AnyOperation]
"""An operation that has content beside the log, and its place."""
_PLAIN = frozenset(
    kind
    for kind in get_args(AnyOperation)
    if kind.blob is Operation.blob
    and not issubclass(kind, Erased | Redacted | Erase | TrustKey | RetireKey)
    and not hasattr(kind, "by")
)
"""The kinds of operation that are checked when their event is: nothing beside the log is theirs,
and nobody else did them than who asked."""


def _is_plain(opened: Opened) -> bool:
    """Say whether an event is checked with that: one such operation, by its own agent, unsigned."""
    row, envelope, operations = opened
    return (
        len(operations) == 1
        and type(operations[0]) in _PLAIN
        and envelope.actor in (operations[0].agent_id, NOBODY)
        and envelope.signature is None
        and bool(envelope.txn_id)
        and not row[_SALTS].startswith(salting.NO_SALT)
    )


Attend = Callable[[Reader, SealedEvent, Envelope, Sequence[AnyOperation]], None]
"""Is shown the events that say something of keys, and those that somebody signed."""


class Walk:
    """Where a check of the log stands, and what it has seen on the way."""

    def __init__(
        self,
        reader: Reader,
        log_id: str,
        through: int | None = None,
        attend: Attend | None = None,
    ) -> None:
        self._log_id = log_id
        self._attend = attend
        self.through = pages.head_commit(reader) if through is None else through
        self.head = chain.genesis(log_id)
        self._transactions = 0
        """How many events are found by the name of their transaction."""
        self._touched = 0
        """How many scopes all events touched, those of each counted anew."""
        self._erasures = Erasures()
        self.unproven = 0
        """How many places of older events have something left that nothing proves."""
        self._scopes: Scopes = {}
        self._has_blobs = reader.row("table_there", name="blob") is not None
        stray = reader.row("event_before_first")
        if stray is not None:
            raise ChainBroken(stray[0], "commits are numbered from 1")

    def next_page(self, reader: Reader) -> list[Opened]:
        """Return the next events, or raise `ChainBroken` for the first bad one; none: the end."""
        opened: list[Opened] = []
        if not self.ended:
            rows = pages.rows(reader, after=self.head.commit_ts, through=self.through)
            self._advance(reader, rows, opened.append)
        return opened

    def skip(self, reader: Reader) -> None:
        """Check some events as `next_page` does, in a snapshot, and keep none of them."""
        page = {"after": self.head.commit_ts, "through": self.through, "most": _MOST_SKIPPED}
        self._advance(reader, reader.stream("event_page", **page))

    @property
    def ended(self) -> bool:
        """Whether every event is checked."""
        return self.head.commit_ts >= self.through

    def _advance(
        self, reader: Reader, rows: Iterable[Row], keep: Callable[[Opened], None] | None = None
    ) -> None:
        before, reached = self.head, [self.head]
        wanted: list[_Wanted] = []
        quiet = _PLAIN if keep is None else frozenset[type]()
        for opened in chain.follow(before, rows, quiet, reached.append, self._scopes):
            if keep is None or not _is_plain(opened):
                self._look_into(reader, opened, wanted)
            if keep is not None:
                keep(opened)
        self.head = reached[-1]
        if self.head.commit_ts == before.commit_ts:
            raise ChainBroken(before.commit_ts + 1, "it went missing while the log was read")
        self._erasures.settle(self.head.commit_ts)
        self._transactions += self.head.commit_ts - before.commit_ts
        self._touched += self.head.commit_ts - before.commit_ts
        if self._has_blobs or wanted:
            self._check_blobs(reader, before, wanted)

    def check_erasures(self, reader: Reader) -> None:
        """Check that every commit that is said to have erased something says so."""
        self._erasures.check_all(reader)

    def finish(self, reader: Reader) -> None:
        """Check that what stands beside the log knows of no more and no fewer commits than it."""
        self.check_erasures(reader)
        if not self._erased_meanwhile(reader):
            self._check_indexes(reader)
        beyond = reader.row("blob_beyond_log") if self._has_blobs else None
        if beyond is not None:
            raise self._cut_off(beyond[0], "content of it is kept")
        cursors.check_all(reader, self._log_id)

    def _look_into(self, reader: Reader, opened: Opened, wanted: list[_Wanted]) -> None:
        """Check what was erased of an event, and note which content its operations name."""
        row, envelope, operations = opened
        event = SealedEvent(*row)
        self._erasures.check(reader, event, operations)
        if self._attend is not None:
            self._attend(reader, event, envelope, operations)
        self._transactions -= envelope.indexed is None  # whoever asked for it is forgotten
        self._touched += len(touched(envelope.actor, [*map(standing, operations)])) - 1
        self.unproven += sum(map(is_unproven, operations))
        for position, operation in enumerate(operations):
            if operation.blob is not None:
                wanted.append((row[0], position, operation))

    def _check_blobs(self, reader: Reader, before: Head, wanted: list[_Wanted]) -> None:
        """Check the content that the operations of a page name, and that there is no other."""
        there = set[tuple[int, int]]()
        if self._has_blobs:
            there.update(
                (row[0], row[1])
                for row in reader.rows(
                    "blob_places", after=before.commit_ts, through=self.head.commit_ts
                )
            )
        for commit_ts, position, operation in wanted:
            if (commit_ts, position) not in there:
                raise ChainBroken(commit_ts, f"the content of its operation {position} is missing")
            blobs.check(reader, commit_ts, position, operation)
            there.remove((commit_ts, position))
        if there:
            commit_ts, position = min(there, key=lambda place: place[0])
            raise ChainBroken(int(commit_ts), f"content is kept for its operation {position}")

    def _erased_meanwhile(self, reader: Reader) -> bool:
        """Say whether what was counted on the way may have been erased since."""
        if reader.row("table_there", name="erased") is None:
            return False
        return reader.row("erased_since", since=self.through) is not None

    def _check_indexes(self, reader: Reader) -> None:
        """Count what the log's own view has: cheap, so it cannot see every change."""
        end = self.head.commit_ts
        current = reader.row("meta_get", name="view:log") == (str(INDEX_VERSION),)
        for table, query, wanted in (
            ("txn", "txn_census", self._transactions),
            ("event_scope", "event_scope_census", self._touched),
        ):
            found, beyond = reader.row(query, through=end) or (0, None)
            if beyond is not None:
                raise self._cut_off(beyond, f"table {table!r} has it")
            if found != wanted and current:
                raise ViewsDiffer(
                    "log", table, f"{found} rows are of the first {end} commits, not {wanted}"
                )

    def _cut_off(self, commit_ts: object, witness: str) -> ChainBroken:
        """Return what is told of a commit that the log does not have."""
        following = self.head.commit_ts + 1
        return ChainBroken(
            min(commit_ts, following) if isinstance(commit_ts, int) else following,
            f"it is missing, although {witness}: the log was truncated, or what stands beside it "
            "was changed",
        )
