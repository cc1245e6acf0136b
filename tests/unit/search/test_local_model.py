"""The local model, really used: it needs no network and disturbs nobody."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import memoranda
from memoranda.search.vectors.embedder import embed
from memoranda.search.vectors.wordllama_model import LocalModel, _batches


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel()


def test_it_works_without_a_network(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("it reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    texts = ["My dog likes walks.", "A puppy enjoys going outside.", "Interest rates rose.", ""]
    result = embed(model, texts)
    assert result.shape == (4, model.dimension)
    assert not result[3].any()
    likeness = result @ result.T
    assert likeness[0, 1] > likeness[0, 2] + 0.2


@pytest.mark.slow
def test_it_says_nothing_and_leaves_logging_alone() -> None:
    program = """
import logging
from memoranda.search.vectors.wordllama_model import LocalModel
LocalModel().embed(["a"])
root = logging.getLogger()
print(root.handlers, root.level == logging.WARNING)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[] True\n", "")


def test_it_gives_what_wordllama_gives(model: LocalModel) -> None:
    import wordllama

    own = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = ["one", "two words", "émoji 🎉 と日本語", "long " * 3_000]
    assert numpy.allclose(embed(model, texts), own.embed(texts, norm=True), atol=1e-5)


def test_long_texts_are_taken_a_few_at_a_time() -> None:
    texts = ["a" * 400_000] * 5 + ["b"] * 300
    parts = list(_batches(texts))
    assert [text for _, part in parts for text in part] == texts
    assert [first for first, _ in parts] == [0, 2, 4, 260]


def test_a_store_recalls_by_meaning_with_nothing_but_the_extra(
    model: LocalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", lambda: model)
    with memoranda.open(tmp_path / "store.db") as store:
        agent = store.bind(agent_id="a")
        pet = agent.remember("My dog loves long walks in the park", title="pet").id
        agent.remember("The quarterly revenue rose by ten percent", title="finance")
        assert agent.recall("puppy exercise")[0].id == pet
        store.reindex()
        assert agent.recall("puppies need exercise")[0].id == pet
        assert store.stats().embedder == model.name
