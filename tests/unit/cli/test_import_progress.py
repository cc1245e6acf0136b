"""Imports draw one bar with a label and a total, and only on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from tests.patience import HANG_SECONDS
from tests.unit.cli.test_process import environment

AT_ONCE = """
from memoranda.cli import progress
progress.DELAY_SECONDS = progress._REFRESH_SECONDS = 0
from memoranda.cli.main import run
run()
"""
"""Runs a command that shows its progress from the beginning."""
STYLES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
IMPORTS = {
    "fact": ("fact", "import", "people.csv", "--batch", "2"),
    "chat": ("import", "chat", "talks.jsonl"),
    "log": ("import", "log", "log.jsonl"),
}
BARS = {
    "fact": ("Importing facts", r"(\d+)/(\d+)", 8),
    "chat": ("Importing chats", r"(\d+)/(\d+)", 3),
    "log": ("Importing the log", r"(\d+)/(\d+)", 10),
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a file for each import."""
    rows = [f"Ann{number},knows,Bob" for number in range(7)]
    (tmp_path / "people.csv").write_text("\n".join(("subject,relation,object", *rows)))
    talks = [
        {"title": f"t{number}", "messages": [{"role": "user", "content": f"hi {number}"}]}
        for number in range(3)
    ]
    (tmp_path / "talks.jsonl").write_text("".join(f"{json.dumps(talk)}\n" for talk in talks))
    with memoranda.open(tmp_path / "old.db", embedder=None) as store:
        for number in range(5):
            store.write(agent_id="planner", key="k", value={"n": number})
        store.export_log(tmp_path / "log.jsonl")
    return tmp_path


def run(files: Path, kind: str, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", AT_ONCE, *IMPORTS[kind], "--db", "new.db"],
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(COLUMNS="80", MEMORANDA_EMBEDDER="none"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", IMPORTS)
def test_an_import_draws_one_bar_with_its_label_and_total(files: Path, kind: str) -> None:
    ours, theirs = pty.openpty()
    process = run(files, kind, theirs)
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # how Linux says that nobody holds the other end
        while part := os.read(ours, 65_536):
            output += part
    os.close(ours)
    stdout, _ = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, output
    assert "mported" in stdout.decode()
    text = STYLES.sub("", output.decode())
    title, counts, total = BARS[kind]
    drawn = [
        (int(count), int(whole)) for count, whole in re.findall(rf"{title} [^\r\n]*?{counts}", text)
    ]
    assert drawn, text
    assert drawn == sorted(drawn)
    assert drawn[-1][0] == drawn[-1][1]
    assert len({whole for _, whole in drawn}) == 1
    assert drawn[-1][1] == total


@pytest.mark.slow
@pytest.mark.parametrize("kind", IMPORTS)
def test_nothing_is_drawn_where_stderr_is_no_terminal(files: Path, kind: str) -> None:
    process = run(files, kind, subprocess.PIPE)
    stdout, stderr = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, stderr) == (0, b"")
    assert "mported" in stdout.decode()
