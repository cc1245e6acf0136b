"""Copying a store to another place, also to another engine."""

from __future__ import annotations

from contextlib import closing
from functools import partial

from memoranda.calls.core import all_views
from memoranda.errors import Corruption
from memoranda.log.copy import LogCopy
from memoranda.log.verify.verifier import Verification, verify
from memoranda.model.clock import SystemClock
from memoranda.model.limits import check_callable
from memoranda.sdk.open import open_engine
from memoranda.search.text import language as index_language
from memoranda.storage.port import Engine, Progress
from memoranda.storage.store_url import Url


def copy(source: Url, target: Url, *, progress: Progress | None = None) -> Verification:
    """Copy a store to another file or database, and verify the chain of the copy.

    The copy has the same log with the same hashes, the same checkpoints and cursors, and gives the
    same answers. If the call is interrupted, the same call goes on where it ended; if the source
    has grown, the call brings the copy up to date. Both can be in use meanwhile. But a write to the
    copy gives it another history, which raises `LogForked`. A target with another log is refused.
    The first write to the copy begins a new epoch.
    """
    check_callable("progress", progress)
    with (
        closing(open_engine(source, create=False, read_only=True)) as original,
        closing(open_engine(target)) as duplicate,
    ):
        return copy_between(original, duplicate, progress)


def copy_between(source: Engine, target: Engine, progress: Progress | None = None) -> Verification:
    """Copy the log of an engine to another one, build its views, and verify it."""
    log_copy = LogCopy(source, target, all_views(), progress)
    head = log_copy.run()
    with source.reading() as reader:
        language = index_language.read(reader)
    target.write(partial(index_language.copy, language=language))
    verification = verify(target, log_copy.log_id, SystemClock())
    if (verification.commits, verification.head_hash) != (head.commit_ts, head.hash.hex()):
        raise Corruption(
            f"{target.name} ends at another commit than was copied: somebody writes to it; copy to "
            "another place"
        )
    return verification
