"""Ending a server under load: its clients go on, and at the end everything is compared."""

from __future__ import annotations

import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import quantiles

import msgspec

import memoranda
from tests.crash.checks import audit, check_file
from tests.crash.server.checks import (
    check_counters,
    check_deeds,
    check_replayed,
    check_watched,
)
from tests.crash.server.client import Assignment, ClientProcess
from tests.crash.server.journal import Deed, by_client, read_journals
from tests.crash.server.nursery import ServerNursery, server_nursery
from tests.crash.server.versions import OtherVersion

PROCESSES = 4
HASTY_SECONDS = 0.05
"""The patience of half of the clients: they see errors where others wait for the next server."""


class Plan(msgspec.Struct, frozen=True):
    """How often a server is ended, and how."""

    ends: int
    seed: str
    signal: int = signal.SIGKILL
    pause: tuple[float, float] = (0.0, 0.8)
    """Seconds for which a server serves, between these two."""
    hasty: bool = True
    """Whether half of the clients soon give up."""
    schemes: tuple[str, str, str, str] = ("grpc", "http", "http", "grpc")
    """How each process of clients reaches the server; the first and the third use threads."""
    broken: str = ""
    """What clients are made to do wrong."""
    previous: str = ""
    """The folder with another version of the package, of which the first server is."""


OVER_HTTP = ("http", "http", "http", "http")


class Report(msgspec.Struct):
    """What a campaign has seen."""

    ends: int
    seconds: float
    commits: int
    """In the log."""
    acknowledged: int
    repeated: int
    """Deeds that were acknowledged again, under the same `txn_id`."""
    across: int
    """Deeds that were sent to one server, and acknowledged by a later one."""
    errors: dict[str, int]
    """What hasty clients of `memoranda.v1` were told instead of an acknowledgement."""
    errors_of_patient: dict[str, int]
    """What the others were told, who wait for the next server."""
    counted: int
    replays: int
    reconnecting: tuple[float, float, float]
    """Seconds from when a server listens until a client is answered: median, p99, longest."""

    def __str__(self) -> str:
        median, late, longest = self.reconnecting
        return (
            f"{self.ends} ends in {self.seconds:.0f} s, {self.commits} commits, "
            f"{self.acknowledged} acknowledged ({self.across} by a later server, "
            f"{self.repeated} again), {self.counted} counted, {self.replays} replays; "
            f"clients answered after {median:.2f} s (p99 {late:.2f}, at most {longest:.2f}); "
            f"errors of hasty clients: {_listed(self.errors)}, of others: "
            f"{_listed(self.errors_of_patient)}"
        )


