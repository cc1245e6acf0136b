"""One agent's story over a range, read from a store, for a page without a server.

It holds the agent's events of the range and the knowledge as of each event: items of lists and
explanations, each with the commits at which it appears and disappears. If an answer is equal after
two events, it is assumed to be equal between them. So the number of reads follows the changes, not
the events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from memoranda.calls.as_json import reason_nodes, stale_key, to_json
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.clock import Instant
from memoranda.model.operations import OperationType
from memoranda.model.refs import FactRef, KeyRef, MemoryRef
from memoranda.model.scope import ALL_NAMESPACES
from memoranda.sdk.store.store import Store
from memoranda.storage.port import Progress

MAX_EVENTS = 5_000
"""Events of a story: a page draws all of them at once."""
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a story: browsers open as much without a pause."""
_MAX_ITEMS = 2_000
"""Items of a list that was there before the range; a page shows fewer of them at once."""
_REMEDY = "choose less of it with --from and --to, or one namespace with --namespace"

Json = Any
Part = TypeVar("Part")
Interval = list[Any]
"""The commit that an item appears at, the commit it goes at or None, and the item."""
Ref = KeyRef | MemoryRef | FactRef


def read_story(
    store: Store,
    agent_id: str,
    *,
    namespace: str | None = None,
    from_timestamp: Instant | None = None,
    to_timestamp: Instant | None = None,
    progress: Progress | None = None,
) -> dict[str, Json]:
    """Return the story of an agent in a range, in one namespace or in all of them."""
    place = ALL_NAMESPACES if namespace is None else namespace
    scope: dict[str, Any] = {"agent_id": agent_id, "namespace": place}
    times: dict[str, Any] = {"from_timestamp": from_timestamp, "to_timestamp": to_timestamp}
    number = sum(bucket.events for bucket in store.timeline_buckets(**scope, **times, buckets=1))
    if number == 0:
        place_text = "any namespace" if namespace is None else f"namespace {namespace!r}"
        raise NotFound(f"agent {agent_id!r} has no event in {place_text} in this range")
    if number > MAX_EVENTS:
        raise InvalidInput(
            "range", f"has {number:,} events, and a file holds {MAX_EVENTS:,} at most: {_REMEDY}"
        )
    events = [*_bounded(map(to_json, store.replay(**scope, **times)))]
    return _Reading(store.bind(agent_id=agent_id), agent_id, events, progress).story()


def _bounded(events: Iterable[Json]) -> Iterator[Json]:
    """Yield events; raise `InvalidInput` at the first that makes the story too long."""
    size = 0
    for event in events:
        size += len(_text(event))
        if size > MAX_BYTES:
            raise _too_long()
        yield event


def _too_long() -> InvalidInput:
    size = MAX_BYTES // (1024 * 1024)
    return InvalidInput("range", f"has more than {size} MiB of text: {_REMEDY}")


