"""A server of stores, against the same work embedded and against a call that does nothing.

The server is `memoranda serve`, with durable commits, and most clients are processes of their own:
`python -m benchmarks.server ADDRESS KIND` works for so many seconds as each line of its standard
input says, and prints how much it has done. Measured in turns, so that a busy moment of the machine
falls on both sides of a ratio. `python -m benchmarks.server` prints these figures alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import memoranda
from benchmarks import commits, report
from benchmarks.processes import cpu_seconds
from benchmarks.reads import alternate
from benchmarks.report import Figure
from memoranda.calls.key_writes import Write
from memoranda.wire import codec
from memoranda.wire.methods import METHOD_OF
from tests.bulk import write_events
from tests.grpc_client import connect
from tests.server_process import ServerProcess

EVENTS = 30_000
PROCESSES = 4
"""Processes of clients; each has one connection, which its threads share."""
THREADS = 8
CLIENTS = PROCESSES * THREADS
CALLS = 1_500
TURNS = 8
_EMPTY = "/grpc.health.v1.Health/Check"
"""A call that reads and writes nothing; its request may be empty."""


def figures(folder: Path, seconds: float) -> list[Figure]:
    """Measure a server that has one store to replay, and one to write."""
    stores = folder / "stores"
    stores.mkdir()
    write_events(folder / "embedded.db", EVENTS)
    shutil.copy(folder / "embedded.db", stores / "replayed.db")
    memoranda.open(stores / "written.db", embedder=None).close()
    with ServerProcess("--stores", str(stores)) as server:
        return [
            _replay(server.address, folder / "embedded.db", seconds),
            *_commit_streams(server, folder, seconds),
            _unary_writes(server.address, seconds),
            *_latencies(server.address),
        ]


# Replay.


def _replay(address: str, path: Path, seconds: float) -> Figure:
    """Measure a replay whose values nobody looks at, from a server and in this process."""
    with (
        memoranda.open(f"grpc://{address}/replayed") as remote,
        memoranda.open(path, create=False, embedder=None) as embedded,
    ):

        def count(store: memoranda.Store) -> int:
            events = sum(1 for _ in store.replay(agent_id="a"))
            assert events == EVENTS, "it is the whole history"
            return events

        ours, limit = alternate(lambda: count(remote), lambda: count(embedded), seconds)
    return Figure("replay from a server", ours, limit, "/s", "embedded", 0.5, 0.7)


# Clients that write at a time.


def _commit_streams(server: ServerProcess, folder: Path, seconds: float) -> list[Figure]:
    """Measure many clients of a server, and as many threads that have the store open."""
    turns: list[tuple[float, float, float, float]] = []
    with _clients(server.address, "stream") as clients:
        _rate(clients, seconds / TURNS)
        for number in range(TURNS):
            before = cpu_seconds(server.pid)
            count, passed = _rate(clients, seconds / TURNS)
            used = (cpu_seconds(server.pid) - before) / count
            path = folder / f"threads-{number}.db"
            turns.append((count / passed, used, *_threads(path, seconds / TURNS)))
    ours, limit = _in_the_middle([(rate, embedded) for rate, _, embedded, _ in turns])
    used, used_embedded = _in_the_middle([(first, second) for _, first, _, second in turns])
    work, embedded = f"commits, {CLIENTS} clients of a server", f"{CLIENTS} threads, embedded"
    cpu = f"{work}, its CPU"
    return [
        Figure(work, ours, limit, "/s", embedded, 0.6, 0.8),
        Figure(cpu, used * 1e6, 80, "µs", "limit", 1.0, 0.75, True),
        Figure(cpu, used * 1e6, used_embedded * 1e6, "µs", embedded, 2.0, 1.5, True),
    ]


def _threads(path: Path, seconds: float) -> tuple[float, float]:
    """Return commits a second of threads in this process, and the seconds of CPU of each."""
    before = time.process_time()
    rate = commits.threads(path, seconds, CLIENTS)
    return rate, (time.process_time() - before) / (rate * seconds)


def _unary_writes(address: str, seconds: float) -> Figure:
    """Measure durable writes that are calls of their own, as many at a time."""
    with _clients(address, "unary") as writers, _clients(address, "empty") as idlers:
        _rate(writers, seconds / TURNS), _rate(idlers, seconds / TURNS)
        turns = [
            (_per_second(writers, seconds / TURNS), _per_second(idlers, seconds / TURNS))
            for _ in range(TURNS)
        ]
    ours, limit = _in_the_middle(turns)
    work = f"writes, a call each, {CLIENTS} clients of a server"
    return Figure(work, ours, limit, "/s", "empty calls", 0.7, 0.8)


def _in_the_middle(turns: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return figures of ours and of the limit, whose ratio is the one in the middle of turns."""
    limit = median(limit for _, limit in turns)
    return median(ours / limit for ours, limit in turns) * limit, limit


