"""The commands that follow the log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memoranda
from tests.patience import HANG_SECONDS
from tests.unit.cli.runner import Cli

INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
from memoranda.__main__ import main
main()
"""
NOW = ("--timeout", 0)
BOTH = pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])


def commits(cli: Cli, *arguments: object) -> list[int]:
    return [event["commit_ts"] for event in cli.rows("tail", *NOW, *arguments)]


def test_it_shows_what_replay_shows(filled: Cli) -> None:
    assert filled("tail", *NOW) == filled("replay")
    assert filled.rows("tail", *NOW) == filled.rows("replay")


def test_it_begins_with_the_last_ten(cli: Cli) -> None:
    with memoranda.open(cli.db) as store:
        for number in range(15):
            store.write(agent_id="planner", key="k", value={"n": number})
    assert commits(cli) == [*range(6, 16)]
    assert commits(cli, "-n", 3) == commits(cli, "--last", 3) == [13, 14, 15]
    assert commits(cli, "-n", 0) == []
    assert commits(cli, "--after", 12) == [13, 14, 15]
    assert commits(cli, "--after", 0) == [*range(1, 16)]
    token = cli.rows("replay")[12]["token"]
    assert commits(cli, "--after", token) == [14, 15]


def test_it_shows_what_is_asked_for(filled: Cli) -> None:
    filled("write", "plan", "{}", "--namespace", "team/eng")
    filled("write", "plan", "{}", "--agent", "other")
    assert commits(filled) == [1, 2, 3, 4, 5]
    assert commits(filled, "--kind", "delete") == [5]
    assert commits(filled, "--kind", "write", "--kind", "delete", "-n", 2) == [4, 5]
    assert commits(filled, "--prefix", "pl") == [2, 3]
    assert commits(filled, "--namespace", "team/eng") == [6]
    assert commits(filled, "--all-namespaces") == [1, 2, 3, 4, 5, 6]
    assert commits(filled, "--all-agents") == [1, 2, 3, 4, 5, 7]
    assert commits(filled, "--all-agents", "--all-namespaces") == [1, 2, 3, 4, 5, 6, 7]


