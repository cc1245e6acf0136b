"""Opening a store of a server; modules that need the extra `remote` are loaded only then."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memoranda.audit import checkpointer
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.limits import check_type
from memoranda.model.trace import may_record_spans
from memoranda.sdk.remote.options import RemoteOptions, Tls, missing_extra, remote_options
from memoranda.sdk.store.store import Store
from memoranda.search.vectors.embedder import AUTO

if TYPE_CHECKING:
    from memoranda.sdk.aio.store.store import AsyncStore

READ_WAIT_SECONDS = 5.0
"""Seconds that a read waits for a replica; a healthy one lags by a fraction of that."""
EMBEDDED_DEFAULTS: Mapping[str, Any] = {
    "limits": None,
    "durability": "full",
    "create": True,
    "allow_network_file_system": False,
    "signer": None,
    "checkpoint_every": checkpointer.DEFAULT_COMMITS,
    "checkpoint_seconds": checkpointer.DEFAULT_SECONDS,
    "embedder": AUTO,
    "progress": None,
    "read_only": False,
    "memory_budget": None,
    "read_url": None,
    "read_wait": READ_WAIT_SECONDS,
}
"""The options that only apply to an embedded store, and their defaults."""
_FOR_SERVERS = (
    "is for a store of a server: open grpc://host:port/store or https://host/store with it"
)


def checked_options(
    url: str | os.PathLike[str],
    token: str | None,
    tls: Tls | str | os.PathLike[str] | None,
    timeout: float | None,
    embedded: Mapping[str, Any],
) -> RemoteOptions:
    """Return how to connect to a server; refuse options that only the server itself can have."""
    for name, value in embedded.items():
        if value != EMBEDDED_DEFAULTS[name]:
            raise InvalidInput(
                name, "is decided where the file is: give it to the server, or open the file"
            )
    return remote_options(url, token, tls, timeout)


def refuse_remote_options(**options: object) -> None:
    """Refuse options of a connection for a store that is opened in this process."""
    for name, value in options.items():
        if value is not None:
            raise InvalidInput(name, _FOR_SERVERS)


def open_remote(options: RemoteOptions, clock: Clock | None, ids: IdSource | None) -> Store:
    """Connect to a server, and return a store of it."""
    parts = _checked_parts(clock, ids)
    try:
        from memoranda.sdk.remote.calls import RemoteCalls, RemoteStore
    except ImportError as error:
        raise missing_extra(error) from error
    store = RemoteStore(options, *parts)
    if not may_record_spans():
        return Store(RemoteCalls(store), Defaults())
    from memoranda.sdk.remote.traced_calls import TracedRemoteCalls

    return Store(TracedRemoteCalls(store), Defaults())


async def open_remote_async(
    options: RemoteOptions, clock: Clock | None, ids: IdSource | None
) -> AsyncStore:
    """Connect to a server, and return a store of it for asyncio."""
    from memoranda.sdk.aio.store.store import AsyncStore

    parts = _checked_parts(clock, ids)
    try:
        from memoranda.sdk.remote.async_calls import AsyncRemoteCalls, AsyncRemoteStore
    except ImportError as error:
        raise missing_extra(error) from error
    store = AsyncRemoteStore(options, *parts)
    await store.describe()
    if not may_record_spans():
        return AsyncStore(AsyncRemoteCalls(store), Defaults())
    from memoranda.sdk.remote.traced_calls import TracedAsyncRemoteCalls

    return AsyncStore(TracedAsyncRemoteCalls(store), Defaults())


def _checked_parts(clock: Clock | None, ids: IdSource | None) -> tuple[Clock, IdSource]:
    check_type("clock", clock, Clock)
    check_type("ids", ids, IdSource)
    return clock or SystemClock(), ids or SystemIds()
