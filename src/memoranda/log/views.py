"""Views: everything readable, derived from the log and committed with it.

A view *decides* what a staged request becomes, under the write lock, and *applies* the resolved
operations to its tables. Applying is a pure function of the operations and the tables. That is why
a view can be emptied and rebuilt, and why the result must be the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, ClassVar, Protocol

import msgspec

from memoranda.errors import (
    Conflict,
    InvalidInput,
    LinkCycle,
    NotFound,
    ReflectionTooDeep,
    UnsupportedFormat,
)
from memoranda.log import chain, pages
from memoranda.log.compaction.retention import RetainedRefs, RetentionPolicy
from memoranda.model import codec
from memoranda.model.erasure import LogPosition, Target
from memoranda.model.event import Envelope, SealedEvent
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, effective_operation
from memoranda.model.operations.graph import Name
from memoranda.model.refs import Ref, Referent
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Unread, Writer


class Commit(msgspec.Struct, frozen=True, gc=False):
    """An event as views apply it: decoded, residues in place of erased operations."""

    commit_ts: int
    committed_at: int
    envelope: Envelope
    operations: tuple[AnyOperation, ...]
    encoded: bytes
    """The encoded operations, as the log has them."""

    @classmethod
    def load(cls, reader: Reader, commit_ts: int) -> Commit:
        """Read a commit from the log, and return it decoded."""
        (event,) = pages.events_of(reader, (commit_ts,))
        return cls.of(event)

    @classmethod
    def of(cls, event: SealedEvent) -> Commit:
        """Return a stored event decoded."""
        return cls.with_operations(event, codec.decode_effective(event.operations))

    @classmethod
    def with_operations(cls, event: SealedEvent, applied: tuple[AnyOperation, ...]) -> Commit:
        """Return a stored event whose effective operations are decoded already."""
        return cls(
            event.commit_ts,
            event.committed_at,
            codec.decode_envelope(event.envelope),
            applied,
            event.operations,
        )

    @classmethod
    def from_verified(cls, event: chain.OpenedEvent) -> Commit:
        """Return an event that `chain.verify_rows` has decoded."""
        row, envelope, operations = event
        return cls(row[0], row[1], envelope, tuple(map(effective_operation, operations)), row[-1])


class LookUp(Protocol):
    """How the rules of one view read another view, including what the transaction staged so far."""

    def __call__(self, ref: Ref, asker: Scope, /) -> Referent:
        """Return the referent as the asking scope sees it, or raise `NotFound`."""
        ...


class Rules(Protocol):
    """The rules for one transaction; created for each, so they may remember its requests."""

    def decide(self, staged: Any, /) -> Iterable[AnyOperation]:
        """Return the resolved operations, or raise; nothing is written."""
        ...


class RewrittenEvent(msgspec.Struct, frozen=True):
    """An event of which something was erased, before and after."""

    before: Commit
    after: Commit
    positions: tuple[int, ...]
    """Positions of the operations that differ."""

    def changes(self) -> Iterable[tuple[int, AnyOperation, AnyOperation]]:
        """Yield each operation that differs: its position, the operation, and its residue."""
        for position in self.positions:
            yield position, self.before.operations[position], self.after.operations[position]


class Eraser:
    """Updates a view's tables while events are rewritten.

    It gets the events one by one, in the order in which they are rewritten, and then `finish` is
    called. The tables must end up as a rebuild would leave them.
    """

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Handle one rewritten event, at once or in `finish`."""

    def finish(self) -> None:
        """Do what requires all events to be rewritten."""


class CitedNames(msgspec.Struct, frozen=True):
    """Names that an erasure removes, which operations elsewhere may cite."""

    scope_ids: Sequence[int] = ()
    """The scopes whose keys are removed."""
    key: tuple[Scope, str] | None = None
    assertion_ids: Sequence[str] = ()


