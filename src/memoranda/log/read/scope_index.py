"""The log's own index: scope ids, the commits of each scope, their counts, and transaction ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import get_args

from msgspec.structs import replace

from memoranda.log import pages
from memoranda.log.read import block_sums, kind_counts
from memoranda.log.read.block_sums import OpenBlock
from memoranda.log.read.kind_counts import BLOCK_COMMITS, Counts, ScopeName
from memoranda.log.views import Commit, Eraser, LookUp, RewrittenEvent, View
from memoranda.model import codec
from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.operations import AUDIT_SCOPE, AnyOperation, Epoch, Refuse, Summary
from memoranda.model.scope import DEFAULT_ACTOR
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader, Unread, Writer

# Scope ids: small numbers for pairs of agent and namespace.

INDEX_VERSION = 4
"""Increased when other scopes or counts are indexed: stores are then indexed again when opened."""

_MAX_CACHED_SCOPES = 20_000
"""Scopes whose ids are cached; a full cache is emptied."""


class ScopeIds:
    """Caches scope ids, which never change once they are committed."""

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        share = None if budget is None else budget.share()
        self._ids: BoundedCache[ScopeName, int] = BoundedCache(_MAX_CACHED_SCOPES, share)
        self._last: int | None = None
        """The last id of any scope; None: not read yet."""

    def id_of(self, writer: Writer, agent_id: str, namespace: str) -> int:
        """Return the id of a scope; a new scope gets the next one."""
        scope_id = self.look_up(writer, agent_id, namespace)
        if scope_id is None:
            assert self._last is not None, "it is read with the first scope"
            scope_id = self._last = self._last + 1
            writer.put("scope_add", scope_id, agent_id, namespace)
            self._ids[agent_id, namespace] = scope_id
        return scope_id

    def look_up(self, reader: Reader, agent_id: str, namespace: str) -> int | None:
        """Return the id of a scope; None if it has none."""
        scope_id = self._ids.get((agent_id, namespace))
        if scope_id is not None:
            return scope_id
        if self._last is None:
            row = reader.find("scope_find_or_last", agent_id, namespace)
            assert row is not None, "it always has a row"
            self._last = int(row[1])
        else:
            row = reader.find("scope_find", agent_id, namespace)
        if row is None or row[0] is None:
            return None
        self._ids[agent_id, namespace] = row[0]
        return int(row[0])

    def drop_caches(self) -> None:
        """Drop every id: one of them may have been rolled back."""
        self._ids.clear()
        self._last = None


_scope_of: Callable[[AnyOperation], ScopeName] = attrgetter("agent_id", "namespace")
_KINDS_WITH_ACTOR = frozenset(kind for kind in get_args(AnyOperation) if hasattr(kind, "by"))
"""Operations that name their own actor, which may be another than that of the transaction."""


def touched_scopes(actor: str, operations: Sequence[AnyOperation]) -> set[tuple[str, str]]:
    """Return the pairs of agent and namespace that an event is indexed under.

    These are the scopes of its operations. An agent that acted on others' scopes only, or without
    effect, is indexed in the audit namespace; a handle without an agent is not.
    """
    if len(operations) == 1:  # the most frequent case
        (single,) = operations
        if getattr(single, "by", actor) in (single.agent_id, DEFAULT_ACTOR, ""):
            return {(single.agent_id, single.namespace)}
    scopes = {*map(_scope_of, operations)}
    owners = {agent_id for agent_id, _ in scopes}
    kinds = {*map(type, operations)}
    actors = {actor}
    if not kinds.isdisjoint(_KINDS_WITH_ACTOR):
        actors = {getattr(operation, "by", actor) for operation in operations}
    for by in actors:
        if by and by not in owners and by != DEFAULT_ACTOR:
            scopes.add((by, AUDIT_SCOPE.namespace))
    return scopes


# The log's own view: the commits and counts of each scope, the commit of each txn_id, and horizons.

_MAX_UNINDEXED_OPERATIONS = 16
"""Operations up to which a replay decodes the whole event, so that no spans are indexed."""


class _RefusalRules:
    """The rules for the engine's notes of refusals.

    A count of refusals is logged later, and its agent may have been forgotten since, by any
    process: its name must not come back.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def decide(self, staged: Refuse, /) -> tuple[Refuse]:
        """Return the note; a mere count has no agent if the log no longer knows it."""
        only_counted = staged.left_out and not staged.about
        if only_counted and self._reader.row("agent_known", agent_id=staged.by) is None:
            return (replace(staged, by=DEFAULT_ACTOR),)
        return (staged,)


