"""The store for asyncio.

Generated from store.py, subscription.py and transaction.py: change those.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from recollect.errors import InvalidInput, RecollectError, StoreClosed
from recollect.log.cursors import Cursor, list_cursors
from recollect.log.feed import Feed, Start
from recollect.log.forking import Fork
from recollect.log.moments import Moment
from recollect.log.pages import Mapped
from recollect.log.replay import Bounds, Replay
from recollect.log.selection import Kinds, Selection, check_kinds
from recollect.log.signal import LOOK_SECONDS, RESTS
from recollect.log.transaction import Draft
from recollect.log.verification import Verification, verify
from recollect.log.views import Rebuild, rebuild
from recollect.model import document
from recollect.model.clock import SystemClock
from recollect.model.document import Document
from recollect.model.event import ReplayEvent
from recollect.model.instant import Instant
from recollect.model.limits import check_seconds, check_text, plain_text
from recollect.model.refs import KeyRef
from recollect.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces, Scope
from recollect.sdk.backup import Backup, back_up, fork_at
from recollect.sdk.calls import AsyncCalls, async_paged
from recollect.sdk.core import Core, Defaults, check_version
from recollect.sdk.stats import Stats, gather
from recollect.sdk.urls import Url
from recollect.state.pending import PendingScan, PendingState
from recollect.state.queries import Diff, History, Keys, Scan
from recollect.state.records import StateChange, StateEntry, StateRecord, StateVersion
from recollect.state.requests import DeleteKey, KeyRead, PrefixRead, WriteKey
from recollect.storage.port import Parameters, Progress


class AsyncTransaction:
    """Operations that are committed together, and reads they depend on.

    Staging is done in memory. Reads see the state as of the transaction's beginning under its own
    writes, and are tracked: if something it read has changed by the time it commits, it raises
    `TransactionConflict`. As a context manager it commits on success and aborts on an exception.
    """

    def __init__(self, core: Core, calls: AsyncCalls, defaults: Defaults, draft: Draft) -> None:
        self._core = core
        self._calls = calls
        self._defaults = defaults
        self._draft = draft
        self._pending = PendingState()
        self.commit_ts: int | None = None
        "The commit this transaction became, once it is committed."

    @property
    def txn_id(self) -> str:
        """The transaction's name in the log."""
        return self._draft.txn_id

    def write(
        self,
        *,
        key: str,
        value: Document,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        because: Iterable[KeyRef] = (),
    ) -> None:
        """Stage a write. `expect_version` makes it a compare-and-set; 0 expects no value."""
        self._draft.check()
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = WriteKey(
            scope=scope,
            key=check_text("key", key, most_bytes=limits.key_bytes),
            encoded=document.encode("value", value, limits),
            expect_version=check_version("expect_version", expect_version, least=0),
            because=self._check_because(because, scope),
        )
        self._draft.stage(request)
        self._pending.add(request)

    def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
    ) -> None:
        """Stage a deletion. It takes the key's next version, also when there is no value."""
        self._draft.check()
        request = DeleteKey(
            scope=self._defaults.scope(agent_id, namespace, self._core.limits, writing=True),
            key=check_text("key", key, most_bytes=self._core.limits.key_bytes),
            expect_version=check_version("expect_version", expect_version, least=0),
        )
        self._draft.stage(request)
        self._pending.add(request)

    async def get_state(
        self, *, key: str, agent_id: str | None = None, namespace: str | None = None
    ) -> StateRecord | None:
        """Return the key's value as this transaction sees it."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, most_bytes=self._core.limits.key_bytes)
        self._draft.track(KeyRead(scope, key))
        return await self._calls.run(self._read, scope, key)

    def list_keys(
        self, *, prefix: str = "", agent_id: str | None = None, namespace: str | None = None
    ) -> AsyncIterator[str]:
        """Yield the keys under a prefix as this transaction sees them, in order."""
        entries = self._scan(prefix, agent_id, namespace)
        return async_paged(self._calls, Mapped(entries, lambda entry: entry.key))

    def scan_prefix(
        self, *, prefix: str, agent_id: str | None = None, namespace: str | None = None
    ) -> AsyncIterator[StateEntry]:
        """Yield the keys under a prefix and their values as this transaction sees them."""
        return async_paged(self._calls, self._scan(prefix, agent_id, namespace))

    async def commit(self) -> int:
        """Make everything staged durable at once and return its `commit_ts`."""
        request = self._draft.request()
        try:
            if request.is_empty:
                self.commit_ts = await self._calls.run(self._core.head)
            else:
                self.commit_ts = await self._calls.commit(self._core.committer, request)
        finally:
            self._draft.close(committed=self.commit_ts is not None)
        return self.commit_ts

    def abort(self) -> None:
        """Discard everything staged. Aborting twice is fine; aborting a commit is not."""
        if self.commit_ts is not None:
            self._draft.check()
        self._draft.close(committed=False)

    async def __aenter__(self) -> Self:
        self._draft.check()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._draft.is_open:
            return
        if kind is None:
            await self.commit()
        else:
            self.abort()

    def _read(self, scope: Scope, key: str) -> StateRecord | None:
        with self._core.engine.reading() as reader:
            return self._pending.get(reader, scope, key, self._draft.since)

    def _scan(self, prefix: str, agent_id: str | None, namespace: str | None) -> PendingScan:
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        self._draft.track(PrefixRead(scope, prefix))
        return PendingScan(
            self._core.engine, self._pending, scope, prefix=prefix, at=self._draft.since
        )

    def _check_because(self, because: object, writer: Scope) -> tuple[KeyRef, ...]:
        if because == ():
            return ()
        if not isinstance(because, Iterable) or isinstance(because, str):
            raise InvalidInput("because", f"{because!r} is not a list of references")
        return tuple(self._check_ref(ref, writer) for ref in because)

    def _check_ref(self, ref: object, writer: Scope) -> KeyRef:
        if not isinstance(ref, KeyRef):
            raise InvalidInput("because", f"{ref!r} is not a reference: use KeyRef('some key')")
        limits = self._core.limits
        scope = Defaults(writer.agent_id, writer.namespace).scope(
            ref.agent_id, ref.namespace, limits
        )
        return KeyRef(
            key=check_text("because.key", ref.key, most_bytes=limits.key_bytes),
            version=check_version("because.version", ref.version, least=1),
            agent_id=scope.agent_id,
            namespace=scope.namespace,
        )


class AsyncSubscription:
    """Events in commit order, each once; when there are no more, it waits for the next.

    Iteration ends when the subscription or its store is closed, or when no event came for the
    `timeout` it was made with; in the last case, iterating again goes on where it stopped. It waits
    in real time, whatever clock the store has. While it waits it holds nothing.
    """

    def __init__(self, core: Core, calls: AsyncCalls, feed: Feed, timeout: float | None) -> None:
        self._core = core
        self._calls = calls
        self._feed = feed
        self._timeout = math.inf if timeout is None else timeout
        self._time = SystemClock()
        self._events: deque[ReplayEvent] = deque()
        self._filling = threading.Lock()
        self._in_vain = 0
        "How often in a row it looked and found nothing."
        self._closed = False

    async def ack(self, event: ReplayEvent) -> None:
        """Store durably that everything up to this event is done: the cursor resumes behind it.

        A cursor only moves forward. What was received and not acknowledged comes again when the
        cursor is subscribed to anew: each event at least once.
        """
        await self._calls.run(self._feed.acknowledge, event)

    def close(self) -> None:
        """End the iteration, also one that waits in another thread. Closing twice is fine."""
        self._closed = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReplayEvent:
        until = self._time.monotonic() + self._timeout
        while not self._closed:
            seen = self._core.signal.count
            if bool(self._events) or await self._calls.run(self._fill):
                self._in_vain = 0
                with suppress(IndexError):
                    return self._events.popleft()
            elif self._feed.caught_up:
                if self._time.monotonic() >= until:
                    break
                self._in_vain += 1
                await self._wait(seen, until)
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _fill(self) -> bool:
        """Fetch the next events, if none are left, and say whether there are some now.

        They are kept and not returned: if the caller was cancelled meanwhile, the next finds them.
        """
        with self._filling:
            if not self._events and (not self._closed):
                try:
                    self._events.extend(self._feed.next_page())
                except StoreClosed:
                    self._closed = True
            return bool(self._events)

    async def _wait(self, seen: int, until: float) -> None:
        """Wait until the log may have grown, looking for commits of other processes meanwhile."""
        signal = self._core.signal
        await self._calls.rest(RESTS[min(self._in_vain, len(RESTS)) - 1])
        while not self._closed and signal.count == seen:
            left = until - self._time.monotonic()
            if left <= 0:
                return
            await self._calls.wait(signal, seen, min(left, LOOK_SECONDS))
            if signal.count == seen:
                self._in_vain = 0
            if signal.claim_look(self._time.monotonic()):
                await self._calls.run(self._look)

    def _look(self) -> None:
        """See how far the log goes, and tell all who wait."""
        try:
            self._core.signal.note_head(self._core.head())
        except StoreClosed:
            self._closed = True
            self._core.signal.notify()


Result = TypeVar("Result")


class AsyncStore:
    """An open store. One may be shared by any number of threads.

    Every method takes `agent_id` and `namespace`; what is left out is what the handle is bound to.
    `at` takes a commit number, an aware datetime or RFC 3339 text; beyond the head means the head.
    """

    def __init__(self, core: Core, defaults: Defaults, calls: AsyncCalls | None = None) -> None:
        self._core = core
        self._calls = calls or AsyncCalls(core.clock)
        self._defaults = defaults

    def bind(self, *, agent_id: str | None = None, namespace: str | None = None) -> AsyncStore:
        """Return this store with an agent or a namespace as default. They share what is open."""
        defaults = Defaults(
            self._defaults.agent_id if agent_id is None else agent_id,
            self._defaults.namespace if namespace is None else namespace,
        )
        defaults.scope(defaults.actor, None, self._core.limits)
        return AsyncStore(self._core, defaults, self._calls)

    def begin_transaction(
        self, *, timeout: float = 30.0, txn_id: str | None = None
    ) -> AsyncTransaction:
        """Begin a transaction. A `txn_id` of your own makes it happen once, however often tried."""
        draft = self._core.draft(self._defaults.actor, timeout, txn_id)
        return AsyncTransaction(self._core, self._calls, self._defaults, draft)

    async def transact(
        self,
        work: Callable[[AsyncTransaction], Awaitable[Result]],
        *,
        retries: int = 10,
        timeout: float = 30.0,
        txn_id: str | None = None,
    ) -> Result:
        """Run `work` in a transaction and commit it; on a conflict, run it again with a new one."""
        attempt = 0
        while True:
            try:
                async with self.begin_transaction(timeout=timeout, txn_id=txn_id) as transaction:
                    return await work(transaction)
            except RecollectError as error:
                if not error.retryable or attempt >= retries:
                    raise
            await self._calls.sleep(self._core.backoff(attempt))
            attempt += 1

    async def write(
        self,
        *,
        key: str,
        value: Document,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        because: Iterable[KeyRef] = (),
        txn_id: str | None = None,
    ) -> int:
        """Write one key in a transaction of its own and return its `commit_ts`."""
        if isinstance(because, Iterable):
            because = tuple(because)
        return await self._once(
            lambda transaction: transaction.write(
                key=key,
                value=value,
                agent_id=agent_id,
                namespace=namespace,
                expect_version=expect_version,
                because=because,
            ),
            txn_id,
        )

    async def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        txn_id: str | None = None,
    ) -> int:
        """Delete one key in a transaction of its own and return its `commit_ts`."""
        return await self._once(
            lambda transaction: transaction.delete(
                key=key, agent_id=agent_id, namespace=namespace, expect_version=expect_version
            ),
            txn_id,
        )

    async def get_state(
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
        version = check_version("version", version, least=1)
        return await self._calls.run(self._core.get_state, scope, key, version, at)

    def list_keys(
        self,
        *,
        prefix: str = "",
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> AsyncIterator[str]:
        """Yield the keys that have a value, in the order of their UTF-8 bytes."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        commit = self._core.commit_at("at", at)
        return async_paged(self._calls, Keys(self._core.engine, scope, prefix=prefix, at=commit))

    def scan_prefix(
        self,
        *,
        prefix: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        at: Moment | None = None,
    ) -> AsyncIterator[StateEntry]:
        """Yield the keys under a prefix with their values, in the order of their UTF-8 bytes."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        commit = self._core.commit_at("at", at)
        return async_paged(self._calls, Scan(self._core.engine, scope, prefix=prefix, at=commit))

    def history(
        self, *, key: str, agent_id: str | None = None, namespace: str | None = None
    ) -> AsyncIterator[StateVersion]:
        """Yield every version of a key, oldest first, deletions too."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, most_bytes=self._core.limits.key_bytes)
        head = self._core.head()
        return async_paged(self._calls, History(self._core.engine, scope, key, through=head))

    def diff(
        self,
        *,
        a: Moment,
        b: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> AsyncIterator[StateChange]:
        """Yield the keys whose value at `b` is not their value at `a`, in order; no `b`: now."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        old, new = (self._core.commit_at("a", a), self._core.commit_at("b", b))
        return async_paged(self._calls, Diff(self._core.engine, scope, old=old, new=new))

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
    ) -> AsyncIterator[ReplayEvent]:
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
        return async_paged(self._calls, Replay(core.engine, core.log_id, selection, bounds))

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
    ) -> AsyncSubscription:
        """Return what an agent, or `ALL_AGENTS`, did and then does, event by event, as it comes.

        It begins behind `after_commit` (0: with the first event), or with so many of the `last`
        events, or else with what is committed from now on. A `cursor` resumes behind the last event
        acknowledged under its name; only a new one asks where to begin. `kinds` and `prefix` select
        operations. It ends when nothing came for `timeout` seconds; 0 ends it with the log.
        """
        core = self._core
        place = None if cursor is None else Cursor(core.engine, core.log_id, cursor)
        start = Start(after_commit=after_commit, last=last, cursor=place)
        selection = self._select(agent_id, namespace, kinds, prefix)
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        feed = Feed(core.engine, core.log_id, selection, start)
        return AsyncSubscription(core, self._calls, feed, seconds)

    async def cursors(self) -> list[tuple[str, int]]:
        """Return every cursor's name, and the commit up to which all is acknowledged."""
        return await self._calls.run(list_cursors, self._core.engine)

    async def drop_cursor(self, *, cursor: str) -> None:
        """Forget a cursor: subscribing to its name begins anew. One that is not there is fine."""
        place = Cursor(self._core.engine, self._core.log_id, cursor)
        await self._calls.run(place.drop)

    async def verify(self, *, progress: Progress | None = None) -> Verification:
        """Walk the hash chain; raise `ChainBroken`, which names the first bad commit."""
        core = self._core
        return await self._calls.run(verify, core.engine, core.log_id, core.clock, progress)

    async def rebuild(self, *, progress: Progress | None = None) -> Rebuild:
        """Build every view again from the log, and say whether any row had been different."""
        core = self._core
        return await self._calls.run(rebuild, core.engine, core.log_id, core.views, progress)

    async def backup(self, path: Url, *, progress: Progress | None = None) -> Backup:
        """Copy the store as of now to a new file, while others go on writing."""
        return await self._calls.run(back_up, self._core, path, progress)

    async def fork(self, path: Url, *, at: Moment, progress: Progress | None = None) -> Fork:
        """Make a new store in a new file from the log up to a moment; it goes its own way then."""
        return await self._calls.run(fork_at, self._core, path, at, progress)

    def sql(self, query: str, parameters: Parameters = ()) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of a SELECT over the documented views, by their columns' names.

        They come from one snapshot, which is held until the last row is read.
        """
        statement = plain_text("query", query)
        return async_paged(self._calls, self._core.engine.query(statement, parameters))

    async def stats(self) -> Stats:
        """Return how much the store holds."""
        return await self._calls.run(gather, self._core)

    async def close(self) -> None:
        """Close the store, for every handle that shares it. Closing twice is fine."""
        await self._calls.run(self._core.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

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
        )

    async def _once(self, stage: Callable[[AsyncTransaction], None], txn_id: str | None) -> int:
        """Commit what `stage` stages; what was only busy or in the way is tried again."""
        attempt = 0
        while True:
            draft = self._core.draft(self._defaults.actor, 30.0, txn_id, reads=False)
            transaction = AsyncTransaction(self._core, self._calls, self._defaults, draft)
            stage(transaction)
            try:
                return await transaction.commit()
            except RecollectError as error:
                if not error.retryable or attempt >= 10:
                    raise
            await self._calls.sleep(self._core.backoff(attempt))
            attempt += 1
