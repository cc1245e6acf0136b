"""Embeddings over HTTP, against a server that speaks the protocol."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.clock import FixedClock
from memoranda.search.index import background_indexer
from memoranda.search.vectors.embedder import embed
from memoranda.search.vectors.openai_endpoint import EmbeddingsEndpoint
from tests.cores import core_of
from tests.embedders import Hashing
from tests.unit.net.answering import Answer, Asked, Said, answering
from tests.unit.search.stores import eventually, remember

MODEL = Hashing(dimension=8)


def speak(request: Asked) -> Said:
    assert request.path == "/v1/embeddings"
    rows = [
        {"object": "embedding", "index": place, "embedding": MODEL.vector(text)}
        for place, text in enumerate(request.body["input"])
    ]
    return Said(body={"object": "list", "data": rows[::-1], "model": request.body["model"]})


def endpoint(url: str) -> EmbeddingsEndpoint:
    return EmbeddingsEndpoint(url, model="small", api_key="k", clock=FixedClock())


def test_every_text_gets_its_own_vector() -> None:
    texts = [f"word{number}" for number in range(300)] + ["", "x" * 50_000]
    with answering(speak) as server:
        own = endpoint(server.url)
        result = embed(own, texts)
    assert own.dimension == 8
    expected = embed(MODEL, texts)
    assert (result[:301] == expected[:301]).all()
    assert [len(queries.body["input"]) for queries in server.asked] == [128, 128, 46]
    assert {queries.body["model"] for queries in server.asked} == {"small"}
    assert server.asked[-1].body["input"][-2] == " "
    assert len(server.asked[-1].body["input"][-1]) == 24_000


def test_no_texts_are_not_asked_for() -> None:
    with answering(speak) as server:
        assert endpoint(server.url).embed([]).shape == (0, 0)
    assert server.asked == []


def test_being_busy_is_waited_for_but_not_by_who_asks_a_question() -> None:
    answers: list[Answer] = [lambda _: Said(429), speak, lambda _: Said(500), speak]
    with answering(lambda queries: answers.pop(0)(queries)) as server:
        own = endpoint(server.url)
        assert embed(own, ["a"]).shape == (1, 8)
        with pytest.raises(Unavailable, match="500"):
            embed(own, ["a"], query=True)
        assert embed(own, ["a"], query=True).shape == (1, 8)


def row(index: int, numbers: Any) -> dict[str, Any]:
    return {"index": index, "embedding": numbers}


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        7,
        None,
        {"data": None},
        {"data": [{}]},
        {"data": [row(0, [1.0])]},
        {"data": [row(0, [1.0]), row(0, [1.0])]},
        {"data": [row(0, [1.0]), row(2, [1.0])]},
        {"data": [row(0, [1.0]), row(1, [1.0, 2.0])]},
        {"data": [row(0, "abc"), row(1, "def")]},
        {"data": [row(0, 1.0), row(1, 1.0)]},
        {"data": [row(0, [None]), row(1, [{}])]},
        {"error": {"message": "no such model"}},
    ],
)
def test_what_are_no_embeddings_is_unavailable(body: object) -> None:
    with answering(lambda _: Said(body=body)) as server, pytest.raises(Unavailable):
        embed(endpoint(server.url), ["a", "b"])


def test_another_dimension_all_of_a_sudden_is_unavailable() -> None:
    sizes = [3, 4, 3]
    with answering(lambda _: Said(body={"data": [row(0, [1.0] * sizes.pop(0))]})) as server:
        own = endpoint(server.url)
        embed(own, ["a"])
        with pytest.raises(Unavailable, match="3 dimensions before, and now 4"):
            embed(own, ["a"])
        embed(own, ["a"])
    assert math.isclose(own.dimension, 3)


def test_an_address_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="#model"):
        EmbeddingsEndpoint.of_url("https://host/v1")


def test_a_store_goes_on_while_its_endpoint_is_down_and_recovers_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 4)
    with answering(lambda _: Said(500)) as server:
        own = EmbeddingsEndpoint(server.url, model="small", clock=FixedClock())
        with memoranda.open(tmp_path / "store.db", embedder=own) as store:
            behind: Any = core_of(store).vectors.worker
            assert behind is not None
            behind._first_backoff = behind._backoff = 0.01
            agent = store.bind(agent_id="a")
            ids = remember(agent, [f"likes word{number}" for number in range(8)])
            eventually(lambda: bool(store.stats().warnings))
            assert "500" in store.stats().warnings[0]
            assert store.stats().vector_backlog == 8
            assert [hit.id for hit in agent.recall("word3")] == [ids[3]]
            server.answer = speak
            eventually(lambda: store.stats().vectors == 8)
            eventually(lambda: store.stats().warnings == ())
            assert store.stats().embedder == "small"


def test_two_stores_ask_one_endpoint_only_for_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with answering(speak) as server:
        for _ in range(2):
            with memoranda.open(path, embedder=f"{server.url}#small") as store:
                store.remember("one thing", title="one", agent_id="a", on_conflict="update")
                store.reindex()
        texts = [text for queries in server.asked for text in queries.body["input"]]
    assert texts == ["one\none thing", "dimension"], "whether it is the model it was"
