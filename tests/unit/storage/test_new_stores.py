"""New stores that several processes make at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda.storage.sqlite.wal import use_write_ahead_log
from tests.patience import HANG_SECONDS

_OPEN = """
import sys, memoranda
sys.stdin.readline()
with memoranda.open(sys.argv[1], embedder=None) as store:
    store.write(agent_id=sys.argv[2], key="k", value={})
"""


def test_who_is_not_alone_tries_again(tmp_path: Path) -> None:
    own, other = (apsw.Connection(str(tmp_path / "new.db")) for _ in range(2))
    other.execute("BEGIN EXCLUSIVE; CREATE TABLE t(x)")
    with pytest.raises(apsw.BusyError):
        use_write_ahead_log(own, 0)
    waiting = threading.Thread(target=use_write_ahead_log, args=(own, 60_000))
    waiting.start()
    other.execute("COMMIT")
    waiting.join()
    assert own.pragma("journal_mode") == "wal"


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(10))
def test_eight_processes_make_one_store(tmp_path: Path, attempt: int) -> None:
    path = str(tmp_path / f"{attempt}.db")
    children = [
        subprocess.Popen([sys.executable, "-c", _OPEN, path, f"a{n}"], stdin=subprocess.PIPE)
        for n in range(8)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.close()
    assert [child.wait(HANG_SECONDS) for child in children] == [0] * 8
    with memoranda.open(path, embedder=None) as store:
        assert store.verify().commits == 8
