"""The `Store` class: keys, the log, and the calls of the other files of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.log.commit.outcome import Committed
from memoranda.log.fork import Fork
from memoranda.log.read.as_of import Moment
from memoranda.log.read.cursors import Cursor, list_cursors
from memoranda.log.read.feed import Feed, Start
from memoranda.log.read.replay import Bounds, Replay
from memoranda.log.read.timeline_buckets import (
    DEFAULT_BUCKETS,
    MAX_BUCKETS,
    TimelineBucket,
    read_buckets,
)
from memoranda.log.read.visibility import Kinds, Selection, check_kinds, select_notices
from memoranda.log.rebuild import Rebuild
from memoranda.log.verify.verifier import Verification
from memoranda.model.clock import Instant
from memoranda.model.document import Document
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import (
    check_callable,
    check_integer,
    check_seconds,
    check_text,
    plain_text,
)
from memoranda.model.receipt import HasCommit, Receipt
from memoranda.model.refs import RefLike, TranscriptRef
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces
from memoranda.sdk.backup import Backup, back_up, fork_at
from memoranda.sdk.calls import paged
from memoranda.sdk.components import check_optional_integer
from memoranda.sdk.maintenance import Stats, TrustedKeys, gather, rebuild_store, verify_store
from memoranda.sdk.requests import Url, check_refs, delete_key, write_key
from memoranda.sdk.signers import SignerOrPath, rebound
from memoranda.sdk.store.audit import AuditCalls, CheckpointCalls, ExportCalls
from memoranda.sdk.store.conversations import ExtractCalls
from memoranda.sdk.store.directory import DirectoryCalls
from memoranda.sdk.store.erasure import CompactCalls, ErasureCalls
from memoranda.sdk.store.fact_reads import FactReadCalls
from memoranda.sdk.store.facts import BulkCalls, FactCalls
from memoranda.sdk.store.graph import GraphCalls
from memoranda.sdk.store.links import LinkCalls
from memoranda.sdk.store.memories import MemoryCalls
from memoranda.sdk.store.recall import RecallCalls, ReindexCalls
from memoranda.sdk.store.subscriptions import Subscription
from memoranda.sdk.store.transcripts import TranscriptCalls
from memoranda.sdk.store.why import WhyCalls
from memoranda.sdk.transaction.transaction import Transaction
from memoranda.state.reads import (
    Diff,
    History,
    Keys,
    Scan,
    StateChange,
    StateRecord,
    StateVersion,
)
from memoranda.state.receipts import cached_receipt, read_receipt
from memoranda.storage.port import Parameters, Progress, SqlView


class Store(
    MemoryCalls,
    LinkCalls,
    FactCalls,
    BulkCalls,
    FactReadCalls,
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
    DirectoryCalls,
):
    """An open store, which threads can share.

    `agent_id` and `namespace` default to those the handle is bound to. `at` takes a commit number
    or a time; a moment after the last commit means the last commit. A time is an aware datetime,
    RFC 3339 text, or a day, a month or a year, such as "2026-02-07" or a `date`: its first instant
    in UTC, also where it ends an interval. A length of time is a timedelta, seconds, or text such
    as "6h".
    """

    def bind(
        self,
        *,
        agent_id: str | None = None,
        namespace: str | None = None,
        signer: SignerOrPath | None = None,
    ) -> Store:
        """Return another handle of this store, with an agent or a namespace as default.

        With a `signer`, or the path of its file, each transaction carries the agent's signature.
        The first such transaction makes the log trust the key for this agent.
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
        because: Iterable[RefLike] | RefLike = (),
        txn_id: str | None = None,
    ) -> Receipt:
        """Write one key in a transaction of its own, and return its commit and its version.

        `because` is what the value rests on, such as the hits of a search: see `Transaction.write`.
        """
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        refs = check_refs("because", because, scope, limits)
        if not any(isinstance(ref, TranscriptRef) for ref in refs):
            request = write_key(limits, scope, key, value, expect_version, refs)
            return self._key_receipt(self._commit_one(request, txn_id))

        def work(transaction: Transaction) -> None:  # it checks the spans
            transaction.write(
                key=key,
                value=value,
                agent_id=agent_id,
                namespace=namespace,
                expect_version=expect_version,
                because=refs,
            )

        transaction, _ = self._commit(work, txn_id)
        return self._key_receipt(self._outcome(transaction, scope.agent_id))

    def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        txn_id: str | None = None,
    ) -> Receipt:
        """Delete one key in a transaction of its own, and return its commit and its version.

        It takes a version also where there is no value; the outcome is then `unchanged`.
        """
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = delete_key(limits, scope, key, expect_version)
        return self._key_receipt(self._commit_one(request, txn_id))

    def get_state(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        version: int | None = None,
        at: Moment | None = None,
    ) -> StateRecord | None:
        """Return the value of a key now, at a version or at a moment, or None if it had none."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, max_bytes=self._core.limits.key_bytes)
        if version is not None:
            version = check_optional_integer("version", version, minimum=1)
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
    ) -> Iterator[StateRecord]:
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
        """Yield every version of a key, deletions included, oldest first.

        With `since`, the first one is the version that the key had at that moment.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, max_bytes=self._core.limits.key_bytes)
        head = self._core.head()
        first = None if since is None else self._core.commit_at("since", since)
        history = History(self._core.engine, scope, key, through=head, since=first)
        return paged(self._calls, history)

    def diff(
        self,
        *,
        old: Moment,
        new: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[StateChange]:
        """Yield the keys whose values differ between two moments, in order; `new` is now."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        first, last = self._core.commit_at("old", old), self._core.commit_at("new", new)
        return paged(self._calls, Diff(self._core.engine, scope, old=first, new=last))

    def replay(
        self,
        *,
        agent_id: str | AllAgents | None = None,
        namespace: str | AllNamespaces | None = None,
        from_timestamp: Instant | None = None,
        to_timestamp: Instant | None = None,
        after_commit: int | str | HasCommit | None = None,
        through_commit: int | HasCommit | None = None,
        kinds: Kinds = None,
    ) -> Iterator[ReplayEvent]:
        """Yield the events of an agent, or of `ALL_AGENTS`, up to the current end of the log.

        Times are the half-open interval `[from_timestamp, to_timestamp)`. `after_commit` is
        exclusive and takes an event's `token` or a commit number; `through_commit` is inclusive.
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

    def timeline_buckets(
        self,
        *,
        agent_id: str | None = None,
        namespace: str | AllNamespaces | None = None,
        from_timestamp: Instant | None = None,
        to_timestamp: Instant | None = None,
        buckets: int = DEFAULT_BUCKETS,
    ) -> list[TimelineBucket]:
        """Count an agent's operations by kind over time, such as for a chart that can be zoomed.

        The time is the half-open interval `[from_timestamp, to_timestamp)`; a bound that is not
        given is the agent's first event, or the instant after its last. It is divided into
        `buckets` equal parts, 1 to 2,000, but none shorter than a microsecond. They count what
        `replay` shows for the same arguments: what was erased as `ERASED`, what was compacted at
        its horizon. Without an event, both bounds give buckets of zeros; else there is no bucket.
        """
        agent = self._defaults.scope(agent_id, None, self._core.limits).agent_id
        selection = self._select(agent, namespace, None)
        bounds = Bounds(from_timestamp=from_timestamp, to_timestamp=to_timestamp)
        number = check_integer(
            "buckets", buckets, minimum=1, maximum=MAX_BUCKETS, noun="a number of buckets"
        )
        core = self._core
        return self._calls.run(read_buckets, core.engine, core.log_id, selection, bounds, number)

    def subscribe(
        self,
        *,
        agent_id: str | AllAgents | None = None,
        namespace: str | AllNamespaces | None = None,
        after_commit: int | str | HasCommit | None = None,
        last: int | None = None,
        kinds: Kinds = None,
        prefix: str = "",
        notices: bool = False,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> Subscription:
        """Return a subscription to the events of an agent, or of `ALL_AGENTS`, past and future.

        It starts after `after_commit` (0: with the first event), or with the `last` so many events,
        or else with the next commit. A `cursor` resumes after the last event acknowledged under its
        name; the other two options apply to a new cursor only. `kinds` and `prefix` select
        operations; `notices` selects the notices to the agent, in every namespace unless one is
        given. It ends when no event came for `timeout` seconds; 0 ends it with the log.
        """
        core = self._core
        if notices:
            kinds, namespace = select_notices(kinds, namespace, prefix)
        owner = self._defaults.agent_id or self._agent(agent_id)
        place = None if cursor is None else Cursor(core.engine, core.log_id, cursor, owner)
        start = Start(after_commit=after_commit, last=last, cursor=place)
        selection = self._select(agent_id, namespace, kinds, prefix)
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        feed = Feed(core.engine, core.log_id, selection, start)
        return Subscription(core, self._calls, feed, seconds)

    def cursors(self) -> list[tuple[str, int]]:
        """Return every cursor by name, with the last commit it has acknowledged."""
        return self._calls.run(list_cursors, self._core.engine)

    def drop_cursor(self, *, cursor: str, purge: bool = False) -> None:
        """Delete a cursor, if there is one: the next subscription to its name is a new cursor.

        With `purge`, its name is also removed from the files at once, as with `forget`.
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
        """Verify the hash chain; raise `ChainBroken` with the first bad commit.

        The chain is compared with every checkpoint in the store, and with `checkpoint`. Only a
        checkpoint that was kept elsewhere shows that a log was truncated or rewritten as a whole. A
        checkpoint that no trusted key signed, and an agent's invalid signature, raise `NotProven`.
        `keys` are the keys you trust; the default is the keys that the log trusts.

        `deep` also rebuilds every view in a temporary database and compares: `ViewsDiffer` names
        the first row that differs. The store is not changed.
        """
        check_callable("progress", progress)
        return self._calls.run(verify_store, self._core, checkpoint, keys, progress, deep)

    def rebuild(self, *, progress: Progress | None = None) -> Rebuild:
        """Rebuild every view from the log, and report which ones had differed."""
        check_callable("progress", progress)
        return self._calls.run(rebuild_store, self._core, progress)

    def backup(self, path: Url, *, progress: Progress | None = None) -> Backup:
        """Copy the store as of now to a new file; others can write meanwhile."""
        check_callable("progress", progress)
        return self._calls.run(back_up, self._core, path, progress)

    def fork(self, path: Url, *, at: Moment, progress: Progress | None = None) -> Fork:
        """Create a new store, in a new file, from the log up to a moment."""
        check_callable("progress", progress)
        return self._calls.run(fork_at, self._core, path, at, progress)

    def sql(self, query: str, parameters: Parameters = ()) -> Iterator[dict[str, Any]]:
        """Yield the rows of a SELECT over the documented views, as dicts by column name.

        They come from one snapshot, which stays open until the last row is read.
        """
        statement = plain_text("query", query)
        return paged(self._calls, self._core.engine.query(statement, parameters))

    def sql_views(self) -> list[SqlView]:
        """Return the views that `sql` can read, with their columns and a description of each."""
        return self._calls.run(self._core.engine.documented_views)

    def stats(self) -> Stats:
        """Return figures and warnings about the store."""
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

    def _key_receipt(self, committed: Committed) -> Receipt:
        """Return the receipt of a key's write; it is read only if others wrote the key as well."""
        commit = committed.result.applied
        receipt = None if commit is None else cached_receipt(self._core.heads, commit)
        if receipt is not None:
            return receipt
        return self._calls.run(self._read_key_receipt, committed)

    def _read_key_receipt(self, committed: Committed) -> Receipt:
        with self._core.engine.reading() as reader:
            return read_receipt(reader, committed.result.load(reader))

    def _select(
        self,
        agent_id: str | AllAgents | None,
        namespace: str | AllNamespaces | None,
        kinds: Kinds,
        prefix: str = "",
    ) -> Selection:
        """Return the checked selection of events that a replay or a subscription asks for."""
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
