"""Certificates: what the log says of an erasure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from memoranda.log import pages
from memoranda.log.erasure.preview import Preview
from memoranda.log.erasure.purge import HOW_TO_PURGE, first_pending
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.views import Commit
from memoranda.model.clock import to_datetime
from memoranda.model.event import SealedEvent
from memoranda.model.operations import Erase
from memoranda.model.receipt import Outcome
from memoranda.storage.port import Engine, Reader


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that something was erased: when, by whom and why, but not what.

    It has nothing that could be compared with a guess of the erased content.
    """

    erasure_id: str
    """The id to ask for it by; a dry run has none."""
    target: str
    """Kind of target: memory, transcript, key, fact, entity, agent, namespace, facts, sweep or
    compaction."""
    commit_ts: int | None
    committed_at: datetime | None
    by: str
    reason: str | None
    operations: int
    """Operations that were erased, wholly or in part."""
    events: int
    """Events that these are in."""
    digest: str
    """Hash over the bytes in their places now, which include their leaf hashes."""
    pseudonym: str | None = None
    """The name in place of that of an erased agent or namespace."""
    pending_purge: bool = False
    """Whether erased bytes may still be in the files: `purge` removes them."""
    pending_reason: str | None = None
    """Why the purge is pending, and how to finish it; None if it is not pending."""
    copies: tuple[str, ...] = ()
    """Folders beside the store, or for temporary files, in which a copy of it is being made, or was
    left by a killed process. They may hold the erased content, and no purge reaches them."""
    preview: Preview | None = None
    """For a dry run: what would be erased, and what rests on it."""

    @property
    def id(self) -> str:
        """The id of the erasure, as `erasure_id`."""
        return self.erasure_id

    @property
    def outcome(self) -> Outcome:
        """What the erasure did: deleted; unchanged for a dry run."""
        return "unchanged" if self.commit_ts is None else "deleted"


class Certificates(ResumablePages[Certificate]):
    """Every erasure of a log, oldest first, in pages."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._after = 0

    @property
    def position(self) -> Position:
        """The last commit."""
        return [self._after]

    @position.setter
    def position(self, position: Position) -> None:
        (self._after,) = position

    def next_page(self) -> list[Certificate]:
        """Return the next certificates."""
        with self._engine.snapshot() as reader:
            rows = reader.rows("erasures_page", after=self._after, limit=self.rows)
            if rows:
                self._after = rows[-1][0]
            certificates = [_read_certificate(reader, row[0]) for row in rows]
        return [certificate for certificate in certificates if certificate is not None]


def find(reader: Reader, erasure_id: str) -> Certificate | None:
    """Return the certificate of an erasure."""
    matches = (item for item in _all(reader) if item.erasure_id == erasure_id)
    return next(matches, None)


def ids_with_prefix(reader: Reader, prefix: str) -> list[str]:
    """Return the ids of the erasures that begin with a prefix, in order."""
    ids = (item.erasure_id for item in _all(reader))
    return sorted(name for name in ids if name.startswith(prefix))


def _all(reader: Reader) -> Iterator[Certificate]:
    after = 0
    while rows := reader.rows("erasures_page", after=after, limit=pages.PAGE_ROWS):
        for (commit_ts,) in rows:
            after = commit_ts
            certificate = _read_certificate(reader, commit_ts)
            if certificate is not None:
                yield certificate


def _read_certificate(reader: Reader, commit_ts: int) -> Certificate | None:
    row = reader.row("event_get", commit_ts=commit_ts)
    return None if row is None else certificate_of(reader, Commit.of(SealedEvent(*row)))


def certificate_of(reader: Reader, commit: Commit) -> Certificate | None:
    """Return the certificate of an erasing commit; None if it erased nothing."""
    for operation in commit.operations:
        if isinstance(operation, Erase):
            return _certificate(reader, commit, operation)
    return None


def _certificate(reader: Reader, commit: Commit, erase: Erase) -> Certificate:
    operations, events = reader.row("erased_counts", erasure=commit.commit_ts) or (0, 0)
    first = first_pending(reader)
    is_pending = first is not None and first <= commit.commit_ts
    return Certificate(
        erasure_id=erase.erasure_id,
        target=erase.target,
        commit_ts=commit.commit_ts,
        committed_at=to_datetime(commit.committed_at),
        by=erase.by,
        reason=erase.reason,
        operations=operations,
        events=events,
        digest=erase.digest.hex(),
        pseudonym=erase.pseudonym,
        pending_purge=is_pending,
        pending_reason=pending_reason("it is not purged yet") if is_pending else None,
    )


def pending_reason(reason: str) -> str:
    """Return why a purge is pending, with the remedy."""
    return f"{reason}: {HOW_TO_PURGE}"
