"""Two processes that assert about one subject at once, and what is left when one is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.model.clock import to_datetime
from memoranda.model.operations import Assert, End
from tests.crash.asserter import RELATION, SUBJECT
from tests.crash.checks import check_file
from tests.crash.kills import ROOT
from tests.patience import HANG_SECONDS
from tests.property.graph_oracle import GraphOracle, Mark

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def begin(path: Path, names: str, seconds: float) -> list[subprocess.Popen[str]]:
    """Start a process for each name, and let them go at once."""
    command = [sys.executable, "-m", "tests.crash.asserter", str(path)]
    running = [
        subprocess.Popen(
            [*command, name, str(seconds)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return running


def acknowledged(process: subprocess.Popen[str]) -> dict[str, int]:
    """Return the commits of what a process was told is there; a line cut short says nothing."""
    text, _ = process.communicate(timeout=HANG_SECONDS)
    whole = text[: text.rfind("\n") + 1]
    return {name: int(commit) for commit, name in map(str.split, whole.splitlines())}


def by_the_log(store: Store) -> GraphOracle:
    """Tell the oracle what the log says, in its order."""
    oracle = GraphOracle()
    oracle.begin()
    oracle.set_cardinality(RELATION, single=True)
    for event in store.replay(agent_id="all", after_commit=1):
        oracle.begin(event.commit_ts)
        for operation in event.operations:
            if isinstance(operation, Assert):
                assert operation.valid_from is not None
                since = to_datetime(operation.valid_from)
                oracle.assert_fact(
                    SUBJECT, RELATION, operation.object.text, since, id_=operation.assertion_id
                )
            elif isinstance(operation, End):
                assert operation.at is not None
                oracle.end_fact(
                    SUBJECT, RELATION, None, to_datetime(operation.at), id_=operation.assertion_id
                )
    return oracle


def check(path: Path, acknowledged: dict[str, int]) -> int:
    """Check that all that was acknowledged is there, and what follows from it; return how much."""
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="all")
        commits = [event.commit_ts for event in agent.replay()]
        assert commits == list(range(1, len(commits) + 1))
        oracle = by_the_log(agent)
        facts = agent.timeline(subject=SUBJECT, relation=RELATION)
        assert [
            (fact.object, fact.valid_from, fact.valid_to, fact.assertions) for fact in facts
        ] == [
            (edge.object, edge.valid_from, edge.valid_to, edge.assertions)
            for edge in oracle.timeline(SUBJECT, RELATION)
        ]
        there = {step.id: step.commit for step in oracle.steps if isinstance(step, Mark)}
        assert there.items() >= acknowledged.items()
        store.verify()
        assert store.rebuild().identical
        agent.assert_fact(subject=SUBJECT, relation=RELATION, object="last", valid_from=NOW)
        assert [edge.object for edge in agent.facts(valid_at=NOW)] == ["last"]
        timeline = agent.timeline(subject=SUBJECT, relation=RELATION)
        assert [fact.object for fact in timeline if fact.valid_to is None] == ["last"]
    check_file(path)
    return len(commits)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    instance = tmp_path / "store.db"
    with memoranda.open(instance) as store:
        store.set_cardinality(relation=RELATION, cardinality="single", agent_id="all")
    return instance


@pytest.mark.slow
def test_two_processes_assert_at_once(path: Path) -> None:
    one, two = (acknowledged(process) for process in begin(path, "ab", 1.0))
    assert len(one) > 5
    assert len(two) > 5
    assert not one.keys() & two.keys()
    assert len({*one.values(), *two.values()}) == len(one) + len(two)
    assert check(path, one | two) == 1 + len(one) + len(two)


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    reports: dict[str, int] = {}
    for turn, names in enumerate(("ab", "cd", "ef")):
        victim, other = begin(path, names, 0.4 + turn / 10)
        time.sleep(0.15 + turn / 20)
        victim.kill()
        reports |= acknowledged(victim) | acknowledged(other)
        check(path, reports)
    assert len(reports) > 10
