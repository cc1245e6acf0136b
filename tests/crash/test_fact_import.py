"""An import that is killed in the middle is run again, and everything is in once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import MemorandaError
from tests.patience import HANG_SECONDS
from tests.quick import only

ROWS = 3_000


_MAIN = "runpy.run_module('memoranda', run_name='__main__', alter_sys=True)"
_WAIT_IN_TENTH_COMMIT = """
from itertools import count
from memoranda.sdk.transaction.transaction import Transaction
from tests.patience import HANG_SECONDS
import time
commit, numbers = Transaction.commit, count()
def slow_commit(self):
    if next(numbers) == 10:
        time.sleep(HANG_SECONDS)
    return commit(self)
Transaction.commit = slow_commit
"""
"""Code that keeps an import from ending before it is stopped, however slow the test is."""


def command(folder: Path, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "memoranda", "fact", "import", str(folder / "people.csv"),
        "--db", str(folder / "store.db"), "--agent", "ann", *options,
    ]  # fmt: skip


def write_people(folder: Path) -> None:
    lines = [f"p{number},knows,q{number % 7},{1990 + number % 30}" for number in range(ROWS)]
    lines[ROWS // 2] = "p,knows,nobody,never"
    text = "\n".join(("subject,relation,object,valid_from", *lines, ""))
    (folder / "people.csv").write_text(text, "utf-8")


def facts_in(folder: Path) -> int:
    try:
        with memoranda.open(folder / "store.db", create=False) as store:
            return len(store.facts(agent_id="ann", include_closed=True))
    except MemorandaError:  # it is not there yet, or being made
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("stop", only([signal.SIGKILL], [signal.SIGKILL, signal.SIGINT]))
def test_an_import_that_was_stopped_goes_on(tmp_path: Path, stop: signal.Signals) -> None:
    write_people(tmp_path)
    # whoever runs the tests in the background may have Ctrl-C ignored, and children inherit that
    awake = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    run = f"{awake}{_WAIT_IN_TENTH_COMMIT}\n{_MAIN}"
    start = [sys.executable, "-c", run, *command(tmp_path, "--batch", "50")[3:]]
    process = subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while facts_in(tmp_path) < 200:
        assert process.poll() is None, process.communicate()
    os.kill(process.pid, stop)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == (-9 if stop is signal.SIGKILL else 130), (out, err)
    if stop is signal.SIGINT:
        assert "rows: import the file again" in err
    half = facts_in(tmp_path)
    assert 200 <= half < ROWS - 1

    for batch, imported in (("80", ROWS - 1 - half), ("500", 0)):
        done = subprocess.run(
            command(tmp_path, "--batch", batch), capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        unchanged = ROWS - 1 - imported
        text = f"Imported {imported:,} facts, {unchanged:,} unchanged, 1 rejected."
        assert done.stdout.strip() == text
    with memoranda.open(tmp_path / "store.db") as store:
        facts = store.facts(agent_id="ann", include_closed=True)
        assert len(facts) == ROWS - 1
        assert all(len(fact.assertions) == 1 for fact in facts)
    (rejected,) = (tmp_path / "people.csv.rejected").read_text("utf-8").splitlines()[1:]
    assert rejected.startswith(f"{ROWS // 2 + 2},")
