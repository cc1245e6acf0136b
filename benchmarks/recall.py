"""Finding again: what the index of words costs those who write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

import memoranda
from benchmarks.report import Figure
from memoranda.search.index.background_indexer import BackgroundIndexer
from memoranda.search.index.view import SearchView

MEMORIES = 1_024
"""In one turn: the index is filled four times meanwhile."""
TURNS = 9
WORDS = 24
"""How many words a memory has: about two sentences."""
_VOCABULARY = 20_000


def texts(count: int, seed: int = 1) -> Iterator[str]:
    """Yield texts in which words are as unevenly common as they are in language."""
    random = Random(seed)
    letters = "etaoinshrdlu"
    sizes = random.choices(range(3, 10), k=_VOCABULARY)
    words = ["".join(random.choices(letters, k=size)) for size in sizes]
    weights = [1 / (rank + 10) for rank in range(_VOCABULARY)]
    for _ in range(count):
        yield " ".join(random.choices(words, weights, k=WORDS))


def commits_with_words(folder: Path) -> tuple[float, float]:
    """Return commits of a memory each a second, with full text on and without.

    They take turns, so that a busy moment of the machine falls on both, and the turn counts whose
    ratio is the median.
    """
    result = [*texts(MEMORIES)]
    turns = []
    for turn in range(TURNS):
        with _nothing_indexed():
            bare = _commit(folder / f"bare-{turn}.db", result)
        turns.append((_commit(folder / f"words-{turn}.db", result), bare))
    return sorted(turns, key=lambda rates: rates[0] / rates[1])[TURNS // 2]


def _commit(path: Path, times: list[str]) -> float:
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a")
        start = time.perf_counter()
        for text in times:
            agent.remember(text)
        return len(times) / (time.perf_counter() - start)


@contextmanager
def _nothing_indexed() -> Iterator[None]:
    """Let nothing be listed to be indexed, nor indexed behind the commits."""
    with (
        mock.patch.object(SearchView, "apply", _do_nothing),
        mock.patch.object(BackgroundIndexer, "__call__", _do_nothing),
    ):
        yield


def _do_nothing(*_: object) -> None:
    """Stand in for what is not to happen."""


def figures_of_words(folder: Path) -> list[Figure]:
    """Return what the index costs."""
    ours, bare = commits_with_words(folder)
    return [Figure("commits with full text", ours, bare, "/s", "without", 0.8, 0.9)]
