"""Searching by vectors: what is found, by whom, and what can never be."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import memoranda
from memoranda import Store, Unavailable
from memoranda.model.clock import FixedClock
from memoranda.search.index import indexer
from memoranda.search.vectors import nearest_neighbors
from tests.cores import core_of
from tests.embedders import Hashing
from tests.leftovers import leftovers
from tests.unit.search.stores import (
    eventually,
    indexed,
    nearest,
    remember,
    rows_of_vectors,
    sources,
)

TEXTS = [f"number {number} likes word{number}" for number in range(40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def model() -> Hashing:
    return Hashing(dimension=256)


@pytest.fixture
def store(path: Path, model: Hashing) -> Iterator[Store]:
    with memoranda.open(path, embedder=model) as store:
        yield store.bind(agent_id="a")


def backlog(store: Store) -> int:
    return store.stats().vector_backlog


def test_what_was_just_written_is_found_at_once(store: Store) -> None:
    ids = remember(store, TEXTS)
    result = nearest(store, "word7")
    assert sources(result)[0] == ids[7]
    assert result is not None
    assert result[0].document.id is None, "it is not in the index yet"


def test_the_same_is_found_in_the_tail_without_a_vector_and_with_one(
    store: Store, model: Hashing
) -> None:
    remember(store, TEXTS)
    in_tail = nearest(store, "word7 likes")
    indexer.fill(core_of(store).engine)
    without = nearest(store, "word7 likes")
    store.reindex()
    stored_item = nearest(store, "word7 likes")
    assert in_tail
    assert without
    assert stored_item
    scores = [item.score for item in stored_item]
    for result in (in_tail, without):
        assert [item.score for item in result] == pytest.approx(scores, abs=1e-6)
        assert result[0].document.key == stored_item[0].document.key
    before = len(model.texts)
    nearest(store, "word7 likes")
    assert len(model.texts) == before, "all of it is remembered"
    nearest(store, "word8 likes")
    assert len(model.texts) == before + 1, "the query alone is embedded"


def test_a_search_equals_comparing_one_by_one(store: Store, model: Hashing) -> None:
    remember(store, TEXTS)
    store.reindex()
    query = np.array(model.vector("likes number word3"))
    expected = []
    for number, text in enumerate(TEXTS):
        vector = np.array(model.vector(f"t{number} {text}\n{text}"))
        score = query @ vector / np.linalg.norm(query) / np.linalg.norm(vector)
        expected.append(float(score))
    result = nearest(store, "likes number word3", most=40)
    assert result is not None
    positive = sorted((score for score in expected if score > 0), reverse=True)
    assert [item.score for item in result] == pytest.approx(positive, abs=2e-3)


def test_context_counts_beside_the_words_themselves(store: Store) -> None:
    transcript = store.store_transcript("we spoke of zebras\nyes\nand of whales")
    other = store.store_transcript("we spoke of nothing\nyes\nand that was all")
    memory = store.remember("agreed", title="one").id
    store.link_transcript(memory_id=memory, transcript_id=transcript.id, spans=[(19, 22)])
    store.reindex()
    result = nearest(store, "zebras whales", most=20)
    assert memory in sources(result)
    assert other.id not in sources(result)[:3]


def test_an_edited_memory_is_found_by_its_new_words_only(store: Store) -> None:
    (memory,) = remember(store, ["old words here"])
    store.reindex()
    then = store.stats().commits
    assert sources(nearest(store, "old words here"))
    store.update_memory(memory, content="something new altogether", title="fresh")
    for _ in range(2):  # in the tail, then in the index
        assert sources(nearest(store, "words here old")) == []
        assert sources(nearest(store, "altogether new")) == [memory]
        assert sources(nearest(store, "words here old", known=then)) == [memory]
        assert sources(nearest(store, "altogether new", known=then)) == []
        store.reindex()


def test_another_agents_private_memory_and_other_namespaces_stay_apart(store: Store) -> None:
    store.remember("secret zebra", title="mine", visibility="private")
    store.remember("public zebra", title="ours")
    store.bind(namespace="other").remember("other zebra", title="theirs")
    for _ in range(2):
        assert len(nearest(store, "zebra", viewer="a") or ()) == 2
        assert len(nearest(store, "zebra", viewer="b") or ()) == 1
        assert len(nearest(store, "zebra", namespaces=["other"]) or ()) == 1
        assert len(nearest(store, "zebra", namespaces=None, viewer="b") or ()) == 2
        store.reindex()


def vector_bytes(store: Store) -> list[bytes]:
    with core_of(store).engine.reading() as reader:
        shelves = [row[0] for row in reader.rows("partitions_visible", viewer="a")]
        return [
            row[3]
            for shelf in shelves
            for row in reader.rows("vectors_of_partition", partition=shelf, after=0, limit=1_000)
        ]


def remembered(store: Store) -> bytes:
    """Return all numbers the process remembers, as they are stored."""
    vectors = core_of(store).vectors
    _forms = [value.vectors._form for _, value in vectors._vector_cache._partitions.items()]
    rows = [form.vectors() for form in _forms if isinstance(form, nearest_neighbors.ExactVectors)]
    rows += [row[None, :] for row in vectors._pending_vectors._vectors.values()]
    return b"".join(row.astype("<f2").tobytes() for row in rows)


def test_forgetting_leaves_no_vector_in_the_files_nor_in_memory(path: Path, model: Hashing) -> None:
    ids = indexed(path, TEXTS, model)
    with memoranda.open(path, embedder=model) as store, memoranda.open(path) as other:
        bound = store.bind(agent_id="a")
        tail = bound.remember("the tail has zebras", title="tail").id
        assert sources(nearest(bound, "word7"))[0] == ids[7]
        core_of(other).vectors.embedder = model
        assert sources(nearest(other, "word7"))[0] == ids[7]
        target = [content for content in vector_bytes(bound) if content in remembered(bound)]
        vector = np.array(model.vector(f"t7 {TEXTS[7]}\n{TEXTS[7]}"))
        content = (vector / np.linalg.norm(vector)).astype("<f2").tobytes()
        assert content in target
        assert content in remembered(other)
        waiting = core_of(bound).vectors._pending_vectors._vectors.values()
        tail_content = [row.astype("<f2").tobytes() for row in waiting]
        bound.forget(memory_id=ids[7])
        bound.forget(memory_id=tail)
        assert remembered(bound) == b"", "at once, before anybody searches"
        for item in (bound, other):
            assert ids[7] not in sources(nearest(item, "word7", most=50))
            assert tail not in sources(nearest(item, "zebras tail", most=50))
            assert content not in remembered(item)
            assert not any(row in remembered(item) for row in tail_content)
        assert sources(nearest(bound, "word8"))[0] == ids[8]
        assert leftovers(path, [content]) == set()


def test_a_vector_embedded_while_its_passage_is_forgotten_is_not_kept(
    path: Path, model: Hashing
) -> None:
    with memoranda.open(path, embedder=None) as plain:
        (memory, other) = remember(plain.bind(agent_id="a"), ["going away", "staying here"])
        plain.reindex()

        def forget(_: Sequence[str]) -> None:
            model.before = None
            plain.forget(memory_id=memory)

        model.before = forget
        with memoranda.open(path, embedder=model) as store:
            store.reindex()
            assert rows_of_vectors(path) == 1
            assert sources(nearest(store, "going staying", most=9)) == [other]
            eventually(lambda: backlog(store) == 0)


def test_many_moves_are_noticed_and_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.vectors.cache._MAX_REMOVED", 5)
    ids = remember(store, TEXTS)
    store.reindex()
    assert nearest(store, "likes")
    for memory in ids[:30]:
        store.retract_memory(memory)
    store.reindex()
    for _ in range(3):
        result = sources(nearest(store, "likes number", most=40))
        assert set(result) == set(ids[30:])


def test_a_large_shelf_is_searched_by_sketches(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = remember(store, TEXTS)
    store.reindex()
    exact = nearest(store, "likes word7 number", most=5)
    core_of(store).vectors.drop_caches()
    monkeypatch.setattr(nearest_neighbors.PartitionVectors.__init__, "__defaults__", (10,))
    near = nearest(store, "likes word7 number", most=5)
    (reference,) = [
        value.vectors
        for _, value in core_of(store).vectors._vector_cache._partitions.items()
        if len(value.vectors) == len(ids)
    ]
    assert reference.approximate
    assert near is not None
    assert exact is not None
    assert near[0].document == exact[0].document
    expected = [value.score for value in exact]
    assert [value.score for value in near] == pytest.approx(expected, abs=1e-3)


def test_without_an_embedder_it_is_said_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with memoranda.open(path, embedder=None) as store, caplog.at_level(logging.WARNING):
        remember(store.bind(agent_id="a"), TEXTS[:2])
        assert nearest(store, "word1") is None
        assert nearest(store, "word1") is None
    (record,) = caplog.records
    assert record.name == "memoranda.search"
    assert "memoranda[embeddings]" in record.message


def test_another_model_is_not_compared_with_until_reindexed(
    path: Path, model: Hashing, caplog: pytest.LogCaptureFixture
) -> None:
    ids = indexed(path, TEXTS, model)
    new = Hashing("another", 64)
    with memoranda.open(path, embedder=new) as store:
        assert nearest(store, "word7") is None
        assert nearest(store, "word7") is None
        assert len([record for record in caplog.records if "reindex" in record.message]) == 1
        stats = store.stats()
        assert stats.embedder == "hashing"
        assert any("memoranda reindex" in warning for warning in stats.warnings)
        (finding,) = [
            record for record in memoranda.diagnose(path, embedder=new) if record.check == "vectors"
        ]
        assert finding.status == "warning"
        done = store.reindex()
        assert (done.replaced, done.model, done.vectors) == ("hashing", "another", len(ids))
        assert not store.reindex(), "the second time there is nothing to do"
        assert sources(nearest(store, "word7"))[0] == ids[7]
        assert store.stats().embedder == "another"
        assert store.stats().warnings == ()
    (finding,) = [
        record for record in memoranda.diagnose(path, embedder=new) if record.check == "vectors"
    ]
    assert finding.status == "ok"


def test_the_same_name_with_another_dimension_is_another_model(path: Path, model: Hashing) -> None:
    indexed(path, TEXTS[:3], model)
    with memoranda.open(path, embedder=Hashing(dimension=8)) as store:
        assert nearest(store, "word1") is None
        assert store.reindex().vectors == 3
        assert nearest(store, "word1")


def test_a_model_that_fails_leaves_its_predecessors_vectors_alone(
    path: Path, model: Hashing
) -> None:
    indexed(path, TEXTS[:3], model)
    new = Hashing("another")

    def fail(_: Sequence[str]) -> None:
        raise OSError("no")

    new.before = fail
    with memoranda.open(path, embedder=new) as store, pytest.raises(Unavailable):
        store.reindex()
    assert rows_of_vectors(path) == 3
    with memoranda.open(path, embedder=model) as store:
        assert store.stats().vectors == 3


def test_an_embedder_out_of_order_is_left_alone_for_a_while(
    path: Path, model: Hashing, caplog: pytest.LogCaptureFixture
) -> None:
    ids = indexed(path, TEXTS, model)
    clock, calls = FixedClock(), []

    def fail(texts: Sequence[str]) -> None:
        calls.append(texts)
        raise OSError("the line is dead")

    with memoranda.open(path, embedder=model) as store:
        core_of(store).vectors._clock = clock
        model.before = fail
        assert nearest(store, "word7") is None
        assert nearest(store, "word7") is None
        assert len(calls) == 1, "nobody who searches waits for it again"
        assert len([record for record in caplog.records if "line is dead" in record.message]) == 1
        clock.advance(6)
        assert nearest(store, "word7") is None
        assert len(calls) == 2
        model.before = None
        clock.advance(6)
        assert sources(nearest(store, "word7"))[0] == ids[7]


def test_odd_queries_are_taken(store: Store, model: Hashing) -> None:
    remember(store, ["zebra", "日本語", "🎉"])
    for query in ("", "!!!", '"a" NEAR(b', "zebra " * 20_000):
        assert nearest(store, query) is not None
    assert max(map(len, model.texts)) <= 8_000
    assert nearest(store, "") == []


def test_what_means_nothing_is_kept_and_never_found(store: Store) -> None:
    remember(store, ["...", "word"])
    memory = store.remember("!!!", title="???").id
    store.reindex()
    assert backlog(store) == 0
    assert memory not in sources(nearest(store, "word ...", most=9))


def test_two_handles_on_one_file_see_each_others_vectors(path: Path, model: Hashing) -> None:
    with memoranda.open(path, embedder=model) as one, memoranda.open(path, embedder=model) as two:
        remember(one.bind(agent_id="a"), TEXTS[:20])
        one.reindex()
        assert sources(nearest(two, "word3"))
        ids = [two.remember(text, agent_id="a", title=f"u{text}").id for text in TEXTS[20:]]
        two.reindex()
        assert sources(nearest(one, "word33"))[0] == ids[13]
        eventually(lambda: backlog(one) == 0)
