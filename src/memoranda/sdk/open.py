"""Opening a store: assemble an engine, a clock, ids and the views to one open store."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from memoranda.audit import checkpointer
from memoranda.audit.signers import Signer
from memoranda.calls.core import Core, all_views
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput, StoreReadOnly
from memoranda.graph.effects import EffectCache
from memoranda.log.commit.batch import BatchWriter
from memoranda.log.commit.failpoints import Failpoint, no_failpoint
from memoranda.log.commit.group_commit import Committer
from memoranda.log.lineage import log_id_of
from memoranda.log.read.wakeup import Signal
from memoranda.log.refresh import refresh_views
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.limits import (
    Limits,
    check_callable,
    check_flag,
    check_integer,
    check_seconds,
    check_type,
)
from memoranda.model.suggestions import suggests_arguments
from memoranda.model.trace import may_record_spans
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.open_remote import (
    READ_WAIT_SECONDS,
    checked_options,
    open_remote,
    refuse_remote_options,
)
from memoranda.sdk.remote.options import Tls
from memoranda.sdk.signers import with_signer
from memoranda.sdk.store.store import Store
from memoranda.search.index.background_indexer import BackgroundIndexer
from memoranda.search.index.view import SearchView
from memoranda.search.text import language as index_language
from memoranda.search.vectors.embedder import AUTO, Embedder, EmbedderSpec, resolve_embedder
from memoranda.search.vectors.vector_index import VectorIndex
from memoranda.state.key_cache import KeyHeadCache
from memoranda.storage import query_loader
from memoranda.storage.memory_budget import DEFAULT_BUDGET_BYTES, MemoryBudget
from memoranda.storage.port import Engine, Progress
from memoranda.storage.postgres.database_url import (
    DatabaseUrl,
    is_database_url,
    parse_database_url,
    parse_replica_url,
)
from memoranda.storage.server_url import is_server_url
from memoranda.storage.sqlite.connection import with_lists
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.storage.store_url import path_of

if TYPE_CHECKING:
    from memoranda.sdk.shared_threads import SharedThreads  # it loads asyncio


@suggests_arguments
def open(
    url: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    limits: Limits | None = None,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
    signer: Signer | str | os.PathLike[str] | None = None,
    checkpoint_every: int = checkpointer.DEFAULT_COMMITS,
    checkpoint_seconds: float = checkpointer.DEFAULT_SECONDS,
    embedder: EmbedderSpec = AUTO,
    progress: Progress | None = None,
    read_only: bool = False,
    memory_budget: MemoryBudget | int | None = None,
    read_url: str | None = None,
    read_wait: float = READ_WAIT_SECONDS,
    token: str | None = None,
    tls: Tls | str | os.PathLike[str] | None = None,
    timeout: float | None = None,
) -> Store:
    """Open a store: a path, `:memory:`, a PostgreSQL database, or a store of a server, by its URL.

    `durability="full"` survives power loss; `"relaxed"` survives a process crash. With
    `create=False` a store that is not there raises `NotFound`. A network file system is refused
    unless it is allowed: its locks may not hold.

    With a `signer`, or the path of its file, the log is signed in the background: after
    `checkpoint_every` commits or `checkpoint_seconds`, and when the store is closed. A log that
    does not continue what this signer signed before raises `NotProven`.

    `embedder` makes the vectors for `recall`, which also searches by words: the folder of an ONNX
    model, `https://host/v1#model`, an `Embedder`, or None. `"auto"` is the local model, if the
    extra `embeddings` is installed; it is loaded by the first recall.

    Views that another version derived by other rules are rebuilt from the log first, while others
    read and write; `progress(done, total)` counts its events. `memory_budget` bounds the caches, in
    bytes (512 MiB); stores may share one `MemoryBudget`. With `read_only=True` every write raises
    `StoreReadOnly`; the store must exist and have this version's format.

    `postgresql://user@host/database?store=name` is a store in PostgreSQL (extra `postgres`), with
    its full-text index and vectors in the folder `index=…`. With `read_url`, a replica, reads go
    there and see all that this process committed: they wait `read_wait` seconds for it, then raise
    `ReplicaBehind`. Transactions, subscriptions and proofs read from the primary.

    `grpc://host:port/store`, or `http://host:port/store` where a network passes nothing else, is a
    store of a server. `grpcs://` and `https://` are encrypted; `tls` names the certificates. A
    server decides all of the above itself, and takes a `token` that identifies the caller. A lost
    connection is made again for `timeout` seconds (30); a write takes effect once nonetheless.
    """
    embedded: dict[str, Any] = {
        "limits": limits,
        "durability": durability,
        "create": create,
        "allow_network_file_system": allow_network_file_system,
        "signer": signer,
        "checkpoint_every": checkpoint_every,
        "checkpoint_seconds": checkpoint_seconds,
        "embedder": embedder,
        "progress": progress,
        "read_only": read_only,
        "memory_budget": memory_budget,
        "read_url": read_url,
        "read_wait": read_wait,
    }
    if is_server_url(url):
        return open_remote(checked_options(url, token, tls, timeout, embedded), clock, ids)
    refuse_remote_options(token=token, tls=tls, timeout=timeout)
    return Store(_local_calls(open_core(url, clock=clock, ids=ids, **embedded)), Defaults())


def _local_calls(core: Core) -> LocalCalls:
    """Return the carrier of a store's calls, which are spans if the program records any."""
    if not may_record_spans():
        return LocalCalls(core)
    from memoranda.sdk.local.traced_calls import TracedLocalCalls

    return TracedLocalCalls(core)


