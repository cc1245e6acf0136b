"""An embedder that takes long, or for ever, keeps nobody from anything else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import recollect
from recollect import Store
from tests.embedders import Hashing


class Stuck(Hashing):
    """Waits over some texts until it is let go."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()
        self.on = texts
        self.before = self._wait

    def _wait(self, texts: Sequence[str]) -> None:
        if any(each in text for text in texts for each in self.on):
            self.begun.set()
            assert self.go.wait(20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def threads() -> Iterator[list[threading.Thread]]:
    """Take threads that are started in the test, and see that they end."""
    started: list[threading.Thread] = []
    yield started
    for each in started:
        each.join(10)
        assert not each.is_alive()


def test_what_is_forgotten_while_a_query_is_embedded_leaves_the_files(
    path: Path, threads: list[threading.Thread]
) -> None:
    model = Stuck("asked")
    with recollect.open(path, embedder=model) as store:
        bound: Store = store.bind(agent_id="a")
        memory = bound.remember("a plover", title="bird").id
        threads.append(threading.Thread(target=bound.recall, args=("asked of plovers",)))
        threads[0].start()
        assert model.begun.wait(10)
        store.forget(memory_id=memory)
        pending = store.stats().pending_purge
        model.go.set()
        threads[0].join(10)
        assert not pending, "no snapshot was in the way"
