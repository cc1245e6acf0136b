"""A process that embeds a store's passages, slowly, until it is done or killed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import memoranda
from memoranda.model.clock import SystemClock
from memoranda.search import vector_filling
from tests.embedders import Hashing


def _dawdle(_: Sequence[str]) -> None:
    SystemClock().sleep(0.005)


def main(path: str) -> None:
    model = Hashing(dimension=64)
    model.before = _dawdle
    defaults = vector_filling.fill_some.__kwdefaults__
    assert defaults is not None
    defaults["most"] = 8
    with memoranda.open(path, embedder=model, durability="relaxed") as store:
        print("ready", flush=True)  # noqa: T201
        store.reindex()


if __name__ == "__main__":
    main(sys.argv[1])
