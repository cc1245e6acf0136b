"""Commands that only read start no background thread and load no model."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from memoranda.search.index import background_indexer
from tests.unit.cli.runner import Cli

MODELS = {"numpy", "wordllama", "tokenizers", "onnxruntime", "httpx2"}
READING = (
    *("get plan", "keys", "scan", "history plan", "diff 1", "show --title ground", "memories"),
    *("inbox", "inbox --keys", "why plan", "audit", "certificate", "replay", "tail --timeout 0"),
    *("cursors", "verify", "verify --deep", "stats", "checkpoints", "transcript list"),
    *("fact list", "fact entities", "fact timeline Ann works_at", "fact neighbors Ann"),
    *("fact path Ann Acme", "fact subgraph Ann", "fact suggest-merges", "fact cardinality"),
    *("export log -", "fact export -", "signer list", "signer export"),
    *("recall Ann --embedder none", "context Ann --embedder none"),
)


@pytest.fixture
def unindexed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A store with commits to index, of which one is enough to wake the indexer."""
    cli("remember", "Ann does not fly", "--title", "ground")
    cli("fact", "assert", "Ann", "works_at", "Acme")
    cli("write", "plan", '{"by": "train"}')
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 1)
    return cli


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that are started from here on."""
    names: list[str] = []
    start = threading.Thread.start

    def record(thread: threading.Thread) -> None:
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", record)
    return names


@pytest.mark.parametrize("command", READING)
def test_a_reader_starts_no_thread(unindexed: Cli, started: list[str], command: str) -> None:
    unindexed(*command.split())
    assert started == []


def test_a_query_and_copies_start_no_thread(unindexed: Cli, started: list[str]) -> None:
    unindexed("sql", "select count(*) from events")
    unindexed("backup", unindexed.home / "copy.db")
    unindexed("fork", unindexed.home / "fork.db", "--at", 1)
    assert started == []


def test_a_writer_wakes_the_indexer(unindexed: Cli, started: list[str]) -> None:
    unindexed("delete", "plan")
    assert "memoranda-indexer" in started


def test_what_a_reader_left_is_indexed_later(unindexed: Cli) -> None:
    backlog = unindexed.row("stats")["index_backlog"]
    assert backlog > 0
    unindexed("get", "plan")
    assert unindexed.row("stats")["index_backlog"] == backlog
    unindexed("reindex", "--embedder", "none")
    assert unindexed.row("stats")["index_backlog"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["get plan", "stats", "why plan", "recall Ann --embedder none"])
def test_a_reader_loads_no_model(unindexed: Cli, command: str) -> None:
    env = {name: value for name, value in unindexed.env.items() if value is not None}
    process = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memoranda", *command.split()],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "memoranda.sdk.open" in imported
    assert not MODELS & imported
