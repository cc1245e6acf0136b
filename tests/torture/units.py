"""Units of torture: each is known by its kind and a seed, and can be done again by itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest import mock

from tests.crash.kills import hunt, nursery
from tests.crash.power_loss import check_run, check_twice, run_script
from tests.crash.server.campaign import Campaign, Plan
from tests.crash.stores import scratch
from tests.crash.trials import fault_campaign
from tests.crash.two_processes import Contest, check_contest
from tests.tamper.campaign import FOUND, campaign
from tests.tamper.content import make_store
from tests.torture.fuzz import fuzz_unit

SIZES = {
    "kills": 40,
    "power-loss": 200,
    "faults": 40,
    "interrupts": 1_000,
    "tamperings": 100,
    "contests": 1,
    "fuzz": 2_000,
    "server-kills": 20,
}
"""How much of its kind one unit does."""
_KILLS_OF_ONE_STORE = 20


@dataclass(frozen=True)
class Unit:
    """A piece of work."""

    kind: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> Unit:
        kind, seed, number = text.split(":")
        return cls(kind, int(seed), int(number))


@dataclass(frozen=True)
class Result:
    """What became of it: what was seen, or how it failed."""

    unit: Unit
    seen: str
    failure: str = ""


def run_unit(unit: Unit) -> Result:
    """Do a unit; a failure is a result too."""
    try:
        return Result(unit, _WORK[unit.kind](unit))
    except Exception:  # noqa: BLE001 - whatever went wrong, it is told with its seed
        return Result(unit, "", traceback.format_exc())


def _kill(unit: Unit) -> str:
    commits = 0
    with tempfile.TemporaryDirectory(prefix="memoranda-") as name, nursery() as children:
        for part in range(SIZES["kills"] // _KILLS_OF_ONE_STORE):
            folder = Path(name) / str(part)
            commits += hunt(folder, children, f"{unit}/{part}", _KILLS_OF_ONE_STORE)
    return f"{commits} commits checked"


def _lose_power(unit: Unit) -> str:
    random = Random(str(unit))
    with scratch() as folder:
        run = run_script(folder, random.choice(("full", "full", "relaxed")))
        places = random.sample(range(len(run.trace) + 1), SIZES["power-loss"] // 2)
        seeds = [random.randrange(10**9) for _ in range(2)]
        stored_value = check_run(run, folder, places, seeds)
        stored_value += check_twice(run, folder, places[:2], seeds[0])
    return f"{stored_value} images held under {run.durability!r}"


def _fail(unit: Unit) -> str:
    with scratch() as folder:
        stored_value = fault_campaign(folder / "campaign", str(unit), SIZES["faults"])
    return f"{stored_value} trials held"


def _interrupt(unit: Unit) -> str:
    """Interrupt threads of a process of its own, by turns on a file and in memory."""
    with tempfile.TemporaryDirectory(prefix="memoranda-") as folder:
        url = ":memory:" if unit.number % 2 else str(Path(folder) / "store.db")
        command = [sys.executable, "-m", "tests.crash.interrupts", url, str(SIZES["interrupts"])]
        done = subprocess.run(
            [*command, str(unit)], capture_output=True, text=True, timeout=600, check=False
        )
    assert done.returncode == 0, done.stderr
    return f"{sum(map(int, done.stdout.split()))} interrupts borne"


def _tamper(unit: Unit) -> str:
    with scratch() as folder, mock.patch("tempfile.tempdir", str(folder)):
        observations = campaign(folder, make_store(folder), str(unit), SIZES["tamperings"])
    return f"{observations[FOUND]} tamperings found, and the rest without effect"


def _contend(_: Unit) -> str:
    with scratch() as folder:
        committed, edges = check_contest(Contest(folder, 5.0))
    return f"{committed} transactions, {edges} dependencies"


def _fuzz(unit: Unit) -> str:
    with scratch() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls, refused = fuzz_unit(folder, str(unit), SIZES["fuzz"])
    return f"{calls} calls, {refused} of them refused"


def _kill_server(unit: Unit) -> str:
    with scratch() as folder:
        plan = Plan(SIZES["server-kills"], str(unit))
        return str(Campaign(folder / "campaign", plan).run())


_WORK: dict[str, Callable[[Unit], str]] = {
    "kills": _kill,
    "power-loss": _lose_power,
    "faults": _fail,
    "interrupts": _interrupt,
    "tamperings": _tamper,
    "contests": _contend,
    "fuzz": _fuzz,
    "server-kills": _kill_server,
}
