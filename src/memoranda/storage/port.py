"""What the log needs of a database: short reads, one writer, named queries.

The SQL itself stands in `.sql` files next to the code that uses it; an engine resolves the names.
Everything above this port is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from memoranda.errors import Unavailable

Row = tuple[Any, ...]
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called now and then during long work, with what is done and what there is in all."""
Parameters = Sequence[Any] | Mapping[str, Any]
"""What stands for the placeholders of a query: `?` by place, `:name` by name."""


class Reader(Protocol):
    """A connection that reads."""

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one."""
        ...

    def find(self, query: str, /, *values: object) -> Row | None:
        """As `row`, with the values in the order the query names them: what every get does."""
        ...

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, stop behind the row that exhausts it.

        What counts is the last column, where a query puts the content.
        """
        ...

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one; only inside a transaction, which holds the snapshot anyway."""
        ...

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the names of the columns that a query's rows have."""
        ...


class Writer(Reader, Protocol):
    """The one connection that writes, inside a transaction."""

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement with its values in the order it names them: what every commit does."""
        ...

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """As `put`, once for the values of each row."""
        ...

    def add(self, query: str, /, *values: object) -> int:
        """As `put`, and return the id of the row that was added: what the query returns."""
        ...

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement."""
        ...

    def others_wrote(self) -> bool:
        """Say whether somebody else has written since this was last asked."""
        ...


class OutcomeUnknown(Unavailable):
    """The storage failed while it was committing: what was being written may be there, or not."""


class Footprint(msgspec.Struct, frozen=True):
    """What a store takes up, in bytes."""

    data: int
    journal: int


class Answer(Protocol):
    """The rows of a query a user wrote, in pages; it holds a snapshot until they are read."""

    def next_page(self) -> list[dict[str, Any]]:
        """Return the next rows by the names of their columns; none left: an empty list."""
        ...


class Engine(Protocol):
    """One database that holds one log."""

    @property
    def path(self) -> Path | None:
        """The file the store is in, if it is in one."""
        ...

    read_only: bool
    """Whether every write is refused."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Lend a reader for a short while: no lock and no snapshot outlives the block."""
        ...

    def snapshot(self) -> AbstractContextManager[Reader]:
        """As `reading`, and all that is read in the block is as of one moment."""
        ...

    def writing(self) -> AbstractContextManager[Writer]:
        """Take the write lock of a database that no other thread writes to meanwhile.

        The block's end commits durably, an exception rolls back. Where others write too, use
        `write`: it lets go of the lock whatever interrupts it.

        Raises `OutcomeUnknown` if the commit itself fails and may have happened nonetheless. Before
        the next block begins, the engine then makes sure which, so that what is read from there on
        is what is durable.
        """
        ...

    def write(self, work: Callable[[Writer], Result], *, wait: float | None = None) -> Result:
        """Do the work as in a block of `writing`, and return what it returns.

        Who can do without does not `wait` longer than so many seconds: then it is `StoreBusy`.
        """
        ...

    def sync(self) -> None:
        """Wait until all that is committed would survive a loss of power, whoever wrote it."""
        ...

    def home(self) -> str:
        """Return a name for the place these bytes are in, which a copy of them does not share."""
        ...

    def copy_to(self, path: Path, progress: Progress | None = None) -> None:
        """Copy everything as of now to a new file, unsynced, while others go on writing."""
        ...

    def another(self, path: Path) -> Engine:
        """Make or open a database of the same kind in another file."""
        ...

    def check_vacant(self, field: str, path: Path) -> None:
        """Refuse a path where a copy of this kind could not be put."""
        ...

    def place(self, field: str, draft: Path, path: Path) -> None:
        """Give a finished copy that is closed its name; nobody can open it before it is safe."""
        ...

    def query(self, statement: str, parameters: Parameters = ()) -> Answer:
        """Answer a user's SQL over the documented views; it can change nothing."""
        ...

    def footprint(self) -> Footprint:
        """Return what the store takes up."""
        ...

    def purge(self) -> bool:
        """Let what was deleted leave the files' bytes; False: somebody who reads is in the way."""
        ...

    def close(self) -> None:
        """Let go of every connection. Closing twice is fine."""
        ...
