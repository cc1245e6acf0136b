"""Torture does what it was asked, by its seed, and says how to do a failure again."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tests.torture.__main__ import main, parse, planned, report
from tests.torture.units import Unit, run_unit


def test_so_many_as_asked_are_done_by_turns() -> None:
    options = parse(["--seed", "7", "--kills", "100", "--power-loss", "200", "--faults", "0",
                     "--interrupts", "0", "--tamperings", "0", "--fuzz", "0",
                     "--server-kills", "0"])  # fmt: skip
    units = list(planned(options))
    assert Counter(unit.kind for unit in units) == {"kills": 3, "power-loss": 1, "contests": 2}
    assert [str(unit) for unit in units][:3] == ["kills:7:0", "power-loss:7:0", "contests:7:0"]


def test_with_a_time_there_is_no_end() -> None:
    options = parse(["--seed", "7", "--minutes", "1", "--interrupts", "0", "--contests", "0",
                     "--fuzz", "0", "--server-kills", "0"])  # fmt: skip
    kinds = Counter(unit.kind for unit in islice(planned(options), 400))
    assert kinds == {"kills": 100, "power-loss": 100, "faults": 100, "tamperings": 100}


def test_one_unit_can_be_done_again() -> None:
    assert list(planned(parse(["--only", "kills:7:3"]))) == [Unit("kills", 7, 3)]


def test_a_failure_is_told_with_what_failed() -> None:
    result = run_unit(Unit("no such kind", 1, 2))
    assert "KeyError: 'no such kind'" in report(result)
    assert report(result).endswith("-m tests.torture --only no such kind:1:2")


@pytest.mark.slow
def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--minutes", "0.05", "--contests", "0", "--server-kills", "0"]) == 0
    printed, progress = capsys.readouterr()
    assert printed.startswith("seed 1: ")
    assert "kills:1:0" in progress
