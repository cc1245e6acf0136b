"""The `Store` class: keys, the log, and the calls of the other files of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.calls.copies import Backup, MakeBackup, MakeFork
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.keys import Diff, GetState, History, ListKeys, ScanPrefix
from memoranda.calls.log import Cursors, DropCursor, Replay, TimelineBuckets
from memoranda.calls.maintenance import (
    GetStats,
    RebuildViews,
    Sql,
    SqlViews,
    Stats,
    TrustedKeys,
    Verify,
    plain_keys,
)
from memoranda.calls.plain import plain_parameters, plain_refs
from memoranda.calls.subscriptions import Subscribe
from memoranda.log.fork import Fork
from memoranda.log.read.as_of import Moment, plain_commit, plain_moment
from memoranda.log.read.timeline_buckets import DEFAULT_BUCKETS, TimelineBucket
from memoranda.log.read.visibility import Kinds, plain_kinds, select_notices
from memoranda.log.rebuild import Rebuild
from memoranda.log.verify.verifier import Verification
from memoranda.model.clock import Instant, plain_instant
from memoranda.model.document import Document
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import (
    check_callable,
    check_seconds,
)
from memoranda.model.receipt import HasCommit, Receipt
from memoranda.model.refs import RefLike
from memoranda.model.scope import AllAgents, AllNamespaces
from memoranda.sdk.calls import check_signer, listed
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
from memoranda.state.reads import StateChange, StateRecord, StateVersion
from memoranda.storage.port import Parameters, Progress, SqlView
from memoranda.storage.store_url import Url


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
        min_commit: int | HasCommit | None = None,
    ) -> Store:
        """Return another handle of this store, with an agent or a namespace as default.

        With a `signer`, or the path of its file, each transaction carries the agent's signature.
        The first such transaction makes the log trust the key for this agent.

        Where reads go to a replica (`read_url`), those of this handle see at least `min_commit`: a
        commit that was acknowledged to another process.
        """
        limits, bound = self._calls.limits, self._defaults
        defaults = rebound(limits, bound, agent_id, namespace, signer, min_commit)
        if signer is not None:
            check_signer(self._calls, defaults.signing)
        return Store(self._calls, defaults)

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
        place = self._defaults.place(agent_id, namespace)
        refs = plain_refs(because)
        return self._write(Write(*place, key, value, expect_version, refs, txn_id=txn_id))

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
        place = self._defaults.place(agent_id, namespace)
        return self._write(Delete(*place, key, expect_version, txn_id=txn_id))

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
        agent, place = self._defaults.place(agent_id, namespace)
        moment = None if at is None else plain_moment("at", at)
        return self._calls.ask(GetState(agent, place, key, version, moment))

    def list_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[str]:
        """Yield the keys that have a value, in the order of their UTF-8 bytes."""
        agent, place = self._defaults.place(agent_id, namespace)
        return listed(self._calls, ListKeys(agent, place, prefix, plain_moment("at", at)))

    def scan_prefix(
        self,
        *,
        prefix: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> Iterator[StateRecord]:
        """Yield the keys under a prefix with their values, in the order of their UTF-8 bytes."""
        agent, place = self._defaults.place(agent_id, namespace)
        return listed(self._calls, ScanPrefix(agent, place, prefix, plain_moment("at", at)))

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
        agent, place = self._defaults.place(agent_id, namespace)
        return listed(self._calls, History(agent, place, key, plain_moment("since", since)))

    def diff(
        self,
        *,
        old: Moment,
        new: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[StateChange]:
        """Yield the keys whose values differ between two moments, in order; `new` is now."""
        agent, place = self._defaults.place(agent_id, namespace)
        moments = plain_moment("old", old), plain_moment("new", new)
        return listed(self._calls, Diff(agent, place, *moments))

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
        agent, place = self._selected(agent_id, namespace)
        call = Replay(
            agent,
            place,
            plain_instant("from_timestamp", from_timestamp),
            plain_instant("to_timestamp", to_timestamp),
            plain_commit("after_commit", after_commit),
            plain_commit("through_commit", through_commit),
            plain_kinds(kinds),
        )
        return listed(self._calls, call)

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
        agent, place = self._defaults.agent(agent_id), self._selected_namespace(namespace)
        call = TimelineBuckets(
            agent,
            place,
            plain_instant("from_timestamp", from_timestamp),
            plain_instant("to_timestamp", to_timestamp),
            buckets,
        )
        return self._calls.ask(call)

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
        if notices:
            kinds, namespace = select_notices(kinds, namespace, prefix)
        call = Subscribe(
            *self._selected(agent_id, namespace),
            plain_commit("after_commit", after_commit),
            last,
            plain_kinds(kinds),
            prefix,
            cursor,
        )
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        return Subscription(self._calls, call, seconds)

    def cursors(self) -> list[tuple[str, int]]:
        """Return every cursor by name, with the last commit it has acknowledged."""
        return self._calls.ask(Cursors())

    def drop_cursor(self, *, cursor: str, purge: bool = False) -> None:
        """Delete a cursor, if there is one: the next subscription to its name is a new cursor.

        With `purge`, its name is also removed from the files at once, as with `forget`.
        """
        self._calls.ask(DropCursor(cursor, bool(purge)))

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
        note = checkpoint.note if isinstance(checkpoint, SignedCheckpoint) else checkpoint
        return self._calls.ask(Verify(note, plain_keys(keys), bool(deep)), progress)

    def rebuild(self, *, progress: Progress | None = None) -> Rebuild:
        """Rebuild every view from the log, and report which ones had differed."""
        check_callable("progress", progress)
        return self._calls.ask(RebuildViews(), progress)

    def backup(self, path: Url, *, progress: Progress | None = None) -> Backup:
        """Copy the store as of now to a new file; others can write meanwhile."""
        check_callable("progress", progress)
        return self._calls.ask(MakeBackup(path), progress)

    def fork(self, path: Url, *, at: Moment, progress: Progress | None = None) -> Fork:
        """Create a new store, in a new file, from the log up to a moment."""
        check_callable("progress", progress)
        return self._calls.ask(MakeFork(path, plain_moment("at", at)), progress)

    def sql(self, query: str, parameters: Parameters = ()) -> Iterator[dict[str, Any]]:
        """Yield the rows of a SELECT over the documented views, as dicts by column name.

        They come from one snapshot, which stays open until the last row is read.
        """
        return listed(self._calls, Sql(query, plain_parameters(parameters)))

    def sql_views(self) -> list[SqlView]:
        """Return the views that `sql` can read, with their columns and a description of each."""
        return self._calls.ask(SqlViews())

    def stats(self) -> Stats:
        """Return figures and warnings about the store."""
        return self._calls.ask(GetStats())

    def close(self) -> None:
        """Close the store, for every handle that shares it. Closing twice is fine."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
