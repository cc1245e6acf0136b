"""Bylines: when commits were made, and who made them."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from memoranda.log import pages
from memoranda.model import codec
from memoranda.storage.port import Reader


class Byline(msgspec.Struct, frozen=True, gc=False):
    """When a commit was made, and by whom."""

    committed_at: int
    actor: str


def bylines(reader: Reader, commits: Collection[int]) -> dict[int, Byline]:
    """Return the bylines of commits."""
    found: dict[int, Byline] = {}
    for part in pages.cut(sorted(commits)):
        listed = msgspec.json.encode(part).decode()
        for commit_ts, committed_at, envelope in reader.rows("event_bylines", commits=listed):
            found[commit_ts] = Byline(committed_at, codec.decode_envelope(envelope).actor)
    return found
