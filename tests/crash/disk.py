"""A model of a disk: what is certainly on it, and what a power loss may make of the rest.

What the model assumes, and it assumes the worst that file systems are known to do:

- A write is certain once its file has been synced. Until then each 512-byte sector of it survives
  or not, whatever becomes of the others: writes are torn, and come out in any order. Bytes next to
  a write are not harmed by it, which is what SQLite calls a powersafe overwrite.
- A truncation counts as a write: it may survive without the writes before it, and get lost though
  later ones survive. A file may also have grown without its data, which then reads as zeros.
- A name in the folder changes when a file is created or removed. The change is certain once the
  folder has been synced; until then each name may be bound to whatever it was bound to since the
  last time, whatever became of the other names. A removed file that comes back has its content.
- The folder is synced when SQLite asks for it with a removal, and with the first sync of a journal
  or write-ahead log on a handle that may create one: SQLite's unix VFS does it there.
- A sync that fails may have written anything or nothing, and a later one that succeeds does not
  make up for it: the system has marked the data as clean. Only writing the bytes again does.
- Shared memory (the `-shm` file) survives as garbage, if at all.

Changes are records, so a run can be kept as a list of them and the disk be built again as it was at
any moment of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

SECTOR = 512

MANNERS = ("nothing", "everything", "sectors", "writes", "in order", "nearly all", "nearly none")
"""How a power loss goes about what is not certain."""


@dataclass(frozen=True, slots=True)
class Create:
    """A name is bound to a new file; `content` is what a file from before the run has."""

    name: str
    inode: int
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes are written. A doubtful write is one that a failed sync was to make certain."""

    inode: int
    offset: int
    data: bytes
    doubtful: bool = False

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    def apply(self, content: bytearray) -> None:
        if len(content) < self.offset:
            content.extend(bytes(self.offset - len(content)))
        content[self.offset : self.end] = self.data

    def part(self, start: int, end: int) -> Write:
        data = self.data[start - self.offset : end - self.offset]
        return replace(self, offset=start, data=data)

    def sectors(self) -> Iterator[Write]:
        """Yield the parts of it that survive or not, each for itself."""
        start = self.offset
        while start < self.end:
            end = min(self.end, (start // SECTOR + 1) * SECTOR)
            yield self.part(start, end)
            start = end

    def outside(self, start: int, end: int) -> Iterator[Write]:
        """Yield what is left of it when a range has been written anew."""
        if end <= self.offset or start >= self.end:
            yield self
            return
        if self.offset < start:
            yield self.part(self.offset, start)
        if end < self.end:
            yield self.part(end, self.end)


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file gets another size."""

    inode: int
    size: int

    def apply(self, content: bytearray) -> None:
        content.extend(bytes(max(0, self.size - len(content))))
        del content[self.size :]


@dataclass(frozen=True, slots=True)
class Sync:
    """A file is synced, and perhaps the folder with it; or that fails."""

    inode: int
    folder: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """A name goes away; the folder is synced or not."""

    name: str
    folder: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Something a test wants to find again in the list of changes; the disk takes no notice."""

    what: object


Change = Create | Write | Truncate | Sync | Remove | Mark


class Loss:
    """One power loss: decides, by its seed, what it leaves of what is not certain."""

    def __init__(self, seed: object, manner: str | None = None) -> None:
        self._random = Random(repr(seed))
        self._manner = manner or self._random.choice(MANNERS)
        self._odds = {"nearly all": 0.95, "nearly none": 0.05}.get(self._manner, 0.5)

    def survivors(self, pending: Sequence[Write | Truncate]) -> list[Write | Truncate]:
        """Return what survives of changes, in the order in which they were made."""
        if self._manner == "nothing":
            return []
        if self._manner == "everything":
            return list(pending)
        if self._manner == "writes":
            return [change for change in pending if self._survives()]
        pieces = [piece for change in pending for piece in _pieces(change)]
        if self._manner == "in order":
            return pieces[: self._random.randint(0, len(pieces))]
        return [piece for piece in pieces if self._survives()]

    def binding(self, states: Sequence[int | None]) -> int | None:
        """Return what a name is bound to, out of all it was bound to since it was certain."""
        if self._manner == "nothing":
            return states[0]
        if self._manner == "everything":
            return states[-1]
        return self._random.choice(states)

    def grown(self, content: bytearray, size: int) -> bytes:
        """Return the content, which may have got its later size without the data."""
        if self._manner not in ("nothing", "everything") and self._random.random() < 0.25:
            content.extend(bytes(max(0, size - len(content))))
        return bytes(content)

    def garbage(self) -> bytes | None:
        """Return what is found as shared memory, if anything is."""
        return self._random.randbytes(32_768) if self._random.random() < 0.25 else None

    def _survives(self) -> bool:
        return self._random.random() < self._odds


def _pieces(change: Write | Truncate) -> Iterator[Write | Truncate]:
    if isinstance(change, Write):
        yield from change.sectors()
    else:
        yield change


@dataclass
class _File:
    """A file's certain bytes, and every change since."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)

    def sync(self) -> None:
        doubtful: list[Write] = []
        for change in self.pending:
            if isinstance(change, Write) and change.doubtful:
                doubtful.append(change)
                continue
            change.apply(self.content)
            if isinstance(change, Write):
                remainder = (old.outside(change.offset, change.end) for old in doubtful)
                doubtful = [part for parts in remainder for part in parts]
        self.pending = list(doubtful)

    def fail_to_sync(self) -> None:
        self.pending = [
            replace(change, doubtful=True) if isinstance(change, Write) else change
            for change in self.pending
        ]

    def after(self, loss: Loss) -> bytes:
        content = bytearray(self.content)
        for change in loss.survivors(self.pending):
            change.apply(content)
        sizes = [change.end for change in self.pending if isinstance(change, Write)]
        return loss.grown(content, max(sizes, default=0))


class Disk:
    """The files of one folder, as certain or uncertain as they are."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}
        self._names: dict[str, list[int | None]] = {}
        """What each name was bound to since the folder was last synced; the first is certain."""

    def inode(self, name: str) -> int | None:
        """Return the file a name is bound to just now."""
        return self._names.get(name, [None])[-1]

    def apply(self, change: Change) -> None:
        """Take notice of a change."""
        match change:
            case Create(name, inode, content):
                self._create(name, inode, content)
            case Write(inode) | Truncate(inode):
                self._files[inode].pending.append(change)
            case Sync(inode, folder, failed):
                self._sync(self._files[inode], folder=folder, failed=failed)
            case Remove(name, folder):
                self._names.setdefault(name, [None]).append(None)
                if folder:
                    self._sync_folder()
            case Mark():
                pass

    def image(self, loss: Loss) -> dict[str, bytes]:
        """Return the files as a power loss would leave them now."""
        result = {name: loss.binding(states) for name, states in sorted(self._names.items())}
        image = {
            name: self._files[inode].after(loss)
            for name, inode in result.items()
            if inode is not None
        }
        for name in [name for name in image if name.endswith("-wal")]:
            if (garbage := loss.garbage()) is not None:
                image[name.removesuffix("-wal") + "-shm"] = garbage
        return image

    def _create(self, name: str, inode: int, content: bytes | None) -> None:
        self._files[inode] = _File(bytearray(content or b""))
        if content is None:
            self._names.setdefault(name, [None]).append(inode)
        else:
            self._names[name] = [inode]

    def _sync(self, file: _File, *, folder: bool, failed: bool) -> None:
        if failed:
            file.fail_to_sync()
            return
        file.sync()
        if folder:
            self._sync_folder()

    def _sync_folder(self) -> None:
        for states in self._names.values():
            del states[:-1]


def write_image(image: dict[str, bytes], folder: Path) -> None:
    """Put the files of an image into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in image.items():
        (folder / name).write_bytes(content)
