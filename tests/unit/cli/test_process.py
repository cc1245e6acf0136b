"""The command as a process: pipes that close, Ctrl-C, terminals, and what starting it costs."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import memoranda
from tests.patience import HANG_SECONDS

MEMORANDA = (sys.executable, "-m", "memoranda")
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
from memoranda.__main__ import main
main()
"""
COMMANDS_ONLY = """
import sys
from memoranda.cli.command_table import COMMANDS
from memoranda.cli.main import cli
for name in COMMANDS:
    if name != "demo":
        cli.get_command(None, name)
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def long_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose replay is far longer than a pipe holds."""
    path = tmp_path_factory.mktemp("long") / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(400):
            store.write(agent_id="planner", key="k", value={"n": number, "text": "x" * 2_000})
    return path


def environment(**others: str) -> dict[str, str]:
    stored_item = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    return {**stored_item, "MEMORANDA_AGENT": "planner", "TERM": "xterm", **others}


def start(*command: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
def test_a_reader_that_has_enough_ends_it_quietly(long_store: Path, form: tuple[str, ...]) -> None:
    with start(*MEMORANDA, "replay", "--db", long_store, *form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "1" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
def test_a_reader_that_is_gone_already(long_store: Path, form: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = subprocess.run(
            [*MEMORANDA, "keys", "--db", str(long_store), *form],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    finally:
        os.close(writing)
    assert (process.returncode, process.stderr) == (141, b"")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["human", "json"])
def test_ctrl_c_during_a_long_replay(long_store: Path, form: tuple[str, ...]) -> None:
    command = (sys.executable, "-c", INTERRUPTIBLE)
    with start(*command, "replay", "--db", long_store, *form) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, reports = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert reports == (
        '{"error":"Interrupted","message":"interrupted"}\n' if form else "interrupted\n"
    )


def test_help_starts_without_what_only_answers_need() -> None:
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memoranda", "get", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "memoranda.cli.main" in imported
    assert not {"rich", "platformdirs"} & imported


def test_the_commands_import_no_store_until_they_need_one() -> None:
    process = subprocess.run(
        [sys.executable, "-c", COMMANDS_ONLY],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    imported = set(process.stdout.split())
    assert "memoranda.cli.commands.log" in imported
    assert not {"apsw", "msgspec", "rich", "platformdirs", "memoranda.sdk"} & imported


def on_terminal(*arguments: str | Path, env: Mapping[str, str]) -> str:
    """Run a command with stdout on a terminal and return what the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*MEMORANDA, *map(str, arguments)], stdout=theirs, stderr=subprocess.PIPE, env=env
    )
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody holds the other end
        while part := os.read(ours, 65_536):
            output += part
    os.close(ours)
    process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0
    return output.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_what_fits(long_store: Path) -> None:
    output = on_terminal("scan", "--db", long_store, env=environment(COLUMNS="60"))
    assert "\x1b[1mk\x1b[0m" in output
    assert output.endswith("xxx…\n")
    assert len(output) < 100


@pytest.mark.slow
def test_no_color_is_honoured(long_store: Path) -> None:
    plain = environment(COLUMNS="60", NO_COLOR="1")
    for arguments in (("scan",), ("replay", "--limit", "1"), ("stats",)):
        assert "\x1b" not in on_terminal(*arguments, "--db", long_store, env=plain)


@pytest.mark.slow
def test_a_value_is_indented_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        store.write(agent_id="planner", key="k", value={"[red]a": "\x1b[31m\x9b"})
    get = ("get", "k", "--db", path)
    plain = on_terminal(*get, env=environment(NO_COLOR="1", TERM="dumb"))
    assert plain == '{\n  "[red]a": "\\u001b[31m\\u009b"\n}\n'
    coloured = on_terminal(*get, env=environment())
    assert "\x1b[" in coloured
    assert "\x1b[31m" not in coloured
    assert "\x9b" not in coloured
