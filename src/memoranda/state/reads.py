"""Reading keys: now, at a version, at a commit, and within a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from memoranda.errors import Compacted, Corruption
from memoranda.log import pages
from memoranda.log.compaction import horizon
from memoranda.log.compaction import horizon as compaction_horizon
from memoranda.log.pages import EventParts, Position, ResumablePages, SplitEventCache
from memoranda.model import document
from memoranda.model.clock import to_datetime
from memoranda.model.document import Document
from memoranda.model.limits import MAX_KEY_BYTES
from memoranda.model.operations import Delete, Write, effective_operation, is_unproven
from memoranda.model.refs import KeyRef, Ref
from memoranda.model.scope import Scope
from memoranda.state.requests import KeyRequest, WriteKey
from memoranda.storage.port import Engine, Reader, Row

# Results of reads.


class StateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A key's value at one version.

    `commit_ts` and `committed_at` are None inside the transaction that staged the value.
    """

    key: str
    namespace: str
    agent_id: str
    value: Document
    version: int
    commit_ts: int | None
    committed_at: datetime | None
    unproven: bool = False
    """Whether an erasure left the value in an event of chain version 1, where nothing proves it."""

    @property
    def ref(self) -> KeyRef:
        """The reference to this version of the key."""
        return KeyRef(self.key, self.version, self.agent_id, self.namespace)


class StateVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version in a key's history; a deletion has no value."""

    key: str
    namespace: str
    agent_id: str
    version: int
    value: Document | None
    because: tuple[Ref, ...]
    commit_ts: int
    committed_at: datetime
    txn_id: str
    actor: str
    unproven: bool = False
    """As in `StateRecord`."""

    @property
    def ref(self) -> KeyRef:
        """The reference to this version of the key."""
        return KeyRef(self.key, self.version, self.agent_id, self.namespace)


class StateChange(msgspec.Struct, frozen=True):
    """The difference of a key between two moments; None where it has no value."""

    key: str
    before: StateRecord | None
    after: StateRecord | None

    @property
    def kind(self) -> str:
        """The type of the change: added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


# Prefixes as ranges of keys, in the order of UTF-8 bytes, which is the order of code points.

_LAST_CHARACTER = "\U0010ffff"
AFTER_ALL_KEYS = _LAST_CHARACTER * (MAX_KEY_BYTES // 4 + 1)
"""Sorts after every key: no key is long enough for as many of this character, of four bytes."""


def prefix_end(prefix: str) -> str:
    """Return the smallest text that sorts after every text that begins with `prefix`."""
    trimmed = prefix.rstrip(_LAST_CHARACTER)
    if not trimmed:
        return AFTER_ALL_KEYS
    following = ord(trimmed[-1]) + 1
    if 0xD800 <= following <= 0xDFFF:  # skip the surrogates, which UTF-8 cannot encode
        following = 0xE000
    return trimmed[:-1] + chr(following)


# Reading state: now, at a version, at a commit; keys, scans, histories and differences.

LogPosition = tuple[int, int]
"""A commit, and the index of an operation in it."""


def get(reader: Reader, scope: Scope, key: str) -> StateRecord | None:
    """Return the key's current value."""
    row = reader.find("state_get", key, scope.agent_id, scope.namespace)
    if row is None:
        return None
    value, version, commit_ts, committed_at, unproven = row
    return StateRecord(
        key=key,
        namespace=scope.namespace,
        agent_id=scope.agent_id,
        value=document.decode(value),
        version=version,
        commit_ts=commit_ts,
        committed_at=to_datetime(committed_at),
        unproven=bool(unproven),
    )


def get_at(
    reader: Reader, scope: Scope, key: str, at: int, version: int | None = None
) -> StateRecord | None:
    """Return the key's value as of a commit: at its newest version then, or at `version`."""
    address = {"agent_id": scope.agent_id, "namespace": scope.namespace, "key": key, "at": at}
    compaction_horizon.check(reader, (scope.namespace,), at)
    if version is None:
        row = reader.row("state_place_at", **address)
    else:
        check_not_compacted(reader, scope, key, version)
        row = reader.row("state_place_of_version", **address, version=version)
    if row is None:
        return None
    commit_ts, _, position = row
    event = SplitEventCache().of(reader, commit_ts)
    return _record(_version(event, position))


def version_at(reader: Reader, scope: Scope, key: str, at: int) -> int:
    """Return the key's newest version as of a commit; deletions count, 0 is no version."""
    row = reader.row(
        "state_place_at", agent_id=scope.agent_id, namespace=scope.namespace, key=key, at=at
    )
    return int(row[1]) if row else 0


