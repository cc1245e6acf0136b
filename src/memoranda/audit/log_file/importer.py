"""Importing a log: an exported file becomes an empty store's log, if every line of it is sound."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import IO

from memoranda.audit.following import ErasedRow, Following
from memoranda.audit.log_lines import (
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
from memoranda.log.verification import Verification, clock_warnings
from memoranda.log.views import Views, rebuild
from memoranda.model import codec, slots
from memoranda.model.clock import Clock
from memoranda.model.event import SealedEvent
from memoranda.model.instant import to_datetime
from memoranda.model.operations import AnyOperation, ErasedOperation
from memoranda.model.packing import digest_of, pack
from memoranda.storage.port import Engine, Progress, Writer

_LONGEST_LINE = 2**31 - 1
"""More than a stored event or a content can have."""


class _Lines:
    """The lines of a file, counted and hashed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = sha256()
        self.number = 0
        """Of the line that was read last."""

    def next(self) -> bytes:
        """Return the next line's bytes."""
        line = self._file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise Corruption(
                f"the file is cut behind line {self.number}: its last line is missing"
                if len(line) < _LONGEST_LINE
                else f"line {self.number + 1} is longer than any can be"
            )
        self.number += 1
        return line

    def take(self, line: bytes) -> None:
        """Count a line in: all but the last one are."""
        self._digest.update(line)

    def check_end(self, end: End) -> None:
        """Raise unless the last line is about those before it, and nothing follows it."""
        if (end.lines, end.sha256) != (self.number - 1, self._digest.hexdigest()):
            raise Corruption("the lines before it are not the ones it was written for")
        if self._file.read(1):
            raise Corruption("something follows, and nothing may")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Name the line in whatever is wrong with it."""
        try:
            yield
        except ChainBroken as error:
            told = f"{error.problem} (line {self.number} of the file)"
            raise ChainBroken(error.commit_ts, told) from error
        except Corruption as error:
            raise Corruption(f"line {self.number}: {error}") from error


class _Import:
    """A log on its way from a file into a store."""

    def __init__(self, file: IO[bytes]) -> None:
        self._lines = _Lines(file)
        first = self._lines.next()
        with self._lines.told():
            self.header: Header = decode_header(first)
        self._lines.take(first)
        self._following = Following(self.header.log_id)
        self._owed: deque[tuple[int, AnyOperation]] = deque()
        """The operations of the last event whose content has not come yet."""
        self._last_note = ""
        self.checkpoints = 0
        self.last_checkpoint: int | None = None
        self.last_committed_at = 0

    def fill(self, writer: Writer) -> bool:
        """Take a page of events, and say whether there is more."""
        events, size = 0, 0
        while events < pages.PAGE_ROWS and size < pages.PAGE_BYTES:
            encoded = self._lines.next()
            with self._lines.told():
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
        """How many events were taken."""
        return self._following.head.commit_ts

    def _take(self, writer: Writer, line: Line) -> None:
        if isinstance(line, BlobLine):
            self._take_blob(writer, line)
            return
        self._check_contents()
        if isinstance(line, EventLine):
            self._take_event(writer, line)
        elif isinstance(line, CheckpointLine):
            self._take_checkpoint(writer, line)
        else:
            raise Corruption("a second beginning stands in the middle")

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
        operations = self._following.take(event, rows)
        if codec.split(event.operations) != [*line.operations]:
            raise Corruption("what stands for one operation is not one")
        codec.check_canonical(line.envelope)
        for part, operation in zip(line.operations, operations, strict=True):
            codec.check_canonical(part)
            if not isinstance(operation, ErasedOperation) and type(operation) not in slots.LAYOUTS:
                raise Corruption("what stands for an operation stays only where one was erased")
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
        self._owed.extend(each for each in enumerate(operations) if each[1].blob is not None)
        self._last_note = ""

    def _take_blob(self, writer: Writer, line: BlobLine) -> None:
        place = (self.commits, self._owed[0][0]) if self._owed else None
        if place != (line.commit_ts, line.position):
            raise Corruption("no operation before it has its content here")
        _, operation = self._owed.popleft()
        if digest_of(line.content) != operation.blob or not blobs.has_size(operation, line.content):
            raise ChainBroken(line.commit_ts, "its content does not have the hash the log says")
        blobs.keep(writer, line.commit_ts, line.position, pack(line.content))

    def _take_checkpoint(self, writer: Writer, line: CheckpointLine) -> None:
        if line.note.encode() <= self._last_note.encode():
            raise Corruption("the checkpoints are out of order")
        self._following.check_checkpoint(line.size, line.note)
        writer.put("checkpoint_add", line.size, line.note)
        self._last_note = line.note
        self.checkpoints += 1
        self.last_checkpoint = line.size

    def _check_contents(self) -> None:
        if self._owed:
            raise ChainBroken(self.commits, "the content of an operation is missing")

    def _finish(self, end: End) -> None:
        self._check_contents()
        self._lines.check_end(end)
        self._following.finish()
        head = self._following.head
        said = (self.header.commits, self.header.head_hash, self.header.version)
        if (head.commit_ts, head.hash.hex(), head.version) != said:
            raise Corruption(
                f"the first line says that the log has {self.header.commits} commits and another "
                f"head or version, and it has {head.commit_ts}"
            )
        self.last_committed_at = head.committed_at


def fill(
    engine: Engine, file: IO[bytes], views: Views, clock: Clock, progress: Progress | None = None
) -> Verification:
    """Fill an empty engine from an exported log, and build its views.

    Where the log lives is left open: whoever writes to it first begins a new epoch.
    """
    importing = _Import(file)
    header, more = importing.header, True
    with engine.writing() as writer:
        writer.run("meta_set", name="log_id", value=header.log_id)
    while more:
        with engine.writing() as writer:
            more = importing.fill(writer)
        if progress is not None:
            progress(importing.commits, header.commits)
    rebuild(engine, header.log_id, views, progress)
    last = importing.last_committed_at
    return Verification(
        log_id=header.log_id,
        commits=header.commits,
        head_hash=header.head_hash,
        last_committed_at=to_datetime(last) if header.commits else None,
        checkpoints=importing.checkpoints,
        last_checkpoint=importing.last_checkpoint,
        warnings=clock_warnings(last, clock) if header.commits else (),
    )
