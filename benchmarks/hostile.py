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
from memoranda.search.index import background_indexer

TOTAL_BYTES = 100 * 1024 * 1024
"""How many bytes of text are indexed."""
TRANSCRIPT = 16 * 1024 * 1024
MEMORY = 255 * 1024
RATE = 1_000
"""How many commits a second are tried."""
MOST_SECONDS = 600.0
"""After which the writer stops, and what is not indexed is reported."""
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
    total_bytes = part * (size // len(part.encode()) + 1)
    return total_bytes.encode()[:size].decode("utf-8", "ignore")


def fill(path: Path, total_bytes: int = TOTAL_BYTES) -> None:
    """Write hostile text into a store, and let nothing of it be indexed."""
    with (
        mock.patch.object(background_indexer, "WAKE_THRESHOLD", 10**12),
        memoranda.open(path, durability="relaxed", embedder=None) as store,
    ):
        agent = store.bind(agent_id="a")
        size = 0
        while size < total_bytes:
            for text in memories():
                agent.remember(text)
                size += len(text.encode())
            for text in transcripts(min(TRANSCRIPT, total_bytes // 6)):
                size += agent.store_transcript(text).original_size
                if size >= total_bytes:
                    break


def latencies(store: Store, seconds: float, *, indexing: bool) -> Latencies:
    """Write at a steady rate: for so long, or until everything is indexed."""
    agent = store.bind(agent_id="writer")
    samples: list[float] = []
    start = time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        due = start + len(samples) / RATE
        if now < due:
            time.sleep(due - now)
        before = time.perf_counter()
        agent.write(key=f"k{len(samples) % KEYS}", value=VALUE)
        samples.append(time.perf_counter() - before)
        if indexing and not len(samples) % _LOOK_EVERY and not store.stats().index_backlog:
            break
    passed = time.perf_counter() - start
    samples.sort()
    last = len(samples) - 1
    median, p99, p999, longest = (samples[int(last * part)] for part in (0.5, 0.99, 0.999, 1.0))
    return Latencies(median, p99, p999, longest, len(samples) / passed)


def beside_indexing(path: Path, total_bytes: int = TOTAL_BYTES) -> tuple[Latencies, Latencies]:
    """Return how long commits take beside indexing, and with nothing to index."""
    fill(path, total_bytes)
    with memoranda.open(path, embedder=None) as store:
        busy = latencies(store, MOST_SECONDS, indexing=True)
        if backlog := store.stats().index_backlog:
            print(f"  {backlog} commits not indexed after {MOST_SECONDS:.0f} s", file=sys.stderr)
        quiet = latencies(store, 5.0, indexing=False)
    return busy, quiet


def figures(path: Path) -> list[Figure]:
    """Return what indexing does to who writes."""
    busy, quiet = beside_indexing(path)
    for name, measured in (("beside indexing", busy), ("alone", quiet)):
        text = ", ".join(f"{1e3 * seconds:.1f}" for seconds in measured[:4])
        print(f"  {name}: p50, p99, p99.9, max {text} ms; {measured.rate:.0f}/s", file=sys.stderr)
    work = "a commit while 100 MiB of hostile text is indexed, p99.9"
    return [Figure(work, 1e3 * busy.p999, LIMIT_MS, "ms", "50 ms", 1.0, 0.5, True)]
