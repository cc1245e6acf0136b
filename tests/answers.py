"""Answers of writes, compared with what reads return."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from memoranda.calls.results import AssertedFacts
from memoranda.model.receipt import Written

Record = TypeVar("Record", bound=Written)


def as_read(answer: Record) -> Record:
    """Return the answer of a write as a read returns it: without its outcome and its commit."""
    return replace(answer, outcome=None, commit_ts=None, committed_at=None)


def counts(answer: AssertedFacts) -> AssertedFacts:
    """Return the numbers of an import alone, without its commit."""
    return replace(answer, commit_ts=None, committed_at=None)
