"""Verifying a log, and what its chain costs while it is written.

python -m benchmarks.verify                    both, with a log of 100,000 events
python -m benchmarks.verify --events 1000000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median
from unittest import mock

import memoranda
from benchmarks import commits, reads, report
from benchmarks.limits import bare_connection
from benchmarks.report import Figure
from memoranda.log import chain
from memoranda.log.field_commitments import ScopeCommitments
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import AnyOperation
from memoranda.sdk.open import load_queries
from tests.bulk import write_events

EVENTS = 100_000
_NO_HASH = bytes(32)
_TURNS = 5


def walk(path: Path, seconds: float) -> tuple[float, float]:
    """Return events a second: verified, and read with one SHA-256 over each row."""
    query = load_queries()["event_page"]
    bounds = {"after": 0, "through": 2**62, "limit": 2**62}
    database = bare_connection(path)

    def bare() -> int:
        count = 0
        for _, _, event_hash, salts, envelope, operations in database.execute(query, bounds):
            sha256(event_hash + salts + envelope + operations).digest()
            count += 1
        return count

    with memoranda.open(path, create=False) as store:

        def ours() -> int:
            return store.verify().commits

        figures = _alternate(ours, bare, seconds)
    database.close()
    return figures


def _alternate(
    ours: Callable[[], int], bare: Callable[[], int], seconds: float
) -> tuple[float, float]:
    """Measure both in turns, by the processor's time: neither waits for anything."""
    rates: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while len(rates) < _TURNS or time.perf_counter() < end:
        rates.append((_rate(ours), _rate(bare)))
    first, second = (median(rate) for rate in zip(*rates, strict=True))
    return first, second


def _rate(work: Callable[[], int]) -> float:
    start = time.process_time()
    done = work()
    return done / (time.process_time() - start)


def hashing(folder: Path, seconds: float) -> tuple[float, float]:
    """Return commits a second at 32 tasks: as they are, and without any hash, in turns."""
    ours, bare = [], []
    for turn in range(_TURNS):
        ours.append(commits.tasks(folder / f"hashed-{turn}.db", seconds / _TURNS))
        with without_hashing():
            bare.append(commits.tasks(folder / f"bare-{turn}.db", seconds / _TURNS))
    return median(ours), median(bare)


@contextmanager
def without_hashing() -> Iterator[None]:
    """Let commits store events with no hash at all; such a log is good for nothing else.

    The tree over the log grows behind the commits, where somebody signs it: none is grown here.
    """
    with (
        mock.patch.object(chain, "seal", _unsealed),
        mock.patch.object(chain, "request_hash", _unhashed),
    ):
        yield


def _unhashed(_: bytes, __: bytes, ___: int) -> bytes:
    return _NO_HASH


def _unsealed(
    previous: Head,
    committed_at: int,
    salts: bytes,
    envelope: Envelope,
    operations: list[AnyOperation],
    _: ScopeCommitments | None = None,
) -> SealedEvent:
    parts = [*map(codec.encode, operations)]
    sealed, joined = codec.encode(envelope), codec.join(parts)
    return SealedEvent(previous.commit_ts + 1, committed_at, _NO_HASH, salts, sealed, joined)


def figures(folder: Path, seconds: float, events: int = EVENTS) -> list[Figure]:
    """Measure both in a folder."""
    path = folder / "verified.db"
    write_events(path, events, agents=reads.AGENTS)
    ours, bare = walk(path, seconds)
    hashed, unhashed = hashing(folder, 2 * seconds)
    of = "scan, a SHA-256 a row"
    return [
        Figure(f"verify, {events:,} events", ours, bare, "/s", of, 0.3, 0.4),
        Figure(
            "commits with their chain, 32 tasks", hashed, unhashed, "/s", "no hashes", 0.75, 0.9
        ),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="on the disk to measure")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each measurement")
    parser.add_argument("--events", type=int, default=EVENTS, help="how long the log is")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder, prefix=".bench-") as name:
        result = figures(Path(name), args.seconds, args.events)
    print(report.table(result, "Verification alone."))
    return 0


if __name__ == "__main__":
    sys.exit(main())
