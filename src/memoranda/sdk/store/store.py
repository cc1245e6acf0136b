"""The store: everything a program does with Memoranda begins here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from memoranda.audit.stored import SignedCheckpoint
from memoranda.log.cursors import Cursor, list_cursors
from memoranda.log.feed import Feed, Start
from memoranda.log.forking import Fork
from memoranda.log.moments import Moment
from memoranda.log.replay import Bounds, Replay
from memoranda.log.selection import Kinds, Selection, check_kinds
from memoranda.log.verification import Verification
from memoranda.log.views import Rebuild
from memoranda.model.document import Document
from memoranda.model.event import ReplayEvent
from memoranda.model.instant import Instant
from memoranda.model.limits import check_callable, check_seconds, check_text, plain_text
from memoranda.model.refs import Ground
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces
from memoranda.sdk.audit_calls import AuditCalls
from memoranda.sdk.backup import Backup, back_up, fork_at
from memoranda.sdk.belief_calls import BeliefCalls
from memoranda.sdk.binding import SignerOrPath, rebound
from memoranda.sdk.bulk_calls import BulkCalls
from memoranda.sdk.calls import paged
from memoranda.sdk.checkpoint_calls import CheckpointCalls
from memoranda.sdk.compact_calls import CompactCalls
from memoranda.sdk.core import check_version
from memoranda.sdk.erasure_calls import ErasureCalls
from memoranda.sdk.export_calls import ExportCalls
from memoranda.sdk.extract_calls import ExtractCalls
from memoranda.sdk.fact_calls import FactCalls
from memoranda.sdk.graph_calls import GraphCalls
from memoranda.sdk.key_requests import delete_key, write_key
from memoranda.sdk.link_calls import LinkCalls
from memoranda.sdk.memory_calls import MemoryCalls
from memoranda.sdk.recall_calls import RecallCalls
from memoranda.sdk.reindex_calls import ReindexCalls
from memoranda.sdk.stats import Stats, gather
from memoranda.sdk.subscription import Subscription
from memoranda.sdk.transcript_calls import TranscriptCalls
from memoranda.sdk.urls import Url
from memoranda.sdk.verifying import TrustedKeys, rebuild_store, verify_store
from memoranda.sdk.why_calls import WhyCalls
from memoranda.state.queries import Diff, History, Keys, Scan
from memoranda.state.records import StateChange, StateEntry, StateRecord, StateVersion
from memoranda.storage.port import Parameters, Progress


class Store(
    MemoryCalls,
    LinkCalls,
    FactCalls,
    BulkCalls,
    BeliefCalls,
    GraphCalls,
    TranscriptCalls,
    ExtractCalls,
    RecallCalls,
    WhyCalls,
    AuditCalls,
    ErasureCalls,
    CheckpointCalls,
    CompactCalls,
    ExportCalls,
    ReindexCalls,
):
    """An open store. One may be shared by any number of threads.

    Every method takes `agent_id` and `namespace`; what is left out is what the handle is bound to.
    `at` takes a commit number, an aware datetime or RFC 3339 text; beyond the head means the head.
    """

    def bind(
        self,
        *,
        agent_id: str | None = None,
        namespace: str | None = None,
        signer: SignerOrPath | None = None,
    ) -> Store:
        """Return this store with an agent or a namespace as default. They share what is open.

        With a `signer`, or the path of its file, each transaction carries the agent's signature; a
        key that is new to the log is trusted for the agent with the first one.
        """
        defaults = rebound(self._core, self._defaults, agent_id, namespace, signer)
        return Store(self._core, defaults, self._calls)

    def write(
        self,
        *,
        key: str,
        value: Document,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        because: Iterable[Ground] = (),
        txn_id: str | None = None,
    ) -> int:
        """Write one key in a transaction of its own and return its `commit_ts`."""
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        staged = write_key(limits, scope, key, value, expect_version, because)
        return self._commit_alone(staged, txn_id)

    def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Delete one key in a transaction of its own and return its `commit_ts`."""
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        return self._commit_alone(delete_key(limits, scope, key, expect_version), txn_id)

    def get_state(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        version: int | None = None,
        at: Moment | None = None,
    ) -> StateRecord | None:
        """Return a key's value now, at a version or at a moment; None: it had none."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, most_bytes=self._core.limits.key_bytes)
        if version is not None:
            version = check_version("version", version, least=1)
        return self._calls.run(self._core.get_state, scope, key, version, at)

    def list_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[str]:
        """Yield the keys that have a value, in the order of their UTF-8 bytes."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        commit = self._core.commit_at("at", at)
        return paged(self._calls, Keys(self._core.engine, scope, prefix=prefix, at=commit))

    def scan_prefix(
        self,
        *,
        prefix: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[StateEntry]:
        """Yield the keys under a prefix with their values, in the order of their UTF-8 bytes."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        commit = self._core.commit_at("at", at)
        return paged(self._calls, Scan(self._core.engine, scope, prefix=prefix, at=commit))

    def history(
        self,
        *,
        key: str,
        since: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[StateVersion]:
        """Yield every version of a key, oldest first, deletions too.

        `since` begins with the version that it had at a moment.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, most_bytes=self._core.limits.key_bytes)
        head = self._core.head()
        first = None if since is None else self._core.commit_at("since", since)
        history = History(self._core.engine, scope, key, through=head, since=first)
        return paged(self._calls, history)

    def diff(
        self,
        *,
        a: Moment,
        b: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[StateChange]:
        """Yield the keys whose value at `b` is not their value at `a`, in order; no `b`: now."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        old, new = self._core.commit_at("a", a), self._core.commit_at("b", b)
        return paged(self._calls, Diff(self._core.engine, scope, old=old, new=new))

    def replay(
        self,
        *,
        agent_id: str | AllAgents | None = None,
        namespace: str | AllNamespaces | None = None,
        from_timestamp: Instant | None = None,
        to_timestamp: Instant | None = None,
        after_commit: int | str | None = None,
        through_commit: int | None = None,
        kinds: Kinds = None,
    ) -> Iterator[ReplayEvent]:
        """Yield what an agent did, in commit order, up to the log's end at the time of this call.

        `ALL_AGENTS` means everybody. Times are taken as `[from, to)`. `after_commit` is exclusive
        and takes an event's `token` or a bare number; `through_commit` is inclusive.
        """
        bounds = Bounds(
            from_timestamp=from_timestamp,
            to_timestamp=to_timestamp,
            after_commit=after_commit,
            through_commit=through_commit,
        )
        selection = self._select(agent_id, namespace, kinds)
        core = self._core
        return paged(self._calls, Replay(core.engine, core.log_id, selection, bounds))

    def subscribe(
        self,
        *,
        agent_id: str | AllAgents | None = None,
        namespace: str | AllNamespaces | None = None,
        after_commit: int | str | None = None,
        last: int | None = None,
        kinds: Kinds = None,
        prefix: str = "",
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> Subscription:
        """Return what an agent, or `ALL_AGENTS`, did and then does, event by event, as it comes.

        It begins behind `after_commit` (0: with the first event), or with so many of the `last`
        events, or else with what is committed from now on. A `cursor` resumes behind the last event
        acknowledged under its name; only a new one asks where to begin. `kinds` and `prefix` select
        operations. It ends when nothing came for `timeout` seconds; 0 ends it with the log.
        """
        core = self._core
        owner = self._defaults.agent_id or self._agent(agent_id)
        place = None if cursor is None else Cursor(core.engine, core.log_id, cursor, owner)
        start = Start(after_commit=after_commit, last=last, cursor=place)
        selection = self._select(agent_id, namespace, kinds, prefix)
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        feed = Feed(core.engine, core.log_id, selection, start)
        return Subscription(core, self._calls, feed, seconds)

    def cursors(self) -> list[tuple[str, int]]:
        """Return every cursor's name, and the commit up to which all is acknowledged."""
        return self._calls.run(list_cursors, self._core.engine)

    def drop_cursor(self, *, cursor: str, purge: bool = False) -> None:
        """Forget a cursor: subscribing to its name begins anew. One that is not there is fine.

        With `purge`, its name leaves the files at once, as with `forget`.
        """
        place = Cursor(self._core.engine, self._core.log_id, cursor)
        self._calls.run(place.drop, purge=bool(purge))

    def verify(
        self,
        *,
        checkpoint: str | SignedCheckpoint | None = None,
        keys: TrustedKeys = None,
        deep: bool = False,
        progress: Progress | None = None,
    ) -> Verification:
        """Walk the hash chain; raise `ChainBroken`, which names the first bad commit.

        It is held to every checkpoint that the store keeps, and to one that was kept elsewhere:
        only that shows a log that was truncated, or chained anew as a whole. A checkpoint that no
        trusted key signed raises `NotProven`; `keys` are those you trust, else the log's own. So
        does an agent's signature that does not hold; the error names its commit.

        `deep` also builds every view again, in a temporary database, and compares: `ViewsDiffer`
        names the first row that is not what the log says. Nothing is changed either way.
        """
        check_callable("progress", progress)
        return self._calls.run(verify_store, self._core, checkpoint, keys, progress, deep)

    def rebuild(self, *, progress: Progress | None = None) -> Rebuild:
        """Build every view again from the log, and say whether any row had been different."""
        check_callable("progress", progress)
        return self._calls.run(rebuild_store, self._core, progress)

    def backup(self, path: Url, *, progress: Progress | None = None) -> Backup:
        """Copy the store as of now to a new file, while others go on writing."""
        check_callable("progress", progress)
        return self._calls.run(back_up, self._core, path, progress)

    def fork(self, path: Url, *, at: Moment, progress: Progress | None = None) -> Fork:
        """Make a new store in a new file from the log up to a moment; it goes its own way then."""
        check_callable("progress", progress)
        return self._calls.run(fork_at, self._core, path, at, progress)

    def sql(self, query: str, parameters: Parameters = ()) -> Iterator[dict[str, Any]]:
        """Yield the rows of a SELECT over the documented views, by their columns' names.

        They come from one snapshot, which is held until the last row is read.
        """
        statement = plain_text("query", query)
        return paged(self._calls, self._core.engine.query(statement, parameters))

    def stats(self) -> Stats:
        """Return how much the store holds."""
        return self._calls.run(gather, self._core)

    def close(self) -> None:
        """Close the store, for every handle that shares it. Closing twice is fine."""
        self._calls.run(self._core.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _select(
        self,
        agent_id: str | AllAgents | None,
        namespace: str | AllNamespaces | None,
        kinds: Kinds,
        prefix: str = "",
    ) -> Selection:
        """Return what a reader of the log asks for, once every part of it is checked."""
        one = self._defaults.actor if agent_id is ALL_AGENTS else agent_id
        where = None if namespace is ALL_NAMESPACES else namespace
        scope = self._defaults.scope(one, where, self._core.limits)
        return Selection(
            agent_id=agent_id if agent_id is ALL_AGENTS else scope.agent_id,
            namespace=namespace if namespace is ALL_NAMESPACES else scope.namespace,
            kinds=check_kinds(kinds),
            prefix=plain_text("prefix", prefix),
            viewer=self._defaults.agent_id,
        )
