"""A server that is killed under the load of 32 clients loses nothing and does nothing twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, Unavailable
from tests.crash.checks import Entry, read_log
from tests.crash.server.campaign import OVER_HTTP, Campaign, Plan
from tests.crash.server.checks import (
    check_counters,
    check_deeds,
    check_replayed,
    check_watched,
)
from tests.crash.server.journal import Journal, read_journals
from tests.crash.stores import scratch


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as folder:
        yield folder / "campaign"


@pytest.mark.slow
@pytest.mark.parametrize("plan", [Plan(8, "kills"), Plan(8, "requests", schemes=OVER_HTTP)])
def test_kills_lose_nothing(folder: Path, plan: Plan) -> None:
    report = Campaign(folder, plan).run()
    assert report.acknowledged > 32, "every client did something"
    assert report.across > 0, "a write was sent to one server and answered by another"
    assert not report.errors_of_patient, "who waits for the next server notices nothing"


@pytest.mark.slow
def test_restarts_are_not_noticed(folder: Path) -> None:
    plan = Plan(20, "restarts", signal=signal.SIGTERM, hasty=False)
    report = Campaign(folder, plan).run()
    assert not report.errors_of_patient
    assert report.acknowledged > 32


@pytest.mark.slow
@pytest.mark.parametrize("schemes", [("grpc",) * 4, OVER_HTTP])
def test_clients_that_send_a_write_again_as_another_are_caught(
    schemes: tuple[str, str, str, str],
) -> None:
    def kill() -> None:
        for number in range(10):  # whether one was committed and not answered is a matter of luck
            plan = Plan(5, f"broken {number}", schemes=schemes, broken="retries")
            with scratch() as folder:
                Campaign(folder / "campaign", plan).run()

    with pytest.raises(AssertionError, match="is in the log 2 times"):
        kill()


# What is checked can fail.


class Ledger:
    """A log, and a journal that a test writes."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store.bind(agent_id="a")
        self.folder = folder
        self.journal = Journal(folder / "a.journal")

    def write(self, name: str, txn_id: str | None = None) -> int:
        return self.store.write(key="own", value={"by": name}, txn_id=txn_id).commit_ts

    @property
    def log(self) -> list[Entry]:
        return read_log(self.store)

    def check(self) -> None:
        check_deeds(self.log, read_journals(self.folder))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with memoranda.open(":memory:") as store:
        ledger = Ledger(store, tmp_path)
        yield ledger
        ledger.journal.close()


def test_a_log_that_keeps_to_the_journals_passes(ledger: Ledger) -> None:
    journal = ledger.journal
    for name in ("one", "two", "three", "four"):
        journal.intend(name, "write")
    journal.acknowledge("one", ledger.write("one"))
    journal.leave_open("two", "t", Unavailable())
    ledger.write("two", txn_id="t")
    journal.leave_open("three", "u", Unavailable())
    journal.refuse("four", Unavailable())
    ledger.check()


def test_a_lost_write_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "write")
    ledger.journal.acknowledge("one", 1)
    with pytest.raises(AssertionError, match=r"one was acknowledged as \{1\}, and is in .* \[\]"):
        ledger.check()


def test_a_write_with_two_effects_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "write")
    ledger.journal.acknowledge("one", ledger.write("one"))
    ledger.write("one")
    with pytest.raises(AssertionError, match="one is in the log 2 times"):
        ledger.check()


def test_a_write_that_was_refused_and_took_effect_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "write")
    ledger.journal.refuse("one", Unavailable())
    ledger.write("one")
    with pytest.raises(AssertionError, match="one was refused"):
        ledger.check()


def test_a_write_under_another_id_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "write")
    ledger.journal.leave_open("one", "t", Unavailable())
    ledger.write("one", txn_id="u")
    with pytest.raises(AssertionError, match="one is in the log as u"):
        ledger.check()


def test_a_write_of_nobody_is_found(ledger: Ledger) -> None:
    ledger.write("one")
    with pytest.raises(AssertionError, match="nobody meant to do one"):
        ledger.check()


def test_half_a_transaction_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "pair")
    ledger.journal.acknowledge("one", ledger.write("one"))
    with pytest.raises(AssertionError, match="one is in commit 1 with 1 operations"):
        ledger.check()


def test_a_client_that_hangs_is_found(ledger: Ledger) -> None:
    ledger.journal.intend("one", "write")
    with pytest.raises(AssertionError, match="one has no outcome"):
        ledger.check()


def test_a_lost_update_is_found(ledger: Ledger) -> None:
    for number in (1, 2):
        ledger.store.write(key="count/0", value={"by": "x", "n": number})
    assert check_counters(ledger.log) == 2
    ledger.store.write(key="count/0", value={"by": "x", "n": 2})
    with pytest.raises(AssertionError, match="was raised to 2 in commit 3, instead of 3"):
        check_counters(ledger.log)


def test_a_gap_and_a_repetition_are_found(ledger: Ledger, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        ledger.write(name)
    one, two, three = (f"{entry.commit_ts} {entry.hash.hex()}\n" for entry in ledger.log)
    path = tmp_path / "file"
    path.write_text(one + two + three)
    check_watched(ledger.log, path)
    for lines in (one + three, one + one + two + three, one + two):
        path.write_text(lines)
        with pytest.raises(AssertionError, match="received"):
            check_watched(ledger.log, path)
    path.write_text(f"{two}{three}complete\n{three}interrupted\n")
    assert check_replayed(ledger.log, path) == 1
    path.write_text(f"{one}{three}complete\n")
    with pytest.raises(AssertionError, match="3 follows 1"):
        check_replayed(ledger.log, path)
