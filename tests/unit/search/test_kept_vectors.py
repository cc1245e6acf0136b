"""What a store notes of its vectors: whatever that is, the store opens, and there is a way on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda.model.clock import FixedClock
from memoranda.search.vectors import store as vectors_store
from memoranda.search.vectors.backfill import fill_batch
from memoranda.search.vectors.store import VectorState
from memoranda.storage.port import Writer
from tests.cores import core_of
from tests.embedders import Hashing
from tests.unit.search.stores import eventually, indexed, nearest, remember, sources

TEXTS = [f"number {number} likes word{number}" for number in range(6)]


class Unsaid(Hashing):
    """Does not say how long its vectors are."""

    def __init__(self, length: int) -> None:
        super().__init__("unsaid", length)
        self.length = length
        self.dimension = 0

    def vector(self, text: str) -> list[float]:
        return Hashing(dimension=self.length).vector(text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def note(path: Path, value: str | None = None) -> str:
    """Return what is noted of the vectors; note something else, if it is given."""
    connection = apsw.Connection(str(path))
    if value is not None:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'vectors'", (value,))
    result = str(connection.execute("SELECT value FROM meta WHERE name = 'vectors'").get)
    connection.close()
    return result


UNREADABLE = [
    '["hashing",8.0,1,6,3]',
    '["hashing",-8,1,6,3]',
    '["hashing",0,1,6,3]',
    '["hashing",true]',
    "{}",
    "nonsense",
    "",
]


@pytest.mark.parametrize("value", UNREADABLE)
def test_a_note_that_cannot_be_read_only_lets_vectors_be_made_anew(
    path: Path, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = indexed(path, TEXTS, Hashing())
    note(path, value)
    with memoranda.open(path, embedder=None) as store:
        assert store.bind(agent_id="a").recall("word3")[0].id == ids[3]
        assert store.stats().embedder is None
    model = Hashing()
    with caplog.at_level(logging.WARNING), memoranda.open(path, embedder=model) as store:
        eventually(lambda: (store.stats().vectors, store.stats().embedder) == (6, "hashing"))
        assert len(set(model.texts)) == len(TEXTS)
        assert sources(nearest(store, "word3"))[0] == ids[3]
    assert [record for record in caplog.records if "made again" in record.message]


@pytest.mark.parametrize("value", UNREADABLE)
def test_a_rebuild_and_a_reindex_help_whatever_is_noted(path: Path, value: str) -> None:
    ids = indexed(path, TEXTS, Hashing())
    note(path, value)
    with memoranda.open(path, embedder=None) as store:
        store.rebuild()
    with memoranda.open(path, embedder=Hashing()) as store:
        store.reindex()
        assert sources(nearest(store, "word3"))[0] == ids[3]


def test_a_rebuild_is_noticed_by_who_remembers_vectors(path: Path) -> None:
    ids, model = indexed(path, TEXTS, Hashing()), Hashing()
    with memoranda.open(path, embedder=model) as store, memoranda.open(path) as other:
        assert sources(nearest(store, "word3"))[0] == ids[3]
        before = note(path)
        other.rebuild()
        assert note(path) != before
        store.reindex()
        reference = core_of(store).vectors._vector_cache._partitions
        assert sources(nearest(store, "word3"))[0] == ids[3]
        assert not any(value.vectors.removed for _, value in reference.items())


def test_an_unsaid_length_that_changes_is_another_model(path: Path) -> None:
    ids = indexed(path, TEXTS, Unsaid(128))
    with memoranda.open(path, embedder=Unsaid(64)) as store:
        bound = store.bind(agent_id="a")
        for _ in range(2):
            assert bound.recall("word3")[0].id == ids[3], "by words"
            assert nearest(store, "word3") is None
        assert any("(64 dimensions)" in warning for warning in store.stats().warnings)
        done = store.reindex()
        assert (done.replaced, done.vectors) == ("unsaid", 6)
        assert not store.reindex()
        assert sources(nearest(store, "word3"))[0] == ids[3]
        assert store.stats().warnings == ()


def test_reindexing_first_notices_it_too(path: Path) -> None:
    ids = indexed(path, TEXTS, Unsaid(128))
    with memoranda.open(path, embedder=Unsaid(64)) as store:
        assert store.reindex().replaced == "unsaid"
        assert sources(nearest(store, "word3"))[0] == ids[3]


def test_vectors_of_two_lengths_are_never_kept(path: Path) -> None:
    indexed(path, TEXTS, Unsaid(128))
    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), ["more"])
        store.reindex()
        with pytest.raises(memoranda.InvalidInput, match="64 dimensions"):
            fill_batch(core_of(store).engine, Unsaid(64))
        assert store.stats().vectors == 6


def test_a_model_is_noted_once_it_has_made_a_vector(path: Path) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        store.reindex()
        assert store.stats().embedder is None
        remember(store.bind(agent_id="a"), TEXTS)
        store.reindex()
        assert store.stats().embedder == "hashing"


def test_a_slow_model_stores_its_vectors_as_it_goes(path: Path) -> None:
    clock, model, sizes = FixedClock(), Hashing(), list[int]()

    def work(texts: Sequence[str]) -> None:
        sizes.append(len(texts))
        if len(sizes) == 4:
            raise KeyboardInterrupt
        clock.advance(0.1 * len(texts))

    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), [f"number {number}" for number in range(100)])
        store.reindex()
        model.before = work
        with pytest.raises(KeyboardInterrupt):
            fill_batch(core_of(store).engine, model, clock=clock)
        assert sizes == [16, 10, 10, 10], "a second is enough for ten"
        assert store.stats().vectors == 36
        model.before = None
        assert fill_batch(core_of(store).engine, model, clock=clock) == 64
        assert fill_batch(core_of(store).engine, model, clock=clock) == 0


def test_a_fast_model_gets_all_texts_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = Hashing(), list[int]()
    model.before = lambda texts: sizes.append(len(texts))
    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), [f"number {number}" for number in range(100)])
        store.reindex()
        writes: list[int] = []
        add = vectors_store.add

        def counted(writer: Writer, state: VectorState, rows: Sequence[tuple[int, bytes]]) -> None:
            writes.append(len(rows))
            add(writer, state, rows)

        monkeypatch.setattr(vectors_store, "add", counted)
        assert fill_batch(core_of(store).engine, model, clock=FixedClock()) == 100
        assert sizes == [16, 84], "the first say how fast it is"
        assert writes == [100], "they are written together"
