"""The child that gets killed: it commits, and says each acknowledged commit on its output.

A line is written when, and only when, `commit()` has returned: the transaction's name, its commit
and what it did. Names go on from `first`, so that a later child continues where one died.

With `--nursery` it is the parent of such children: it reads one order a line, forks a child for it
(Python and the engine are loaded by then, no store is open), kills it after the order's delay or
waits for it to end, and answers with how it ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from memoranda import AsyncStore, Store
from memoranda.calls.defaults import Defaults
from memoranda.log.commit.failpoints import Failpoint
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.calls import LocalCalls
from tests.crash.client import deeds_of, stage
from tests.crash.orders import SIZE, Order
from tests.crash.stores import open_core, wal_of


def dies_at(failpoint: str, nth: int) -> Failpoint:
    """Return a failpoint that kills this process when passed for the n-th time."""
    remainder = count(nth, -1)

    def pass_or_die(name: str) -> None:
        if name == failpoint and next(remainder) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    return pass_or_die


def acknowledge(name: str, commit_ts: int) -> None:
    """Say that a commit was acknowledged: one write, so lines of threads do not mix."""
    line = json.dumps({"txn_id": name, "commit_ts": commit_ts, "deeds": deeds_of(name, SIZE)})
    os.write(sys.stdout.fileno(), line.encode() + b"\n")


def names(order: Order, lane: int) -> Iterator[str]:
    """Yield the names of the transactions one thread or task makes, in order."""
    first = order.first[lane]
    for number in range(first, first + order.most):
        yield f"{lane}-{number}"


def commit_in_thread(store: Store, order: Order, lane: int) -> None:
    for name in names(order, lane):
        transaction = store.begin_transaction(txn_id=name)
        stage(transaction, name, SIZE)
        acknowledge(name, transaction.commit())
        if order.rebuilds and name.endswith("3"):
            store.rebuild()


async def commit_in_task(store: AsyncStore, order: Order, lane: int) -> None:
    for name in names(order, lane):
        transaction = store.begin_transaction(txn_id=name)
        stage(transaction, name, SIZE)
        acknowledge(name, await transaction.commit())


def run_threads(store: Store, order: Order) -> None:
    threads = [
        threading.Thread(target=commit_in_thread, args=(store, order, lane))
        for lane in range(len(order.first))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


async def run_tasks(store: AsyncStore, order: Order) -> None:
    lanes = range(len(order.first))
    await asyncio.gather(*(commit_in_task(store, order, lane) for lane in lanes))
    await store.close()


def work(order: Order) -> None:
    """Do as ordered, until killed or done."""
    failpoint = dies_at(order.failpoint, order.nth)
    with wal_of(order.wal_pages):
        core = open_core(Path(order.path), durability=order.durability, failpoint=failpoint)
        if order.mode == "tasks":
            asyncio.run(run_tasks(AsyncStore(AsyncLocalCalls(core), Defaults()), order))
        else:
            run_threads(Store(LocalCalls(core), Defaults()), order)


def raise_child(order: Order) -> int:
    """Fork a child that works, with its output in the order's file; return how it ended."""
    child = os.fork()
    if child == 0:
        output = os.open(order.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(output, sys.stdout.fileno())
        code = 1
        try:
            work(order)
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + (order.patience if order.delay is None else order.delay)
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def nursery() -> None:
    """Raise a child for each order, one after the other."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    for line in sys.stdin:
        ordered: dict[str, Any] = json.loads(line)
        answers.write(f"{raise_child(Order(**ordered))}\n")
        answers.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["--nursery"]:
        nursery()
    else:
        work(Order(**json.loads(sys.argv[1])))
