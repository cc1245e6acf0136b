"""The open stores of a server: opened on use, and closed when others need their place.

A store is open while it is used, and a while longer. `use` pins it, and a pinned store is never
closed. There is room for a number of open stores: beyond it, the one that was used least recently
makes room, and where all are pinned, `StoreBusy` is raised.

Everything here runs in the server's event loop, which is what protects it. Only opening, closing
and changing files run in threads. An entry goes through its states in one direction, and the next
use of its name makes a new one:

    opening (its task opens the store) ─► open ─► closing (its task closes the store) ─► gone
        └─► gone, if it cannot be opened: all who wait get the error, and the next use tries again
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from memoranda.audit import checkpointer
from memoranda.calls.call import Call, Lane
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.job_status import JobStatus
from memoranda.errors import MemorandaError, NotFound, StoreBusy, StoreReadOnly, Unavailable
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, check_integer, check_seconds, short_repr
from memoranda.model.trace import may_record_spans
from memoranda.sdk.lanes import LaneLoad, LanePool, Lanes
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.open import check_driver, open_core
from memoranda.sdk.shared_threads import SharedThreads
from memoranda.sdk.store_files import RemovedStore
from memoranda.search.vectors.embedder import AUTO, EmbedderSpec
from memoranda.server.folders import error_without
from memoranda.server.store_catalog import Catalog, FileCatalog, FolderCatalog, Ownership
from memoranda.server.store_totals import StoreTotals
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.postgres.database_url import parse_database
from memoranda.storage.store_url import Url, file_of

if TYPE_CHECKING:
    from memoranda.sdk.spans import CallSpan

Result = TypeVar("Result")

MAX_OPEN = 500
"""Stores that are open at a time: about 1.1 MB and five file handles each."""
IDLE_SECONDS = 300.0
"""Time after its last use for which a store stays open."""
_IDLE_CHECKS = 10
"""Looks for idle stores in that time."""
_MIN_IDLE_CHECK_SECONDS = 0.1
"""The least time between two such looks."""
_READERS = 1
"""Connections for reading that a store keeps while it is idle."""
_LOST_RETRY_SECONDS = 0.1
"""Seconds after which clients of a lost store try again; its new server has it open by then."""
_THREADS = 8
"""Stores that are opened or closed at a time; an outdated one may take minutes to open."""


_log = logging.getLogger("memoranda.server")


class StoreOptions(msgspec.Struct, frozen=True):
    """How a server opens its stores; `memoranda.open` documents the fields."""

    durability: str = "full"
    embedder: EmbedderSpec = AUTO
    memory_budget: MemoryBudget | int | None = None
    """Shared by all stores."""
    limits: Limits | None = None
    allow_network_file_system: bool = False
    clock: Clock | None = None
    ids: IdSource | None = None
    address: str = ""
    """The address of the server, for messages to others about the owner of a store."""
    max_open: int = MAX_OPEN
    idle_seconds: float = IDLE_SECONDS


class OpenStore:
    """A store that is open, for as long as it is pinned."""

    def __init__(self, name: str, core: Core, pool: LanePool, owner: Ownership | None) -> None:
        self.name = name
        self.core = core
        self._lanes = Lanes(pool=pool)
        self._channels = threading.local()
        self._owner = owner
        """None: the store can only be read, which needs no owner."""

    def calls(self, grant: Grant, signing: TransactionSigner | None = None) -> AsyncLocalCalls:
        """Return a carrier of calls under a grant; all of a server's carriers share its threads.

        Close none of them: the server's stores are closed by their set.
        """
        shared = (self._lanes, self._channels)
        if not may_record_spans():
            return AsyncLocalCalls(self.core, grant, signing, *shared)
        from memoranda.sdk.local.traced_calls import TracedAsyncLocalCalls

        return TracedAsyncLocalCalls(self.core, grant, signing, *shared, kind="SERVER")

    def span_of(self, call: Call[Any]) -> CallSpan | None:
        """Return the span of a call that passes no carrier; None if no spans are recorded."""
        if not may_record_spans():
            return None
        from memoranda.sdk.spans import Spans

        return Spans("SERVER", self.core.log_id).of(call)

    async def run_long(self, work: Callable[[], Result]) -> Result:
        """Do long work on the store, in the lane of long calls; raise `StoreBusy` if it is full."""
        return await self._lanes.submit_call("long", work)

    @property
    def is_lost(self) -> bool:
        """Whether it has moved, or another server owns it, so that it must be closed here."""
        return self.core.engine.is_frozen or (self._owner is not None and self._owner.is_lost)

    def check_current(self) -> None:
        """Raise if the store must be closed here; a stream must then begin again."""
        if self.is_lost:
            raise _lost()

    def close(self) -> None:
        """Close the store and let others own it; called in a thread."""
        try:
            self.core.close()
        finally:
            if self._owner is not None:
                self._owner.release()


class _Entry:
    """A store by its name, from its first use until it is closed."""

    __slots__ = ("closing", "has_place", "name", "opening", "pins", "store", "used_at")

    def __init__(self, name: str) -> None:
        self.name = name
        self.pins = 0
        """The number of its users, waiting ones included."""
        self.used_at = 0.0
        """When it was last used, by the monotonic clock."""
        self.has_place = False
        """Whether it occupies a place."""
        self.store: OpenStore | None = None
        self.opening: asyncio.Task[None] | None = None
        self.closing: asyncio.Task[None] | None = None


class Use:
    """A block in which a store is open and pinned."""

    __slots__ = ("_entry", "_name", "_names_folder", "_stores")

    def __init__(self, stores: StoreSet, name: str, *, names_folder: bool) -> None:
        self._stores = stores
        self._name = name
        self._names_folder = names_folder
        self._entry: _Entry | None = None

    async def __aenter__(self) -> OpenStore:
        try:
            entry = self._entry = await self._stores._pin(self._name)  # noqa: SLF001
        except MemorandaError as error:
            public_error = (
                error if self._names_folder else error_without(self._stores.folder, error)
            )
            if public_error is error:
                raise
            raise public_error from error
        assert entry.store is not None, "a pinned store is open"
        return entry.store

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._entry is not None, "it was entered"
        self._stores._unpin(self._entry)  # noqa: SLF001


class StoreSet:
    """The stores of a server. All methods are called in one event loop."""

    def __init__(self, catalog: Catalog, options: StoreOptions) -> None:
        self._catalog = catalog
        self._options = options
        self._max_open = check_integer("max_open", options.max_open, minimum=1)
        self._idle_seconds = check_seconds("idle_seconds", options.idle_seconds)
        budget = options.memory_budget
        if not isinstance(budget, MemoryBudget):
            budget = MemoryBudget() if budget is None else MemoryBudget(budget)
        self.budget = budget
        """Bounds the caches of all stores together."""
        self._shared = SharedThreads(options.embedder)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="memoranda-opener")
        self._clock = SystemClock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        """By name; the least recently used first."""
        self._retired: set[_Entry] = set()
        """Lost stores that are still in use."""
        self._idle_check: asyncio.TimerHandle | None = None
        self._unpinned = asyncio.Event()
        """Set when a store is no longer pinned; closing waits for it."""
        self._is_closing = False
        self._closed_totals = StoreTotals()
        """The finished work of closed stores."""
        self.jobs_of: Callable[[str], Sequence[JobStatus]] = _no_jobs
        """Returns the status of the scheduled jobs of a store, by its name."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Tasks that open and close stores; the loop itself keeps no reference to a task."""

    @classmethod
    def in_folder(cls, folder: Url, options: StoreOptions | None = None) -> StoreSet:
        """Return the stores of a folder, one `<name>.db` each."""
        options = options or StoreOptions()
        return cls(FolderCatalog(file_of("stores", folder), options.address), options)

    @classmethod
    def of_file(cls, path: Url, options: StoreOptions | None = None) -> StoreSet:
        """Return a set of one store, which is created by its first use if it is not there."""
        return cls(FileCatalog(file_of("url", path)), options or StoreOptions())

    @classmethod
    def in_database(cls, url: str, options: StoreOptions | None = None) -> StoreSet:
        """Return the stores of a PostgreSQL database, or the one store that the URL names."""
        check_driver()
        from memoranda.server.database_catalog import DatabaseCatalog

        options = options or StoreOptions()
        return cls(DatabaseCatalog(parse_database("stores", url), options.address), options)

    @property
    def folder(self) -> Path | None:
        """Where the stores are; None: in a database."""
        return self._catalog.folder

    def use(self, name: str, *, names_folder: bool = True) -> Use:
        """Return a block in which a store is open: `async with stores.use(name) as store`.

        Entering it raises `NotFound` if there is no such store, `StoreBusy` if another server owns
        it or all places are taken, and whatever opening it raises; with `names_folder=False`, in
        words for callers elsewhere.
        """
        return Use(self, name, names_folder=names_folder)

    def missing(self, name: str) -> NotFound:
        """Return the error of using a store that is not there, for one that a caller may not use.

        It has the same words, so that nothing tells the two apart.
        """
        return self._catalog.missing(name)

    async def names(self) -> list[str]:
        """Return the names of all stores, in order."""
        return await self._run(self._catalog.names)

    async def create(self, name: str) -> None:
        """Create an empty store."""
        await self._run(partial(self._catalog.create, name))

    async def rename(self, old: str, new: str) -> None:
        """Give a store another name; raise `StoreBusy` if it is in use."""
        await self._close_unused(old)
        await self._run(partial(self._catalog.rename, old, new))

    async def drop(self, name: str) -> RemovedStore:
        """Remove a store for good; raise `StoreBusy` if it is in use."""
        await self._close_unused(name)
        return await self._run(partial(self._catalog.drop, name))

    @property
    def open_count(self) -> int:
        """How many stores are open, or being opened or closed."""
        return sum(entry.has_place for entry in self._all())

    @property
    def max_open(self) -> int:
        """How many stores may be open at a time."""
        return self._max_open

    def totals(self) -> StoreTotals:
        """Return what all stores have done since the server started, and have to do."""
        totals = self._closed_totals.copy_done()
        for entry in self._all():
            if entry.store is not None:
                totals.add(entry.store.core)
        return totals

    def lane_loads(self) -> dict[Lane, LaneLoad]:
        """Return how much the threads of each lane have to do."""
        return self._shared.lanes.loads()

    async def check_readable(self) -> None:
        """Raise `Unavailable` if stores cannot be read, or are closed for good."""
        self._check_serving()
        await self._run(self._catalog.check_readable)

    async def close_idle(self) -> None:
        """Close the stores that were not used for a while."""
        deadline = self._clock.monotonic() - self._idle_seconds
        idle = [
            entry
            for entry in self._unused()
            if entry.used_at <= deadline or (entry.store is not None and entry.store.is_lost)
        ]
        await _finished(*map(self._start_closing, idle))

    async def trim(self) -> None:
        """Close the connections that stores have left from a time of many calls at once."""
        engines = [
            entry.store.core.engine
            for entry in self._entries.values()
            if entry.store is not None and entry.closing is None
        ]
        for engine in engines:
            await self._run(partial(engine.trim_readers, _READERS))

    async def close(self, seconds: float) -> None:
        """Accept no further use, wait `seconds` at most for those that last, and close all."""
        self._is_closing = True
        if self._idle_check is not None:
            self._idle_check.cancel()
        deadline = self._clock.monotonic() + seconds
        while any(entry.pins for entry in self._all()):
            self._unpinned.clear()
            try:
                async with asyncio.timeout(deadline - self._clock.monotonic()):
                    await self._unpinned.wait()
            except TimeoutError:
                break
        while entries := self._all():
            await _finished(*map(self._start_closing, entries))
        await asyncio.to_thread(self._catalog.close)
        self._threads.shutdown(wait=False)
        await asyncio.to_thread(self._shared.close)

    # Pins.

    async def _pin(self, name: str) -> _Entry:
        """Return the entry of an open store, after pinning it."""
        name = self._catalog.canonical(name)
        while True:
            self._check_serving()
            entry = self._entries.get(name)
            if entry is None:
                entry = self._entries[name] = _Entry(name)
                entry.opening = self._start(self._open_entry(entry))
            if entry.store is not None and entry.store.is_lost and entry.closing is None:
                if entry.pins:
                    self._retire(entry)
                    continue
                self._start_closing(entry)
            if entry.closing is not None:  # it can be opened again once it is closed
                await _finished(entry.closing)
                continue
            entry.pins += 1
            if entry.store is None:
                await self._wait_until_open(entry)
            return entry

    def _check_serving(self, *_: int) -> None:
        """Raise if the server is shutting down; called at each step of a long opening, too."""
        if self._is_closing:
            raise Unavailable("the server is shutting down: try again when it has restarted")

    async def _wait_until_open(self, entry: _Entry) -> None:
        assert entry.opening is not None, "an entry without a store is being opened"
        is_open = False
        try:
            await asyncio.shield(entry.opening)  # others may wait for it too
            is_open = True
        finally:
            if not is_open:
                self._unpin(entry)

    def _unpin(self, entry: _Entry) -> None:
        entry.pins -= 1
        if not entry.pins:
            entry.used_at = self._clock.monotonic()
            if self._entries.get(entry.name) is entry:
                self._entries.move_to_end(entry.name)
            elif entry in self._retired:
                self._start_closing(entry)
            self._unpinned.set()

    def _retire(self, entry: _Entry) -> None:
        """Close a lost store once nobody uses it; the next use of its name opens another one."""
        self._remove(entry)
        self._retired.add(entry)

    def _all(self) -> list[_Entry]:
        return [*self._entries.values(), *self._retired]

    def _unused(self) -> list[_Entry]:
        """Return the open stores that nobody uses, the least recently used first."""
        return [
            entry
            for entry in self._entries.values()
            if entry.store is not None and not entry.pins and entry.closing is None
        ]

    # Opening.

    async def _open_entry(self, entry: _Entry) -> None:
        try:
            location = await self._run(partial(self._catalog.locate, entry.name))
            await self._make_place(entry)
            entry.store = await self._run(partial(self._open_store, entry.name, location))
        finally:
            if entry.store is None:
                self._remove(entry)
        if self._idle_check is None and not self._is_closing:
            self._schedule_idle_check()

    async def _make_place(self, entry: _Entry) -> None:
        """Close the store that was used least recently, if all places are taken."""
        entry.has_place = True
        closing = sum(open_entry.closing is not None for open_entry in self._entries.values())
        if self.open_count - closing <= self._max_open:
            return
        unused = next(iter(self._unused()), None)
        if unused is None:
            entry.has_place = False
            raise StoreBusy(
                f"{self._max_open} stores are in use, and there is no place for "
                f"{short_repr(entry.name)}: try again later, or let the server open more"
            )
        await _finished(self._start_closing(unused))

    def _open_store(self, name: str, location: Url) -> OpenStore:
        """Open a store and become its owner; called in a thread."""
        try:
            owner = self._catalog.own(name, self._options.address)
        except StoreReadOnly:
            if not isinstance(location, Path) or os.access(location.parent, os.W_OK):
                raise
            # A store on read-only media has no writer, so a reader need not own it.
            core = self._open_core(name, location, read_only=True)
            return OpenStore(name, core, self._shared.lanes, None)
        is_open = False
        try:
            # It may have been moved before it was owned: from here on, nobody removes its rows.
            location = self._catalog.locate(name)
            store = OpenStore(name, self._open_core(name, location), self._shared.lanes, owner)
            is_open = True
        finally:
            if not is_open:
                owner.release()
        return store

    def _open_core(self, name: str, location: Url, *, read_only: bool = False) -> Core:
        options = self._options
        core = open_core(
            location,
            clock=options.clock,
            ids=options.ids,
            limits=options.limits,
            durability=options.durability,
            create=self._catalog.creates_on_use,
            allow_network_file_system=options.allow_network_file_system,
            signer=None,
            checkpoint_every=checkpointer.DEFAULT_COMMITS,
            checkpoint_seconds=checkpointer.DEFAULT_SECONDS,
            embedder=options.embedder,
            progress=self._check_serving,
            read_only=read_only,
            memory_budget=self.budget,
            shared=self._shared,
        )
        return replace(core, jobs=lambda: self.jobs_of(name))

    # Closing.

    async def _close_unused(self, name: str) -> None:
        """Close a store, unless somebody uses it."""
        entry = self._entries.get(self._catalog.canonical(name))
        if entry is None:
            return
        if entry.pins:
            raise StoreBusy(
                f"the store {short_repr(name)} is in use: try again when nobody uses it"
            )
        await asyncio.shield(self._start_closing(entry))

    def _start_closing(self, entry: _Entry) -> asyncio.Task[None]:
        """Close a store, even if it is in use."""
        if entry.closing is None:
            entry.closing = self._start(self._close_entry(entry))
        return entry.closing

    async def _close_entry(self, entry: _Entry) -> None:
        assert entry.opening is not None, "every entry has been opened"
        await _finished(entry.opening)
        try:
            if entry.store is not None:
                await self._run(entry.store.close)
        except MemorandaError as error:
            _log.warning("closing the store %r failed: %s", entry.name, error)
            raise
        finally:
            if entry.store is not None:
                self._closed_totals.add_done(entry.store.core)
            self._remove(entry)
            self._retired.discard(entry)

    def _remove(self, entry: _Entry) -> None:
        """Remove an entry; the next use of its name makes a new one."""
        if self._entries.get(entry.name) is entry:
            del self._entries[entry.name]

    def _schedule_idle_check(self) -> None:
        loop = asyncio.get_running_loop()
        seconds = max(self._idle_seconds / _IDLE_CHECKS, _MIN_IDLE_CHECK_SECONDS)
        self._idle_check = loop.call_later(seconds, self._check_idle)

    def _check_idle(self) -> None:
        self._idle_check = None
        if self._entries and not self._is_closing:
            self._start(self._tidy())
            self._schedule_idle_check()

    async def _tidy(self) -> None:
        await self.close_idle()
        await self.trim()

    # Threads and tasks.

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Do work on files in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start a task that continues when the tasks that wait for it are cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # waiting tasks get it; without any, it is not a defect


def _lost() -> StoreBusy:
    error = StoreBusy("the store is served elsewhere by now: try again shortly")
    error.retry_after = _LOST_RETRY_SECONDS
    return error


def _no_jobs(_: str) -> Sequence[JobStatus]:
    return ()


async def _finished(*tasks: asyncio.Task[None]) -> None:
    """Wait until tasks have ended, well or not."""
    if tasks:
        await asyncio.wait(tasks)
