"""An import that is killed between the words and what is drawn from them goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import Store

CHAT = "\n".join(f"Ann: I like thing number {number}. {'x' * 230}" for number in range(300))
KILLED = """
import os, signal, sys
import memoranda

class Killing:
    name = "rules/1"
    left = int(sys.argv[2])

    def extract(self, messages, /, *, occurred_at):
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return memoranda.RuleExtractor().extract(messages, occurred_at=occurred_at)

with memoranda.open(sys.argv[1]) as store:
    store.import_chat(sys.stdin.read(), extractor=Killing(), agent_id="a1")
"""


def liked(store: Store) -> int:
    return len(store.facts(agent_id="a1", relation="likes"))


@pytest.mark.slow
@pytest.mark.parametrize("parts", [0, 2])
def test_it_goes_on_where_it_was_killed(tmp_path: Path, parts: int) -> None:
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", KILLED, str(path), str(parts)]
    killed = subprocess.run(command, input=CHAT, text=True, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with memoranda.open(path) as store:
        (stored_item,) = store.list_transcripts()
        assert stored_item.text() == CHAT
        half = liked(store)
        assert (half > 0) == (parts > 0)
        assert half < 300
        report = store.import_chat(CHAT, extractor="rules", agent_id="a1")
        assert (report.already, report.transcript_id) == (True, stored_item.id)
        assert liked(store) == len(list(store.list_memories())) == 300
        commits = store.stats().commits
        again = store.import_chat(CHAT, extractor="rules", agent_id="a1")
        assert again.extraction is not None
        assert again.extraction.already
        assert store.stats().commits == commits
        store.verify(deep=True)
