"""Subscriptions and threads: several readers of one, one that is interrupted, a busy store."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, StoreBusy
from memoranda.log.read.wakeup import SPURIOUS_WAKEUP_BACKOFF
from memoranda.sdk.calls import Calls
from memoranda.sdk.local.feed import LocalFeed
from memoranda.storage.port import OutcomeUnknown
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.patience import HANG_SECONDS, wait_until

WAITING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
import memoranda
store = memoranda.open(sys.argv[1])
subscription = store.subscribe(agent_id="a")
try:
    print("waiting", flush=True)
    next(subscription)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    store.write(agent_id="a", key="k", value={})
    print(next(subscription).commit_ts)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as opened:
        yield opened


def test_readers_that_share_one_get_each_event_once() -> None:
    store = memory_store()
    subscription = store.subscribe(agent_id="a")
    item: list[list[int]] = [[] for _ in range(4)]

    def take(commits: list[int]) -> None:
        commits.extend(event.commit_ts for event in subscription)

    threads = [threading.Thread(target=take, args=(commits,)) for commits in item]
    for thread in threads:
        thread.start()
    for number in range(500):
        store.write(agent_id="a", key="k", value={"n": number})
    wait_until(lambda: sum(map(len, item)) >= 500)
    subscription.close()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert sorted(commit for commits in item for commit in commits) == [*range(1, 501)]


def test_ctrl_c_ends_the_waiting_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path / "store.db")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        reports, _ = process.communicate(timeout=HANG_SECONDS)
    assert reports == "interrupted\n1\n"


def test_a_user_with_a_clock_that_stands_still_does_not_wait_for_ever() -> None:
    store = memory_store()
    store.write(agent_id="a", key="k", value={})
    assert len(list(store.subscribe(agent_id="a", after_commit=0, timeout=0.1))) == 1


def test_an_error_is_raised_and_then_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    store = memory_store()
    store.write(agent_id="a", key="k", value={})
    subscription = store.subscribe(agent_id="a", after_commit=0, timeout=0)
    assert isinstance(subscription._feed, LocalFeed)
    feed = subscription._feed.open()
    fetch = feed.next_page

    def fail() -> list[memoranda.ReplayEvent]:
        monkeypatch.setattr(feed, "next_page", fetch)
        raise StoreBusy

    monkeypatch.setattr(feed, "next_page", fail)
    with pytest.raises(StoreBusy):
        next(subscription)
    assert next(subscription).commit_ts == 1


def test_closing_ends_a_long_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = memory_store()
    subscription = store.subscribe(agent_id="a")
    monkeypatch.setattr(type(subscription._feed), "caught_up", False)
    thread = threading.Thread(target=lambda: list(subscription))
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    subscription.close()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()


def test_who_is_woken_in_vain_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time in a row it rests for longer, and while it rests no commit wakes it."""
    monkeypatch.setattr(LocalFeed, "poll_seconds", 2 * HANG_SECONDS)
    rests: list[float] = []
    fills: list[int] = []
    commits = 0
    fill = LocalFeed.fill

    def counted(feed: LocalFeed) -> bool:
        fills.append(commits)
        return fill(feed)

    def rest(_: Calls, seconds: float) -> None:
        nonlocal commits
        rests.append(seconds)
        for number in range(10):  # while it rests
            commits = store.write(agent_id="busy", key="k", value={"n": number}).commit_ts
        if len(rests) == 12:
            subscription.close()

    monkeypatch.setattr(LocalFeed, "fill", counted)
    monkeypatch.setattr(Calls, "rest", rest)
    store = memory_store()
    subscription = store.subscribe(agent_id="rare")
    assert list(subscription) == []
    assert tuple(rests[: len(SPURIOUS_WAKEUP_BACKOFF)]) == SPURIOUS_WAKEUP_BACKOFF
    assert set(rests[len(SPURIOUS_WAKEUP_BACKOFF) :]) == {SPURIOUS_WAKEUP_BACKOFF[-1]}
    assert fills == [*range(0, 120, 10)]


def test_a_cursor_whose_storing_fails_says_that_it_may_be_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(agent_id="a", key="k", value={})
    subscription = store.subscribe(agent_id="a", cursor="c", after_commit=0)
    event = next(subscription)
    engine = core_of(store).engine

    def fail() -> None:
        raise OutcomeUnknown

    monkeypatch.setattr(engine, "_commit", fail)
    with pytest.raises(memoranda.Unavailable, match="doing it again is safe") as caught:
        subscription.ack(event)
    assert caught.value.retryable
    monkeypatch.undo()
    assert store.cursors() == [("c", 0)]
    subscription.ack(event)
    assert store.cursors() == [("c", 1)]


def test_acknowledging_is_durable_beside_another_process(store: Store, tmp_path: Path) -> None:
    store.write(agent_id="a", key="k", value={})
    subscription = store.subscribe(agent_id="a", cursor="c", after_commit=0)
    subscription.ack(next(subscription))
    code = "import memoranda, sys; print(memoranda.open(sys.argv[1]).cursors())"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[('c', 1)]\n"