def check_not_compacted(reader: Reader, scope: Scope, key: str, version: int) -> None:
    """Raise `Compacted` if a version was replaced before the compaction horizon."""
    horizon = compaction_horizon.find(reader, scope.namespace)
    if horizon is not None and version < version_at(reader, scope, key, horizon.commit_ts):
        raise Compacted(horizon.commit_ts, f"version {version} of key {key!r} is gone")


def _record(version: StateVersion) -> StateRecord | None:
    if version.value is None:
        return None
    return StateRecord(
        key=version.key,
        namespace=version.namespace,
        agent_id=version.agent_id,
        value=version.value,
        version=version.version,
        commit_ts=version.commit_ts,
        committed_at=version.committed_at,
        unproven=version.unproven,
    )


def _versions(
    reader: Reader, places: Iterable[LogPosition], events: SplitEventCache
) -> dict[LogPosition, StateVersion]:
    """Return the versions at some log positions."""
    return dict(read_versions(reader, places, events))


def read_versions(
    reader: Reader, places: Iterable[LogPosition], events: SplitEventCache
) -> Iterator[tuple[LogPosition, StateVersion]]:
    """Yield the versions at some log positions; each event is read once."""
    positions_by_commit: dict[int, list[int]] = {}
    for commit_ts, position in places:
        positions_by_commit.setdefault(commit_ts, []).append(position)
    for commit_ts, positions in positions_by_commit.items():
        event = events.of(reader, commit_ts)
        for position in positions:
            yield (commit_ts, position), _version(event, position)


def _version(event: EventParts, position: int) -> StateVersion:
    operation_ = event.stored(position)
    operation = effective_operation(operation_)
    if not isinstance(operation, (Write, Delete)):
        raise Corruption(f"commit {event.commit_ts} holds no state value where one should be")
    return StateVersion(
        key=operation.key,
        namespace=operation.namespace,
        agent_id=operation.agent_id,
        version=operation.version,
        value=operation.value,
        because=operation.because if isinstance(operation, Write) else (),
        commit_ts=event.commit_ts,
        committed_at=to_datetime(event.committed_at),
        txn_id=event.envelope.txn_id,
        actor=event.envelope.actor,
        unproven=is_unproven(operation_),
    )


Item = TypeVar("Item")


class _Keyset(ResumablePages[Item]):
    """Keyset pagination over the keys of a scope with a prefix, as of a commit."""

    def __init__(self, engine: Engine, scope: Scope, *, prefix: str, at: int) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "agent_id": scope.agent_id,
            "namespace": scope.namespace,
            "first": prefix,
            "end": prefix_end(prefix),
            "at": at,
        }
        self._after = ""
        self._events = SplitEventCache()

    @property
    def position(self) -> Position:
        """The commit, and the last key."""
        return [self._range["at"], self._after]

    @position.setter
    def position(self, position: Position) -> None:
        self._range["at"], self._after = position

    def _check(self, reader: Reader) -> None:
        compaction_horizon.check(reader, (self._range["namespace"],), self._range["at"])


class Keys(_Keyset[str]):
    """The keys that have a value as of a commit."""

    def next_page(self) -> list[str]:
        """Return the next keys."""
        with self._engine.snapshot() as reader:
            self._check(reader)
            rows = reader.rows("state_keys", **self._range, after=self._after, limit=self.rows)
        keys = [key for (key,) in rows]
        self._after = keys[-1] if keys else AFTER_ALL_KEYS
        return keys


class Scan(_Keyset[StateRecord]):
    """The keys that have a value as of a commit, with their values."""

    def next_page(self) -> list[StateRecord]:
        """Return the next entries."""
        with self._engine.snapshot() as reader:
            self._check(reader)
            rows = reader.rows(
                "state_page",
                **self._range,
                after=self._after,
                limit=self.rows,
                budget=pages.PAGE_BYTES,
            )
            rows = _limit_past_values(rows)
            self._events.refresh(reader)
            places = [(row[2], row[3]) for row in rows if row[6] is None]
            past = _versions(reader, places, self._events)
        self._after = rows[-1][0] if rows else AFTER_ALL_KEYS
        entries = []
        for key, version, commit_ts, position, committed_at, unproven, encoded in rows:
            value = document.decode(encoded) if encoded else past[commit_ts, position].value
            if value is None:
                raise Corruption(f"commit {commit_ts} deletes {key!r}, which should have a value")
            entry = StateRecord(
                key=key,
                namespace=self._range["namespace"],
                agent_id=self._range["agent_id"],
                value=value,
                version=version,
                commit_ts=commit_ts,
                committed_at=to_datetime(committed_at),
                unproven=bool(unproven),
            )
            entries.append(entry)
        return entries