def test_all_agents_are_named_and_none_need_be(filled: Cli) -> None:
    filled("write", "plan", "{}", "--agent", "other", "--namespace", "team/eng")
    filled.env["MEMORANDA_AGENT"] = None
    assert "--agent: is missing" in filled.fails(2, "tail", *NOW)
    output = filled("tail", *NOW, "--all-agents", "--all-namespaces")
    assert "  write   planner  default  goal  v1" in output
    assert "  write   other  team/eng  plan  v1" in output
    assert "  write   planner  goal  v1" in filled("tail", *NOW, "--all-agents")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--after", "noon"), "--after: 'noon'"),
        (("--kind", "noon"), "--kind: 'noon'"),
        (("--last", "-1"), "--last"),
        (("--last", "1", "--after", "1"), "--last: cannot be combined with after_commit"),
        (("--timeout", "-1"), "--timeout: -1"),
        (("--timeout", "nan"), "--timeout: nan"),
        (("--cursor", ""), "--cursor: is empty"),
        (("--namespace", "a//b"), "--namespace: 'a//b'"),
    ],
)
def test_what_it_cannot_take_is_named_as_it_was_typed(
    filled: Cli, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in filled.fails(2, "tail", *NOW, *arguments)


def test_nothing_to_show_is_said(filled: Cli) -> None:
    for queries, reports in (
        (("--agent", "ghost"), "no events of agent 'ghost' in namespace 'default'"),
        (("--all-agents", "--namespace", "x"), "no events of any agent in namespace 'x'"),
        (("--all-agents", "--all-namespaces", "--prefix", "zz"), "no events of any agent\n"),
    ):
        result = filled.run("tail", *NOW, *queries)
        assert (result.exit_code, result.stdout) == (0, "")
        assert reports in result.stderr


def test_a_cursor_is_behind_what_was_printed(filled: Cli) -> None:
    assert filled.rows("cursors") == []
    assert "no cursors" in filled.run("cursors").stderr
    assert commits(filled, "--cursor", "printer", "--after", 2) == [3, 4, 5]
    assert commits(filled, "--cursor", "printer", "--after", 2) == []
    filled("write", "plan", "{}")
    assert commits(filled, "--cursor", "printer") == [6]
    assert commits(filled, "--cursor", "from now on") == []
    assert filled("cursors") == "from now on  commit 6\nprinter  commit 6\n"
    assert filled.rows("cursors")[1] == {"cursor": "printer", "commit_ts": 6}
    assert filled("cursors", "--drop", "printer") == ""
    assert [row["cursor"] for row in filled.rows("cursors")] == ["from now on"]
    assert commits(filled, "--cursor", "printer", "--after", 4) == [5, 6]


class Follower:
    """`memoranda tail` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.stdout = process.stdout

    def event(self) -> dict[str, Any]:
        line = self.stdout.readline()
        decoded_value: dict[str, Any] = json.loads(line)
        return decoded_value

    def interrupt(self) -> tuple[str, str]:
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=HANG_SECONDS)


@contextmanager
def follower(db: Path, *arguments: str) -> Iterator[Follower]:
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "tail", "--db", str(db), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**buffered, "MEMORANDA_AGENT": "planner"},
    ) as process:
        guard = threading.Timer(HANG_SECONDS, process.kill)
        guard.start()
        try:
            yield Follower(process)
        finally:
            guard.cancel()
            process.kill()


@pytest.mark.slow
def test_it_shows_what_other_processes_do_as_it_happens(filled: Cli) -> None:
    with (
        memoranda.open(filled.db) as store,
        follower(filled.db, "--json", "-n", "1", "--all-namespaces") as tail,
    ):
        assert tail.event()["commit_ts"] == 5
        for number in range(6, 12):
            store.write(agent_id="planner", namespace=f"n{number}", key="k", value={})
            assert tail.event()["commit_ts"] == number, "each event is written out at once"


@pytest.mark.slow
@BOTH
def test_ctrl_c_ends_it_quietly(filled: Cli, form: tuple[str, ...]) -> None:
    with follower(filled.db, *form) as tail:
        tail.stdout.readline()
        time.sleep(0.3)
        _, reports = tail.interrupt()
    assert tail.process.returncode == 130
    assert reports == (
        '{"error":"Interrupted","message":"interrupted"}\n' if form else "interrupted\n"
    )


@pytest.mark.slow
@BOTH
def test_a_reader_that_is_gone_ends_it_quietly(filled: Cli, form: tuple[str, ...]) -> None:
    with memoranda.open(filled.db) as store, follower(filled.db, *form) as tail:
        tail.stdout.readline()
        tail.stdout.close()
        assert tail.process.stderr is not None
        while tail.process.poll() is None:
            store.write(agent_id="planner", key="k", value={"text": "x" * 1000})
            time.sleep(0.05)
        assert tail.process.stderr.read() == ""
    assert tail.process.returncode == 141


@pytest.mark.slow
def test_what_was_not_printed_is_printed_the_next_time(filled: Cli) -> None:
    with follower(filled.db, "--json", "--cursor", "printer", "--after", "0") as tail:
        printed = [tail.event()["commit_ts"] for _ in range(5)]
        tail.process.kill()
    assert printed == [1, 2, 3, 4, 5]
    with memoranda.open(filled.db) as store:
        ((_, done),) = store.cursors()
    assert done in (4, 5)
    filled("write", "plan", "{}")
    assert commits(filled, "--cursor", "printer") == [*range(done + 1, 7)]


@pytest.mark.slow
@BOTH
def test_what_nobody_read_is_not_marked_as_done(filled: Cli, form: tuple[str, ...]) -> None:
    arguments = ("--cursor", "printer", "--after", "4", *form)
    with memoranda.open(filled.db) as store, follower(filled.db, *arguments) as tail:
        tail.stdout.readline()
        while store.cursors() != [("printer", 5)]:
            time.sleep(0.01)
        tail.stdout.close()
        while tail.process.poll() is None:
            store.write(agent_id="planner", key="k", value={})
            time.sleep(0.05)
        assert tail.process.returncode == 141
        assert store.cursors() == [("printer", 5)]


def test_it_ends_when_nothing_comes(filled: Cli) -> None:
    start = time.monotonic()
    assert len(filled.rows("tail", "--timeout", 0.3)) == 5
    assert time.monotonic() - start >= 0.3
