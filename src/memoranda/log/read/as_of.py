"""Moments: turning what a caller calls a moment into a commit of this log."""

from __future__ import annotations

import msgspec

from memoranda.errors import InvalidInput, LogForked
from memoranda.log import pages
from memoranda.model.clock import Clock
from memoranda.model.event import ResumeToken
from memoranda.model.instant import Instant, to_micros
from memoranda.model.limits import shown
from memoranda.storage.port import Reader

Moment = int | Instant
"""A commit number, an aware datetime, or RFC 3339 text."""


class Asked(msgspec.Struct, frozen=True):
    """The moment a read is about: a commit, and the time it is taken to be."""

    commit: int
    now: int


_MOST_DIGITS = 19  # of a number of 64 bits


def check_commit(field: str, commit: object) -> int:
    """Return `commit` if it can be the number of one."""
    if not isinstance(commit, int) or isinstance(commit, bool):
        raise InvalidInput(field, f"{shown(commit)} is {type(commit).__name__}, not a number")
    if commit < 0:
        raise InvalidInput(field, f"{shown(commit)} is negative: commits are numbered from 1")
    return int(commit)  # a plain one, whatever prints itself in its place


def commit_at(reader: Reader, field: str, moment: Moment) -> int:
    """Return the last commit at or before a moment; 0 before the first, the head beyond it."""
    if isinstance(moment, int):
        return min(check_commit(field, moment), pages.head_commit(reader))
    return commit_at_time(reader, to_micros(field, moment))


def asked_at(reader: Reader, clock: Clock, moment: Moment | None, field: str = "at") -> Asked:
    """Return the moment that is meant; none in particular is now."""
    if moment is None:
        return Asked(pages.head_commit(reader), clock.now())
    commit = commit_at(reader, field, moment)
    if not isinstance(moment, int):
        return Asked(commit, to_micros(field, moment))
    row = reader.row("event_time", commit_ts=commit)
    return Asked(commit, row[0] if row else 0)


def commit_at_time(reader: Reader, micros: int) -> int:
    """Return the last commit at or before a time."""
    row = reader.row("commit_at_time", time=micros)
    return int(row[0]) if row else 0


def commit_of_token(reader: Reader, field: str, log_id: str, token: int | str) -> int:
    """Return the commit a resume token names, once it is sure to be one of this log's."""
    if not isinstance(token, str):
        return check_commit(field, token)
    if token.isdecimal() and len(token) <= _MOST_DIGITS:
        return int(token)
    wanted = ResumeToken.parse(field, token)
    there = 0 < wanted.commit_ts <= pages.head_commit(reader)
    row = reader.row("event_hash", commit_ts=wanted.commit_ts) if there else None
    if wanted.log_id != log_id or row != (wanted.hash,):
        raise LogForked(
            f"the resume token {shown(token)} names a commit that this log ({log_id}) does not "
            "have: start again from the beginning, or open the store the token came from"
        )
    return wanted.commit_ts
