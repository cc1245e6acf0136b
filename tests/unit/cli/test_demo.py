"""The demo does what it shows."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path
from urllib.request import urlopen

import pytest

import memoranda
from memoranda.cli.demo.stage import ACTS
from tests.patience import HANG_SECONDS

AGENT = [sys.executable, "-m", "memoranda.cli.demo.agent"]


def demo(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memoranda", "demo", *arguments]
    env = {**os.environ, **(environment or {})}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False, env=env
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


@pytest.mark.slow
def test_the_second_act_goes_from_words_to_a_belief_and_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    reports = [
        step for step in steps if step["what"] in ("words", "superseded", "notice", "decision")
    ]
    assert [step["what"] for step in reports] == [
        "words",
        "words",
        "superseded",
        "notice",
        "decision",
    ]
    assert {step["words"] for step in reports[:2]} == {
        "Nordlys was late again",
        "Nordlys sent the wrong parts",
    }
    with memoranda.open(path, create=False) as store:
        clerk = store.bind(agent_id="clerk", namespace="beliefs")
        reflections = (
            notice.namespace for notice in clerk.invalidations() if notice.dependent_id is not None
        )
        assert list(reflections) == ["facts/_invalidations"]
        (closed,) = clerk.invalidations(status="resolved")
        assert (closed.decision, closed.note) == ("revise", "they deserve a chance")
        assert store.rebuild().identical


@pytest.mark.slow
def test_the_third_act_tells_a_job_change_out_of_order(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    drawing: dict[str, list[str]] = {}
    for step in steps:
        if step["what"] == "timeline":
            drawing.setdefault(step["title"], []).append(step["object"])
    assert list(drawing.values()) == [["Nordlys", "Polaris"], ["Nordlys", "Tall Ships", "Polaris"]]
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


@pytest.mark.slow
def test_the_fourth_act_recalls_the_newer_answer_first(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    drawing = {step["said"]: step["words"] for step in steps if step["what"] == "drawn"}
    assert drawing["Ann lives in Bergen"] == "I live in Bergen."
    assert drawing["Ann lives in Oslo"] == "I moved to Oslo last week."
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


@pytest.mark.slow
def test_with_a_page_it_serves_the_story_until_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memoranda", "demo", "--ui", "--json"]
    command += ["--db", str(tmp_path / "store.db")]
    env = {**os.environ, "MEMORANDA_EMBEDDER": "none"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdout is not None
        steps = []
        for line in process.stdout:
            steps.append(json.loads(line))
            if steps[-1]["what"] == "page":
                break
        acts = [step for step in steps if step["what"] == "act"]
        assert len(acts) == len(ACTS) == 5
        address = steps[-1]["url"]
        with urlopen(f"{address}/inbox", timeout=HANG_SECONDS) as answer:
            assert b'<div id="app">' in answer.read()
        with urlopen(f"{address}/v1/stores/-/agents", timeout=HANG_SECONDS) as answer:
            assert json.load(answer)["items"][0]["agent_id"] == "clerk"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, errors) == (0, "")


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


@pytest.mark.slow
def test_the_demo_can_be_read_by_a_program(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = demo("--db", str(path), "--agent", "ann", "--namespace", "team/eng", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert {item["what"] for item in reports} == {
        *("store", "act", "begin", "committed", "staged", "killed", "policy"),
        *("event", "past", "change", "verification"),
        *("note", "reflection", "words", "superseded", "notice", "decision"),
        *("fact", "decided", "timeline", "believed", "corrected", "reason"),
        *("heard", "drawn", "hit"),
    }
    with memoranda.open(path, create=False) as store:
        events = list(store.replay(agent_id="ann", namespace="team/eng"))
    assert [item["token"] for item in reports if item["what"] == "event"] == [
        event.token for event in events
    ]


@pytest.mark.slow
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
    assert "is not a path" in done.stderr


@pytest.mark.slow
def test_the_demo_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "precious.db"
    path.write_text("mine")
    done = demo("--db", str(path))
    assert done.returncode == 2
    assert "exists: give --db a new path" in done.stderr
    assert path.read_text() == "mine"


@pytest.mark.slow
def test_without_an_embedder_the_demo_says_so_itself(tmp_path: Path) -> None:
    done = demo("--db", str(tmp_path / "store.db"), environment={"MEMORANDA_EMBEDDER": "none"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("there is no embedder, so recall uses words") == 1


# On a terminal.


class Terminal:
    """The demo with its stdin and stdout on a terminal that a test types on."""

    def __init__(self, *arguments: str) -> None:
        ours, theirs = pty.openpty()
        modes = termios.tcgetattr(theirs)
        modes[3] &= ~termios.ECHO  # what comes back is what the demo wrote
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self._terminal = ours
        self._unread = ""
        self.output = ""
        command = [sys.executable, "-m", "memoranda", "demo", *arguments]
        env = {**os.environ, "NO_COLOR": "1", "MEMORANDA_EMBEDDER": "none"}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)

    def read_until(self, text: str | None) -> str:
        """Return what is written up to a text, or up to the end."""
        part, self._unread = self._unread, ""
        with contextlib.suppress(OSError):  # how Linux says that nobody holds the other end
            while text is None or text not in part:
                ready, _, _ = select.select([self._terminal], [], [], HANG_SECONDS)
                assert ready, f"nothing came after {part[-500:]!r}"
                block = os.read(self._terminal, 65_536)
                if not block:
                    break
                part += block.decode(errors="replace")
        self.output += part
        return part

    def press(self, key: bytes, effect: str) -> None:
        """Press a key until its effect is seen: what is typed before the demo waits is dropped."""
        part = ""
        for _ in range(int(HANG_SECONDS * 2)):
            os.write(self._terminal, key)
            ready, _, _ = select.select([self._terminal], [], [], 0.5)
            part += os.read(self._terminal, 65_536).decode(errors="replace") if ready else ""
            if effect in part:
                self._unread = part
                return
        raise AssertionError(f"nothing but {part!r} came of it")

    def end(self) -> int:
        """Return the exit code, when all is written."""
        self.read_until(None)
        os.close(self._terminal)
        return self.process.wait(timeout=HANG_SECONDS)


PROMPT = "press any key to go on, Ctrl-C to end"
CLEARED = f"\r  {' ' * len(PROMPT)}\r"
"""What is written over the prompt when a key was pressed."""


@pytest.mark.slow
def test_on_a_terminal_it_pauses_between_its_acts(tmp_path: Path) -> None:
    terminal = Terminal("--db", str(tmp_path / "store.db"))
    for number in range(1, len(ACTS)):
        part = terminal.read_until(PROMPT)
        assert f"Act {number} of {len(ACTS)}" in part
        assert ACTS[number - 1].matters in part
        terminal.press(b" ", CLEARED)
    assert terminal.end() == 0
    assert terminal.output.count(PROMPT) == len(ACTS) - 1
    summary, _, commands = terminal.output.partition("What you saw")[2].partition("Try it yourself")
    for act in ACTS:
        assert act.summary in summary
    assert commands.count("--db") == 3


@pytest.mark.slow
@pytest.mark.parametrize("key", [b"\x03", b"\x04"])
def test_ctrl_c_at_a_pause_ends_it(tmp_path: Path, key: bytes) -> None:
    terminal = Terminal("--db", str(tmp_path / "store.db"))
    terminal.read_until(PROMPT)
    terminal.press(key, "interrupted")
    assert terminal.end() == 130
    assert terminal.output.rstrip().endswith("interrupted")
    assert "Traceback" not in terminal.output


def test_ctrl_c_while_the_agent_works_ends_it(tmp_path: Path) -> None:
    # The pause after the first act is where the demo waits if the signal comes late.
    terminal = Terminal("--db", str(tmp_path / "store.db"))
    terminal.read_until("invoice 1")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.output.rstrip().endswith("interrupted")
    assert "Traceback" not in terminal.output


@pytest.mark.slow
def test_without_pauses(tmp_path: Path) -> None:
    terminal = Terminal("--db", str(tmp_path / "store.db"), "--no-pause")
    assert terminal.end() == 0
    assert PROMPT not in terminal.output
