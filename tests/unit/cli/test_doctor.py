"""`memoranda doctor`: what it shows, and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda.testing import FixedClock
from tests.unit.cli.runner import Cli


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)


def statuses(cli: Cli, *arguments: object, code: int = 0) -> dict[str, str]:
    """Run the doctor in both forms and return how each check came out."""
    human, machine = cli.run("doctor", *arguments), cli.run("doctor", *arguments, "--json")
    assert (human.exit_code, machine.exit_code) == (code, code), human.output
    lines = [line.split(maxsplit=2) for line in human.stdout.splitlines() if line[0] != " "]
    rows = [json.loads(line) for line in machine.stdout.splitlines()]
    assert [(status, check) for status, check, _ in lines] == [
        (row["status"], row["check"]) for row in rows
    ]
    return {row["check"]: row["status"] for row in rows}


def troubles(cli: Cli, *arguments: object, code: int = 0) -> dict[str, str]:
    result = statuses(cli, *arguments, code=code)
    return {check: status for check, status in result.items() if status != "ok"}


def test_a_healthy_store(filled: Cli) -> None:
    assert troubles(filled) == {}
    assert "chain" in statuses(filled)
    assert "views" in statuses(filled, "--deep")
    assert not {"pages", "chain"} & set(statuses(filled, "--quick"))
    assert list(filled.home.iterdir()) == [filled.db]


def test_which_store_was_chosen_and_why(filled: Cli) -> None:
    def settings(*arguments: object) -> str:
        (row,) = [row for row in filled.rows("doctor", *arguments) if row["check"] == "settings"]
        return str(row["message"])

    assert settings() == (
        f"the store is {filled.db}, named by MEMORANDA_DB; "
        "variables set: MEMORANDA_AGENT, MEMORANDA_DB"
    )
    assert f"{filled.db}, named by --db" in settings("--db", filled.db)
    filled.env["MEMORANDA_DB"] = None
    result = filled.run("doctor")
    assert result.exit_code == 4
    assert "the default, since none was named" in result.stdout


def test_a_misspelled_variable(filled: Cli) -> None:
    filled.env["MEMORANDA_DATABASE"] = "x"
    assert troubles(filled) == {"settings": "warning"}
    output = filled("doctor")
    assert "nothing reads MEMORANDA_DATABASE" in output
    assert "`memoranda config show` lists the variables" in output
    filled.env["MEMORANDA_NAMESPCE"] = "x"
    assert "did you mean 'MEMORANDA_NAMESPACE'" in filled("doctor")


def test_a_remedy_stands_below_its_finding(cli: Cli) -> None:
    *_, finding, remedy = cli.run("doctor").stdout.splitlines()
    assert finding.startswith("problem  file      there is no store at ")
    assert remedy.startswith(" " * 19 + "a first write creates one")


def test_a_missing_store(cli: Cli) -> None:
    assert troubles(cli, code=4) == {"file": "problem"}
    assert list(cli.home.iterdir()) == []


def test_what_is_no_store(cli: Cli) -> None:
    cli.db.write_text("Dear diary, " * 500)
    assert troubles(cli, code=1) == {"store": "problem"}


def test_a_newer_format(filled: Cli) -> None:
    tamper(filled.db, "PRAGMA user_version = 99")
    assert troubles(filled, code=1) == {"store": "problem"}


def test_a_changed_event(filled: Cli) -> None:
    tamper(filled.db, "UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 3")
    assert troubles(filled, code=3) == {"chain": "problem"}
    assert "breaks at commit 3" in filled.run("doctor").stdout
    assert troubles(filled, "--quick") == {}


def test_a_file_cut_short(filled: Cli) -> None:
    for number in range(30):
        filled("write", f"k{number}", '{"text": "' + "x" * 2000 + '"}')
    os.truncate(filled.db, filled.db.stat().st_size // 2)
    assert troubles(filled, code=3) == {"store": "problem"}


def test_a_clock_that_was_set_back(filled: Cli) -> None:
    with memoranda.open(filled.db, clock=FixedClock(now=4_000_000_000_000_000)) as store:
        store.write(agent_id="planner", key="late", value={})
    assert troubles(filled) == {"clock": "warning"}


def tamper(path: Path, statement: str) -> None:
    database = apsw.Connection(str(path))
    database.execute(statement)
    database.close()
