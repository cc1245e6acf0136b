"""The local model, really used: it needs no network and disturbs nobody."""

from __future__ import annotations

import logging
import socket
from typing import Any

import numpy
import pytest

from recollect.search.embedding import embed
from recollect.search.local import LocalModel, _batches


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel()


def test_it_works_without_a_network_and_leaves_logging_alone(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("it reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    root = logging.getLogger()
    before = list(root.handlers), root.level
    texts = ["My dog likes walks.", "A puppy enjoys going outside.", "Interest rates rose.", ""]
    found = embed(model, texts)
    assert (list(root.handlers), root.level) == before
    assert found.shape == (4, model.dimension)
    assert not found[3].any()
    likeness = found @ found.T
    assert likeness[0, 1] > likeness[0, 2] + 0.2


def test_it_gives_what_wordllama_gives(model: LocalModel) -> None:
    from pathlib import Path

    import wordllama

    own = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = ["one", "two words", "émoji 🎉 と日本語", "long " * 3_000]
    assert numpy.allclose(embed(model, texts), own.embed(texts, norm=True), atol=1e-5)


def test_long_texts_are_taken_a_few_at_a_time() -> None:
    texts = ["a" * 400_000] * 5 + ["b"] * 300
    parts = list(_batches(texts))
    assert [text for _, part in parts for text in part] == texts
    assert [first for first, _ in parts] == [0, 2, 4, 260]