class _Reading:
    """Reads the knowledge as of the commits of some events."""

    def __init__(
        self, store: Store, agent_id: str, events: Sequence[Json], progress: Progress | None
    ) -> None:
        self._store = store
        self._agent_id = agent_id
        self._events = events
        self._progress = progress
        first = events[0]["commit_ts"]
        is_summary = events[0].get("summary", False)  # nothing older can be read
        self._commits = [
            *([] if is_summary or first == 1 else [first - 1]),
            *(event["commit_ts"] for event in events),
        ]
        self._left = MAX_BYTES - len(_text(events))

    def story(self) -> dict[str, Json]:
        """Return the story."""
        spaces = self._namespaces()
        state = {space: self._keys(space) for space in spaces}
        memories = {space: self._memories(space) for space in spaces}
        facts = {space: self._facts(space) for space in spaces}
        notices = {status: self._notices(status) for status in ("open", "resolved")}
        stale_keys = {space: self._stale_keys(space) for space in spaces}
        trees = self._trees(_refs(state, memories, facts))
        return {
            "agent": self._agent_id,
            "log_id": self._store.stats().log_id,
            "first": self._events[0]["commit_ts"],
            "last": self._events[-1]["commit_ts"],
            "namespaces": spaces,
            "events": self._events,
            "state": state,
            "memories": memories,
            "facts": facts,
            "notices": notices,
            "stale_keys": stale_keys,
            "trees": trees,
            "versions": self._versions(memories),
            "transcripts": self._transcripts(trees),
        }

    def _namespaces(self) -> list[str]:
        """Return the namespaces of the events, but for the engine's own."""
        names = {
            operation["namespace"] for event in self._events for operation in event["operations"]
        }
        return sorted(name for name in names if not any(map(_is_own, name.split("/"))))

    # Lists.

    def _keys(self, space: str) -> list[Interval]:
        begin, end = self._commits[0], self._commits[-1]
        names = {
            operation["key"]
            for _, operation in self._operations({OperationType.WRITE, OperationType.DELETE})
            if operation["namespace"] == space
        }
        intervals: list[Interval] = [
            [0, None, to_json(record)]
            for record in islice(
                self._store.scan_prefix(prefix="", namespace=space, at=begin), _MAX_ITEMS
            )
            if record.key not in names
        ]
        for name in sorted(names):
            versions = self._store.history(key=name, namespace=space, since=begin)
            records = [to_json(record) for record in versions if record.commit_ts <= end]
            commits = [record["commit_ts"] for record in records]
            starts = [0 if commit <= begin else commit for commit in commits]
            intervals += map(list, zip(starts, [*commits[1:], None], records, strict=True))
        return self._spend(intervals)

    def _memories(self, space: str) -> list[Interval]:
        def read(commit: int) -> list[Json]:
            memories = self._store.list_memories(namespace=space, at=commit, content=True)
            return [to_json(memory) for memory in islice(memories, _MAX_ITEMS)]

        return self._spend(self._intervals(read, self._touched(_MEMORY_KINDS)))

    def _facts(self, space: str) -> list[Interval]:
        def read(commit: int) -> list[Json]:
            facts = self._store.iter_facts(namespace=space, known_at=commit, include_closed=True)
            return [to_json(fact) for fact in islice(facts, _MAX_ITEMS)]

        return self._spend(self._intervals(read, self._touched(_FACT_KINDS)))

    def _notices(self, status: str) -> list[Interval]:
        def read(commit: int) -> list[Json]:
            notices = self._store.invalidations(status=status, at=commit)
            return [to_json(notice) for notice in islice(notices, _MAX_ITEMS)]

        return self._spend(self._intervals(read, self._touched(_NOTICE_KINDS)))

    def _stale_keys(self, space: str) -> list[Interval]:
        def read(commit: int) -> list[Json]:
            keys = self._store.stale_keys(namespace=space, at=commit)
            return [stale_key(key) for key in islice(keys, _MAX_ITEMS)]

        return self._spend(self._intervals(read, ()))

    def _operations(self, kinds: Collection[OperationType]) -> Iterator[tuple[int, Json]]:
        for event in self._events:
            for operation in event["operations"]:
                if OperationType(operation["type"]) in kinds:
                    yield event["commit_ts"], operation

    def _touched(self, kinds: Collection[OperationType]) -> set[int]:
        return {commit for commit, _ in self._operations(kinds)}

    def _intervals(
        self, read: Callable[[int], list[Json]], changed: Collection[int]
    ) -> list[Interval]:
        """Return the items of a list, each with the commits between which it is there."""
        intervals: list[Interval] = []
        current: dict[str, Interval] = {}
        for commit, items in self._changes(read, changed):
            present = {_text(item): item for item in items}
            for text in current.keys() - present.keys():
                current.pop(text)[1] = commit
            for text, item in present.items():
                if text not in current:
                    start = 0 if commit == self._commits[0] else commit
                    current[text] = [start, None, item]
                    intervals.append(current[text])
        return intervals

    def _changes(
        self, read: Callable[[int], list[Json]], changed: Collection[int]
    ) -> Iterator[tuple[int, list[Json]]]:
        """Yield the answer at the first commit, and at each after which it is another one.

        It is read before and after each event that changes such answers by itself. Whatever else
        changes them, such as other agents, is found by halving.
        """
        commits = self._commits
        starts = [0, *(place for place in range(1, len(commits)) if commits[place] in changed)]
        for start, end in zip(starts, [*starts[1:], len(commits)], strict=True):
            before = read(commits[start])
            yield commits[start], before
            if end - 1 > start:
                yield from self._halve(read, (start, before), (end - 1, read(commits[end - 1])))

    def _halve(
        self,
        read: Callable[[int], list[Json]],
        low: tuple[int, list[Json]],
        high: tuple[int, list[Json]],
    ) -> Iterator[tuple[int, list[Json]]]:
        """Yield the changes of an answer between two places."""
        if low[1] == high[1]:
            return
        if high[0] - low[0] == 1:
            yield self._commits[high[0]], high[1]
            return
        middle = (low[0] + high[0]) // 2
        between = middle, read(self._commits[middle])
        yield from self._halve(read, low, between)
        yield from self._halve(read, between, high)

    # What things rest on.

    def _trees(self, refs: Sequence[tuple[str, Ref, set[int]]]) -> dict[str, list[Interval]]:
        trees = {}
        for number, (name, ref, changed) in enumerate(refs):
            if self._progress is not None:
                self._progress(number, len(refs))
            trees[name] = self._spend(self._intervals(self._reader_of(ref), changed))
        return trees

    def _reader_of(self, ref: Ref) -> Callable[[int], list[Json]]:
        def read(commit: int) -> list[Json]:
            try:
                return [[*reason_nodes(self._store.why(ref, at=commit))]]
            except NotFound:
                return []

        return read

    def _versions(self, memories: dict[str, list[Interval]]) -> dict[str, list[Json]]:
        """Return the versions of memories of which the range has not the first one."""
        newest = {
            memory["id"]: memory["updated_at"]
            for intervals in memories.values()
            for _, _, memory in intervals
            if memory["version"] > 1
        }
        versions = {}
        for memory_id, last in newest.items():
            states = map(to_json, self._store.memory_history(memory_id))
            versions[memory_id] = [state for state in states if state["updated_at"] <= last]
        return self._spend(versions)

    def _transcripts(self, trees: dict[str, list[Interval]]) -> dict[str, Json]:
        """Return the conversations that are quoted."""
        ids = {
            node["ref"]["transcript_id"]
            for intervals in trees.values()
            for _, _, nodes in intervals
            for node in nodes
            if node["kind"] == "transcript" and node["ref"] is not None and not node["hidden"]
        }
        talks: dict[str, Json] = {}
        for transcript_id in sorted(ids):
            talk = self._store.get_transcript(transcript_id)
            if talk is not None:
                content = talk.text() if talk.form == "text" else _text(talk.messages())
                talks[transcript_id] = self._spend({"info": _info(talk), "content": content})
        return talks

    def _spend(self, part: Part) -> Part:
        """Add the size of a part; raise `InvalidInput` if the story becomes too long."""
        self._left -= len(_text(part))
        if self._left < 0:
            raise _too_long()
        return part


