"""Killed while embedding: no vector is wrong, none is lost for good."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import memoranda
from memoranda import Store
from memoranda.search.vectors.backfill import fill_batch
from memoranda.search.vectors.store import read
from tests.cores import core_of
from tests.embedders import Hashing
from tests.unit.search.stores import eventually

ROOT = Path(__file__).parents[2]
COUNT = 400


def prepared(path: Path) -> dict[str, str]:
    """Make a store with memories that have no vector, and return their texts by their ids."""
    with memoranda.open(path, embedder=None, durability="relaxed") as store:
        bound = store.bind(agent_id="a")
        texts = [f"number {number} likes word{number}" for number in range(COUNT)]
        result = {bound.remember(text, title=text).id: text for text in texts}
        store.reindex()
    return result


@contextmanager
def embedding(path: Path, *batches: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.embedding_worker", str(path), *map(str, batches)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def check(store: Store, texts: dict[str, str]) -> int:
    """Hold every vector to its text, and return how many there are."""
    model = Hashing(dimension=64)
    with core_of(store).engine.snapshot() as reader:
        stored_item = read(reader)
        rows = reader.rows("vectors_of_partition", partition=1, after=0, limit=COUNT + 1)
        listing = str([number for number, *_ in rows])
        places = {row[0]: row[2] for row in reader.rows("documents_by_id", ids=listing)}
        first = reader.row("vectors_first_missing", after=0)
    for number, _, _, content in rows:
        text = texts[places[number]]
        vector = np.array(model.vector(f"{text}\n{text}"))
        expected = vector / np.linalg.norm(vector)
        assert np.allclose(np.frombuffer(content, "<f2"), expected, atol=1e-3)
    assert stored_item is None or first is None or stored_item.complete_through < first[0]
    return len(rows)


@pytest.mark.slow
def test_a_kill_while_embedding_loses_and_spoils_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    texts = prepared(path)
    done = 0
    with memoranda.open(path, embedder=None) as store:
        for _ in range(3):
            before = done
            with embedding(path, 6) as process:  # which are 48 documents
                eventually(lambda goal=before + 20: store.stats().vectors >= goal)  # type: ignore[misc]
                process.send_signal(signal.SIGKILL)
            assert process.returncode == -signal.SIGKILL
            done = check(store, texts)
            assert before < done < COUNT
        with embedding(path):
            pass
        assert check(store, texts) == COUNT
        assert store.stats().vector_backlog == 0


@pytest.mark.slow
def test_two_processes_embed_one_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    texts = prepared(path)
    with embedding(path), embedding(path), memoranda.open(path, embedder=None) as store:
        fill_batch(core_of(store).engine, Hashing(dimension=64), limit=50)
    with memoranda.open(path, embedder=None) as store:
        assert check(store, texts) == COUNT
        assert store.stats().vector_backlog == 0
