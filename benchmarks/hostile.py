"""One writer beside hostile text that is being indexed: how long its commits take at the worst.

The text is all that makes indexing slow: transcripts of 16 MiB, in one line or in very many, words
of megabytes without a space, scripts without spaces, letters under heaps of marks, and characters
that become eighteen when they are normalised.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest import mock

import memoranda
from benchmarks.commits import KEYS, VALUE
from benchmarks.report import Figure
from memoranda import Store
from memoranda.search import filler

WHOLE = 100 * 1024 * 1024
"""How many bytes of text are indexed."""
TRANSCRIPT = 16 * 1024 * 1024
MEMORY = 255 * 1024
RATE = 1_000
"""How many commits a second are tried."""
MOST_SECONDS = 300.0
LIMIT_MS = 50.0
_LOOK_EVERY = 500


class Latencies(NamedTuple):
    """How long commits took, in seconds, and how many there were a second."""

    median: float
    p99: float
    p999: float
    longest: float
    rate: float


def transcripts(size: int) -> Iterator[str]:
    """Yield texts of so many bytes each."""
    random = Random(1)
    common = [f"word{number}" for number in range(5_000)]
    yield _filled(" ".join(random.choices(common, k=50_000)) + " ", size)
    yield _filled("\n".join(f"{word} is said" for word in common) + "\n", size)
    yield _filled("x" * 1_000_000 + "y", size)
    yield _filled("".join(chr(random.randrange(0x4E00, 0x9E00)) for _ in range(100_000)), size)
    yield _filled(("e" + "\u0301\u0327" * 12 + " o\u0308") * 1_000, size)
    yield _filled("".join(f"{word} \u00e9t\u00e9 " for word in common), size)


def memories() -> Iterator[str]:
    """Yield texts that a memory has room for."""
    yield _filled("\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}", MEMORY)
    yield _filled("\N{SQUARE KIROMEETORU} \N{LATIN SMALL LIGATURE FFI}", MEMORY)
    yield _filled("a\u0300" + "\u0301" * 200, MEMORY)


def _filled(part: str, size: int) -> str:
    whole = part * (size // len(part.encode()) + 1)
    return whole.encode()[:size].decode("utf-8", "ignore")


def fill(path: Path, whole: int = WHOLE) -> None:
    """Write hostile text into a store, and let nothing of it be indexed."""
    with (
        mock.patch.object(filler, "EVERY", 10**12),
        memoranda.open(path, durability="relaxed", embedder=None) as store,
    ):
        agent = store.bind(agent_id="a")
        size = 0
        while size < whole:
            for text in memories():
                agent.remember(text)
                size += len(text.encode())
            for text in transcripts(min(TRANSCRIPT, whole // 6)):
                size += agent.store_transcript(text).original_size
                if size >= whole:
                    break


def latencies(store: Store, seconds: float, *, indexing: bool) -> Latencies:
    """Write at a steady rate: for so long, or until everything is indexed."""
    agent = store.bind(agent_id="writer")
    taken: list[float] = []
    begun = time.perf_counter()
    while (now := time.perf_counter()) - begun < seconds:
        due = begun + len(taken) / RATE
        if now < due:
            time.sleep(due - now)
        before = time.perf_counter()
        agent.write(key=f"k{len(taken) % KEYS}", value=VALUE)
        taken.append(time.perf_counter() - before)
        if indexing and not len(taken) % _LOOK_EVERY and not store.stats().index_backlog:
            break
    passed = time.perf_counter() - begun
    taken.sort()
    last = len(taken) - 1
    median, p99, p999, longest = (taken[int(last * part)] for part in (0.5, 0.99, 0.999, 1.0))
    return Latencies(median, p99, p999, longest, len(taken) / passed)


def beside_indexing(path: Path, whole: int = WHOLE) -> tuple[Latencies, Latencies]:
    """Return how long commits take beside indexing, and with nothing to index."""
    fill(path, whole)
    with memoranda.open(path, embedder=None) as store:
        busy = latencies(store, MOST_SECONDS, indexing=True)
        if store.stats().index_backlog:
            raise RuntimeError(f"not all was indexed in {MOST_SECONDS} s")
        quiet = latencies(store, 5.0, indexing=False)
    return busy, quiet


def figures(path: Path) -> list[Figure]:
    """Return what indexing does to who writes."""
    busy, quiet = beside_indexing(path)
    for name, found in (("beside indexing", busy), ("alone", quiet)):
        told = ", ".join(f"{1e3 * each:.1f}" for each in found[:4])
        print(f"  {name}: p50, p99, p99.9, max {told} ms; {found.rate:.0f}/s", file=sys.stderr)
    work = "a commit while 100 MiB of hostile text is indexed, p99.9"
    return [Figure(work, 1e3 * busy.p999, LIMIT_MS, "ms", "50 ms", 1.0, 0.5, True)]
