"""Signing while processes die, power is lost, and several sign at once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import create_signer
from memoranda.audit.checkpointer import LogSigner
from memoranda.calls.defaults import Defaults
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.signers import log_signer
from memoranda.sdk.store.store import Store
from tests.crash.disk import Loss
from tests.crash.faulty_vfs import FaultyVFS
from tests.crash.power_loss import Run, _finished, check_image
from tests.crash.stores import open_core, scratch
from tests.patience import HANG_SECONDS
from tests.quick import only

MOMENTS = ("signed", "remembered", "kept")


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as lent:
        create_signer(lent / "ours.key", name="example.com/agents")
        yield lent


def child(folder: Path, *order: object) -> subprocess.Popen[bytes]:
    arguments = [str(item) for item in (folder / "store.db", folder / "ours.key", *order)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.signing", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def check_sound(folder: Path) -> list[int]:
    """All that was ever signed fits the log, and it can be signed on; returns the sizes."""
    with memoranda.open(folder / "store.db", signer=folder / "ours.key") as store:
        assert store.verify().warnings == ()
        store.write(agent_id="a", key="after", value={})
        last = store.checkpoint()
        (note,) = [path.read_text() for path in folder.glob("*.signed")]
        assert note == last.note
        sizes = [path.size for path in store.checkpoints()]
        for old in sizes:
            store.prove_growth(old)
        assert store.verify(checkpoint=last).checkpoints == len(sizes)
        assert store.rebuild().identical
    return sizes


@pytest.mark.parametrize("way", only(["automatic"], ["sign", "automatic"]))
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("nth", only([3], [1, 3]))
def test_killed_at_every_moment(folder: Path, way: str, moment: str, nth: int) -> None:
    victim = child(folder, way, 5000, moment, nth)
    _, errors = victim.communicate(timeout=HANG_SECONDS)
    assert victim.returncode == -signal.SIGKILL, errors.decode()
    remembered = [path.read_text() for path in folder.glob("*.signed")]
    sizes = check_sound(folder)
    for note in remembered:  # whoever has it can be given a proof
        assert int(note.split("\n")[1]) in sizes


@pytest.mark.slow
def test_killed_at_random_moments(folder: Path) -> None:
    chance = random.Random(7)
    for _ in range(6):
        victim = child(folder, "automatic", 100_000, "none", 0)
        time.sleep(0.4 + chance.random() * 0.4)
        victim.kill()
        victim.communicate()
        if (folder / "store.db").exists():
            check_sound(folder)


@pytest.mark.slow
def test_two_processes_sign_at_once(folder: Path) -> None:
    memoranda.open(folder / "store.db").close()
    both = [child(folder, "sign", 120, "none", 0) for _ in range(2)]
    text = [item.communicate(timeout=HANG_SECONDS) for item in both]
    assert [item.returncode for item in both] == [0, 0], text
    sizes = check_sound(folder)
    for output, _ in text:
        reports = [int(line) for line in output.split()]
        assert reports == sorted(reports)
        assert len(reports) == 40
        assert set(reports) <= set(sizes)


@pytest.mark.slow
def test_two_processes_sign_by_themselves(folder: Path) -> None:
    memoranda.open(folder / "store.db").close()
    both = [child(folder, "automatic", 300, "none", 0) for _ in range(2)]
    text = [item.communicate(timeout=HANG_SECONDS) for item in both]
    assert [item.returncode for item in both] == [0, 0], text
    with memoranda.open(folder / "store.db") as store:
        assert (store.stats().commits, store.stats().checkpoint_size) == (601, 601)
    check_sound(folder)


def signed_run(folder: Path, durability: str) -> Run:
    """Write and sign on a disk that is recorded, marking how much is signed, once it is."""
    vfs, path = FaultyVFS(), folder / "run" / "store.db"
    path.parent.mkdir()
    core = open_core(path, vfs=vfs, durability=durability)
    store = Store(LocalCalls(core), Defaults())
    ours = memoranda.load_signer(folder / "ours.key")
    commit = log_signer(core, ours, "local")._commit

    def mark(moment: str) -> None:
        if moment == "signed":
            vfs.mark(core.head())

    signs = LogSigner(core.engine, core.log_id, ours, commit, mark)
    for number in range(4):
        for _ in range(3):
            store.write(agent_id="a", key=f"k{number}", value={})
        signs.sign()
    store.close()
    return _finished(path, vfs, durability)


@pytest.mark.parametrize("durability", only(["full"], ["full", "relaxed"]))
def test_what_is_signed_survives_a_loss_of_power(folder: Path, durability: str) -> None:
    run = signed_run(folder, durability)
    promised = set()
    for place, disk, signed in run.moments(range(0, len(run.trace), 3)):
        promised.add(signed)
        for seed in ("nothing", "nearly none"):
            image = disk.image(Loss(place, seed))
            if signed:
                check_image(image, folder / "image", run.log, signed)
    assert promised == {0, 4, 7, 10, 13}
