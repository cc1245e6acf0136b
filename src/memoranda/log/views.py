"""Views: what can be read, derived from the log and committed with it.

A view *decides* what a staged request becomes, under the commit lock, and *applies* resolved
operations to its tables. Applying is a pure function of the operation and the tables: that is why
a view can be emptied and built again, and why the result must be the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from typing import Any, ClassVar, Protocol

import msgspec

from memoranda.errors import Corruption, NotFound
from memoranda.log import chain, pages
from memoranda.log.retaining import Keeper, Retained
from memoranda.model import codec
from memoranda.model.erasure import Place, Target
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.graph_operations import Name
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, standing
from memoranda.model.refs import Ref, Referent, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine, Progress, Reader, Writer


class Commit(msgspec.Struct, frozen=True, gc=False):
    """An event as views apply it: decoded, its operations in their places."""

    commit_ts: int
    committed_at: int
    envelope: Envelope
    operations: tuple[AnyOperation, ...]
    stored: bytes
    """The bytes of the operations as the log has them."""

    @classmethod
    def of(cls, event: SealedEvent) -> Commit:
        """Return what a stored event says; what is left of what was erased stands in its place."""
        return cls(
            event.commit_ts,
            event.committed_at,
            codec.decode_envelope(event.envelope),
            codec.decode_standing(event.operations),
            event.operations,
        )

    @classmethod
    def opened(cls, opened: chain.Opened) -> Commit:
        """Return the same of an event that was read along the chain."""
        row, envelope, operations = opened
        return cls(row[0], row[1], envelope, tuple(map(standing, operations)), row[-1])


class LookUp(Protocol):
    """How the rules of one view find what another view has, as the transaction sees it so far."""

    def __call__(self, ref: Ref | TranscriptRef, asker: Scope, /) -> Referent:
        """Return what a reference means to somebody, or raise `NotFound`."""
        ...


class Rules(Protocol):
    """What one transaction's requests become; made anew for each, so it may remember them."""

    def decide(self, staged: Any, /) -> Iterable[AnyOperation]:
        """Return the resolved operations, or raise; nothing is written yet."""
        ...


class Rewritten(msgspec.Struct, frozen=True):
    """An event of which something was erased: what applied there, and what applies now."""

    before: Commit
    after: Commit
    positions: tuple[int, ...]
    """Where the operations differ."""

    def changes(self) -> Iterable[tuple[int, AnyOperation, AnyOperation]]:
        """Yield each operation that differs: its position, what it was, and what is left."""
        for position in self.positions:
            yield position, self.before.operations[position], self.after.operations[position]


class Eraser:
    """Brings a view's tables to what the log says once something in it was erased.

    It is given the events one by one, as they are rewritten, and then told that this was all. The
    tables must come out as a rebuild would leave them.
    """

    def take(self, rewritten: Rewritten, /) -> None:
        """Take note of an event, or act on it."""

    def finish(self) -> None:
        """Do what can only be done when the whole log is as it will be."""