def _limit_past_values(rows: list[Row]) -> list[Row]:
    """Cut a page where its past values would be read from too many commits."""
    commits: set[int] = set()
    for index, row in enumerate(rows):
        if row[6] is None:
            commits.add(row[2])
        if len(commits) > _VALUES_PER_PAGE:
            return rows[:index]
    return rows


_VALUES_PER_PAGE = 8
"""The number of values read from the log for a page; each may have the maximum size."""


class History(ResumablePages[StateVersion]):
    """The versions of a key, oldest first; with `since`, from its version at that commit on."""

    rows = _VALUES_PER_PAGE

    def __init__(
        self, engine: Engine, scope: Scope, key: str, *, through: int, since: int | None = None
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._since = since
        self._key: dict[str, Any] = {
            "agent_id": scope.agent_id,
            "namespace": scope.namespace,
            "key": key,
            "through": through,
        }
        self._after = (0, 0)
        self._is_new = True
        self._events = SplitEventCache()

    @property
    def position(self) -> Position:
        """The last commit of the history, and the commit and number of the last version read."""
        return [self._key["through"], *self._after]

    @position.setter
    def position(self, position: Position) -> None:
        self._key["through"], commit_ts, version = position
        self._after = (commit_ts, version)
        self._is_new = False

    def _begin(self, reader: Reader) -> tuple[int, int]:
        """Return the commit and version after which the first page begins."""
        scope, key = self._scope, self._key["key"]
        if self._since is None:
            check_not_compacted(reader, scope, key, 1)
            return 0, 0
        compaction_horizon.check(reader, (scope.namespace,), self._since)
        row = reader.row(
            "state_place_at",
            agent_id=scope.agent_id,
            namespace=scope.namespace,
            key=key,
            at=self._since,
        )
        return (row[0], row[1] - 1) if row else (0, 0)

    def next_page(self) -> list[StateVersion]:
        """Return the next versions."""
        with self._engine.snapshot() as reader:
            after_commit, after_version = self._begin(reader) if self._is_new else self._after
            if not self._is_new:  # a compaction may have come since the last page
                check_not_compacted(reader, self._scope, self._key["key"], after_version + 1)
            rows = reader.rows(
                "state_history",
                **self._key,
                after_commit=after_commit,
                after_version=after_version,
                limit=self.rows,
            )
            places = [(commit_ts, position) for commit_ts, _, position in rows]
            self._events.refresh(reader)
            versions = _versions(reader, places, self._events)
        self._is_new = False
        if rows:
            self._after = (rows[-1][0], rows[-1][1])
        return [versions[place] for place in places]


class Diff(ResumablePages[StateChange]):
    """The keys whose values differ between two commits."""

    rows = _VALUES_PER_PAGE

    def __init__(self, engine: Engine, scope: Scope, *, old: int, new: int) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "agent_id": scope.agent_id,
            "namespace": scope.namespace,
            "unchanged_through": min(old, new),
            "old_at": old,
            "new_at": new,
        }
        self._after = ""
        self._events = SplitEventCache()

    @property
    def position(self) -> Position:
        """The two commits, and the last key."""
        return [self._range["old_at"], self._range["new_at"], self._after]

    @position.setter
    def position(self, position: Position) -> None:
        old, new, self._after = position
        self._range |= {"unchanged_through": min(old, new), "old_at": old, "new_at": new}

    def next_page(self) -> list[StateChange]:
        """Return the next changes; pages whose keys all have equal values again are skipped."""
        changes: list[StateChange] = []
        while not changes and (page := self._page()):
            changes = [change for change in page if _differs(change)]
        return changes

    def _page(self) -> list[StateChange]:
        with self._engine.snapshot() as reader:
            compaction_horizon.check(
                reader, (self._range["namespace"],), self._range["unchanged_through"]
            )
            rows = reader.rows("state_diff", **self._range, after=self._after, limit=self.rows)
            places = [(row[1], row[3]) for row in rows] + [(row[4], row[6]) for row in rows]
            self._events.refresh(reader)
            present = [place for place in places if place[0] is not None]
            versions = _versions(reader, present, self._events)
        if rows:
            self._after = rows[-1][0]
        return [
            StateChange(
                key=row[0],
                before=_record(versions[row[1], row[3]]) if row[1] else None,
                after=_record(versions[row[4], row[6]]) if row[4] else None,
            )
            for row in rows
        ]


def _differs(change: StateChange) -> bool:
    if change.before is None or change.after is None:
        return True
    return not document.equal_json(change.before.value, change.after.value)


# Versions of keys that are cited as evidence, many at a time.


