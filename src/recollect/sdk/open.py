"""Opening a store: the one place where an engine, a clock and the views are put together."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote

from recollect.errors import InvalidInput, RecollectError
from recollect.log import views
from recollect.log.batch import BatchWriter
from recollect.log.committer import Committer
from recollect.log.epochs import log_id_of
from recollect.log.failpoints import Failpoint, pass_by
from recollect.log.index import LogIndex
from recollect.log.scopes import Scopes
from recollect.log.signal import Signal
from recollect.model.clock import Clock, SystemClock
from recollect.model.ids import IdSource, SystemIds
from recollect.model.limits import Limits, plain_text, shown
from recollect.sdk.aio import AsyncStore
from recollect.sdk.core import Core, Defaults
from recollect.sdk.store import Store
from recollect.state.view import StateView
from recollect.storage import queries
from recollect.storage.port import Engine
from recollect.storage.sqlite.engine import SqliteEngine


def open(
    url: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    limits: Limits | None = None,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
) -> Store:
    """Open a store: a path, `sqlite:///path`, or `:memory:`.

    `durability="full"` survives power loss; `"relaxed"` survives a process crash. With
    `create=False` a store that is not there raises `NotFound`. A network file system is refused
    unless it is allowed: where locks do not hold, a store can be damaged.
    """
    engine = _engine(url, durability, create, allow_network_file_system)
    return Store(_assemble(engine, clock, ids, limits), Defaults())


async def open_async(
    url: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    limits: Limits | None = None,
    durability: str = "full",
    create: bool = True,
    allow_network_file_system: bool = False,
) -> AsyncStore:
    """Open a store for asyncio; takes what `open` takes."""
    engine = await asyncio.to_thread(_engine, url, durability, create, allow_network_file_system)
    core = await asyncio.to_thread(_assemble, engine, clock, ids, limits)
    return AsyncStore(core, Defaults())


def _engine(
    url: str | os.PathLike[str],
    durability: str,
    create: bool,  # noqa: FBT001
    allow_network_file_system: bool,  # noqa: FBT001
) -> Engine:
    return SqliteEngine(
        _path(url),
        queries=load_queries(),
        durability=durability,
        create=create,
        allow_network_file_system=allow_network_file_system,
    )


def _assemble(
    engine: Engine, clock: Clock | None, ids: IdSource | None, limits: Limits | None
) -> Core:
    try:
        return assemble(engine, clock or SystemClock(), ids or SystemIds(), limits or Limits())
    except RecollectError:
        engine.close()
        raise


def load_queries() -> dict[str, str]:
    """Return every query the parts of a store on SQLite use."""
    return queries.load("recollect.log", "recollect.state", "recollect.storage.sqlite")


def assemble(
    engine: Engine,
    clock: Clock,
    ids: IdSource,
    limits: Limits,
    failpoint: Failpoint = pass_by,
) -> Core:
    """Put a store together on an engine, rebuilding views another version wrote otherwise."""
    scopes = Scopes()
    registry = views.Views((LogIndex(scopes), StateView(scopes)))
    log_id = log_id_of(engine, ids)
    with engine.reading() as reader:
        outdated = registry.outdated(reader)
    if outdated:
        views.rebuild(engine, log_id, registry)
    signal = Signal()
    writer = BatchWriter(engine, log_id, registry, clock=clock, ids=ids, failpoint=failpoint)
    return Core(
        engine=engine,
        views=registry,
        committer=Committer(writer, signal),
        log_id=log_id,
        clock=clock,
        ids=ids,
        limits=limits,
        signal=signal,
    )


def _path(url: object) -> Path | None:
    """Return the file a URL names; None for a store in memory."""
    if not isinstance(url, (str, os.PathLike)):
        raise InvalidInput("url", f"{shown(url)} is {type(url).__name__}, not a path or URL")
    text = plain_text("url", os.fspath(url))
    if text == ":memory:":
        return None
    scheme, separator, rest = text.partition("://")
    if not separator and text:
        return Path(text).absolute()
    if scheme != "sqlite" or not rest.startswith("/") or rest == "/":
        raise InvalidInput(
            "url", f"{text!r} is not understood: give a path, sqlite:///path or ':memory:'"
        )
    return Path(plain_text("url", unquote(rest[1:]))).absolute()
