"""Reading state: now, at a version, at a commit; keys, scans, histories and differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memoranda.errors import Compacted, Corruption
from memoranda.log import horizons, pages
from memoranda.log.parts import EventParts, SplitEvents
from memoranda.model import document
from memoranda.model.instant import to_datetime
from memoranda.model.operations import Delete, Write
from memoranda.model.scope import Scope
from memoranda.state.prefix import BEYOND_ALL, beyond
from memoranda.state.records import StateChange, StateEntry, StateRecord, StateVersion
from memoranda.storage.port import Engine, Reader, Row

Place = tuple[int, int]
"""A commit, and the position of an operation in it."""


def get(reader: Reader, scope: Scope, key: str) -> StateRecord | None:
    """Return the key's current value."""
    row = reader.find("state_get", key, scope.agent_id, scope.namespace)
    if row is None:
        return None
    value, version, commit_ts, committed_at = row
    return StateRecord(document.decode(value), version, commit_ts, to_datetime(committed_at))


def get_at(
    reader: Reader, scope: Scope, key: str, at: int, version: int | None = None
) -> StateRecord | None:
    """Return the key's value as of a commit: its newest version then, or a given one."""
    address = {"agent_id": scope.agent_id, "namespace": scope.namespace, "key": key, "at": at}
    horizons.check(reader, (scope.namespace,), at)
    if version is None:
        row = reader.row("state_place_at", **address)
    else:
        check_known(reader, scope, key, version)
        row = reader.row("state_place_of_version", **address, version=version)
    if row is None:
        return None
    commit_ts, _, position = row
    event = SplitEvents().of(reader, commit_ts)
    return _record(_version(event, event.standing(position)))


def version_at(reader: Reader, scope: Scope, key: str, at: int) -> int:
    """Return the number of the key's newest version as of a commit, deletions counted too."""
    row = reader.row(
        "state_place_at", agent_id=scope.agent_id, namespace=scope.namespace, key=key, at=at
    )
    return int(row[1]) if row else 0


def check_known(reader: Reader, scope: Scope, key: str, version: int) -> None:
    """Raise `Compacted` if a version was replaced before its namespace was summed up."""
    horizon = horizons.find(reader, scope.namespace)
    if horizon is not None and version < version_at(reader, scope, key, horizon.commit_ts):
        raise Compacted(horizon.commit_ts, f"version {version} of key {key!r} is gone")


def _record(found: StateVersion) -> StateRecord | None:
    if found.value is None:
        return None
    return StateRecord(found.value, found.version, found.commit_ts, found.committed_at)


def _versions(
    reader: Reader, places: Iterable[Place], events: SplitEvents
) -> dict[Place, StateVersion]:
    """Return what stands at these places of the log."""
    return dict(read_versions(reader, places, events))


def read_versions(
    reader: Reader, places: Iterable[Place], events: SplitEvents
) -> Iterator[tuple[Place, StateVersion]]:
    """Yield what stands at these places of the log, event by event, decoding nothing else."""
    wanted: dict[int, list[int]] = {}
    for commit_ts, position in places:
        wanted.setdefault(commit_ts, []).append(position)
    for commit_ts, positions in wanted.items():
        event = events.of(reader, commit_ts)
        for position in positions:
            yield (commit_ts, position), _version(event, event.standing(position))


def _version(event: EventParts, operation: object) -> StateVersion:
    if not isinstance(operation, (Write, Delete)):
        raise Corruption(f"commit {event.commit_ts} holds no state value where one should be")
    return StateVersion(
        version=operation.version,
        value=operation.value,
        because=operation.because if isinstance(operation, Write) else (),
        commit_ts=event.commit_ts,
        committed_at=to_datetime(event.committed_at),
        txn_id=event.envelope.txn_id,
        actor=event.envelope.actor,
    )


class _Keyset:
    """What paging through keys has in common: a scope, a prefix, a moment, and the last key."""

    def __init__(self, engine: Engine, scope: Scope, *, prefix: str, at: int) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "agent_id": scope.agent_id,
            "namespace": scope.namespace,
            "first": prefix,
            "beyond": beyond(prefix),
            "at": at,
            "most": pages.PAGE_ROWS,
        }
        self._after = ""
        self._events = SplitEvents()

    def _check(self, reader: Reader) -> None:
        horizons.check(reader, (self._range["namespace"],), self._range["at"])


