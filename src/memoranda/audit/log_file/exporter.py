"""Export of a log to a file that can be checked without the store.

Every event is checked before it is written. No snapshot is held between two pages, so an erasure
may happen during the export. The file would then hold content on some pages and tombstones on
others, so the export stops with `ErasedDuringExport`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec

from memoranda.audit.log_file.checker import ErasedRow, LogChecker
from memoranda.audit.log_file.format import (
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

WriteBytes = Callable[[bytes], object]


class ExportedLog(msgspec.Struct, frozen=True):
    """A finished export: the log up to its head at the start, and the file's lines and bytes."""

    log_id: str
    commits: int
    head_hash: str
    lines: int
    bytes: int


class ErasedDuringExport(StoreBusy):
    """Content was erased while the log was exported. Export it again."""


class _LineWriter:
    """Writes lines, and counts and hashes them for the last line."""

    def __init__(self, write: WriteBytes) -> None:
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
    """A range of events, with their erasure rows and checkpoints, read in one snapshot."""

    events: list[SealedEvent]
    erasures: dict[int, list[ErasedRow]]
    notes: dict[int, list[str]]


def export(
    engine: Engine, log_id: str, write: WriteBytes, progress: Progress | None = None
) -> ExportedLog:
    """Write the log up to its present head."""
    with engine.reading() as reader:
        head = pages.head(reader, chain.genesis(log_id))
        row = reader.row("event_get", commit_ts=head.commit_ts)
        version = 1 if row is None else chain.head_after(row).version
        first = reader.rows("checkpoints_between", after=-1, through=0)
    writer, checker = _LineWriter(write), LogChecker(log_id)
    writer.put(Header(version, log_id, head.commit_ts, head.hash.hex()))
    for size, note in first:
        _put_checkpoint(writer, checker, size, note)
    for page in _pages(engine, head):
        for event in page.events:
            _put_event(engine, writer, checker, event, page)
        if progress is not None:
            progress(checker.head.commit_ts, head.commit_ts)
    checker.finish()
    writer.end()
    return ExportedLog(log_id, head.commit_ts, head.hash.hex(), writer.lines, writer.bytes)


def _pages(engine: Engine, head: Head) -> Iterator[_Page]:
    last = 0
    while last < head.commit_ts:
        with engine.snapshot() as reader:
            page = _read_page(reader, last, head.commit_ts)
        if not page.events:
            raise ChainBroken(last + 1, "it went missing while the log was read")
        _check_no_later_erasure(engine, page, head.commit_ts)
        yield page
        last = page.events[-1].commit_ts


def _check_no_later_erasure(engine: Engine, page: _Page, through: int) -> None:
    """Raise if a commit after the end of the export erased something on this page."""
    later = {
        row.erasure: commit_ts
        for commit_ts, rows in page.erasures.items()
        for row in rows
        if row.erasure > through
    }
    if not later:
        return
    with engine.reading() as reader:
        if max(later) > pages.head_commit(reader):
            raise ChainBroken(later[max(later)], "the commit that erased something is missing")
    raise ErasedDuringExport


def _read_page(reader: Reader, after: int, through: int) -> _Page:
    page = _Page(pages.page(reader, after=after, through=through), defaultdict(list), {})
    last = page.events[-1].commit_ts if page.events else after
    for erasure, commit_ts, position, digest in reader.rows(
        "erased_between", after=after, through=last
    ):
        page.erasures[commit_ts].append(ErasedRow(position, erasure, digest))
    for size, note in reader.rows("checkpoints_between", after=after, through=last):
        page.notes.setdefault(size, []).append(note)
    return page


def _put_event(
    engine: Engine, writer: _LineWriter, checker: LogChecker, event: SealedEvent, page: _Page
) -> None:
    rows = page.erasures.get(event.commit_ts, [])
    operations = checker.add_event(event, rows)
    writer.put(
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
            content = _read_content(engine, event, position, operation)
            writer.put(BlobLine(event.commit_ts, position, content))
    for note in page.notes.get(event.commit_ts, ()):
        _put_checkpoint(writer, checker, event.commit_ts, note)


def _put_checkpoint(writer: _LineWriter, checker: LogChecker, size: int, note: str) -> None:
    checker.check_checkpoint(size, note)
    writer.put(CheckpointLine(size, note))


def _read_content(
    engine: Engine, event: SealedEvent, position: int, operation: AnyOperation
) -> bytes:
    try:
        with engine.reading() as reader:
            return blobs.load_of(reader, event.commit_ts, position, operation)
    except Corruption as error:
        with engine.reading() as reader:
            row = reader.row("event_get", commit_ts=event.commit_ts)
        if row is not None and SealedEvent(*row) != event:
            raise ErasedDuringExport from error
        raise ChainBroken(event.commit_ts, str(error)) from error
