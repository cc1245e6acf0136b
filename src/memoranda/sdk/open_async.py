"""Opening a store for asyncio, apart from `sdk/open.py`, which loads no asyncio."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from memoranda.audit import checkpointer
from memoranda.audit.signers import Signer
from memoranda.calls.defaults import Defaults
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.model.suggestions import suggests_arguments
from memoranda.model.trace import may_record_spans
from memoranda.sdk.aio.store.store import AsyncStore
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.open import open_core
from memoranda.sdk.open_remote import (
    READ_WAIT_SECONDS,
    checked_options,
    open_remote_async,
    refuse_remote_options,
)
from memoranda.sdk.remote.options import Tls
from memoranda.search.vectors.embedder import AUTO, EmbedderSpec
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Progress
from memoranda.storage.server_url import is_server_url


@suggests_arguments
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
) -> AsyncStore:
    """Open a store for asyncio; takes what `open` takes."""
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
        options = checked_options(url, token, tls, timeout, embedded)
        return await open_remote_async(options, clock, ids)
    refuse_remote_options(token=token, tls=tls, timeout=timeout)
    core = await asyncio.to_thread(open_core, url, clock=clock, ids=ids, **embedded)
    if not may_record_spans():
        return AsyncStore(AsyncLocalCalls(core), Defaults())
    from memoranda.sdk.local.traced_calls import TracedAsyncLocalCalls

    return AsyncStore(TracedAsyncLocalCalls(core), Defaults())
