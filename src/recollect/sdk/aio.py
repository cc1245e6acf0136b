"""The store for asyncio. Generated from store.py and transaction.py: change those."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from recollect.errors import InvalidInput, RecollectError
from recollect.log.moments import Moment
from recollect.log.pages import Mapped
from recollect.log.replay import Bounds, Kinds, Replay
from recollect.log.transaction import Draft
from recollect.log.verification import Verification, verify
from recollect.log.views import Rebuild, rebuild
from recollect.model import document
from recollect.model.document import Document
from recollect.model.event import ReplayEvent
from recollect.model.instant import Instant
from recollect.model.limits import check_prefix, check_text
from recollect.model.refs import KeyRef
from recollect.model.scope import ALL_NAMESPACES, AllNamespaces, Scope
from recollect.sdk.calls import AsyncCalls, async_paged
from recollect.sdk.core import Core, Defaults, check_version
from recollect.sdk.stats import Stats, gather
from recollect.state.pending import PendingScan, PendingState
from recollect.state.queries import Diff, History, Keys, Scan
from recollect.state.records import StateChange, StateEntry, StateRecord, StateVersion
from recollect.state.requests import DeleteKey, KeyRead, PrefixRead, WriteKey
from recollect.storage.port import Progress


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
        request = WriteKey(
            scope=self._defaults.scope(agent_id, namespace, limits, writing=True),
            key=check_text("key", key, most_bytes=limits.key_bytes),
            encoded=document.encode("value", value, limits),
            expect_version=check_version("expect_version", expect_version, least=0),
            because=self._check_because(because),
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
        check_text("key", key, most_bytes=self._core.limits.key_bytes)
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
        check_prefix("prefix", prefix)
        self._draft.track(PrefixRead(scope, prefix))
        return PendingScan(
            self._core.engine, self._pending, scope, prefix=prefix, at=self._draft.since
        )

    def _check_because(self, because: object) -> tuple[KeyRef, ...]:
        if not isinstance(because, Iterable) or isinstance(because, str):
            raise InvalidInput("because", f"{because!r} is not a list of references")
        return tuple(self._check_ref(ref) for ref in because)

    def _check_ref(self, ref: object) -> KeyRef:
        if not isinstance(ref, KeyRef):
            raise InvalidInput("because", f"{ref!r} is not a reference: use KeyRef('some key')")
        limits = self._core.limits
        check_text("because.key", ref.key, most_bytes=limits.key_bytes)
        check_version("because.version", ref.version, least=1)
        if ref.agent_id is not None or ref.namespace is not None:
            self._defaults.scope(ref.agent_id, ref.namespace, limits)
        return ref


Result = TypeVar("Result")


class AsyncStore:
    """An open store. One may be shared by any number of threads.

    Every method takes `agent_id` and `namespace`; what is left out is what the handle is bound to.
    `at` takes a commit number, an aware datetime or RFC 3339 text; beyond the head means the head.
    """

    def __init__(self, core: Core, defaults: Defaults) -> None:
        self._core = core
        self._calls = AsyncCalls(core.clock)
        self._defaults = defaults

    def bind(self, *, agent_id: str | None = None, namespace: str | None = None) -> AsyncStore:
        """Return this store with an agent or a namespace as default. They share what is open."""
        defaults = Defaults(
            self._defaults.agent_id if agent_id is None else agent_id,
            self._defaults.namespace if namespace is None else namespace,
        )
        defaults.scope(defaults.actor, None, self._core.limits)
        return AsyncStore(self._core, defaults)

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
        check_text("key", key, most_bytes=self._core.limits.key_bytes)
        check_version("version", version, least=1)
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
        check_prefix("prefix", prefix)
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
        check_prefix("prefix", prefix)
        commit = self._core.commit_at("at", at)
        return async_paged(self._calls, Scan(self._core.engine, scope, prefix=prefix, at=commit))

    def history(
        self, *, key: str, agent_id: str | None = None, namespace: str | None = None
    ) -> AsyncIterator[StateVersion]:
        """Yield every version of a key, oldest first, deletions too."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        check_text("key", key, most_bytes=self._core.limits.key_bytes)
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
        agent_id: str | None = None,
        namespace: str | AllNamespaces | None = None,
        from_timestamp: Instant | None = None,
        to_timestamp: Instant | None = None,
        after_commit: int | str | None = None,
        through_commit: int | None = None,
        kinds: Kinds = None,
    ) -> AsyncIterator[ReplayEvent]:
        """Yield what an agent did, in commit order, up to the log's end at the time of this call.

        Times are taken as `[from, to)`. `after_commit` is exclusive and takes an event's `token`
        or a bare number; `through_commit` is inclusive.
        """
        one = None if namespace is ALL_NAMESPACES else namespace
        scope = self._defaults.scope(agent_id, one, self._core.limits)
        pages = Replay(
            self._core.engine,
            self._core.log_id,
            agent_id=scope.agent_id,
            namespace=ALL_NAMESPACES if namespace is ALL_NAMESPACES else scope.namespace,
            bounds=Bounds(
                from_timestamp=from_timestamp,
                to_timestamp=to_timestamp,
                after_commit=after_commit,
                through_commit=through_commit,
            ),
            kinds=kinds,
        )
        return async_paged(self._calls, pages)

    async def verify(self, *, progress: Progress | None = None) -> Verification:
        """Walk the hash chain; raise `ChainBroken`, which names the first bad commit."""
        core = self._core
        return await self._calls.run(verify, core.engine, core.log_id, core.clock, progress)

    async def rebuild(self, *, progress: Progress | None = None) -> Rebuild:
        """Build every view again from the log, and say whether any row had been different."""
        return await self._calls.run(rebuild, self._core.engine, self._core.views, progress)

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
