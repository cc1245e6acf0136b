"""Trials: a store on a faulty VFS, used until something fails, healed, and asked what it holds."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from random import Random

import apsw

import memoranda
from tests.crash.checks import audit, check_file, read_log
from tests.crash.client import Client
from tests.crash.disk import Loss, write_image
from tests.crash.faulty_vfs import KINDS, FaultyVFS
from tests.crash.stores import open_on, wal_of


class Trial:
    """One store on one VFS, used until something fails, then healed and asked what it holds."""

    def __init__(self, folder: Path, template: Path | None = None) -> None:
        self.folder = folder
        self.path = folder / "store.db"
        folder.mkdir(parents=True)
        if template is not None:
            shutil.copy(template, self.path)
        self.vfs = FaultyVFS()
        self._settled = True

    def open(self) -> Client:
        return Client(open_on(self.path, self.vfs))

    def commit(self, client: Client, name: str) -> bool:
        """Commit; the first answers in and after trouble must be what a power loss would leave."""
        settled, self._settled = self._settled, client.commit(name)
        if settled and not self._settled:
            self.lose_power(client, "everything")
        elif self._settled and not settled:
            self.lose_power(client, "nothing", "everything")
        return self._settled

    def check(self, client: Client) -> None:
        """The cause is gone: the same handle works, and what it says is what is on disk."""
        self.vfs.heal()
        assert self.commit(client, "probe"), client.refused or client.unknown
        client.check(read_log(client.store))
        for name in (*client.unknown, *client.refused):
            assert client.commit(name), "it is not definite when tried again"
        client.check(audit(client.store))
        self.lose_power(client, None)

    def lose_power(self, client: Client, *manners: str | None) -> None:
        """What would survive just now is what the store says, if it says anything for certain."""
        with self.vfs.spared():
            hashs = [entry.hash for entry in read_log(client.store)]
        for manner in manners:
            survived = self.folder / "survived"
            write_image(self.vfs.image(Loss(self.vfs.calls.total(), manner)), survived)
            with memoranda.open(survived / "store.db", durability="relaxed") as store:
                log = audit(store)
            check_file(survived / "store.db")
            shutil.rmtree(survived)
            client.check(log)
            assert not self._settled or [entry.hash for entry in log] == hashs


def make_template(folder: Path) -> Path:
    """Make a store with one commit, to copy."""
    path = folder / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        assert Client(store).commit("before")
    return path


class FaultFailure(AssertionError):
    """A store did not get over its faults; says which they were."""


def fault_campaign(folder: Path, seed: object, trials: int) -> int:
    """Let several things fail in each of so many trials; return how many held."""
    random = Random(repr(seed))
    folder.mkdir()
    template = make_template(folder)
    for number in range(trials):
        faults = [_random_fault(random) for _ in range(random.randint(1, 3))]
        pages = random.choice((8, 20, 4_000))
        try:
            with wal_of(pages):
                _try_faults(Trial(folder / str(number), template), faults, _names(random))
        except Exception as error:
            raise FaultFailure(
                f"seed {seed!r}, trial {number}, {pages} pages, {faults}: {error!r}"
            ) from error
    return trials


_Fault = tuple[str, int, int, float]


def _random_fault(random: Random) -> _Fault:
    kind = random.choice([*KINDS, "write", "sync", "sync"])
    code = apsw.SQLITE_FULL if kind == "write" and random.random() < 0.5 else 0
    return kind, random.randint(1, 40), code, random.choice((1, 1, 2, 5, math.inf))


def _names(random: Random) -> list[str]:
    sizes = ("large" if random.random() < 0.05 else "small" for _ in range(random.randint(2, 8)))
    return [f"{size}-{number}" for number, size in enumerate(sizes)]


def _try_faults(trial: Trial, faults: list[_Fault], names: list[str]) -> None:
    client = trial.open()
    for kind, nth, code, times in faults:
        trial.vfs.fail(kind, nth, code=code, times=times)
    for name in names:
        trial.commit(client, name)
    trial.check(client)
    client.store.close()
    shutil.rmtree(trial.folder)