def open_core(
    url: str | os.PathLike[str],
    *,
    clock: Clock | None,
    ids: IdSource | None,
    limits: Limits | None,
    durability: str,
    create: bool,
    allow_network_file_system: bool,
    signer: Signer | str | os.PathLike[str] | None,
    checkpoint_every: int,
    checkpoint_seconds: float,
    embedder: EmbedderSpec,
    progress: Progress | None,
    read_only: bool,
    memory_budget: MemoryBudget | int | None,
    read_url: str | None = None,
    read_wait: float = READ_WAIT_SECONDS,
    shared: SharedThreads | None = None,
) -> Core:
    """Open a store's components, for `open` and `open_async`, which document the parameters.

    `shared` has threads that several stores share, and an embedder, which replaces `embedder`.
    """
    _check_parts(clock, ids, limits, progress)
    if allow_network_file_system and is_database_url(url):
        raise InvalidInput(
            "allow_network_file_system",
            "is for files; this store is in PostgreSQL",
        )
    budget = _check_budget(memory_budget)
    check_seconds("read_wait", read_wait)
    model = resolve_embedder(embedder) if shared is None else shared.workers.embedder
    engine = open_engine(
        url,
        durability=durability,
        create=create,
        allow_network_file_system=allow_network_file_system,
        read_only=_check_read_only(read_only, signer),
        shared=shared,
    )
    core = _assemble(
        engine,
        clock,
        ids,
        limits,
        model,
        eager=embedder != AUTO if shared is None else shared.workers.is_eager,
        progress=progress,
        budget=budget,
        shared=shared,
    )
    if read_url is not None:
        core = _with_replica(core, url, read_url, read_wait)
    return with_signer(core, signer, checkpoint_every, checkpoint_seconds)


def open_engine(
    url: str | os.PathLike[str],
    *,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
    migrate: bool = True,
    read_only: bool = False,
    lock_wait_ms: int | None = None,
    shared: SharedThreads | None = None,
    follow: bool = True,
    move: str | None = None,
) -> Engine:
    """Return the engine for a URL, without the components of a store.

    With `migrate=False` a store of an older format is read as it is. A database may say that a
    store is on another server, which is opened then, unless `follow` is False. `move` is the
    reason for which the store is frozen while it is copied to there.
    """
    if is_database_url(url):
        return _open_in_database(
            parse_database_url("url", url),
            follow=follow,
            move=move,
            durability=durability,
            create=create,
            read_only=read_only,
            lock_wait_ms=lock_wait_ms,
            shared=shared,
        )
    path = path_of("url", url)
    if read_only and path is None:
        raise InvalidInput("read_only", "a store in memory is new, and nothing could be read")
    return SqliteEngine(
        path,
        queries=load_queries(),
        durability=durability,
        create=create and not read_only,
        allow_network_file_system=allow_network_file_system,
        migrate=migrate,
        read_only=read_only,
        lock_wait_ms=lock_wait_ms,
    )


