"""Killed with SIGKILL at any moment: all that was acknowledged is there, and nothing by half."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda.log.commit.failpoints import NAMES
from tests.crash.checks import audit
from tests.crash.client import Client, check_whole
from tests.crash.kills import DURABLE, LANES, KillFailure, Ledger, Nursery, Victim, hunt, nursery
from tests.crash.orders import SIZE, Order
from tests.quick import only

HUNTS, KILLS = 5, 12
"""With two kills at each failpoint in each mode, a hundred kills in all."""


@pytest.fixture(scope="module")
def children() -> Iterator[Nursery]:
    with nursery() as opened:
        yield opened


@pytest.mark.parametrize("mode", only(["threads"], LANES))
@pytest.mark.parametrize("failpoint", NAMES)
def test_at_every_failpoint(tmp_path: Path, children: Nursery, failpoint: str, mode: str) -> None:
    victim = Victim(tmp_path / "victim", children, Random(failpoint + mode))
    for nth in (1, 3):
        victim.kill(victim.order(mode, failpoint, nth))
        victim.check()


@pytest.mark.parametrize("failpoint", NAMES)
def test_the_commit_decides(tmp_path: Path, children: Nursery, failpoint: str) -> None:
    victim = Victim(tmp_path / "victim", children, Random(0))
    victim.kill(victim.order("one", failpoint, 3))
    with memoranda.open(victim.path) as store:
        there = [entry.txn_id for entry in audit(store)]
    acknowledged = ["0-0", "0-1"]
    assert list(victim.ledger.commits) == acknowledged
    assert there == [*acknowledged, "0-2"] if failpoint in DURABLE else acknowledged


@pytest.mark.parametrize("seed", only([0], range(HUNTS)))
def test_at_random_moments(tmp_path: Path, children: Nursery, seed: int) -> None:
    hunt(tmp_path / "hunt", children, seed, KILLS)


class TestTheCheckItself:
    @pytest.fixture
    def victim(self, tmp_path: Path, children: Nursery) -> Victim:
        victim = Victim(tmp_path / "victim", children, Random(0))
        victim.kill(victim.order("one", "acknowledged", 2))
        return victim

    def test_a_lost_commit_is_caught(self, victim: Victim) -> None:
        with victim.ledger.output.open("a") as output:
            output.write('{"txn_id": "0-7", "commit_ts": 3, "deeds": []}\n')
        victim.ledger.update()
        with pytest.raises(AssertionError, match="0-7, acknowledged as 3, is lost"):
            victim.check()

    @pytest.mark.slow
    def test_a_commit_that_did_something_else_is_caught(self, victim: Victim) -> None:
        victim.ledger.deeds["0-0"].pop()
        with pytest.raises(AssertionError):
            victim.check()

    def test_a_half_transaction_is_caught(self, tmp_path: Path) -> None:
        with memoranda.open(tmp_path / "store.db") as store:
            assert Client(store).commit("0-0", SIZE)
            store.delete(agent_id="ada", key="pair", txn_id="0-1")
            with pytest.raises(AssertionError, match="0-1 is not whole"):
                check_whole(audit(store), SIZE)

    def test_a_line_cut_short_says_nothing(self, tmp_path: Path) -> None:
        ledger = Ledger(tmp_path / "output")
        ledger.output.write_text('{"txn_id": "0-0", "commit_ts": 1, "deeds": []}\n{"txn')
        ledger.update()
        with ledger.output.open("a") as output:
            output.write('{"txn_id": "0-1", "commit_ts": 2, "deeds": []}\n')
        ledger.update()
        assert ledger.commits == {"0-0": 1, "0-1": 2}

    def test_a_failure_says_how_to_repeat_it(self, tmp_path: Path, children: Nursery) -> None:
        with pytest.raises(KillFailure, match=r"seed 9, kill 1 of 2, .* ended with 0 instead"):
            hunt(tmp_path / "hunt", Immortals(children), 9, 2)


class Immortals(Nursery):
    """Children that cannot be killed."""

    def __init__(self, children: Nursery) -> None:
        super().__init__(children._process)

    def raise_child(self, order: Order) -> int:
        return 0
