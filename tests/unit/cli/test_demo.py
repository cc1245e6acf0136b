"""The demo does what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda

AGENT = [sys.executable, "-m", "memoranda.cli.demo_agent"]


def demo(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memoranda", "demo", *arguments]
    env = {**os.environ, **(environment or {})}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=env
    )


def test_the_demo_kills_and_resumes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    first, second = re.findall(r"process (\d+) (?:starts|finds)", done.stdout)
    assert first != second
    assert f"process {first} got SIGKILL" in done.stdout
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk")
        events = list(clerk.replay())
        assert [event.txn_id for event in events if event.txn_id.startswith("settle")] == [
            f"settle-{number}" for number in range(1, 9)
        ]
        invoices = [entry.value for entry in clerk.scan_prefix(prefix="invoice/")]
        ledger = clerk.get_state(key="ledger")
        assert ledger is not None
        paid = sum(invoice["amount"] for invoice in invoices if invoice["verdict"] == "paid")
        assert ledger.value == {"spent": paid}
        for event in events:
            assert f"{event.timestamp[11:23]}  {event.txn_id[-12:]}" in done.stdout
        assert store.verify().head_hash[:16] in done.stdout


def test_the_second_act_goes_from_words_to_a_belief_and_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    told = [step for step in steps if step["what"] in ("words", "superseded", "notice", "decision")]
    assert [step["what"] for step in told] == ["words", "words", "superseded", "notice", "decision"]
    assert {step["words"] for step in told[:2]} == {
        "Nordlys was late again",
        "Nordlys sent the wrong parts",
    }
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk", namespace="beliefs")
        assert [notice.namespace for notice in clerk.invalidations()] == ["facts/_invalidations"]
        (closed,) = clerk.invalidations(status="resolved")
        assert (closed.decision, closed.note) == ("revise", "they deserve a chance")
        assert store.rebuild().identical


def test_the_third_act_tells_a_job_change_out_of_order(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    drawn: dict[str, list[str]] = {}
    for step in steps:
        if step["what"] == "timeline":
            drawn.setdefault(step["title"], []).append(step["object"])
    assert list(drawn.values()) == [["Nordlys", "Polaris"], ["Nordlys", "Tall Ships", "Polaris"]]
    assert [step["object"] for step in steps if step["what"] == "believed"] == [
        "Nordlys",
        "Tall Ships",
    ]
    before, after = (
        [step["is_stale"] for step in steps if step["what"] == "reason" and step["title"] == title]
        for title in dict.fromkeys(step["title"] for step in steps if step["what"] == "reason")
    )
    assert not any(before)
    assert after[0]
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk", namespace="facts")
        assert clerk.why("orders/polaris").is_stale
        assert store.rebuild().identical


def test_the_fourth_act_recalls_the_newer_answer_first(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    drawn = {step["said"]: step["words"] for step in steps if step["what"] == "drawn"}
    assert drawn["Ann lives in Bergen"] == "I live in Bergen."
    assert drawn["Ann lives in Oslo"] == "I moved to Oslo last week."
    first: dict[str, str] = {}
    for step in steps:
        if step["what"] == "hit":
            first.setdefault(step["title"], step["text"])
            assert step["provenance"]
            parts = step["parts"]
            assert parts["text"] + parts["vector"] + parts["graph"] > 0
    assert list(first.values()) == [
        "Ann lives in Bergen", "Ann lives in Oslo", "Ann lives in Bergen",
    ]  # fmt: skip
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk", namespace="talks")
        homes = clerk.timeline(subject="Ann", relation="lives in")
        assert [str(fact.object) for fact in homes] == ["Bergen", "Oslo"]


def test_a_process_killed_in_a_transaction_leaves_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    command = [*AGENT, str(path), "clerk", "default", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout is not None
        for line in agent.stdout:
            if '"staged"' in line:
                agent.kill()
    assert agent.returncode < 0
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk")
        assert list(clerk.list_keys()) == ["invoice/1", "invoice/2", "ledger", "policy", "progress"]
        progress = clerk.get_state(key="progress")
        assert progress is not None
        assert progress.value == {"settled": 2}
        assert store.verify().commits == 3


def test_the_demo_can_be_read_by_a_program(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--agent", "ann", "--namespace", "team/eng", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["what"] for each in told} == {
        *("store", "begin", "committed", "staged", "killed", "policy"),
        *("event", "past", "change", "verification"),
        *("note", "reflection", "words", "superseded", "notice", "decision"),
        *("fact", "decided", "timeline", "believed", "corrected", "reason"),
        *("heard", "drawn", "hit"),
    }
    with memoranda.open(path, create=False) as store:
        events = list(store.replay(agent_id="ann", namespace="team/eng"))
    assert [each["token"] for each in told if each["what"] == "event"] == [
        event.token for event in events
    ]


def test_the_demo_leaves_a_users_own_store_alone(tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    with memoranda.open(own) as store:
        store.write(agent_id="clerk", key="k", value={})
    before = own.read_bytes()
    done = demo("--json", environment={"MEMORANDA_DB": str(own), "TMPDIR": str(tmp_path)})
    assert (done.returncode, own.read_bytes()) == (0, before)


@pytest.mark.parametrize("db", [":memory:", "sqlite:///store.db"])
def test_the_demo_needs_a_plain_path(db: str) -> None:
    done = demo("--db", db)
    assert done.returncode == 2
    assert "plain path" in done.stderr


def test_the_demo_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "precious.db"
    path.write_text("mine")
    done = demo("--db", str(path))
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert path.read_text() == "mine"


def test_without_an_embedder_the_demo_says_so_itself(tmp_path: Path) -> None:
    done = demo("--db", str(tmp_path / "store.db"), environment={"MEMORANDA_EMBEDDER": "none"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("there is no embedder, so recall goes by words") == 1