class Keys(_Keyset):
    """The keys that had a value at a commit."""

    def next_page(self) -> list[str]:
        """Return the next keys."""
        with self._engine.snapshot() as reader:
            self._check(reader)
            rows = reader.rows("state_keys", **self._range, after=self._after)
        keys = [key for (key,) in rows]
        self._after = keys[-1] if keys else BEYOND_ALL
        return keys


class Scan(_Keyset):
    """The keys that had a value at a commit, with their values."""

    def next_page(self) -> list[StateEntry]:
        """Return the next entries."""
        with self._engine.snapshot() as reader:
            self._check(reader)
            rows = reader.rows(
                "state_page", **self._range, after=self._after, budget=pages.PAGE_BYTES
            )
            rows = _few_of_the_past(rows)
            self._events.refresh(reader)
            places = [(row[2], row[3]) for row in rows if row[5] is None]
            past = _versions(reader, places, self._events)
        self._after = rows[-1][0] if rows else BEYOND_ALL
        entries = []
        for key, version, commit_ts, position, committed_at, encoded in rows:
            value = document.decode(encoded) if encoded else past[commit_ts, position].value
            if value is None:
                raise Corruption(f"commit {commit_ts} deletes {key!r}, which should have a value")
            entries.append(StateEntry(value, version, commit_ts, to_datetime(committed_at), key))
        return entries


def _few_of_the_past(rows: list[Row]) -> list[Row]:
    """Cut a page behind so many values that must be fetched from as many different commits."""
    commits: set[int] = set()
    for index, row in enumerate(rows):
        if row[5] is None:
            commits.add(row[2])
        if len(commits) > _PLACES:
            return rows[:index]
    return rows


class History:
    """Every version of a key, oldest first, or those from the one that it had at a commit."""

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
        self._events = SplitEvents()

    def _begin(self, reader: Reader) -> tuple[int, int]:
        """Return the place behind which the first version stands."""
        scope, key = self._scope, self._key["key"]
        if self._since is None:
            check_known(reader, scope, key, 1)
            return 0, 0
        horizons.check(reader, (scope.namespace,), self._since)
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
            if not self._is_new:  # it may have been compacted since the page before
                check_known(reader, self._scope, self._key["key"], after_version + 1)
            rows = reader.rows(
                "state_history",
                **self._key,
                after_commit=after_commit,
                after_version=after_version,
                most=_PLACES,
            )
            places = [(commit_ts, position) for commit_ts, _, position in rows]
            self._events.refresh(reader)
            found = _versions(reader, places, self._events)
        self._is_new = False
        if rows:
            self._after = (rows[-1][0], rows[-1][1])
        return [found[place] for place in places]


_PLACES = 8
"""How many values are fetched from the log at a time: each may be as large as a value may be."""


class Diff:
    """The keys whose value at one commit is not their value at another."""

    def __init__(self, engine: Engine, scope: Scope, *, old: int, new: int) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "agent_id": scope.agent_id,
            "namespace": scope.namespace,
            "unchanged_through": min(old, new),
            "old_at": old,
            "new_at": new,
            "most": _PLACES,
        }
        self._after = ""
        self._events = SplitEvents()

    def next_page(self) -> list[StateChange]:
        """Return the next changes; a page of keys that all went back to their value is skipped."""
        changes: list[StateChange] = []
        while not changes and (page := self._page()):
            changes = [change for change in page if _differs(change)]
        return changes

    def _page(self) -> list[StateChange]:
        with self._engine.snapshot() as reader:
            horizons.check(reader, (self._range["namespace"],), self._range["unchanged_through"])
            rows = reader.rows("state_diff", **self._range, after=self._after)
            places = [(row[1], row[3]) for row in rows] + [(row[4], row[6]) for row in rows]
            self._events.refresh(reader)
            there = [place for place in places if place[0] is not None]
            found = _versions(reader, there, self._events)
        if rows:
            self._after = rows[-1][0]
        return [
            StateChange(
                key=row[0],
                before=_record(found[row[1], row[3]]) if row[1] else None,
                after=_record(found[row[4], row[6]]) if row[4] else None,
            )
            for row in rows
        ]


def _differs(change: StateChange) -> bool:
    if change.before is None or change.after is None:
        return True
    return not document.same(change.before.value, change.after.value)