_MEMORY_KINDS = frozenset(
    (
        *(OperationType.REMEMBER, OperationType.UPDATE, OperationType.RETRACT),
        *(OperationType.TOUCH, OperationType.LINK, OperationType.UNLINK),
    )
)
_FACT_KINDS = frozenset(
    (
        *(OperationType.ASSERT, OperationType.END, OperationType.WITHDRAW),
        *(OperationType.ALIAS, OperationType.MERGE, OperationType.CARDINALITY),
    )
)
_NOTICE_KINDS = frozenset((OperationType.NOTIFY, OperationType.RESOLVE))


def _is_own(segment: str) -> bool:
    """Say whether a segment of a namespace is the engine's."""
    return segment.startswith("_")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _info(talk: Any) -> Json:
    names = ("id", "namespace", "agent_id", "created_at", "occurred_at", "expires_at")
    return {name: to_json(getattr(talk, name)) for name in names}


def _refs(
    state: dict[str, list[Interval]],
    memories: dict[str, list[Interval]],
    facts: dict[str, list[Interval]],
) -> list[tuple[str, Ref, set[int]]]:
    """Return the explainable items: the name in the story, and the commits that changed it."""
    refs: dict[str, tuple[Ref, set[int]]] = {}
    for space, key_intervals in state.items():
        for start, _, record in key_intervals:
            ref = KeyRef(record["key"], namespace=space)
            refs.setdefault(f"{space}\n{record['key']}", (ref, set()))[1].add(start)
    for start, _, memory in _items(memories.values()):
        refs.setdefault(memory["id"], (MemoryRef(memory["id"]), set()))[1].add(start)
    for start, _, fact in _items(facts.values()):
        for assertion in fact["assertions"][:1]:
            refs.setdefault(assertion, (FactRef(assertion), set()))[1].add(start)
    return [(name, ref, changed) for name, (ref, changed) in refs.items()]


def _items(lists: Iterable[list[Interval]]) -> Iterator[Interval]:
    for intervals in lists:
        yield from intervals