class View(ABC):
    """A part of what can be read."""

    name: ClassVar[str]
    version: ClassVar[int]
    """Raised when `apply` begins to write other rows: stores are then rebuilt when opened."""
    staged: ClassVar[tuple[type, ...]] = ()
    """The kinds of request it decides."""
    referred: ClassVar[tuple[type, ...]] = ()
    """The kinds of reference its rules can `look_up`."""
    tracked: ClassVar[tuple[type, ...]] = ()
    """The kinds of read it can check at commit."""
    applied: frozenset[type] | None = None
    """The kinds of operation it applies: a commit without any is not shown to it. None: all."""
    clear: ClassVar[tuple[str, ...]]
    """The queries that empty its tables."""
    prune: ClassVar[tuple[str, ...]] = ()
    """The queries that drop what the rows of no view need any more, once all are there again."""
    rows: ClassVar[tuple[str, ...]]
    """The queries that give all its rows, each named by its table: `<table>_rows`.

    They say everything but surrogate ids: what an id stands for is said instead. What identifies a
    row comes first, and the order is fixed. No row may be left out, whatever was done to it.
    """

    @abstractmethod
    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Bring the tables from before the commit to after it."""

    def forget(self) -> None:  # noqa: B027
        """Drop whatever was remembered of the tables: they may not be as they were."""

    def places(self, reader: Reader, target: Target, viewer: str | None, /) -> Iterable[Place]:  # noqa: ARG002
        """Return where the log speaks of a target, as far as this view knows and somebody sees."""
        return ()

    def names(self, reader: Reader, target: Target, /) -> Iterable[Name]:  # noqa: ARG002
        """Return every name by which this view knows a target."""
        return ()

    def overdue(self, reader: Reader, sweep: Target, spared: Set[str], /) -> Iterable[Target]:  # noqa: ARG002
        """Return what may be swept; what is spared, or gives ground to such, may not."""
        return ()

    def eraser(self, writer: Writer, /) -> Eraser:  # noqa: ARG002
        """Return what brings the tables up to date while something is erased."""
        return Eraser()

    def trimmer(self, writer: Writer, /) -> Eraser:
        """Return what does the same while a namespace is compacted: with what is left of each row.

        Events are rewritten from the newest to the oldest then, a slice in each commit.
        """
        return self.eraser(writer)

    def keeper(self, notes: Retained, ids: IdSource, /) -> Keeper | None:  # noqa: ARG002
        """Return who says what of this view stays when a namespace is summed up."""
        return None

    def rules(self, reader: Reader, look_up: LookUp, /) -> Rules:
        """Return the rules for one transaction; a view with `staged` requests has some."""
        raise NotImplementedError(f"{self.name} decides nothing")

    def changed(self, reader: Reader, read: Any, since: int, /) -> bool:
        """Say whether what was read has changed since a commit; needed with `tracked` reads."""
        raise NotImplementedError(f"{self.name} tracks nothing")


class _RulesByView(dict[View, Any]):
    """The rules for one transaction, made as they are needed; each can look up what others have."""

    __slots__ = ("_reader", "_referees")

    def __init__(self, reader: Reader, referees: Mapping[type, View]) -> None:
        self._reader = reader
        self._referees = referees

    def __missing__(self, view: View) -> Any:
        rules = self[view] = view.rules(self._reader, self.look_up)
        return rules

    def look_up(self, ref: Ref | TranscriptRef, asker: Scope, /) -> Referent:
        """Return what a reference means to somebody."""
        view = self._referees.get(type(ref))
        if view is None:
            raise NotFound(f"{ref!r} names nothing that this store can hold")
        found: Referent = self[view].look_up(ref, asker)
        return found


class Views:
    """The registry: every view of a store, and who answers for what."""

    def __init__(self, views: Sequence[View]) -> None:
        self.all = tuple(views)
        self._deciders = {kind: view for view in views for kind in view.staged}
        self._trackers = {kind: view for view in views for kind in view.tracked}
        self._referees = {kind: view for view in views for kind in view.referred}

    def decide(self, reader: Reader, staged: Iterable[object]) -> list[AnyOperation]:
        """Return what one transaction's requests become."""
        rules = _RulesByView(reader, self._referees)
        operations: list[AnyOperation] = []
        try:
            for request in staged:
                operations.extend(rules[self._deciders[type(request)]].decide(request))
        finally:
            rules.clear()  # they hold what holds them, which would leave it to the collector
        return operations

    def changed(self, reader: Reader, reads: Iterable[object], since: int) -> object | None:
        """Return the first of these reads that would now give another answer."""
        for read in reads:
            if self._trackers[type(read)].changed(reader, read, since):
                return read
        return None

    def apply(self, writer: Writer, commit: Commit) -> None:
        """Bring every view up to date with a commit."""
        kinds = {*map(type, commit.operations)}
        for view in self.all:
            if view.applied is None or not kinds.isdisjoint(view.applied):
                view.apply(writer, commit)

    def places(self, reader: Reader, target: Target, viewer: str | None) -> set[Place]:
        """Return where the log speaks of a target, as far as somebody may see it."""
        return {place for view in self.all for place in view.places(reader, target, viewer)}

    def names(self, reader: Reader, target: Target) -> list[Name]:
        """Return every name by which a target is known."""
        return [name for view in self.all for name in view.names(reader, target)]

    def overdue(self, reader: Reader, sweep: Target, spared: Set[str]) -> list[Target]:
        """Return what may be swept."""
        return [each for view in self.all for each in view.overdue(reader, sweep, spared)]

    def forget(self) -> None:
        """Drop whatever the views remember of their tables."""
        for view in self.all:
            view.forget()

    def stamp(self, writer: Writer) -> None:
        """Note that every view's rows were written by this version of it."""
        for view in self.all:
            writer.run("meta_set", name=f"view:{view.name}", value=str(view.version))

    def outdated(self, reader: Reader) -> bool:
        """Say whether any view's rows were written by another version of it."""
        return any(
            reader.row("meta_get", name=f"view:{view.name}") != (str(view.version),)
            for view in self.all
        )


class Rebuild(msgspec.Struct, frozen=True):
    """What rebuilding found: how many events were applied, and which views had been wrong."""

    events: int
    rows: int
    differing: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether the rebuilt rows equal the rows that were there."""
        return not self.differing


def rebuild(engine: Engine, log_id: str, views: Views, progress: Progress | None = None) -> Rebuild:
    """Empty every view, build it again from the log, and compare: one storage transaction.

    The log is checked on the way: views of a log that was changed would only hide the change.
    """

    def work(writer: Writer) -> Rebuild:
        try:
            return _rebuild(writer, log_id, views, progress)
        finally:  # also when it is given up half-way
            views.forget()

    return engine.write(work)


def _rebuild(writer: Writer, log_id: str, views: Views, progress: Progress | None) -> Rebuild:
    before = {view.name: _digest_if_readable(writer, view) for view in views.all}
    events = fill(writer, log_id, views, progress)
    after = {view.name: _digest(writer, view) for view in views.all}
    views.stamp(writer)
    return Rebuild(
        events=events,
        rows=sum(count for count, _ in after.values()),
        differing=tuple(name for name in before if before[name] != after[name]),
    )


def fill(writer: Writer, log_id: str, views: Views, progress: Progress | None) -> int:
    """Empty every view, apply the whole log to it, and return the number of events."""
    views.forget()
    for view in views.all:
        for query in view.clear:
            writer.run(query)
    last, whole = chain.genesis(log_id), pages.head_commit(writer)
    while rows := pages.rows(writer, after=last.commit_ts, through=whole):
        for opened in chain.follow(last, rows):
            commit = Commit.opened(opened)
            views.apply(writer, commit)
            if progress is not None:
                progress(commit.commit_ts, whole)
        last = chain.head_behind(rows[-1])
    for view in views.all:
        for query in view.prune:
            writer.run(query)
    return last.commit_ts


def _digest_if_readable(reader: Reader, view: View) -> tuple[int, bytes] | None:
    """Return a view's digest as `_digest` does; rows that cannot be read differ from any."""
    try:
        return _digest(reader, view)
    except Corruption:
        return None


def _digest(reader: Reader, view: View) -> tuple[int, bytes]:
    """Return a view's number of rows and a hash over them, read once and held nowhere."""
    count, digest = 0, sha256()
    for query in view.rows:
        for row in reader.stream(query):
            count += 1
            digest.update(repr(row).encode())
    return count, digest.digest()