class LogIndex(View):
    """The view that replay, idempotency and the audit read.

    What an agent did outside its own scopes is indexed under its name in the audit namespace.
    """

    name = "log"
    version = INDEX_VERSION
    request_types = (Refuse,)
    tables = ("event_scope", "kind_count", "txn", "horizon")
    meta_names = ("epoch",)
    clear_queries = ("event_scope_clear", "kind_count_clear", "txn_clear", "horizon_clear")
    prune_queries = ("scope_prune",)
    row_queries = ("event_scope_rows", "kind_count_rows", "txn_rows", "horizon_rows", "scope_rows")

    def __init__(self, scopes: ScopeIds) -> None:
        self._scopes = scopes
        self._block = OpenBlock()

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Index the commit under its txn_id and under every scope it touched."""
        envelope, commit_ts = commit.envelope, commit.commit_ts
        if (name := envelope.retry_key) is not None:  # None: the envelope was erased
            writer.put("txn_add", *name, commit_ts)
        for operation in commit.operations:
            if type(operation) is Epoch:  # the cheapest test, as it runs for every operation
                writer.run("meta_set", name="epoch", value=str(operation.version))
            elif type(operation) is Summary:
                _set_horizon(writer, commit_ts, operation)
        counts = _counts(commit)
        places = _places(commit) if len(counts) > 1 else {}  # a single scope has all of it
        block, is_deferred = self._block, block_sums.is_deferred(len(commit.operations))
        block.enter(commit_ts)
        for scope in _scopes_of(commit):
            scope_id = self._scopes.id_of(writer, *scope)
            own = counts.get(scope) or {}
            kinds = kind_counts.pack(own)
            writer.put("event_scope_add", scope_id, commit_ts, places.get(scope), kinds)
            if is_deferred:
                block.add(scope_id, own)
            else:
                block_sums.add_counts(writer, scope_id, commit_ts, own)
        if block.is_complete:
            block.store(writer, self.log or writer, partial(self._scope_id, writer))

    def rehearse(self, scout: Reader, commit: Commit, /) -> None:
        """Look the scopes of a commit up."""
        for scope in _scopes_of(commit):
            with suppress(Unread):
                self._scopes.look_up(scout, *scope)

    def _scope_id(self, writer: Writer, scope: ScopeName) -> int:
        return self._scopes.id_of(writer, *scope)

    def eraser(self, writer: Writer, /) -> LogIndexEraser:
        """Return the object that indexes rewritten events."""
        return LogIndexEraser(writer, self._scopes)

    def rules(self, reader: Reader, look_up: LookUp, /) -> _RefusalRules:  # noqa: ARG002
        """Return the rules for the engine's notes."""
        return _RefusalRules(reader)

    def drop_caches(self) -> None:
        """Drop the cached scope ids, and the counts of the last block."""
        self._scopes.drop_caches()
        self._block.drop()


class LogIndexEraser(Eraser):
    """Updates the index of rewritten events."""

    def __init__(self, writer: Writer, scopes: ScopeIds) -> None:
        self._writer = writer
        self._scopes = scopes
        self._first_open = block_sums.first_open_commit(pages.head_commit(writer))
        """From this commit on, events are not in the stored sums, unless they are large."""

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Index the event under its remaining scopes and txn_id."""
        writer, before, commit_ts = self._writer, rewritten.before, rewritten.before.commit_ts
        old_key, new_key = before.envelope.retry_key, rewritten.after.envelope.retry_key
        if old_key is not None and old_key != new_key:
            writer.run("txn_remove", txn_id=old_key[0], actor=old_key[1])
            if new_key is not None:
                writer.put("txn_add", *new_key, commit_ts)
        before_counts, counts = _counts(before), _counts(rewritten.after)
        if commit_ts < self._first_open or not block_sums.is_deferred(len(before.operations)):
            self._update_sums(commit_ts, before_counts, counts)
        old, new = _scopes_of(before), _scopes_of(rewritten.after)
        for agent_id, namespace in old - new:
            writer.run(
                "event_scope_remove", commit_ts=commit_ts, agent_id=agent_id, namespace=namespace
            )
            if namespace == AUDIT_SCOPE.namespace:  # an actor's name, which no other row needs
                writer.run("scope_drop_unused", agent_id=agent_id, namespace=namespace)
        for _, old_operation, new_operation in rewritten.changes():
            if isinstance(old_operation, Summary) and not isinstance(new_operation, Summary):
                writer.run("horizon_remove", namespace=old_operation.namespace)
        places = _places(rewritten.after) if len(counts) > 1 else {}
        is_large = len(before.operations) > _MAX_UNINDEXED_OPERATIONS
        for scope in new:
            if scope in old and not is_large and before_counts.get(scope) == counts.get(scope):
                continue
            scope_id = self._scopes.id_of(writer, *scope)
            kinds = kind_counts.pack(counts.get(scope, {}))
            writer.put("event_scope_add", scope_id, commit_ts, places.get(scope), kinds)

    def _update_sums(
        self, commit_ts: int, before: Mapping[ScopeName, Counts], after: Mapping[ScopeName, Counts]
    ) -> None:
        """Bring the sums of the event's block from before the rewrite to after it."""
        for scope in sorted(before.keys() | after.keys()):
            changes = kind_counts.difference(before.get(scope, {}), after.get(scope, {}))
            if changes:
                scope_id = self._scopes.id_of(self._writer, *scope)
                block_sums.add_counts(self._writer, scope_id, commit_ts, changes)
                self._writer.put("kind_count_prune", scope_id, commit_ts // BLOCK_COMMITS)


def _scopes_of(commit: Commit) -> set[tuple[str, str]]:
    return touched_scopes(commit.envelope.actor, commit.operations)


def _counts(commit: Commit) -> dict[ScopeName, Counts]:
    return kind_counts.count_scopes(commit.operations)


def _places(commit: Commit) -> dict[tuple[str, str], bytes]:
    """Return the spans of the operations of each scope that has a small part of a large event."""
    if len(commit.operations) <= _MAX_UNINDEXED_OPERATIONS:
        return {}
    spans = codec.spans(commit.encoded)
    spans_of: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for span, operation in zip(spans or (), commit.operations, strict=False):
        spans_of.setdefault((operation.agent_id, operation.namespace), []).append(span)
    limit = len(commit.operations) // 2
    return {
        scope: codec.pack_spans(scope_spans)
        for scope, scope_spans in spans_of.items()
        if len(scope_spans) <= limit
    }


def _set_horizon(writer: Writer, commit_ts: int, operation: Summary) -> None:
    writer.run(
        "horizon_set",
        namespace=operation.namespace,
        commit_ts=operation.horizon,
        summed_in=commit_ts,
        unfinished=int(operation.unfinished),
    )
