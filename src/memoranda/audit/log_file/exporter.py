"""Exporting a log: everything an outsider needs to check it, a line at a time.

The log is followed on the way, so what is written has been found sound. Nothing is held between two
pages; what is erased in the meantime would leave half of it in the file, so that ends the export.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec

from memoranda.audit.following import ErasedRow, Following
from memoranda.audit.log_lines import (
    BlobLine,
    CheckpointLine,
    End,
    EventLine,
    Header,
    Line,
    encode,
)
from memoranda.errors import ChainBroken, Corruption, StoreBusy
from memoranda.log import blobs, chain, pages
from memoranda.model import codec
from memoranda.model.event import Head, SealedEvent
from memoranda.model.operations import AnyOperation
from memoranda.storage.port import Engine, Progress, Reader

Write = Callable[[bytes], object]


class ExportedLog(msgspec.Struct, frozen=True):
    """What an export holds: the commits up to the moment it was begun, in so many lines."""

    log_id: str
    commits: int
    head_hash: str
    lines: int
    bytes: int


class ErasedMeanwhile(StoreBusy):
    """Content was erased while the log was exported. Export it again."""


class _Sheet:
    """What has been written."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._digest = sha256()
        self.lines = 0
        self.bytes = 0

    def put(self, line: Line) -> None:
        encoded = encode(line)
        self._digest.update(encoded)
        self._write(encoded)
        self.lines += 1
        self.bytes += len(encoded)

    def end(self) -> None:
        self.put(End(self.lines, self._digest.hexdigest()))


class _Page(msgspec.Struct):
    """A part of the log as of one moment, and what stands beside its events."""

    events: list[SealedEvent]
    erased: dict[int, list[ErasedRow]]
    notes: dict[int, list[str]]


def export(
    engine: Engine, log_id: str, write: Write, progress: Progress | None = None
) -> ExportedLog:
    """Write the log as it is now."""
    with engine.reading() as reader:
        head = pages.head(reader, chain.genesis(log_id))
        row = reader.row("event_get", commit_ts=head.commit_ts)
        version = 1 if row is None else chain.head_behind(row).version
        first = reader.rows("checkpoints_between", after=-1, through=0)
    sheet, following = _Sheet(write), Following(log_id)
    sheet.put(Header(version, log_id, head.commit_ts, head.hash.hex()))
    for size, note in first:
        _put_checkpoint(sheet, following, size, note)
    for page in _pages(engine, head):
        for event in page.events:
            _put_event(engine, sheet, following, event, page)
        if progress is not None:
            progress(following.head.commit_ts, head.commit_ts)
    following.finish()
    sheet.end()
    return ExportedLog(log_id, head.commit_ts, head.hash.hex(), sheet.lines, sheet.bytes)


def _pages(engine: Engine, head: Head) -> Iterator[_Page]:
    last = 0
    while last < head.commit_ts:
        with engine.snapshot() as reader:
            page = _read_page(reader, last, head.commit_ts)
        if not page.events:
            raise ChainBroken(last + 1, "it went missing while the log was read")
        _check_erased_before(engine, page, head.commit_ts)
        yield page
        last = page.events[-1].commit_ts


def _check_erased_before(engine: Engine, page: _Page, through: int) -> None:
    """Raise if something was erased by a commit behind the last one that is exported."""
    later = {
        row.erasure: commit_ts
        for commit_ts, rows in page.erased.items()
        for row in rows
        if row.erasure > through
    }
    if not later:
        return
    with engine.reading() as reader:
        if max(later) > pages.head_commit(reader):
            raise ChainBroken(later[max(later)], "the commit that erased something is missing")
    raise ErasedMeanwhile


def _read_page(reader: Reader, after: int, through: int) -> _Page:
    page = _Page(pages.page(reader, after=after, through=through), defaultdict(list), {})
    last = page.events[-1].commit_ts if page.events else after
    for erasure, commit_ts, position, digest in reader.rows(
        "erased_between", after=after, through=last
    ):
        page.erased[commit_ts].append(ErasedRow(position, erasure, digest))
    for size, note in reader.rows("checkpoints_between", after=after, through=last):
        page.notes.setdefault(size, []).append(note)
    return page


def _put_event(
    engine: Engine, sheet: _Sheet, following: Following, event: SealedEvent, page: _Page
) -> None:
    rows = page.erased.get(event.commit_ts, [])
    operations = following.take(event, rows)
    sheet.put(
        EventLine(
            commit_ts=event.commit_ts,
            committed_at=event.committed_at,
            hash=event.hash.hex(),
            salts=event.salts,
            envelope=event.envelope,
            operations=tuple(codec.split(event.operations)),
            erased=tuple((row.position, row.erasure, row.digest.hex()) for row in rows),
        )
    )
    for position, operation in enumerate(operations):
        if operation.blob is not None:
            content = _content(engine, event, position, operation)
            sheet.put(BlobLine(event.commit_ts, position, content))
    for note in page.notes.get(event.commit_ts, ()):
        _put_checkpoint(sheet, following, event.commit_ts, note)


def _put_checkpoint(sheet: _Sheet, following: Following, size: int, note: str) -> None:
    following.check_checkpoint(size, note)
    sheet.put(CheckpointLine(size, note))


def _content(engine: Engine, event: SealedEvent, position: int, operation: AnyOperation) -> bytes:
    try:
        with engine.reading() as reader:
            return blobs.load_of(reader, event.commit_ts, position, operation)
    except Corruption as error:
        with engine.reading() as reader:
            row = reader.row("event_get", commit_ts=event.commit_ts)
        if row is not None and SealedEvent(*row) != event:
            raise ErasedMeanwhile from error
        raise ChainBroken(event.commit_ts, str(error)) from error
