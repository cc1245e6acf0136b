"""What holds for every test."""

from __future__ import annotations

import itertools
import signal
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from memoranda.search import background_worker
from memoranda.search.index import background_indexer
from memoranda.search.vectors import backfill
from memoranda.storage.sqlite import wal
from tests.patience import LONG_SECONDS
from tests.quick import sample

# A busy machine is slow to draw examples and to try them, which says nothing about them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Leave cases of a test out that the run does not ask for, before they cost anything."""
    cases = yield
    if not isinstance(cases, list):  # a class, or nothing
        return cases
    return sample(cases, collector.config.getoption("markexpr"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured, which they record as the property `figure`."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "figure":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")


@pytest.fixture(autouse=True, scope="session")
def _patient() -> Iterator[None]:
    """Lift the bounds in real time that a search, a purge and a closing store keep to.

    A busy machine reaches them, and then less is found, purged or kept: the indexer may hold its
    snapshot for long there. A test of a bound sets it itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backfill, "EMBED_WAIT_SECONDS", LONG_SECONDS)
        patch.setattr(background_worker.BackgroundWorker.close, "__defaults__", (LONG_SECONDS,))
        patch.setattr(background_indexer, "DRAIN_SECONDS", LONG_SECONDS)
        patch.setattr(wal, "_READERS_WAIT_MS", int(LONG_SECONDS * 1000))
        yield


@pytest.fixture(scope="session")
def temp_folders() -> Iterator[Iterator[Path]]:
    """Give out paths for temporary folders, one a test; every user may enter them."""
    with tempfile.TemporaryDirectory(prefix="memoranda-tests-") as name:
        base = Path(name)
        base.chmod(0o755)
        yield (base / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_temp_folder(temp_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a folder for temporary files.

    Stores with fixed ids have equal log ids, and `forget` names the copies of its log that it
    finds among the temporary files: it must not find those of another test.
    """
    folder = next(temp_folders)
    folder.mkdir()
    folder.chmod(0o1777)  # as the system's own, whatever the umask
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


@pytest.fixture(autouse=True)
def _interruptible() -> None:
    """Let SIGINT interrupt each test and its processes.

    A run in the background of a shell ignores it, and a test may leave a handler of its own.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _nobody_works_on() -> Iterator[None]:
    """Wait until nothing is done any more behind the commits of stores that a test leaves open.

    The next test may count what is done, or replace the functions that do it.
    """
    yield
    deadline = time.monotonic() + LONG_SECONDS
    while any(map(_is_at_work, threading.enumerate())) and time.monotonic() < deadline:
        time.sleep(0.001)


def _is_at_work(thread: threading.Thread) -> bool:
    """Say whether a thread is a store's that has work left and gets on with it."""
    worker = getattr(getattr(thread, "_target", None), "__self__", None)
    if not isinstance(worker, background_worker.BackgroundWorker):
        return False
    return worker.is_busy and worker.failure is None
