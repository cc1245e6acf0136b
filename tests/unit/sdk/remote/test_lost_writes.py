"""What is interrupted, sent again or refused half-way is neither lost in silence nor doubled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from unittest import mock

import pytest

import memoranda
from memoranda import CommitUnknown, MemorandaError, Store, StoreBusy, Unavailable, VersionMismatch
from memoranda.calls.key_writes import Write
from memoranda.calls.subscriptions import Subscribe
from memoranda.sdk.remote.async_write_sender import AsyncWriteSender
from memoranda.sdk.remote.write_sender import WriteSender
from memoranda.sdk.remote.writes import PendingWrite
from memoranda.server import write_queue
from memoranda.wire.batches import write_outcomes
from tests.patience import HANG_SECONDS


def in_time(work: Callable[[], Any]) -> Any:
    """Return what work gives; if it hangs, the test fails, and its thread is left alone."""
    answer: Future[Any] = Future()
    threading.Thread(target=lambda: answer.set_result(work()), daemon=True).start()
    return answer.result(HANG_SECONDS)


CLIENT_THREADS = ("memoranda-writes", "memoranda-subscription")
"""The server is in this process too, and starts threads of other names."""


class Interrupted:
    """Interrupts the first thread that a client starts, before it runs."""

    def __init__(self) -> None:
        self._start = threading.Thread.start
        self.count = 0

    def __call__(self, thread: threading.Thread) -> None:
        if thread.name in CLIENT_THREADS:
            self.count += 1
            if self.count == 1:
                raise KeyboardInterrupt
        self._start(thread)


def test_an_interrupt_that_keeps_a_thread_from_starting_keeps_no_later_writer(
    store: Store,
) -> None:
    with mock.patch.object(threading.Thread, "start", autospec=True, side_effect=Interrupted()):
        with pytest.raises(KeyboardInterrupt):
            store.write(key="first", value={})
        assert in_time(lambda: store.write(key="second", value={})).commit_ts == 1
    assert store.get_state(key="first") is None


def test_an_interrupt_that_keeps_a_thread_from_starting_keeps_no_later_reader(
    store: Store,
) -> None:
    store.write(key="k", value={})
    calls = store._calls
    feed = calls.new_feed(Subscribe("a", None, after_commit=0))
    with mock.patch.object(threading.Thread, "start", autospec=True, side_effect=Interrupted()):
        with pytest.raises(KeyboardInterrupt):
            calls.open_feed(feed)
        assert in_time(lambda: calls.fill_feed(feed))
    assert [event.commit_ts for event in feed.events] == [1]
    feed.close()


# A refusal of a write that was sent before, on a connection that was lost.


def test_only_a_server_that_has_not_looked_leaves_it_open() -> None:
    pending = PendingWrite(None, "t")
    busy, mismatch = StoreBusy(), VersionMismatch(key="k", expected=1, actual=2)
    assert pending.refusal(busy) is busy
    pending.may_be_committed = True
    assert pending.refusal(mismatch) is mismatch
    for error in (busy, Unavailable()):
        unknown = pending.refusal(error)
        assert isinstance(unknown, CommitUnknown)
        assert (unknown.txn_id, unknown.__cause__) == ("t", error)


class Busy:
    """A sender that has lost a write once, and finds a busy server then."""

    def __init__(self, error: MemorandaError) -> None:
        self._outcome = write_outcomes([(1, Write, error)]).outcomes[0]
        self.txn_ids: list[str] = []

    def write(self, _: WriteSender, pending: PendingWrite) -> Any:
        self.txn_ids.append(pending.txn_id)
        pending.may_be_committed = True
        return self._outcome

    async def write_async(self, _: AsyncWriteSender, pending: PendingWrite) -> Any:
        return self.write(mock.Mock(), pending)


def test_a_write_that_may_be_committed_is_not_tried_under_another_id(url: str) -> None:
    busy = Busy(StoreBusy())

    async def write() -> None:
        async with await memoranda.open_async(url) as store:
            with pytest.raises(CommitUnknown):
                await store.write(agent_id="a", key="k", value={})

    with (
        mock.patch.object(WriteSender, "write", lambda *arguments: busy.write(*arguments)),
        mock.patch.object(
            AsyncWriteSender, "write", lambda *arguments: busy.write_async(*arguments)
        ),
        memoranda.open(url) as store,
    ):
        with pytest.raises(CommitUnknown) as unknown:
            store.write(agent_id="a", key="k", value={})
        assert busy.txn_ids == [unknown.value.txn_id]
        asyncio.run(write())
    assert len(busy.txn_ids) == 2


def test_a_defect_of_the_server_leaves_the_outcome_open(store: Store) -> None:
    """It may have committed before it failed."""
    failing = mock.patch.object(write_queue._Batch, "deliver", side_effect=ZeroDivisionError)
    with failing, pytest.raises(CommitUnknown, match="connection was lost") as unknown:
        store.write(key="k", value={"n": 1})
    again = store.write(key="k", value={"n": 1}, txn_id=unknown.value.txn_id)
    assert (again.commit_ts, again.version) == (1, 1)


# Forks.

FORKING = """
import os, sys
import memoranda
store = memoranda.open(sys.argv[1]).bind(agent_id="a")
store.write(key="k", value={})
subscription = store.subscribe(after_commit=0)
next(subscription)
child = os.fork()
if child == 0:
    try:
        store.write(key="k", value={})
    except memoranda.StoreClosed:
        subscription.close()
        store.close()
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(store.write(key="k", value={}).commit_ts, next(subscription).commit_ts)
store.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_has_nothing_of_the_connection_and_leaves_it_alone(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, url],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2 2\n"), done.stderr
