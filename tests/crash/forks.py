"""Forks of a process whose threads commit, recall, index and subscribe.

    python -m tests.crash.forks URL sync|async COUNT

Every call in a child must raise `StoreClosed`, and whatever the child does with the handle it was
born with, it ends: closing it, leaving its block, collecting it, and the end of the interpreter.
The child has an alarm, so what is stuck dies of that.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memoranda
from memoranda import AsyncStore, Scope, Store, StoreClosed
from memoranda.audit.signers import Signer
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from tests.cores import core_of
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS

_SIGNER = Signer("tests/forks", bytes(range(32)))
_ARGUMENTS: dict[str, Any] = {
    "a": 1,
    "alias": "b",
    "at": 1,
    "before": 1,
    "cardinality": "single",
    "commit_ts": 1,
    "content": "more",
    "cursor": "c",
    "decision": "keep",
    "entities": ["a"],
    "entity": "a",
    "erasure_id": "e",
    "fact": "f",
    "facts": [{"subject": "a", "relation": "r", "object": "b"}],
    "into": "b",
    "key": "k",
    "memory_id": "m",
    "name": "a",
    "new": "n",
    "notice_id": "n",
    "object": "b",
    "old": "o",
    "on": ["m"],
    "ids": ["m"],
    "kind": "memory",
    "extractor": "rules",
    "prefix": "abcd",
    "query": "word",
    "ref": "memory:m",
    "relation": "related_to",
    "scope": Scope("default", "a"),
    "signer": _SIGNER,
    "source": "a",
    "subject": "a",
    "subject_key": "a",
    "target": "t",
    "text": "Alice: I live in Paris.",
    "transcript_id": "t",
    "value": {},
    "work": lambda _: None,
}
_SPECIAL: dict[str, dict[str, Any]] = {
    "checkpoint": {"signer": _SIGNER},
    "configure": {"max_reflection_depth": 3},
    "diff": {"old": 1},
    "forget": {"key": "k"},
    "get_memory": {"memory_id": "m"},
    "prove_growth": {"old": 1},
    "retire_key": {"key": _SIGNER.public.text},
    "retract_fact": {"assertion_id": "f"},
    "rotate_key": {"old": _SIGNER.public.text, "new": _SIGNER.public.text},
    "sql": {"query": "SELECT 1"},
    "trust_key": {"key": _SIGNER.public.text},
    "update_memory": {"memory_id": "m", "content": "less"},
}
_NEED_NOTHING = ("bind", "close", "sql_views")


def arguments(store: Store | AsyncStore, name: str, folder: Path) -> dict[str, Any]:
    """Return what a method can be called with."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    reference = {**_ARGUMENTS, "path": folder / f"never-{name}"}
    queries = inspect.signature(getattr(store, name)).parameters.values()
    needed = [item.name for item in queries if item.default is item.empty and item.kind != 4]
    return {item: reference[item] for item in needed}


def methods(store: Store | AsyncStore) -> list[str]:
    return [name for name in dir(store) if not name.startswith("_") and name not in _NEED_NOTHING]


def used(result: Any) -> None:
    """Do what a caller does with an answer."""
    if hasattr(result, "__next__"):
        list(result)


async def used_async(result: Any) -> None:
    if inspect.isawaitable(result):
        result = await result
    if hasattr(result, "__anext__"):
        [item async for item in result]


def refused(call: Callable[[], object], name: str) -> None:
    try:
        call()
    except StoreClosed:
        return
    raise AssertionError(f"{name} was not refused")


def inherit(store: Store, folder: Path, leftovers: list[Any]) -> None:
    """Do everything that a child could do."""
    for name in methods(store):
        value = arguments(store, name, folder)
        refused(lambda name=name, value=value: used(getattr(store, name)(**value)), name)  # type: ignore[misc]
    transaction, subscription = leftovers
    transaction.write(key="k", value={})
    refused(transaction.commit, "commit")
    assert list(subscription) == []
    with store:
        pass
    store.close()


def inherit_async(store: AsyncStore, folder: Path, leftovers: list[Any]) -> None:
    async def do_all() -> None:
        for name in methods(store):
            value = arguments(store, name, folder)
            if name == "transact":
                value = {"work": do_nothing}
            try:
                await used_async(getattr(store, name)(**value))
            except StoreClosed:
                continue
            raise AssertionError(f"{name} was not refused")
        async with store:
            pass
        await store.close()

    asyncio.run(do_all())
    leftovers.clear()


async def do_nothing(_: object) -> None:
    """Stage nothing."""


def commit(store: Store, agent: str) -> None:
    bound = store.bind(agent_id=agent)
    bound.write(key="k", value={})
    bound.remember("some words")


def recall(store: Store) -> None:
    store.recall("words", agent_id="a")
    list(store.sql("SELECT count(*) FROM events"))


def follow(store: Store) -> None:
    for _ in store.subscribe(agent_id="a", last=20, timeout=0.01):
        pass


def busy(store: Store, over: threading.Event) -> list[threading.Thread]:
    """Start threads that do what there is to do."""

    def work(do: Callable[[], object]) -> None:
        while not over.is_set():
            do()

    jobs: list[Callable[[], object]] = [
        lambda: commit(store, "a"),
        lambda: commit(store, "b"),
        lambda: recall(store),
        lambda: store.reindex(vectors=False),
        lambda: follow(store),
    ]
    threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def fork_some(
    count: int, child: Callable[[], None], over: threading.Event, threads: list[threading.Thread]
) -> None:
    """Fork so often; the child goes on as this process does, and ends as any process ends."""
    for number in range(count):
        over.wait(0.02 * (number % 5))
        pid = os.fork()
        if not pid:
            signal.alarm(int(HANG_SECONDS))
            try:
                child()
            except BaseException:  # noqa: BLE001 - the parent tells
                traceback.print_exc()
                os._exit(1)
            gc.collect()
            sys.exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"child {number} ended with {status}"
    over.set()
    for thread in threads:
        thread.join()


def main(url: str, way: str, count: int) -> None:
    folder = Path(os.environ["FORKS_FOLDER"])
    over = threading.Event()
    store = memoranda.open(url, durability="relaxed", embedder=Hashing())
    bound = store.bind(agent_id="a")
    leftovers = [bound.begin_transaction(timeout=3600), bound.subscribe(after_commit=0)]
    threads = busy(store, over)
    if way == "sync":
        fork_some(count, lambda: inherit(bound, folder, leftovers), over, threads)
    else:
        twin = AsyncStore(AsyncLocalCalls(core_of(bound)), bound._defaults)
        fork_some(count, lambda: inherit_async(twin, folder, leftovers), over, threads)
    assert store.verify().commits
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