class KeyVersion(msgspec.Struct, frozen=True):
    """A version of a key, and the newest version as of a commit."""

    requested: KeyRef
    """The reference of the request."""
    version: StateVersion
    newest: int
    live: bool
    """Whether the newest version has a value."""

    @property
    def ref(self) -> KeyRef:
        """The reference with its version."""
        ref = self.requested
        return KeyRef(ref.key, self.version.version, ref.agent_id, ref.namespace)


def find_versions(
    reader: Reader, refs: Sequence[KeyRef], at: int, events: SplitEventCache
) -> Iterator[KeyVersion]:
    """Yield the versions of references that exist as of a commit; without a version, the newest."""
    horizon.check(reader, (ref.namespace for ref in refs if ref.namespace is not None), at)
    requested = [(ref.agent_id, ref.namespace, ref.key, ref.version) for ref in refs]
    rows = reader.rows("state_places", requested=requested, at=at)
    refs_at: dict[LogPosition, list[tuple[KeyRef, int, bool]]] = {}
    for number, commit_ts, position, newest, live in rows:
        refs_at.setdefault((commit_ts, position), []).append((refs[number], newest, bool(live)))
    for place, version in read_versions(reader, refs_at, events):
        for ref, newest, live in refs_at[place]:
            yield KeyVersion(ref, version, newest, live)


# The overlay of a transaction: its staged writes, which its own reads see.


class _Staged(msgspec.Struct, frozen=True):
    """A transaction's writes to a key: their number, and the last value (None if deleted)."""

    count: int
    encoded: bytes | None


class PendingState:
    """The keys that a transaction has written and deleted so far."""

    def __init__(self) -> None:
        self._keys: dict[Scope, dict[str, _Staged]] = {}

    def add(self, request: KeyRequest) -> None:
        """Add a staged request."""
        keys = self._keys.setdefault(request.scope, {})
        count = keys[request.key].count if request.key in keys else 0
        encoded = request.encoded if isinstance(request, WriteKey) else None
        keys[request.key] = _Staged(count + 1, encoded)

    def get(self, reader: Reader, scope: Scope, key: str, at: int) -> StateRecord | None:
        """Return the value of a key as the transaction, begun at a commit, sees it."""
        staged = self._keys.get(scope, {}).get(key)
        if staged is None:
            return get_at(reader, scope, key, at)
        if staged.encoded is None:
            return None
        version = version_at(reader, scope, key, at) + staged.count
        return StateRecord(
            key=key,
            namespace=scope.namespace,
            agent_id=scope.agent_id,
            value=document.decode(staged.encoded),
            version=version,
            commit_ts=None,
            committed_at=None,
        )

    def touched(self, scope: Scope, prefix: str) -> list[str]:
        """Return the written and deleted keys with a prefix, in the order of their UTF-8 bytes."""
        return sorted(key for key in self._keys.get(scope, {}) if key.startswith(prefix))


class PendingScan(ResumablePages[StateRecord]):
    """A scan with the transaction's staged writes over the snapshot that it began with."""

    def __init__(
        self, engine: Engine, pending: PendingState, scope: Scope, *, prefix: str, at: int
    ) -> None:
        self._engine = engine
        self._pending = pending
        self._scope = scope
        self._at = at
        self._committed = Scan(engine, scope, prefix=prefix, at=at)
        self._touched = pending.touched(scope, prefix)
        self._after = ""

    def limit(self, rows: int) -> None:
        """Read smaller pages; the staged keys between two committed ones stay together."""
        self._committed.limit(rows)

    @property
    def position(self) -> Position:
        """The last key; the transaction itself says where it begins."""
        return [self._after]

    @position.setter
    def position(self, position: Position) -> None:
        (self._after,) = position
        self._committed.position = [self._at, self._after]
        self._touched = [key for key in self._touched if key > self._after]

    def next_page(self) -> list[StateRecord]:
        """Return the next entries."""
        page: list[StateRecord] = []
        while not page:
            committed = self._committed.next_page()
            if not committed and not self._touched:
                break
            page = self._overlay(committed)
        return page

    def _overlay(self, committed: list[StateRecord]) -> list[StateRecord]:
        """Return a page of committed entries, with the touched keys of its range replaced."""
        due = [key for key in self._touched if not committed or key <= committed[-1].key]
        self._touched = self._touched[len(due) :]
        self._after = committed[-1].key if committed else AFTER_ALL_KEYS
        entries = {entry.key: entry for entry in committed}
        with self._engine.snapshot() as reader:
            for key in due:
                entries.pop(key, None)
                if record := self._pending.get(reader, self._scope, key, self._at):
                    entries[key] = record
        return [entries[key] for key in sorted(entries)]