# One client, one call after another.


def _latencies(address: str) -> list[Figure]:
    """Measure a read and a durable commit, beside an empty call in the same turn."""
    with (
        memoranda.open(f"grpc://{address}/written") as store,
        connect(address) as channel,
    ):
        empty, agent = channel.unary_unary(_EMPTY), store.bind(agent_id="a")
        agent.write(key="k", value=commits.VALUE)
        times = [
            (
                _seconds(lambda: agent.get_state(key="k")),
                _seconds(lambda: agent.write(key="k", value=commits.VALUE)),
                _seconds(lambda: empty(b"")),
            )
            for _ in range(CALLS)
        ]
    reads, writes, idle = (sorted(column) for column in zip(*times, strict=True))
    rows = (("get_state", reads, 2.0, 1.5), ("one commit", writes, 10.0, 5.0))
    return [
        Figure(
            f"{work} of a server, {name}",
            _quantile(column, share),
            _quantile(idle, share),
            "µs",
            "an empty call",
            must,
            wanted,
            True,
        )
        for work, column, must, wanted in rows
        for name, share in (("p50", 0.5), ("p99", 0.99))
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _quantile(times: Sequence[float], share: float) -> float:
    """Return microseconds."""
    return times[int(len(times) * share)] * 1e6


# Processes of clients.


@contextmanager
def _clients(address: str, kind: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes of clients, which wait for `_rate`."""
    command = [sys.executable, "-m", "benchmarks.server", address, kind]
    with ExitStack() as stack:
        clients = []
        for number in range(PROCESSES):
            process = subprocess.Popen(
                [*command, str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            clients.append(process)
        yield clients


def _per_second(clients: Sequence[subprocess.Popen[str]], seconds: float) -> float:
    count, passed = _rate(clients, seconds)
    return count / passed


def _rate(clients: Sequence[subprocess.Popen[str]], seconds: float) -> tuple[int, float]:
    """Let clients work at a time; return how much they did, and in how many seconds."""
    start = time.perf_counter()
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(f"{seconds}\n")
    count = 0
    for client in clients:
        assert client.stdout is not None
        count += int(client.stdout.readline())
    return count, time.perf_counter() - start


def _work(address: str, kind: str, process: int) -> None:
    """Be a process of clients."""
    with ExitStack() as stack:
        calls = KINDS[kind](address, process, stack)
        for line in sys.stdin:
            print(_count(calls, float(line)), flush=True)


def _count(calls: Sequence[Callable[[int], object]], seconds: float) -> int:
    """Return how many calls threads made in so many seconds."""
    done = [0] * len(calls)
    end = time.perf_counter() + seconds

    def repeat(number: int) -> None:
        while time.perf_counter() < end:
            calls[number](done[number])
            done[number] += 1

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done)


Calls = list[Callable[[int], object]]
"""For each thread, what it does: given how often it has done so."""


def _stream_writers(address: str, process: int, stack: ExitStack) -> Calls:
    store = stack.enter_context(memoranda.open(f"grpc://{address}/written"))

    def writer(number: int) -> Callable[[int], object]:
        agent = store.bind(agent_id=f"a{process * THREADS + number}")
        return lambda done: agent.write(key=f"k{done % commits.KEYS}", value=commits.VALUE)

    return [writer(number) for number in range(THREADS)]


def _unary_writers(address: str, process: int, stack: ExitStack) -> Calls:
    """Return writers whose requests are made beforehand, as those of an empty call are."""
    channel = stack.enter_context(connect(address))
    write = channel.unary_unary(METHOD_OF[Write].path)

    def writer(number: int) -> Callable[[int], object]:
        agent = f"a{process * THREADS + number}"
        requests = [
            codec.request_of(Write(agent, "default", f"k{key}", commits.VALUE), store="written")
            for key in range(commits.KEYS)
        ]
        encoded = [request.SerializeToString() for request in requests]
        return lambda done: write(encoded[done % commits.KEYS])

    return [writer(number) for number in range(THREADS)]


def _idlers(address: str, process: int, stack: ExitStack) -> Calls:  # noqa: ARG001
    empty = stack.enter_context(connect(address)).unary_unary(_EMPTY)
    return [lambda _: empty(b"")] * THREADS


KINDS: dict[str, Callable[[str, int, ExitStack], Calls]] = {
    "stream": _stream_writers,
    "unary": _unary_writers,
    "empty": _idlers,
}
"""The kinds of clients."""


def main() -> None:
    """Be a process of clients, or print the figures."""
    if len(sys.argv) == 4:
        _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for figure in figures(Path(folder), 5.0):
            print(report.row(figure), flush=True)


if __name__ == "__main__":
    main()
