"""`memoranda ui` serves the page of a store until Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import memoranda
from tests.patience import HANG_SECONDS


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "memoranda", "ui", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("is_folder", [False, True])
def test_the_page_is_served_until_ctrl_c(tmp_path: Path, *, is_folder: bool) -> None:
    with memoranda.open(tmp_path / "agent.db", embedder=None) as store:
        store.write(agent_id="planner", key="goal", value={"city": "Oslo"})
    path = tmp_path if is_folder else tmp_path / "agent.db"
    with start(str(path), "--json", "--embedder", "none") as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["url"]
        assert address.startswith("http://127.0.0.1:")
        with urlopen(f"{address}/why?key=goal", timeout=HANG_SECONDS) as answer:
            assert b'<div id="app">' in answer.read()
        with urlopen(f"{address}/v1/stores/agent/agents", timeout=HANG_SECONDS) as answer:
            assert json.load(answer)["items"][0]["agent_id"] == "planner"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.slow
def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with start(str(tmp_path / "none.db")) as process:
        _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 4
    assert "none.db" in errors
    assert not (tmp_path / "none.db").exists()
