"""The check of histories goes red where it must: histories made by hand, good and bad."""

from __future__ import annotations

import pytest

from tests.crash.serializability import Anomaly, Done, History

GOOD = [
    Done("make", writes={"x": 1, "y": 1}, commit_ts=1, begun=0, ended=1),
    Done("move", reads={"x": 1, "y": 1}, writes={"x": 2}, commit_ts=2, begun=2, ended=5),
    Done("look", reads={"x": 1, "y": 1}, begun=3, ended=4),
    Done("look later", reads={"x": 2, "y": 1}, begun=6, ended=7),
    Done("blind", writes={"y": 2}, commit_ts=3, begun=2, ended=8),
    Done("count", scans={"": {"x": 2, "y": 2}}, writes={"z": 1}, commit_ts=4, begun=9, ended=10),
]
MAKE = GOOD[0]


def test_a_good_history_passes() -> None:
    assert History(GOOD).check() == 14
    assert History(reversed(GOOD)).check() == 14


def test_an_empty_history_passes() -> None:
    assert History([]).check() == 0


BAD = {
    "a lost update": (
        [
            Done("a", reads={"x": 1}, writes={"x": 2}, commit_ts=2),
            Done("b", reads={"x": 1}, writes={"x": 3}, commit_ts=3),
        ],
        "rw on x 1: b",
    ),
    "write skew": (
        [
            Done("a", reads={"x": 1, "y": 1}, writes={"x": 2}, commit_ts=2),
            Done("b", reads={"x": 1, "y": 1}, writes={"y": 2}, commit_ts=3),
        ],
        "rw on x 1: b .* comes before a",
    ),
    "a phantom": (
        [
            Done("a", scans={"n/": {}}, writes={"n/1": 1}, commit_ts=2),
            Done("b", scans={"n/": {}}, writes={"n/2": 1}, commit_ts=3),
        ],
        "rw on n/1 0: b .* comes before a",
    ),
    "a torn read": (
        [
            Done("a", writes={"x": 2, "y": 2}, commit_ts=2),
            Done("reader", reads={"x": 2, "y": 1}),
        ],
        "a cycle",
    ),
    "readers who disagree on the order": (
        [
            Done("a", writes={"x": 2}, commit_ts=2),
            Done("b", writes={"y": 2}, commit_ts=3),
            Done("one", reads={"x": 2, "y": 1}),
            Done("other", reads={"x": 1, "y": 2}),
        ],
        "a cycle",
    ),
    "a read of the future": (
        [
            Done("a", reads={"x": 2}, writes={"y": 2}, commit_ts=2),
            Done("b", writes={"x": 2}, commit_ts=3),
        ],
        "wr on x 2: b .* comes before a",
    ),
    "versions against the order of commits": (
        [
            Done("a", writes={"x": 3}, commit_ts=2),
            Done("b", writes={"x": 2}, commit_ts=3),
        ],
        "ww on x 3: b .* comes before a",
    ),
    "one version by two": (
        [
            Done("a", writes={"x": 2}, commit_ts=2),
            Done("b", writes={"x": 2}, commit_ts=3),
        ],
        "x 2 was written by a and b",
    ),
    "a read of what nobody wrote": ([Done("a", reads={"x": 7})], "nobody wrote x 7"),
    "a stale read": (
        [
            Done("a", writes={"x": 2}, commit_ts=2, begun=2, ended=3),
            Done("late", reads={"x": 1}, begun=4, ended=5),
        ],
        "late read x 1, but a had been acknowledged",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_is_caught(name: str) -> None:
    transactions, why = BAD[name]
    with pytest.raises(Anomaly, match=why):
        History([MAKE, *transactions]).check()