class Campaign:
    """One store, its servers one after the other, and their clients."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._plan = plan
        self._random = Random(plan.seed)
        self._addresses = {
            scheme: f"127.0.0.1:{free_port(self._random)}" for scheme in ("grpc", "http")
        }
        self._path = folder / "store.db"
        self._errors = folder / "stderr"
        """What servers write there."""
        hasty = PROCESSES // 2 if plan.hasty else 0
        self._hasty = {_name(number) for number in range(hasty)}
        self._patient = {_name(number) for number in range(hasty, PROCESSES)}
        self._listening: list[float] = []
        """When each server listened."""

    def run(self) -> Report:
        """Start clients, end servers as planned, and check what is left."""
        try:
            return self._run()
        except BaseException as error:
            error.add_note(f"seed {self._plan.seed!r}; servers said: {self._errors.read_text()}")
            raise

    def _run(self) -> Report:
        began_at = time.monotonic()
        with server_nursery(self._errors) as nursery, ExitStack() as ends:
            previous = self._start_previous(nursery)
            if previous is not None:
                ends.callback(previous.kill)
            with self._clients() as clients:
                if previous is not None:
                    self._replace(previous, nursery)
                for number in range(self._plan.ends):
                    time.sleep(self._random.uniform(*self._plan.pause))
                    self._end(nursery, number)
                    for client in clients:
                        client.check_running()
                self._stop(clients)
            status = nursery.end(signal.SIGTERM)
            assert status == 0, f"the last server ended with {status}"
        return self._report(began_at)

    def _start_previous(self, nursery: ServerNursery) -> OtherVersion | None:
        """Start the first server: of another version, if the plan names one."""
        if not self._plan.previous:
            self._start(nursery)
            return None
        previous = OtherVersion(Path(self._plan.previous), self._arguments, self._errors)
        self._listening.append(time.monotonic())
        return previous

    def _replace(self, previous: OtherVersion, nursery: ServerNursery) -> None:
        """Kill the server of another version under load, and start one of this version."""
        time.sleep(self._random.uniform(1.0, 2.0))
        previous.kill()
        self._start(nursery)

    @contextmanager
    def _clients(self) -> Iterator[list[ClientProcess]]:
        with ExitStack() as ends:
            clients = []
            for number in range(PROCESSES):
                scheme = self._plan.schemes[number]
                assignment = Assignment(
                    name=_name(number),
                    url=f"{scheme}://{self._addresses[scheme]}/",
                    address=self._addresses["grpc"],
                    folder=str(self._folder),
                    seed=self._plan.seed,
                    is_async=number % 2 == 1,
                )
                if assignment.name in self._hasty:
                    assignment.patience = HASTY_SECONDS
                clients.append(ClientProcess(assignment, self._plan.broken))
                ends.callback(clients[-1].kill)
            for client in clients:
                client.wait_until_ready()
            yield clients

    def _start(self, nursery: ServerNursery) -> None:
        nursery.start(self._arguments)
        self._listening.append(time.monotonic())

    @property
    def _arguments(self) -> list[str]:
        ports = [f"--{scheme}={address}" for scheme, address in self._addresses.items()]
        return ["--db", str(self._path), *ports, "--no-tokens"]

    def _end(self, nursery: ServerNursery, number: int) -> None:
        """End the server, and start another; now and then, one is killed while it starts."""
        status = nursery.end(self._plan.signal)
        expected = 0 if self._plan.signal == signal.SIGTERM else -self._plan.signal
        assert status == expected, f"server {number} ended with {status}"
        if self._plan.signal == signal.SIGKILL and self._random.random() < 0.2:
            nursery.start_and_kill(self._arguments, self._random.uniform(0, 0.15))
        self._start(nursery)

    def _stop(self, clients: list[ClientProcess]) -> None:
        """Let the lanes end, and then the readers with the last commit."""
        for client in clients:
            client.stop()
        for client in clients:
            client.wait_until_quiet()
        with memoranda.open(self._path, read_only=True) as store:
            through = store.verify().commits
        for client in clients:
            client.end(through)
        for client in clients:
            client.wait()

    def _report(self, began_at: float) -> Report:
        deeds = read_journals(self._folder)
        with memoranda.open(self._path, create=False) as store:
            log = audit(store)
            assert store.verify(deep=True).commits == len(log)
        check_file(self._path)
        check_deeds(log, deeds)
        counted = check_counters(log)
        for path in self._folder.glob("*.watched"):
            check_watched(log, path)
        replays = sum(check_replayed(log, path) for path in self._folder.glob("*.replayed"))
        acknowledged = [deed for deed in deeds.values() if deed.commits]
        return Report(
            ends=self._plan.ends,
            seconds=time.monotonic() - began_at,
            commits=len(log),
            acknowledged=len(acknowledged),
            repeated=sum(_acknowledgements(deed) > 1 for deed in acknowledged),
            across=sum(self._is_across(deed) for deed in acknowledged),
            errors=_errors(deeds, self._hasty),
            errors_of_patient=_errors(deeds, self._patient),
            counted=counted,
            replays=replays,
            reconnecting=self._reconnecting(deeds),
        )

    def _is_across(self, deed: Deed) -> bool:
        """Say whether a server began to listen between an intent and its acknowledgement."""
        until = next(line.at for line in deed.lines if line.outcome == "acknowledged")
        return any(deed.began_at < at < until for at in self._listening)

    def _reconnecting(self, deeds: dict[str, Deed]) -> tuple[float, float, float]:
        """Return after how long clients got their first answer of a new server."""
        seconds = []
        ends = [*self._listening[1:], float("inf")]
        for own in by_client(deeds).values():
            answered = iter(
                sorted(line.at for deed in own for line in deed.lines if line.commit_ts)
            )
            first = next(answered, None)
            for listening, end in zip(self._listening[1:], ends[1:], strict=False):
                while first is not None and first < listening:
                    first = next(answered, None)
                if first is not None and first < end:
                    seconds.append(first - listening)
        if len(seconds) < 2:
            return (0.0, 0.0, 0.0)
        shares = quantiles(seconds, n=100)
        return shares[49], shares[98], max(seconds)


def _name(number: int) -> str:
    """Return the name of a process of clients."""
    return f"c{number}"


def _acknowledgements(deed: Deed) -> int:
    return sum(line.outcome == "acknowledged" for line in deed.lines)


def _errors(deeds: dict[str, Deed], processes: set[str]) -> dict[str, int]:
    """Count what clients were told, but for those of Statehouse, which try nothing again."""
    return Counter(
        line.error
        for deed in deeds.values()
        for line in deed.lines
        if line.error and deed.kind != "statehouse" and deed.client.partition("-")[0] in processes
    )


def _listed(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(errors.items())) or "none"


def free_port(random: Random) -> int:
    """Return a port that no client gets by chance, as it could one that the system gives out.

    Whoever connects to such a port of its own machine, while nobody listens, may reach itself.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