def _open_in_database(url: DatabaseUrl, shared: SharedThreads | None, **options: Any) -> Engine:
    """Return the engine of a store in PostgreSQL, whose driver is loaded only here."""
    check_driver()
    from memoranda.storage.postgres.directory import StoredElsewhere
    from memoranda.storage.postgres.engine import PostgresEngine
    from memoranda.storage.postgres.wakeups import DatabaseWakeups

    queries, follow = load_queries(), options.pop("follow", True)
    while True:
        wakeups = None
        if shared is not None:
            wakeups = shared.wakeups.setdefault(url.conninfo, DatabaseWakeups(url.conninfo))
        try:
            return PostgresEngine(
                url, sqlite_queries=queries, wakeups=wakeups, follow=follow, **options
            )
        except StoredElsewhere as elsewhere:
            url, follow = elsewhere.url, False


def check_driver() -> None:
    """Raise if the driver of PostgreSQL is not installed."""
    try:
        import psycopg  # noqa: F401 - whether it is there
    except ImportError as error:
        raise InvalidInput(
            "url", "postgresql:// needs the package psycopg: pip install 'memoranda[postgres]'"
        ) from error


def _with_replica(
    core: Core, url: str | os.PathLike[str], read_url: object, read_wait: float
) -> Core:
    """Return the store with a replica for its reads; close it if the replica cannot be read."""
    with ExitStack() as unless_open:
        unless_open.callback(core.close)
        if not is_database_url(url):
            raise InvalidInput("read_url", "is for a store in PostgreSQL")
        from memoranda.storage.postgres.engine import PostgresEngine
        from memoranda.storage.postgres.replica import ReplicaReads

        assert isinstance(core.engine, PostgresEngine), "it is the engine of such a URL"
        store = parse_database_url("url", url).store
        pool = core.engine.open_replica(parse_replica_url("read_url", read_url, store), read_wait)
        core = replace(core, replica=partial(ReplicaReads, pool, core.engine.name))
        with core.on_replica().engine.reading():
            unless_open.pop_all()
    return core


def open_engine_to_read(path: Path) -> Engine:
    """Return the engine of a store as it is, in any format, also where nothing can be written."""
    look = partial(open_engine, path, create=False, allow_network_file_system=True, migrate=False)
    try:
        return look()
    except StoreReadOnly:
        return look(read_only=True)


def _check_read_only(read_only: object, signer: object) -> bool:
    """Return the flag; refuse a signer for a store that is opened to be read only."""
    if check_flag("read_only", read_only) and signer is not None:
        raise InvalidInput("signer", "signs what is written, and with read_only nothing is")
    return bool(read_only)


def _check_budget(budget: MemoryBudget | int | None) -> MemoryBudget:
    """Return the budget of a store: a shared one, or one of its own."""
    if isinstance(budget, MemoryBudget):
        return budget
    limit = DEFAULT_BUDGET_BYTES if budget is None else budget
    noun = "a MemoryBudget or a number of bytes"
    return MemoryBudget(check_integer("memory_budget", limit, minimum=0, noun=noun))


def _check_parts(clock: object, ids: object, limits: object, progress: object) -> None:
    """Refuse arguments of the wrong type before a file is opened."""
    check_callable("progress", progress)
    for field, part, kind in (("clock", clock, Clock), ("ids", ids, IdSource)):
        check_type(field, part, kind)
    check_type("limits", limits, Limits)


