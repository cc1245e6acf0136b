"""Torture: kills, power losses, faults, interrupts, tamperings, contests, hostile calls, by a seed.

    python -m tests.torture                          2,000 kills and the rest, some minutes
    python -m tests.torture --minutes 30             as much as fits
    python -m tests.torture --fuzz 10000 --kills 0 --power-loss 0 --faults 0 --tamperings 0
    python -m tests.torture --only kills:7:3         one unit again

The seed fixes what is done and in which order. When a killed child dies, and how threads take
turns, the machine decides: a failure may need a few tries to come again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import chain, count, islice, zip_longest
from multiprocessing import get_context
from random import SystemRandom

from tests.torture.units import SIZES, Result, Unit, run_unit

DEFAULTS = {
    "kills": 2_000,
    "power-loss": 2_000,
    "faults": 400,
    "interrupts": 20_000,
    "tamperings": 5_000,
    "contests": 2,
    "fuzz": 100_000,
    "server-kills": 200,
}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, help="default: drawn, and printed")
    parser.add_argument("--minutes", type=float, help="go on for so long, instead of by number")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="units at once")
    parser.add_argument("--only", type=Unit.parse, help="do one unit again: KIND:SEED:NUMBER")
    for kind, default in DEFAULTS.items():
        parser.add_argument(f"--{kind}", type=int, default=default, metavar="N")
    return parser.parse_args(arguments)


def planned(options: argparse.Namespace) -> Iterator[Unit]:
    """Yield the units to do: the kinds by turns, without end if the time is the bound."""
    if options.only is not None:
        yield options.only
        return
    kinds = [_units(options, kind) for kind in SIZES]
    yield from (unit for unit in chain.from_iterable(zip_longest(*kinds)) if unit is not None)


def _units(options: argparse.Namespace, kind: str) -> Iterator[Unit]:
    target = getattr(options, kind.replace("-", "_"))
    units = (Unit(kind, options.seed, number) for number in count())
    return units if options.minutes and target else islice(units, -(-target // SIZES[kind]))


def results(options: argparse.Namespace) -> Iterator[Result]:
    """Yield what became of each unit, as they end; none is begun when the time is up."""
    ends = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    units = planned(options)
    running: set[Future[Result]] = set()
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        while True:
            room = options.jobs - len(running) if time.monotonic() < ends else 0
            running |= {pool.submit(run_unit, unit) for unit in islice(units, room)}
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()


def tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Return how it ended, for the shell."""
    options = parse(arguments)
    if options.seed is None:
        options.seed = options.only.seed if options.only else SystemRandom().randrange(10**6)
    tell(f"seed {options.seed}, {options.jobs} at once")
    start, done, failed = time.monotonic(), Counter[str](), []
    for result in results(options):
        done[result.unit.kind] += SIZES[result.unit.kind]
        seconds = time.monotonic() - start
        tell(f"{seconds:6.1f} s  {result.unit}  {result.seen or 'FAILED'}")
        if result.failure:
            failed.append(result)
    sums = ", ".join(f"{number:,} {kind}" for kind, number in sorted(done.items()))
    print(f"seed {options.seed}: {sums} in {time.monotonic() - start:.0f} s")  # noqa: T201
    for result in failed:
        print(report(result))  # noqa: T201
    return 1 if failed else 0


def report(result: Result) -> str:
    """Return what is told of a failure."""
    again = f"{sys.executable} -m tests.torture --only {result.unit}"
    return f"\n{result.failure}\n{result.unit} failed. To do it again:\n    {again}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
