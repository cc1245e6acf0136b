"""Arrival: whether what stands at a path is the copy that was put there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from memoranda.errors import Corruption
from memoranda.log.epochs import known_log_id
from memoranda.storage.port import Engine


def check_arrived(engine: Engine, path: Path, log_id: str, commits: int, head_hash: str) -> None:
    """Close an engine on a copy at its final place, once it is sure to hold what was copied.

    The copy was checked before it was put there; what could still be wrong is beside it.
    """
    with closing(engine), engine.reading() as reader:
        row = reader.row("event_hash", commit_ts=commits)
        same = known_log_id(reader) == log_id and (
            not commits or row == (bytes.fromhex(head_hash),)
        )
    if not same or (commits and row is None):
        raise Corruption(
            f"{path} does not hold what was copied to it: something beside it was taken for a part "
            "of it; remove it and what stands beside it, and copy again"
        )
