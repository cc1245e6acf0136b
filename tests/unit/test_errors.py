"""Errors say what happened, and survive the way to another process."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from memoranda import errors
from memoranda.errors import (
    ChainBroken,
    CommitUnknown,
    Compacted,
    EdgeError,
    InvalidInput,
    LinkCycle,
    MemorandaError,
    ReflectionTooDeep,
    ReplicaBehind,
    VersionMismatch,
    ViewsDiffer,
)

SPECIAL: list[MemorandaError] = [
    InvalidInput("key", "is empty"),
    VersionMismatch(key="k", expected=1, actual=2),
    CommitUnknown("t-1"),
    ChainBroken(7, "it is gone"),
    ViewsDiffer("state", "state", "a row is missing", row={"key": "k"}, commit_ts=7),
    Compacted(40, "key 'k' at commit 3 is not kept"),
    LinkCycle("supersedes", ("a", None, "a")),
    ReflectionTooDeep("team", 4, 3),
    ReplicaBehind(min_commit=7, replica_commit=5, seconds=2.5),
    EdgeError("the edge catalog cannot be read", retryable=True),
]
PLAIN = [
    kind()
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, MemorandaError) and kind not in map(type, SPECIAL)
]


@pytest.mark.parametrize("error", [*SPECIAL, *PLAIN], ids=lambda error: type(error).__name__)
def test_every_error_can_be_copied_and_sent(error: MemorandaError) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize("error", PLAIN, ids=lambda error: type(error).__name__)
def test_an_error_without_a_message_says_its_docstring(error: MemorandaError) -> None:
    assert str(error) == inspect.getdoc(type(error))
    assert str(MemorandaError("else")) == "else"
