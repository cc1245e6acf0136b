"""Commits of one tenant of a server, beside another tenant that makes noise.

The server and the noise are processes of their own. The noise stops and goes on in turns, so that a
busy moment of the machine falls on both. `python -m benchmarks.tenants` prints these figures alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Queue

import memoranda
from benchmarks import hybrid, report
from benchmarks.report import Figure
from memoranda.calls.erasure_writes import Forget
from memoranda.calls.key_writes import Write
from memoranda.calls.maintenance import Verify
from memoranda.calls.memory_writes import Remember
from memoranda.calls.recall import Recall
from memoranda.wire import batches, codec
from memoranda.wire.methods import WRITE_OUTCOMES, WRITE_STREAM
from tests.grpc_client import GrpcClient
from tests.server_process import ServerProcess

MEMORIES = 100_000
_BATCH = 1_000
TURNS = 8
TURN_SECONDS = 1.5
_PAUSE_SECONDS = 0.002
"""Between two commits of the quiet tenant: it is not a flood itself."""
_SETTLE_SECONDS = 0.2
"""Until the noise is there, or has ended."""


def figures(folder: Path, memories: int = MEMORIES) -> list[Figure]:
    """Measure the p99 of commits, beside each kind of noise and alone."""
    fill(folder / "noisy.db", memories)
    memoranda.open(folder / "quiet.db", embedder=None).close()
    with ServerProcess("--stores", str(folder)) as server:
        return [_figure(server.address, kind) for kind in NOISES]


def fill(path: Path, memories: int) -> None:
    """Make a store with many memories, all indexed."""
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent = store.bind(agent_id="a")
        texts = hybrid.texts(memories)
        for _ in range(0, memories, _BATCH):
            with agent.begin_transaction() as transaction:
                for _ in range(_BATCH):
                    transaction.remember(next(texts))
        store.reindex(vectors=False)


def _figure(address: str, kind: str) -> Figure:
    alone: list[float] = []
    beside: list[float] = []
    with GrpcClient(address, store="quiet") as quiet, _noise(address, kind) as switch:
        _commits(quiet)
        for _ in range(TURNS):
            alone += _commits(quiet)
            switch()
            time.sleep(_SETTLE_SECONDS)
            beside += _commits(quiet)
            switch()
            time.sleep(_SETTLE_SECONDS)
    name = f"commit beside {DESCRIPTIONS[kind]} of another tenant, p99"
    return Figure(name, _p99(beside) * 1e6, _p99(alone) * 1e6, "µs", "alone", 3.0, 2.0, True)


def _commits(client: GrpcClient) -> list[float]:
    """Return the seconds of each commit of a turn."""
    times: list[float] = []
    end = time.perf_counter() + TURN_SECONDS
    while (start := time.perf_counter()) < end:
        client.ask(Write("q", "default", f"k{len(times) % 50}", {"n": len(times)}))
        times.append(time.perf_counter() - start)
        time.sleep(_PAUSE_SECONDS)
    return times


def _p99(times: list[float]) -> float:
    return sorted(times)[len(times) * 99 // 100]


# Noise: clients of the other tenant, in a process of their own.


@contextmanager
def _noise(address: str, kind: str) -> Iterator[Callable[[], None]]:
    """Start the noise, off at first; give the function that turns it on and off."""
    command = [sys.executable, "-m", "benchmarks.tenants", address, kind]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def switch() -> None:
            stdin.write("\n")
            stdout.readline()  # it is on, or what was under way has ended

        try:
            yield switch
        finally:
            process.kill()


class Noise:
    """Threads that make noise while it is turned on."""

    def __init__(self, address: str, kind: str) -> None:
        self._address = address
        self._make, threads = NOISES[kind]
        self._is_on = threading.Event()
        self._turn = threading.Condition()
        self._busy = 0
        for _ in range(threads):
            threading.Thread(target=self._run, daemon=True).start()

    def follow(self) -> None:
        """Turn it on and off at each line of the standard input."""
        for _ in sys.stdin:
            if self._is_on.is_set():
                self._is_on.clear()
                with self._turn:
                    self._turn.wait_for(lambda: not self._busy)
            else:
                self._is_on.set()
            print(flush=True)

    def _run(self) -> None:
        with GrpcClient(self._address, store="noisy") as client:
            noise = self._make(client)
            while self._is_on.wait():
                with self._turn:
                    self._busy += 1
                next(noise)
                with self._turn:
                    self._busy -= 1
                    self._turn.notify_all()


def _verify(client: GrpcClient) -> Iterator[None]:
    while True:
        yield client.ask(Verify(deep=True))


def _recall(client: GrpcClient) -> Iterator[None]:
    for seed in count():
        for text in hybrid.texts(100, seed=seed):
            client.ask(Recall(query=text, agent_id="a", namespace="default"))
            yield


def _forget(client: GrpcClient) -> Iterator[None]:
    for number in count():
        memory = client.ask(Remember("a", "default", f"what will be forgotten {number}"))
        client.ask(Forget(memory_id=memory.id, agent_id="a", purge=False))
        yield


def _flood(client: GrpcClient) -> Iterator[None]:
    """Send batches of writes on one stream, each when the last one is answered."""
    messages: Queue[bytes] = Queue()
    answers = client.send_all(WRITE_STREAM, iter(messages.get, b""))
    for start in count(0, 64):
        calls = [Write("a", "default", f"k{n % 100}", {"n": n}) for n in range(start, start + 64)]
        requests = [(number, codec.request_of(call)) for number, call in enumerate(calls, start)]
        messages.put(batches.write_batch(requests, store="noisy").SerializeToString())
        waiting = len(calls)
        while waiting:
            waiting -= len(WRITE_OUTCOMES.FromString(next(answers)).outcomes)
        yield


NOISES: dict[str, tuple[Callable[[GrpcClient], Iterator[None]], int]] = {
    "flood": (_flood, 4),
    "recall": (_recall, 8),
    "verify": (_verify, 2),
    "forget": (_forget, 2),
}
"""The kinds of noise, with their threads."""
DESCRIPTIONS = {
    "flood": "four streams of writes",
    "recall": f"recalls over {MEMORIES:,} memories",
    "verify": "deep verifications",
    "forget": "erasures",
}


def main() -> None:
    """Make noise, or print the figures."""
    if len(sys.argv) == 3:
        Noise(*sys.argv[1:]).follow()
        return
    memories = int(sys.argv[1]) if len(sys.argv) == 2 else MEMORIES
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for figure in figures(Path(folder), memories):
            print(report.row(figure), flush=True)


if __name__ == "__main__":
    main()