class View(ABC):
    """One part of everything readable."""

    name: ClassVar[str]
    version: ClassVar[int]
    """Increased when `apply` writes different rows: stores are then rebuilt when opened."""
    request_types: ClassVar[tuple[type, ...]] = ()
    """Types of request that its rules decide."""
    reference_types: ClassVar[tuple[type, ...]] = ()
    """Types of reference that its rules can `look_up`."""
    tracked_reads: ClassVar[tuple[type, ...]] = ()
    """Types of read that it can check at commit."""
    applied_types: frozenset[type] | None = None
    """Types of operation that it applies; None: all. Other commits are not passed to it."""
    depends_on: ClassVar[tuple[str, ...]] = ()
    """Names of the views that its rows, or an index that it keeps, are derived from.

    It is rebuilt with them. `apply` itself reads the view's own tables, scopes and the log only.
    """
    tables: ClassVar[tuple[str, ...]]
    """The tables that `apply` fills."""
    meta_names: ClassVar[tuple[str, ...]] = ()
    """The names in `meta` that `apply` sets."""
    clear_queries: ClassVar[tuple[str, ...]]
    """Queries that empty its tables, and what is derived from them."""
    prune_queries: ClassVar[tuple[str, ...]] = ()
    """Queries that drop rows which no view needs any more, after a rebuild."""
    row_queries: ClassVar[tuple[str, ...]]
    """Queries that return all its rows, each named `<table>_rows`.

    They return every column except surrogate ids, for which they return what the id stands for. The
    columns that identify a row come first, and the order of rows is fixed. No row may be left out.
    """
    log: Reader | None = None
    """Where `apply` reads earlier events; None: in the database that it writes to."""

    @abstractmethod
    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Bring the tables from before the commit to after it."""

    def drop_caches(self) -> None:  # noqa: B027
        """Drop everything cached from the tables: they may have changed."""

    def rehearse(self, scout: Reader, commit: Commit, /) -> None:  # noqa: B027
        """Do the reads of `apply`, each part on its own (`Rehearsal` in the storage port)."""

    def places(
        self,
        reader: Reader,  # noqa: ARG002
        target: Target,  # noqa: ARG002
        viewer: str | None,  # noqa: ARG002
        /,
    ) -> Iterable[LogPosition]:
        """Return the positions of operations about a target, as far as the viewer may see."""
        return ()

    def places_from(self, reader: Reader, sources: Sequence[str], /) -> Iterable[LogPosition]:  # noqa: ARG002
        """Return the positions of facts with any of these memories or transcripts as source."""
        return ()

    def notes(
        self,
        reader: Reader,  # noqa: ARG002
        places: Set[LogPosition],  # noqa: ARG002
        /,
    ) -> Iterable[LogPosition]:
        """Return the positions of operations with a text about what these operations made."""
        return ()

    def commits_citing(self, reader: Reader, cited: CitedNames, /) -> Iterable[int]:  # noqa: ARG002
        """Return the commits whose operations in this view cite any of some names."""
        return ()

    def citing_memories(self, reader: Reader, transcript_id: str, /) -> Iterable[str]:  # noqa: ARG002
        """Return the memories that ever cited a transcript, of any agent."""
        return ()

    def names(self, reader: Reader, target: Target, /) -> Iterable[Name]:  # noqa: ARG002
        """Return every name of a target in this view."""
        return ()

    def expired_targets(
        self,
        reader: Reader,  # noqa: ARG002
        sweep: Target,  # noqa: ARG002
        spared: Set[str],  # noqa: ARG002
        /,
    ) -> Iterable[Target]:
        """Return what a sweep may erase; `spared` targets, and what they rest on, stay."""
        return ()

    def needed(self, reader: Reader, names: Set[str], /) -> Set[str]:  # noqa: ARG002
        """Return those of some memories and transcripts that current rows of this view rest on."""
        return frozenset()

    def eraser(self, writer: Writer, /) -> Eraser:  # noqa: ARG002
        """Return the object that updates the tables during an erasure."""
        return Eraser()

    def compaction_eraser(self, writer: Writer, /) -> Eraser:
        """Return the object that updates the tables during a compaction.

        Events are then rewritten from the newest to the oldest, one slice in each commit.
        """
        return self.eraser(writer)

    def retention_policy(self, notes: RetainedRefs, ids: IdSource, /) -> RetentionPolicy | None:  # noqa: ARG002
        """Return the policy that decides what of this view a compaction keeps; None: everything."""
        return None

    def rules(self, reader: Reader, look_up: LookUp, /) -> Rules:
        """Return the rules for one transaction; required with `request_types`."""
        raise NotImplementedError(f"{self.name} decides nothing")

    def has_changed(self, reader: Reader, read: Any, base_commit: int, /) -> bool:
        """Return whether a read's answer changed after a commit; required with `tracked_reads`."""
        raise NotImplementedError(f"{self.name} tracks nothing")


class TransactionRules(dict[View, Any]):
    """The rules of all views for one transaction, created on demand."""

    __slots__ = ("_reader", "_resolvers")

    def __init__(self, reader: Reader, resolvers: Mapping[type, View]) -> None:
        self._reader = reader
        self._resolvers = resolvers

    def __missing__(self, view: View) -> Any:
        rules = self[view] = view.rules(self._reader, self.look_up)
        return rules

    def look_up(self, ref: Ref, asker: Scope, /) -> Referent:
        """Return the referent as the asking scope sees it."""
        view = self._resolvers.get(type(ref))
        if view is None:
            raise NotFound(f"{ref!r} refers to nothing that this store can hold")
        referent: Referent = self[view].look_up(ref, asker)
        return referent


