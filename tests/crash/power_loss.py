"""Power losses: a run of the script, and the image left at any moment of it, opened and checked."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import memoranda
from tests.crash.checks import Entry, audit, check_file, read_log
from tests.crash.disk import Change, Disk, Loss, Mark, Sync, write_image
from tests.crash.faulty_vfs import FaultyVFS
from tests.crash.script import Script
from tests.crash.stores import open_on, wal_of


@dataclass(frozen=True)
class Run:
    """A finished run: every change the disk saw, and the log as it was at the end."""

    durability: str
    trace: list[Change]
    log: list[Entry]

    def sync_points(self) -> list[int]:
        """Return the places before and behind every sync."""
        syncs = [place for place, change in enumerate(self.trace) if isinstance(change, Sync)]
        return sorted({place + side for place in syncs for side in (0, 1)})

    def moments(self, places: Iterable[int]) -> Iterator[tuple[int, Disk, int]]:
        """Yield each place, in order, with the disk and the last acknowledged commit there."""
        disk, acknowledged, done = Disk(), 0, 0
        for place in sorted(places):
            for change in self.trace[done:place]:
                disk.apply(change)
                if isinstance(change, Mark) and isinstance(change.what, int):
                    acknowledged = max(acknowledged, change.what)
            done = place
            yield place, disk, acknowledged


def run_script(folder: Path, durability: str) -> Run:
    """Run the script on a faulty VFS, with a write-ahead log that is soon too long."""
    path = folder / "run" / "store.db"
    path.parent.mkdir()
    vfs = FaultyVFS()
    with wal_of(12, 40):
        Script(lambda: open_on(path, vfs, durability=durability), vfs.mark).run()
    return _finished(path, vfs, durability)


def run_on(image: dict[str, bytes], folder: Path, durability: str) -> Run:
    """Go on with what a power loss left, for a second one to come; what is there stays there."""
    path = folder / "run" / "store.db"
    write_image(image, path.parent)
    vfs = FaultyVFS()
    with open_on(path, vfs, durability=durability) as store:
        vfs.mark(len(read_log(store)))
        Script(lambda: store, vfs.mark).small(store)
    return _finished(path, vfs, durability)


def _finished(path: Path, vfs: FaultyVFS, durability: str) -> Run:
    with memoranda.open(path) as store:
        log = audit(store)
    shutil.rmtree(path.parent)
    return Run(durability, vfs.trace, log)


class PowerLossFailure(AssertionError):
    """A surviving image was not what it had to be; says which, so that it can be made again."""


def check_run(run: Run, folder: Path, places: Iterable[int], seeds: Iterable[int]) -> int:
    """Lose power at each of the places, once for each seed, and return how many images held."""
    seeds, stored_value = list(seeds), 0
    for place, disk, acknowledged in run.moments(places):
        least = acknowledged if run.durability == "full" else 0
        for seed in seeds:
            image = disk.image(Loss((place, seed)))
            try:
                check_image(image, folder / "image", run.log, least)
            except Exception as error:
                raise PowerLossFailure(
                    f"durability {run.durability!r}: power lost at change {place} of "
                    f"{len(run.trace)} with seed {seed}, {least} commits promised: {error!r}"
                ) from error
            stored_value += 1
    return stored_value


def check_image(image: dict[str, bytes], folder: Path, log: list[Entry], least: int) -> None:
    """Open what survived: a beginning of the log, with at least what was promised."""
    write_image(image, folder)
    path = folder / "store.db"
    try:
        with memoranda.open(path, durability="relaxed") as store:
            survived = [entry.hash for entry in audit(store)]
            assert len(survived) >= least, f"{len(survived)} survived of {least} promised"
            assert survived == [entry.hash for entry in log[: len(survived)]]
            check_goes_on(store, log[: len(survived)])
        check_file(path)
    finally:
        shutil.rmtree(folder)


def check_goes_on(store: memoranda.Store, log: list[Entry]) -> None:
    """A store that survived takes more, and knows what it has."""
    if any(entry.txn_id == "once" for entry in log):
        commit_ts = store.write(agent_id="bob", key="once", value={"n": 1}, txn_id="once").commit_ts
        assert log[commit_ts - 1].txn_id == "once"
    assert store.write(agent_id="ada", key="after", value={}).commit_ts == len(log) + 1
    assert len(read_log(store)) == len(log) + 1


def check_twice(run: Run, folder: Path, places: Iterable[int], seed: int) -> int:
    """Lose power at each of the places, go on, and lose it again at every sync from there."""
    stored_value = 0
    for place, disk, _ in run.moments(places):
        following = run_on(disk.image(Loss((place, seed))), folder, run.durability)
        stored_value += check_run(following, folder, following.sync_points(), [seed])
    return stored_value
