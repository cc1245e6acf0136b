"""A process that embeds a store's documents until it is done, or stops to be killed.

usage: embedding_worker PATH [BATCHES]: after so many batches it waits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import count

import memoranda
from memoranda.model.clock import SystemClock
from memoranda.search.vectors import backfill
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS


def main(path: str, batches: float = math.inf) -> None:
    numbers = count()

    def wait_to_be_killed(_: Sequence[str]) -> None:
        if next(numbers) >= batches:
            SystemClock().sleep(HANG_SECONDS)

    model = Hashing(dimension=64)
    model.before = wait_to_be_killed
    defaults = backfill.fill_batch.__kwdefaults__
    assert defaults is not None
    defaults["limit"] = 8
    with memoranda.open(path, embedder=model, durability="relaxed") as store:
        print("ready", flush=True)  # noqa: T201
        store.reindex()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