class DecidedEvent(msgspec.Struct, frozen=True):
    """An event that is decided, but not written: its number, its time, its actor, its operations.

    A position in `operations` is the one that the operation will have in the log.
    """

    commit_ts: int
    committed_at: int
    actor: str
    operations: Sequence[AnyOperation]


class Consequences(Protocol):
    """Rules that need the whole transaction, and several views."""

    def concern(self, rules: TransactionRules, operations: Sequence[AnyOperation], /) -> bool:
        """Say whether these operations may have any; most transactions have none."""
        ...

    def decide(
        self, writer: Writer, rules: TransactionRules, event: DecidedEvent, /
    ) -> list[AnyOperation]:
        """Return the operations to add at the end of the event."""
        ...


class Decision:
    """One transaction, decided step by step; its rules see everything that was decided before."""

    __slots__ = ("_consequences", "_deciders", "_rules", "_writer")

    def __init__(
        self,
        writer: Writer,
        rules: TransactionRules,
        deciders: Mapping[type, View],
        consequences: Consequences | None,
    ) -> None:
        self._writer = writer
        self._rules = rules
        self._deciders = deciders
        self._consequences = consequences

    def decide(self, staged: Iterable[object]) -> list[AnyOperation]:
        """Return the operations that requests become."""
        rules, deciders = self._rules, self._deciders
        operations: list[AnyOperation] = []
        for position, request in enumerate(staged):
            try:
                operations.extend(rules[deciders[type(request)]].decide(request))
            except (InvalidInput, NotFound) as error:
                error.position = position
                raise
        return operations

    def rehearse(self, staged: Iterable[object]) -> list[AnyOperation] | None:
        """Return the operations as `decide`; None if rows are missing for some requests."""
        rules, deciders = self._rules, self._deciders
        operations: list[AnyOperation] = []
        is_complete = True
        for request in staged:
            try:
                operations.extend(rules[deciders[type(request)]].decide(request))
            except Unread:
                is_complete = False
        return operations if is_complete else None

    def has_consequences(self, operations: Sequence[AnyOperation]) -> bool:
        """Say whether the operations may need others at the end of their event."""
        return self._consequences is not None and self._consequences.concern(
            self._rules, operations
        )

    def conclude(self, event: DecidedEvent) -> list[AnyOperation]:
        """Return the operations that follow from all others of the event."""
        assert self._consequences is not None, "only if there may be consequences"
        return self._consequences.decide(self._writer, self._rules, event)

    def close(self) -> None:
        """Break the reference cycle of the rules, so that no garbage collection is needed."""
        self._rules.clear()


_LEFT_TO_THE_COMMIT = (Conflict, InvalidInput, LinkCycle, ReflectionTooDeep)
"""Errors of rules that are about more than what a request names."""


