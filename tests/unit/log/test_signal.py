"""The signal: whoever waits is woken, and one looks for all."""

from __future__ import annotations

import threading

from memoranda.log.read.wakeup import POLL_SECONDS, Signal
from tests.patience import HANG_SECONDS


def test_what_was_given_before_waiting_is_not_missed() -> None:
    signal = Signal()
    observations = signal.count
    signal.notify()
    waiting = threading.Thread(target=signal.wait, args=(observations, 60), daemon=True)
    waiting.start()
    waiting.join(HANG_SECONDS)
    assert not waiting.is_alive()


def test_everybody_who_waits_is_woken() -> None:
    signal = Signal()
    threads = [threading.Thread(target=signal.wait, args=(0, 60)) for _ in range(4)]
    for thread in threads:
        thread.start()
    calls: list[int] = []
    watcher = signal.watch(lambda: calls.append(signal.count))
    signal.notify()
    for thread in threads:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()
    signal.unwatch(watcher)
    signal.notify()
    assert calls == [1]


def test_waiting_ends_without_a_signal() -> None:
    signal = Signal()
    signal.wait(0, 0.01)
    assert signal.count == 0


def test_one_of_those_who_wait_looks_for_all() -> None:
    signal = Signal()
    assert [signal.claim_poll(10.0, POLL_SECONDS) for _ in range(3)] == [True, False, False]
    assert not signal.claim_poll(10.0 + POLL_SECONDS / 2, POLL_SECONDS)
    assert [signal.claim_poll(10.0 + POLL_SECONDS, POLL_SECONDS) for _ in range(2)] == [True, False]


def test_only_news_wakes() -> None:
    signal = Signal()
    for head, value in ((5, 1), (5, 1), (6, 2), (5, 2), (6, 2), (7, 3)):
        signal.note_head(head)
        assert signal.count == value
