"""Killing children at random moments and at failpoints, and looking at what they leave behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

import memoranda
from memoranda.log.commit.failpoints import NAMES
from tests.crash.checks import Address, Entry, audit, check_file
from tests.crash.client import check_whole, stage
from tests.crash.orders import SIZE, Order

ROOT = Path(__file__).parents[2]
LANES = {"one": 1, "threads": 4, "tasks": 6}
DURABLE = ("after-commit", "acknowledged")
"""The failpoints behind the storage's commit: what was being committed is in the log."""


class KillFailure(AssertionError):
    """A killed child left something behind that must not be; says what was done to it."""


class Nursery:
    """The process whose children are killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def raise_child(self, order: Order) -> int:
        """Have a child work as ordered, and return how it ended: minus a signal, or its code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Nursery]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.worker", "--nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        yield Nursery(process)


@dataclass
class Ledger:
    """What children were told, read from their output."""

    output: Path
    commits: dict[str, int] = field(default_factory=dict)
    deeds: dict[str, list[tuple[Address, object]]] = field(default_factory=dict)
    _read: int = 0

    def update(self) -> None:
        """Read the lines that were added; the last may be cut short, which says nothing."""
        if not self.output.exists():
            return
        content = self.output.read_bytes()
        whole = content.rfind(b"\n") + 1
        for line in content[self._read : whole].splitlines():
            decoded_value = json.loads(line)
            self.commits[decoded_value["txn_id"]] = decoded_value["commit_ts"]
            self.deeds[decoded_value["txn_id"]] = [
                (tuple(where), value) for where, value in decoded_value["deeds"]
            ]
        self._read = len(content)

    def check(self, log: list[Entry]) -> None:
        """Everything acknowledged is in the log, where it was said to be, with what it did."""
        entries = {entry.txn_id: entry for entry in log}
        for name, commit_ts in self.commits.items():
            assert name in entries, f"{name}, acknowledged as {commit_ts}, is lost"
            assert entries[name].commit_ts == commit_ts
            assert entries[name].deeds() == self.deeds[name]


class Victim:
    """One store, and the children that die while using it."""

    def __init__(self, folder: Path, nursery: Nursery, random: Random) -> None:
        folder.mkdir(parents=True)
        self.path = folder / "store.db"
        self.ledger = Ledger(folder / "acknowledged")
        self.next = [0] * max(LANES.values())
        self._nursery = nursery
        self._random = random

    def order(self, mode: str, failpoint: str = "", nth: int = 1) -> Order:
        """Return an order to die at a failpoint, or else at a random moment."""
        return Order(
            path=str(self.path),
            output=str(self.ledger.output),
            first=self.next[: LANES[mode]],
            mode=mode,
            failpoint=failpoint,
            nth=nth,
            delay=None if failpoint else self._random.uniform(0, 0.1),
            durability=self._random.choice(("full", "full", "relaxed")),
            rebuilds=mode != "tasks" and self._random.random() < 0.3,
        )

    def kill(self, order: Order) -> None:
        """Raise a child and see it die."""
        ended = self._nursery.raise_child(order)
        assert ended == -signal.SIGKILL, f"it ended with {ended} instead"
        self.ledger.update()

    def check(self) -> list[Entry]:
        """Open what is left, check all that must hold, and let the next child go on."""
        with memoranda.open(self.path) as store:
            log = audit(store)
            check_whole(log, SIZE)
            self.ledger.check(log)
            self._go_on(store, log)
        check_file(self.path)
        return log

    def _go_on(self, store: memoranda.Store, log: list[Entry]) -> None:
        """Try again what was under way: it is in the log once, or gets in now."""
        places = {entry.txn_id: entry.commit_ts for entry in log}
        for lane, number in enumerate(self.next):
            while f"{lane}-{number}" in places:
                number += 1
            self.next[lane] = number
            name = f"{lane}-{max(0, number - 1)}"
            transaction = store.begin_transaction(txn_id=name)
            stage(transaction, name, SIZE)
            commit_ts = transaction.commit()
            assert places.setdefault(name, commit_ts) == commit_ts, f"{name} is there twice"
            self.next[lane] = max(1, number)


def hunt(folder: Path, nursery: Nursery, seed: object, kills: int) -> int:
    """Kill so many children of one store, in every way by turns; return how many commits held."""
    random = Random(repr(seed))
    victim = Victim(folder, nursery, random)
    log: list[Entry] = []
    done: list[Order] = []
    try:
        for turn in range(kills):
            mode = random.choice(list(LANES))
            failpoint = random.choice(NAMES) if turn % 2 else ""
            order = victim.order(mode, failpoint, random.randint(1, 12))
            done.append(order)
            victim.kill(order)
            if random.random() < 0.6 or turn == kills - 1:
                log = victim.check()
    except Exception as error:
        raise KillFailure(
            f"seed {seed!r}, kill {len(done)} of {kills}, {done[-1]}: {error!r}"
        ) from error
    return len(log)