class Views:
    """The registry: every view of a store, by the types it handles."""

    def __init__(self, views: Sequence[View], consequences: Consequences | None = None) -> None:
        self.all = tuple(views)
        self._consequences = consequences
        self._deciders = {kind: view for view in views for kind in view.request_types}
        self._trackers = {kind: view for view in views for kind in view.tracked_reads}
        self._resolvers = {kind: view for view in views for kind in view.reference_types}

    def decide(self, writer: Writer, staged: Iterable[object]) -> list[AnyOperation]:
        """Return the operations that one transaction's requests become."""
        decision = self.begin(writer)
        try:
            return decision.decide(staged)
        finally:
            decision.close()

    def first_missing(self, reader: Reader, staged: Iterable[object]) -> NotFound | None:
        """Return the error of the first request that names something which the reader has not.

        Other errors are left to the commit, which decides on what there is then. These views must
        be no others' too: they remember what the reader has.
        """
        rules = TransactionRules(reader, self._resolvers)
        try:
            for position, request in enumerate(staged):
                try:
                    list(rules[self._deciders[type(request)]].decide(request))
                except NotFound as error:
                    error.position = position
                    return error
                except _LEFT_TO_THE_COMMIT:
                    continue
            return None
        finally:
            rules.clear()

    def begin(self, writer: Writer) -> Decision:
        """Begin to decide one transaction; the caller closes the decision."""
        rules = TransactionRules(writer, self._resolvers)
        return Decision(writer, rules, self._deciders, self._consequences)

    def first_changed(
        self, reader: Reader, reads: Iterable[object], base_commit: int
    ) -> object | None:
        """Return the first of these reads that has another answer now; None if there is none."""
        for read in reads:
            if self._trackers[type(read)].has_changed(reader, read, base_commit):
                return read
        return None

    def read_log_from(self, reader: Reader) -> None:
        """Let the views read earlier events elsewhere than in the database they write to."""
        for view in self.all:
            view.log = reader

    def apply(self, writer: Writer, commit: Commit) -> None:
        """Apply a commit to every view."""
        kinds = {*map(type, commit.operations)}
        for view in self.all:
            if view.applied_types is None or not kinds.isdisjoint(view.applied_types):
                view.apply(writer, commit)

    def places(self, reader: Reader, target: Target, viewer: str | None) -> set[LogPosition]:
        """Return the positions of operations about a target, as far as the viewer may see."""
        return self._with_notes(
            reader, {place for view in self.all for place in view.places(reader, target, viewer)}
        )

    def places_from(self, reader: Reader, sources: Iterable[str]) -> set[LogPosition]:
        """Return the positions of facts with any of these memories or transcripts as source."""
        names = [*dict.fromkeys(sources)]
        return self._with_notes(
            reader, {place for view in self.all for place in view.places_from(reader, names)}
        )

    def _with_notes(self, reader: Reader, places: set[LogPosition]) -> set[LogPosition]:
        return places.union(*(view.notes(reader, places) for view in self.all))

    def commits_citing(self, reader: Reader, cited: CitedNames) -> frozenset[int]:
        """Return the commits whose operations cite any of some names."""
        return frozenset(
            commit_ts for view in self.all for commit_ts in view.commits_citing(reader, cited)
        )

    def citing_memories(self, reader: Reader, transcript_id: str) -> set[str]:
        """Return the memories that ever cited a transcript, of any agent."""
        return {
            memory_id
            for view in self.all
            for memory_id in view.citing_memories(reader, transcript_id)
        }

    def names(self, reader: Reader, target: Target) -> list[Name]:
        """Return every name of a target."""
        return [name for view in self.all for name in view.names(reader, target)]

    def expired_targets(self, reader: Reader, sweep: Target, spared: Set[str]) -> list[Target]:
        """Return what a sweep may erase."""
        return [
            target for view in self.all for target in view.expired_targets(reader, sweep, spared)
        ]

    def needed(self, reader: Reader, names: Set[str]) -> Set[str]:
        """Return those of some memories and transcripts that a current belief rests on."""
        return frozenset().union(*(view.needed(reader, names) for view in self.all))

    def drop_caches(self) -> None:
        """Drop everything the views have cached from their tables."""
        for view in self.all:
            view.drop_caches()

    def record_versions(self, writer: Writer) -> None:
        """Record the version of each view that wrote its rows."""
        for view in self.all:
            writer.run("meta_set", name=f"view:{view.name}", value=str(view.version))

    def outdated(self, reader: Reader, *, except_for: str | None = None) -> Views:
        """Return the views but `except_for` whose rows another version wrote, and their dependents.

        A dependent stands behind the views that it depends on.
        """
        versions: dict[str, str] = dict(reader.rows("view_versions"))
        outdated: dict[str, View] = {}
        for view in self.all:
            is_current = versions.get(f"view:{view.name}") == str(view.version)
            is_dependent = not outdated.keys().isdisjoint(view.depends_on)
            if view.name != except_for and (is_dependent or not is_current):
                outdated[view.name] = view
        return Views([*outdated.values()])

    def counterparts(self, others: Views) -> Views:
        """Return the views of this set that stand for the views of another set."""
        names = {view.name for view in others.all}
        return Views([view for view in self.all if view.name in names])

    def clear(self, writer: Writer) -> None:
        """Empty the tables of every view."""
        for view in self.all:
            for query in view.clear_queries:
                writer.run(query)

    def prune(self, writer: Writer) -> None:
        """Drop the rows beside the tables that no view needs any more."""
        for view in self.all:
            for query in view.prune_queries:
                writer.run(query)

    def check_versions(self, reader: Reader) -> None:
        """Raise if another version of the library has rebuilt a view by rules of its own."""
        versions: dict[str, str] = dict(reader.rows("view_versions"))
        for view in self.all:
            version = versions.get(f"view:{view.name}")
            if version != str(view.version):
                raise UnsupportedFormat(
                    f"the view {view.name!r} has version {version} by now, and this one writes "
                    f"{view.version}: another version of Memoranda has opened the store; close it, "
                    "upgrade, and open it again"
                )
