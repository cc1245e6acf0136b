"""Import of an exported log into an empty store; every line is checked before it is stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import IO

from memoranda.audit.log_file.checker import ErasedRow, LogChecker
from memoranda.audit.log_file.format import (
    BlobLine,
    CheckpointLine,
    End,
    EventLine,
    Header,
    Line,
    decode,
    decode_header,
)
from memoranda.errors import ChainBroken, Corruption
from memoranda.log import blobs, pages
from memoranda.log.rebuild import rebuild
from memoranda.log.verify.verifier import Verification, clock_warnings
from memoranda.log.views import Views
from memoranda.model import codec
from memoranda.model.clock import Clock, to_datetime
from memoranda.model.codec import digest_of, pack
from memoranda.model.event import SealedEvent
from memoranda.model.operations import AnyOperation, ErasedOperation, slots
from memoranda.storage.port import Engine, Progress, Writer

_MAX_LINE_BYTES = 2**31 - 1
"""Bytes; more than a stored event or content can have, so a longer line is damaged."""


class _LineReader:
    """Reads the lines of a file, and counts and hashes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = sha256()
        self.number = 0
        """The number of the line read last, from 1."""

    def next(self) -> bytes:
        """Read the next line."""
        line = self._file.readline(_MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise Corruption(
                f"the file is cut after line {self.number}: its last line is missing"
                if len(line) < _MAX_LINE_BYTES
                else f"line {self.number + 1} is longer than a line can be"
            )
        self.number += 1
        return line

    def take(self, line: bytes) -> None:
        """Add a line to the digest; the last line itself is not part of it."""
        self._digest.update(line)

    def check_end(self, end: End) -> None:
        """Raise unless the last line matches the lines before it, and ends the file."""
        if (end.lines, end.sha256) != (self.number - 1, self._digest.hexdigest()):
            raise Corruption("its count or hash does not match the lines before it")
        if self._file.read(1):
            raise Corruption("the file continues after its last line")

    @contextmanager
    def error_context(self) -> Iterator[None]:
        """Add the number of the line to errors raised in the block."""
        try:
            yield
        except ChainBroken as error:
            problem = f"{error.problem} (line {self.number} of the file)"
            raise ChainBroken(error.commit_ts, problem) from error
        except Corruption as error:
            raise Corruption(f"line {self.number}: {error}") from error


class _LogReader:
    """Reads a log from a file into a store, page by page."""

    def __init__(self, file: IO[bytes]) -> None:
        self._lines = _LineReader(file)
        first = self._lines.next()
        with self._lines.error_context():
            self.header: Header = decode_header(first)
        self._lines.take(first)
        self._checker = LogChecker(self.header.log_id)
        self._expected_blobs: deque[tuple[int, AnyOperation]] = deque()
        """The (position, operation) pairs of the last event whose content is still to come."""
        self._last_note = ""
        self.checkpoints = 0
        self.last_checkpoint: int | None = None
        self.last_committed_at = 0

    def fill(self, writer: Writer) -> bool:
        """Store one page of events, and return whether there is more."""
        events, size = 0, 0
        while events < pages.PAGE_ROWS and size < pages.PAGE_BYTES:
            encoded = self._lines.next()
            with self._lines.error_context():
                line = decode(encoded)
                if isinstance(line, End):
                    self._finish(line)
                    return False
                self._take(writer, line)
            self._lines.take(encoded)
            size += len(encoded)
            events += isinstance(line, EventLine)
        return True

    @property
    def commits(self) -> int:
        """The number of events stored so far."""
        return self._checker.head.commit_ts

    def _take(self, writer: Writer, line: Line) -> None:
        if isinstance(line, BlobLine):
            self._take_blob(writer, line)
            return
        self._check_no_blob_missing()
        if isinstance(line, EventLine):
            self._take_event(writer, line)
        elif isinstance(line, CheckpointLine):
            self._take_checkpoint(writer, line)
        else:
            raise Corruption("it is a second header")

    def _take_event(self, writer: Writer, line: EventLine) -> None:
        event = SealedEvent(
            commit_ts=line.commit_ts,
            committed_at=line.committed_at,
            hash=bytes.fromhex(line.hash),
            salts=line.salts,
            envelope=line.envelope,
            operations=codec.join(line.operations),
        )
        rows = [ErasedRow(at, by, bytes.fromhex(digest)) for at, by, digest in line.erased]
        operations = self._checker.add_event(event, rows)
        if codec.split(event.operations) != [*line.operations]:
            raise Corruption("one of its operations is not exactly one value")
        codec.check_canonical(line.envelope)
        for part, operation in zip(line.operations, operations, strict=True):
            codec.check_canonical(part)
            if not isinstance(operation, ErasedOperation) and type(operation) not in slots.LAYOUTS:
                raise Corruption("a residue of an operation may stand only inside a tombstone")
        writer.put(
            "event_append",
            event.commit_ts,
            event.committed_at,
            event.hash,
            event.salts,
            event.envelope,
            event.operations,
        )
        for row in rows:
            writer.put("erased_add", row.erasure, event.commit_ts, row.position, row.digest)
        self._expected_blobs.extend(
            entry for entry in enumerate(operations) if entry[1].blob is not None
        )
        self._last_note = ""

    def _take_blob(self, writer: Writer, line: BlobLine) -> None:
        place = (self.commits, self._expected_blobs[0][0]) if self._expected_blobs else None
        if place != (line.commit_ts, line.position):
            raise Corruption("no operation before it has its content at this position")
        _, operation = self._expected_blobs.popleft()
        if digest_of(line.content) != operation.blob or not blobs.has_size(operation, line.content):
            raise ChainBroken(line.commit_ts, "its content does not have the hash in the log")
        blobs.keep(writer, line.commit_ts, line.position, pack(line.content))

    def _take_checkpoint(self, writer: Writer, line: CheckpointLine) -> None:
        if line.note.encode() <= self._last_note.encode():
            raise Corruption("the checkpoints are out of order")
        self._checker.check_checkpoint(line.size, line.note)
        writer.put("checkpoint_add", line.size, line.note)
        self._last_note = line.note
        self.checkpoints += 1
        self.last_checkpoint = line.size

    def _check_no_blob_missing(self) -> None:
        if self._expected_blobs:
            raise ChainBroken(self.commits, "the content of an operation is missing")

    def _finish(self, end: End) -> None:
        self._check_no_blob_missing()
        self._lines.check_end(end)
        self._checker.finish()
        head = self._checker.head
        announced = (self.header.commits, self.header.head_hash, self.header.version)
        if (head.commit_ts, head.hash.hex(), head.version) != announced:
            raise Corruption(
                f"the header announces {self.header.commits} commits with a head hash and version "
                f"that the log of {head.commit_ts} commits does not have"
            )
        self.last_committed_at = head.committed_at


def _second_half(progress: Progress) -> Progress:
    """Return a progress of which as many steps are done before as it has itself."""
    return lambda count, total: progress(total + count, 2 * total)


def import_into(
    engine: Engine, file: IO[bytes], views: Views, clock: Clock, progress: Progress | None = None
) -> Verification:
    """Import an exported log into an empty engine, and build its views.

    The file's identity is not recorded, so the first write begins a new epoch. Progress has two
    steps for each commit: it is read, and its views are built.
    """
    log_reader = _LogReader(file)
    header, has_more = log_reader.header, True
    engine.write(lambda writer: writer.run("meta_set", name="log_id", value=header.log_id))
    while has_more:
        has_more = engine.write(log_reader.fill)
        if progress is not None:
            progress(log_reader.commits, 2 * header.commits)
    rebuild(engine, header.log_id, views, progress and _second_half(progress))
    last = log_reader.last_committed_at
    return Verification(
        log_id=header.log_id,
        commits=header.commits,
        head_hash=header.head_hash,
        last_committed_at=to_datetime(last) if header.commits else None,
        checkpoints=log_reader.checkpoints,
        last_checkpoint=log_reader.last_checkpoint,
        warnings=clock_warnings(last, clock) if header.commits else (),
    )
