"""The child that gets killed while it indexes, or just before.

It is given a store, a failpoint, and how often that is passed before it dies. It says on its output
what it has written, memory by memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

from memoranda import Store
from memoranda.calls.defaults import Defaults
from memoranda.sdk.local.calls import LocalCalls
from memoranda.search.index import background_indexer
from tests.cores import core_of
from tests.crash.stores import open_core
from tests.crash.worker import dies_at

MEMORIES = 700


def main(path: str, failpoint: str, count: str) -> None:
    """Write until it dies; it indexes now and then itself, so that it dies at a known place."""
    background_indexer.WAKE_THRESHOLD = 10**9
    store = Store(
        LocalCalls(open_core(Path(path), failpoint=dies_at(failpoint, int(count)))), Defaults("ann")
    )
    transcript = store.store_transcript("\n".join(f"line {n} of many" for n in range(100)))
    _say(transcript.id)
    for number in range(MEMORIES):
        _say(store.remember(f"memory number {number}").id)
        if number % 128 == 127:
            core_of(store).background_indexer.indexer.fill()
        if number % 50 == 7:
            store.update_memory(store.remember("first words").id, content="other words")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
