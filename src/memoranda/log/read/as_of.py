"""Resolving a moment to a commit, and the time and actor of commits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeGuard

import msgspec

from memoranda.errors import InvalidInput, LogForked
from memoranda.log import pages
from memoranda.model import codec
from memoranda.model.clock import Clock, Instant, plain_instant, to_micros
from memoranda.model.event import ResumeToken
from memoranda.model.limits import short_repr
from memoranda.model.receipt import HasCommit
from memoranda.storage.port import Reader

Moment = int | Instant | HasCommit
"""A commit number, or a time; text is always a time, so "2020" is the year.

Anything that has a `commit_ts`, such as the answer of a write, is the moment of that commit.
"""


class AsOf(msgspec.Struct, frozen=True):
    """The moment of a read: a commit, and the time that counts as now."""

    commit: int
    now: int


_MAX_COMMIT = 2**63 - 1
"""No commit has a higher number: databases store none."""
_MAX_DIGITS = 19
"""Decimal digits of a signed 64-bit number."""


def check_commit(field: str, commit: object) -> int:
    """Return a commit number, or the number of what has a `commit_ts`."""
    if not isinstance(commit, int) and hasattr(commit, "commit_ts"):
        if commit.commit_ts is None:
            raise InvalidInput(
                field, f"{short_repr(commit)} has no commit: give the answer of a write, or a time"
            )
        commit = commit.commit_ts
    if not isinstance(commit, int) or isinstance(commit, bool):
        raise InvalidInput(field, f"{short_repr(commit)} is {type(commit).__name__}, not a number")
    if commit < 0:
        raise InvalidInput(field, f"{short_repr(commit)} is negative: commits are numbered from 1")
    return int(commit)  # a plain int, not a subclass


def plain_moment(field: str, moment: Moment | None) -> int | Instant | None:
    """Return a moment as plain data: the number of a record's commit instead of the record."""
    if moment is None:
        return None
    return plain_instant(field, moment) if _is_time(moment) else plain_commit(field, moment)


def plain_commit(field: str, commit: object) -> Any:
    """Return a commit as plain data: a number, a token, or what is refused where it is used."""
    if isinstance(commit, int) or not hasattr(commit, "commit_ts"):
        return min(commit, _MAX_COMMIT) if isinstance(commit, int) else commit
    return check_commit(field, commit)


def commit_at(reader: Reader, field: str, moment: Moment) -> int:
    """Return the last commit at or before a moment; 0 before the first, the head after the last."""
    if _is_time(moment):
        return commit_at_time(reader, to_micros(field, moment))
    return min(check_commit(field, moment), pages.head_commit(reader))


def _is_time(moment: Moment) -> TypeGuard[Instant]:
    return not isinstance(moment, int) and not hasattr(moment, "commit_ts")


def resolve_as_of(reader: Reader, clock: Clock, moment: Moment | None, field: str = "at") -> AsOf:
    """Return the moment of a read; None is now."""
    if moment is None:
        return AsOf(pages.head_commit(reader), clock.now())
    commit = commit_at(reader, field, moment)
    if _is_time(moment):
        return AsOf(commit, to_micros(field, moment))
    row = reader.row("event_time", commit_ts=commit)
    return AsOf(commit, row[0] if row else 0)


def commit_at_time(reader: Reader, micros: int) -> int:
    """Return the last commit at or before a time in microseconds."""
    row = reader.row("commit_at_time", time=micros)
    return int(row[0]) if row else 0


def commit_of_token(reader: Reader, field: str, log_id: str, token: int | str | HasCommit) -> int:
    """Return the commit of a resume token, or raise `LogForked` if this log does not have it."""
    if not isinstance(token, str):
        return check_commit(field, token)
    if token.isdecimal() and len(token) <= _MAX_DIGITS:
        return int(token)
    resume_token = ResumeToken.parse(field, token)
    is_in_log = 0 < resume_token.commit_ts <= pages.head_commit(reader)
    row = reader.row("event_hash", commit_ts=resume_token.commit_ts) if is_in_log else None
    if resume_token.log_id != log_id or row != (resume_token.hash,):
        raise LogForked(
            f"the resume token {short_repr(token)} names a commit that this log ({log_id}) "
            "does not "
            "have: start again from the beginning, or open the store the token came from"
        )
    return resume_token.commit_ts


# Commit info: time and actor of commits.


class CommitInfo(msgspec.Struct, frozen=True, gc=False):
    """The time and the actor of a commit."""

    committed_at: int
    actor: str


def commit_infos(reader: Reader, commits: Collection[int]) -> dict[int, CommitInfo]:
    """Return the time and actor of each commit."""
    infos: dict[int, CommitInfo] = {}
    for part in pages.chunks(sorted(commits)):
        for commit_ts, committed_at, envelope in reader.rows("event_commit_infos", commits=part):
            infos[commit_ts] = CommitInfo(committed_at, codec.decode_envelope(envelope).actor)
    return infos