def _assemble(
    engine: Engine,
    clock: Clock | None,
    ids: IdSource | None,
    limits: Limits | None,
    embedder: Embedder | None,
    *,
    eager: bool,
    progress: Progress | None,
    workers: bool = True,
    budget: MemoryBudget | None = None,
    shared: SharedThreads | None = None,
) -> Core:
    budget = budget or MemoryBudget()
    shared_workers = None if shared is None else shared.workers
    vectors = VectorIndex(engine, embedder, eager=eager, budget=budget, workers=shared_workers)
    parts = (clock or engine.clock, ids or SystemIds(), limits or Limits())
    with ExitStack() as unless_open:
        unless_open.callback(engine.close)
        core = assemble(
            engine, *parts, vectors=vectors, progress=progress, budget=budget, shared=shared
        )
        if engine.read_only:
            vectors.worker = None  # no vector could be kept
        if workers:
            vectors.start()
            core.background_indexer.start()
        unless_open.pop_all()
    return core


def open_without_workers(
    url: str | os.PathLike[str],
    *,
    embedder: EmbedderSpec = None,
    progress: Progress | None = None,
    read_only: bool = False,
    lock_wait_ms: int | None = None,
) -> Store:
    """Open an existing store for a short reader, such as a command that prints a value.

    Start no background thread: documents and vectors stay in their queues for the next program that
    opens the store with `open`. The embedder loads its model at the first search by vectors only.
    `lock_wait_ms` is how long a read waits for the lock of another process; default: the engine's.
    """
    engine = open_engine(url, create=False, read_only=read_only, lock_wait_ms=lock_wait_ms)
    model = resolve_embedder(embedder)
    core = _assemble(engine, None, None, None, model, eager=False, progress=progress, workers=False)
    return Store(LocalCalls(core), Defaults())


def load_queries() -> dict[str, str]:
    """Return every named query of a store on SQLite."""
    queries = query_loader.load(
        "memoranda.log",
        "memoranda.state",
        "memoranda.memory",
        "memoranda.graph",
        "memoranda.audit",
        "memoranda.search",
        "memoranda.storage.sqlite",
    )
    return {name: with_lists(text) for name, text in queries.items()}


def assemble(
    engine: Engine,
    clock: Clock,
    ids: IdSource,
    limits: Limits,
    failpoint: Failpoint = no_failpoint,
    vectors: VectorIndex | None = None,
    progress: Progress | None = None,
    budget: MemoryBudget | None = None,
    shared: SharedThreads | None = None,
) -> Core:
    """Return the components of a store on an engine, after rebuilding outdated views."""
    budget = budget or MemoryBudget()
    effects, search, heads = EffectCache(), SearchView(), KeyHeadCache(budget)
    registry = all_views(effects, search, heads, budget)
    log_id = log_id_of(engine, ids)
    with engine.reading() as reader:
        of_porter = index_language.is_of_porter(reader)
        of_older_version = of_porter or index_language.is_of_older_tokenizer(reader)
    if of_older_version and not engine.read_only:
        engine.write(index_language.adopt)
        of_porter = False
    with engine.reading() as reader:  # a read-only index with Porter stems can be searched as it is
        outdated = registry.outdated(reader, except_for=SearchView.name if of_porter else None)
    if outdated.all and engine.read_only:
        raise StoreReadOnly(
            "another version derived the views of this store otherwise, and they are brought up to "
            "date when it is opened for writing: do that once, or copy it to where it can be done"
        )
    if outdated.all:
        refresh_views(engine, log_id, registry, all_views, progress)
    engine.guard_writes(registry.check_versions)
    vectors = vectors or VectorIndex(engine, None, eager=False, budget=budget)
    signal, workers = Signal(), None if shared is None else shared.workers
    background_indexer = BackgroundIndexer(engine, search, vectors, failpoint, workers)
    writer = BatchWriter(
        engine,
        log_id,
        registry,
        clock=clock,
        ids=ids,
        failpoint=failpoint,
        after_batch=background_indexer,
    )
    return Core(
        engine=engine,
        views=registry,
        committer=Committer(writer, signal, None if shared is None else shared.leaders),
        log_id=log_id,
        clock=clock,
        ids=ids,
        limits=limits,
        signal=signal,
        effects=effects,
        heads=heads,
        background_indexer=background_indexer,
        vectors=vectors,
        budget=budget,
    )
