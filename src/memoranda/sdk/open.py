"""Opening a store: the one place where an engine, a clock and the views are put together."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack

from memoranda.audit import automatic
from memoranda.audit.signers import Signer
from memoranda.errors import InvalidInput, StoreReadOnly
from memoranda.graph.effects import Effects
from memoranda.log import views
from memoranda.log.batch import BatchWriter
from memoranda.log.committer import Committer
from memoranda.log.epochs import log_id_of
from memoranda.log.failpoints import Failpoint, pass_by
from memoranda.log.signal import Signal
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.limits import Limits, check_callable, check_flag, check_kind
from memoranda.sdk.aio import AsyncStore
from memoranda.sdk.core import Core, Defaults
from memoranda.sdk.registry import all_views
from memoranda.sdk.signing import with_signer
from memoranda.sdk.store import Store
from memoranda.sdk.urls import path_of
from memoranda.search.embedding import AUTO, Embedder, Given, embedder_of
from memoranda.search.filler import Filler
from memoranda.search.vectors import Vectors
from memoranda.search.view import SearchView
from memoranda.storage import queries
from memoranda.storage.port import Engine, Progress
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.storage.sqlite.exclusive import check_unused, place_file, replace_file
from memoranda.storage.sqlite.inspection import (
    check_format,
    check_journal,
    check_pages,
    check_place,
    check_version,
)
from memoranda.storage.sqlite.vacancy import check_vacant, orphans

__all__ = [
    "assemble",
    "check_format",
    "check_journal",
    "check_pages",
    "check_place",
    "check_unused",
    "check_vacant",
    "check_version",
    "load_queries",
    "open",
    "open_async",
    "open_engine",
    "orphans",
    "place_file",
    "replace_file",
]


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
    checkpoint_every: int = automatic.EVERY,
    checkpoint_seconds: float = automatic.SECONDS,
    embedder: Given = AUTO,
    progress: Progress | None = None,
    read_only: bool = False,
) -> Store:
    """Open a store: a path, `sqlite:///path`, or `:memory:`.

    `durability="full"` survives power loss; `"relaxed"` survives a process crash. With
    `create=False` a store that is not there raises `NotFound`. A network file system is refused
    unless it is allowed: where locks do not hold, a store can be damaged.

    With a `signer`, or the path of its file, the log is signed behind the commits: when so many
    are not covered by a checkpoint yet, when one of them has waited so long, and when the store is
    closed. A log that does not go on from what this signer has signed before raises `NotProven`.

    `embedder` makes the vectors that `recall` goes by, beside words: the folder of an ONNX model,
    `https://host/v1#model`, an `Embedder`, or None. `"auto"` is the local model, if the extra
    `embeddings` is installed; it is loaded when somebody first recalls something.

    A store whose views an older version derived otherwise is brought up to date, which takes time
    for a long log: `progress(done, total)` is called with the events of it. Given up half-way, the
    store is as it was.

    With `read_only=True` nothing is written, and nothing need be writable: every write raises
    `StoreReadOnly`. It has to be there, and of this version's format.
    """
    _check_parts(clock, ids, limits, progress)
    chosen = embedder_of(embedder)
    engine = open_engine(
        url,
        durability=durability,
        create=create,
        allow_network_file_system=allow_network_file_system,
        read_only=_reads_only(read_only, signer),
    )
    core = _assemble(engine, clock, ids, limits, chosen, eager=embedder != AUTO, progress=progress)
    return Store(with_signer(core, signer, checkpoint_every, checkpoint_seconds), Defaults())


async def open_async(
    url: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    limits: Limits | None = None,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
    signer: Signer | str | os.PathLike[str] | None = None,
    checkpoint_every: int = automatic.EVERY,
    checkpoint_seconds: float = automatic.SECONDS,
    embedder: Given = AUTO,
    progress: Progress | None = None,
    read_only: bool = False,
) -> AsyncStore:
    """Open a store for asyncio; takes what `open` takes."""
    _check_parts(clock, ids, limits, progress)
    chosen = await asyncio.to_thread(embedder_of, embedder)
    engine = await asyncio.to_thread(
        open_engine,
        url,
        durability=durability,
        create=create,
        allow_network_file_system=allow_network_file_system,
        read_only=_reads_only(read_only, signer),
    )
    core = await asyncio.to_thread(
        _assemble,
        engine,
        clock,
        ids,
        limits,
        chosen,
        eager=embedder != AUTO,
        progress=progress,
    )
    signing = await asyncio.to_thread(
        with_signer, core, signer, checkpoint_every, checkpoint_seconds
    )
    return AsyncStore(signing, Defaults())


def open_engine(
    url: str | os.PathLike[str],
    *,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
    migrate: bool = True,
    read_only: bool = False,
) -> Engine:
    """Return the engine for a URL, without a store on it.

    What is only to be looked at is not migrated: the log of an older format can be read as it is.
    """
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
    )


def _reads_only(read_only: object, signer: object) -> bool:
    """Return whether nothing is to be written; then there is nothing to sign either."""
    if check_flag("read_only", read_only) and signer is not None:
        raise InvalidInput("signer", "signs what is written, and with read_only nothing is")
    return bool(read_only)


def _check_parts(clock: object, ids: object, limits: object, progress: object) -> None:
    """Refuse parts of the wrong kind before a file is touched."""
    check_callable("progress", progress)
    for field, part, kind in (("clock", clock, Clock), ("ids", ids, IdSource)):
        check_kind(field, part, kind)
    check_kind("limits", limits, Limits)


def _assemble(
    engine: Engine,
    clock: Clock | None,
    ids: IdSource | None,
    limits: Limits | None,
    embedder: Embedder | None,
    *,
    eager: bool,
    progress: Progress | None,
) -> Core:
    vectors = Vectors(engine, embedder, eager=eager)
    parts = (clock or SystemClock(), ids or SystemIds(), limits or Limits())
    with ExitStack() as unless_open:
        unless_open.callback(engine.close)
        core = assemble(engine, *parts, vectors=vectors, progress=progress)
        if engine.read_only:
            vectors.behind = None  # no vector could be kept
        vectors.start()
        core.filler.start()
        unless_open.pop_all()
    return core


def load_queries() -> dict[str, str]:
    """Return every query the parts of a store on SQLite use."""
    return queries.load(
        "memoranda.log",
        "memoranda.state",
        "memoranda.memory",
        "memoranda.graph",
        "memoranda.audit",
        "memoranda.search",
        "memoranda.storage.sqlite",
    )


def assemble(
    engine: Engine,
    clock: Clock,
    ids: IdSource,
    limits: Limits,
    failpoint: Failpoint = pass_by,
    vectors: Vectors | None = None,
    progress: Progress | None = None,
) -> Core:
    """Put a store together on an engine, rebuilding views another version wrote otherwise."""
    effects, search = Effects(), SearchView()
    registry = all_views(effects, search)
    log_id = log_id_of(engine, ids)
    with engine.reading() as reader:
        outdated = registry.outdated(reader)
    if outdated and engine.read_only:
        raise StoreReadOnly(
            "another version derived the views of this store otherwise, and they are brought up to "
            "date when it is opened for writing: do that once, or copy it to where it can be done"
        )
    if outdated:
        views.rebuild(engine, log_id, registry, progress)
    vectors = vectors or Vectors(engine, None, eager=False)
    signal, filler = Signal(), Filler(engine, search, vectors, failpoint)
    writer = BatchWriter(
        engine, log_id, registry, clock=clock, ids=ids, failpoint=failpoint, behind=filler
    )
    return Core(
        engine=engine,
        views=registry,
        committer=Committer(writer, signal),
        log_id=log_id,
        clock=clock,
        ids=ids,
        limits=limits,
        signal=signal,
        effects=effects,
        filler=filler,
        vectors=vectors,
    )
