"""Indexing takes the write lock for little at a time: texts are read and taken apart without it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import memoranda
from memoranda import Store
from memoranda.search.index import (
    background_indexer,
    documents,
    tables,
)
from memoranda.search.index import (
    indexer as index_indexer,
)
from memoranda.search.index.indexer import Indexer, Pace
from memoranda.search.text import tokenizer
from memoranda.search.text.transcript_chunks import ChunkCache, ChunkedText
from memoranda.storage.port import Engine, Writer
from tests.cores import core_of
from tests.patience import HANG_SECONDS
from tests.searching import backlog, fill, search, sources


@pytest.fixture(autouse=True)
def _nobody_else_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 10**9)
    monkeypatch.setattr(index_indexer, "_STALE_RETRY_SECONDS", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed", embedder=None) as opened:
        yield opened.bind(agent_id="ann")


class Watched:
    """An engine that notes what is put into the index in each write, and what is done meanwhile."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.holds: list[int] = []
        """The bytes of words of each write."""
        self.held = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def write(self, work: Callable[[Writer], Any], *, wait: float | None = None) -> Any:
        def noting(writer: Writer) -> Any:
            self.held = True
            self.holds.append(0)
            try:
                return work(_Noting(writer, self.holds))
            finally:
                self.held = False

        return self._engine.write(noting, wait=wait)


class _Noting:
    def __init__(self, writer: Writer, holds: list[int]) -> None:
        self._writer = writer
        self._holds = holds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def put_all(self, query: str, rows: Any) -> None:
        self._holds[-1] += sum(len(column) for row in rows for column in row[1:])
        self._writer.put_all(query, rows)


def as_engine(watched: Watched) -> Engine:
    return cast(Engine, watched)


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    """Return a list to which every call of a function adds something."""
    calls: list[object] = []
    work = getattr(module, name)

    def counting(*arguments: Any) -> Any:
        calls.append(arguments)
        return work(*arguments)

    monkeypatch.setattr(module, name, counting)
    return calls


HOSTILE = {
    "grows": "\ufdfa" * 8_000,
    "one line": "word and another " * 8_000,
    "one word": "x" * 250_000,
    "marks": "e" + "\u0301" * 100_000,
    "dense": "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(9_000)),
    "lines": "\n".join(f"line {number}" for number in range(4_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_write_has_no_more_than_a_part(store: Store, kind: str) -> None:
    store.store_transcript(HOSTILE[kind])
    engine = Watched(core_of(store).engine)
    assert Indexer(as_engine(engine)).fill() == 1
    # the number of its shelf stands before each word, and the last passage may go over
    assert max(engine.holds) <= 2 * index_indexer._MAX_PART_COST
    store.verify(deep=True)


@pytest.mark.slow
def test_nothing_is_derived_or_taken_apart_while_the_lock_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Watched(core_of(store).engine)
    done: list[str] = []

    def watch(module: Any, name: str) -> None:
        work = getattr(module, name)

        def watched(*arguments: Any) -> Any:
            assert not engine.held, f"{name} has all the time there is"
            done.append(name)
            return work(*arguments)

        monkeypatch.setattr(module, name, watched)

    watch(tables, "indexed_tokens")
    watch(documents, "memory_text")
    watch(documents, "chunk_text")
    watch(index_indexer, "derive_documents")
    store.store_transcript("\n".join(f"line {number}" for number in range(3_000)))
    memory = store.remember("some words " * 9_000)
    store.update_memory(memory.id, content="other words " * 9_000)
    store.assert_fact(subject="Ann", relation="knows", object="Bob")
    Indexer(as_engine(engine)).fill()
    assert {"indexed_tokens", "memory_text", "chunk_text", "derive_documents"} == {*done}
    assert backlog(store) == 0
    assert len(engine.holds) > 3


def test_a_transcript_is_read_and_cut_once(store: Store) -> None:
    transcript = store.store_transcript(
        "\n".join(f"line number {number}" for number in range(5_000))
    )
    store.remember("a belief", transcript=transcript.id, spans=[(0, 4)])
    remembered = ChunkCache()
    engine = Watched(core_of(store).engine)
    assert Indexer(as_engine(engine), cache=remembered).fill() == 2
    assert len(engine.holds) > 5
    assert remembered.loads == 1


def test_what_is_remembered_of_transcripts_is_bounded() -> None:
    remembered = ChunkCache(limit=100)
    for number in range(9):
        remembered.put(bytes([number]), ChunkedText(b"x" * 40))
    assert [remembered.get(bytes([number])) is not None for number in range(9)] == 7 * [
        False
    ] + 2 * [True]
    remembered.drop()
    assert remembered.get(bytes([8])) is None


def test_the_pace_follows_how_long_writes_take() -> None:
    pace = Pace()
    sizes = []
    for seconds in (0.001, 0.001, 0.001, 0.001, 0.04, 10.0, 10.0, 10.0, 10.0):
        pace.record(seconds)
        sizes.append(pace.cost)
    assert sizes[:4] == [64 * 1024, 128 * 1024, 256 * 1024, 256 * 1024]
    assert sizes[4] == 64 * 1024
    assert sizes[-1] == index_indexer._MIN_PART_COST


@pytest.mark.parametrize("text", ["\ufdfa" * 90_000, "ﷺ " * 90_000, "㌖" * 90_000])
def test_normalising_makes_nothing_grow_beyond_what_is_indexed(text: str) -> None:
    assert len(tokenizer.fold(text)) <= tokenizer.MAX_INDEXED_CHARACTERS
    assert len(tokenizer.indexed_tokens(text)) <= 2 * tokenizer.MAX_INDEXED_CHARACTERS


def test_long_work_lets_others_through_all_the_time() -> None:
    for text in HOSTILE.values():
        breaths = 0

        def yield_cpu() -> None:
            nonlocal breaths
            breaths += 1

        tokens = tokenizer.indexed_tokens(text, yield_cpu)
        assert breaths >= len(tokens) // (2 * 512), "at least every so many tokens"


class Erasing:
    """Erases what is derived for the index, before it is put in."""

    def __init__(self, erase: Callable[[], None]) -> None:
        self._erase = erase
        self.passed = 0

    def __call__(self, name: str) -> None:
        if name == "derived":
            self.passed += 1
            if self.passed == 1:
                self._erase()


@pytest.mark.parametrize("what", ["memory", "transcript", "context", "fact"])
def test_what_is_erased_meanwhile_does_not_come_back(store: Store, path: Path, what: str) -> None:
    transcript = store.store_transcript("before\nsecret words\nbehind")
    memory = store.remember(
        "secret belief", transcript=transcript.id, spans=[transcript.find("behind")]
    )
    store.assert_fact(subject="secret", relation="is", object="out", source=memory.id)
    store.remember("something else")
    with memoranda.open(path, durability="relaxed", embedder=None) as other:
        targets: dict[str, dict[str, str]] = {
            "memory": {"memory_id": memory.id},
            "transcript": {"transcript_id": transcript.id},
            "context": {"transcript_id": transcript.id},
            "fact": {"facts_from": memory.id},
        }

        def erase() -> None:
            bound = other.bind(agent_id="ann")
            bound.forget(**targets[what], reason="asked to")  # type: ignore[arg-type]
            fill(other)  # nothing is left on the list that would make anybody look again

        erasing = Erasing(erase)
        before = sources(store, "secret")
        Indexer(core_of(store).engine, failpoint=erasing).fill()
        assert erasing.passed >= 1
    after = sources(store, "secret")
    assert after < before
    assert backlog(store) == 0
    assert sources(store, "else")
    store.verify(deep=True)


WITHDRAW = """
import sys, memoranda
from memoranda.search.index import indexer
with memoranda.open(sys.argv[1], embedder=None) as store:
    store.bind(agent_id="ann").forget(memory_id=sys.argv[2], reason="asked to")
    indexer.fill(store._calls.core.engine)
"""


@pytest.mark.slow
def test_another_process_that_erases_meanwhile_is_noticed(store: Store, path: Path) -> None:
    memory = store.remember("quartz in the cellar")
    store.remember("basalt in the cellar")

    def erase() -> None:
        order = [sys.executable, "-c", WITHDRAW, str(path), memory.id]
        subprocess.run(order, check=True, timeout=HANG_SECONDS)

    Indexer(core_of(store).engine, failpoint=Erasing(erase)).fill()
    assert sources(store, "quartz") == set()
    assert len(sources(store, "cellar")) == 1
    store.verify(deep=True)
    whole = path.read_bytes() + path.with_name("store.db-wal").read_bytes()
    assert b"quartz" not in whole


def test_a_rebuild_meanwhile_is_noticed(store: Store) -> None:
    for number in range(5):
        store.remember(f"number {number}")

    def rebuild() -> None:
        store.rebuild()

    assert Indexer(core_of(store).engine, failpoint=Erasing(rebuild)).fill() == 5
    assert len(search(store, "number")) == 5
    store.verify(deep=True)


def test_what_was_changed_and_indexed_meanwhile_stays_as_it_is(store: Store, path: Path) -> None:
    memory = store.remember("first words")

    def change() -> None:
        store.update_memory(memory.id, content="changed words")
        index_indexer.fill(core_of(store).engine)

    Indexer(core_of(store).engine, failpoint=Erasing(change)).fill()
    assert backlog(store) == 0
    (match,) = search(store, "words")
    assert match.document.from_commit == 2
    assert search(store, "first") == []
    store.verify(deep=True)


def test_what_is_committed_meanwhile_is_found_and_indexed_later(store: Store) -> None:
    memory = store.remember("first words")

    def change() -> None:
        store.update_memory(memory.id, content="changed words")

    indexer = Indexer(core_of(store).engine, failpoint=Erasing(change))
    assert indexer.fill() == 1
    assert backlog(store) == 1
    assert sources(store, "changed") == {memory.id}
    assert sources(store, "first") == set()
    assert indexer.fill() == 1
    assert sources(store, "changed") == {memory.id}
    store.verify(deep=True)


def test_two_who_fill_at_once_fill_it_once(path: Path, store: Store) -> None:
    for number in range(40):
        store.remember(f"number {number}")
    store.store_transcript("\n".join(f"line {number}" for number in range(2_000)))
    with memoranda.open(path, durability="relaxed", embedder=None) as other:
        threads = [
            threading.Thread(target=Indexer(core_of(item).engine).fill) for item in (store, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_SECONDS)
    assert backlog(store) == 0
    assert len(search(store, "number")) == 40
    assert len(search(store, "line", most=9_999)) == 2_000
    store.verify(deep=True)


def test_a_part_that_could_not_be_written_is_not_derived_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("some words")
    indexer = Indexer(core_of(store).engine)
    drawing = counted(monkeypatch, index_indexer, "derive_documents")
    write = core_of(store).engine.write

    def busy(*_: object, **__: object) -> None:
        raise memoranda.StoreBusy

    monkeypatch.setattr(core_of(store).engine, "write", busy)
    with pytest.raises(memoranda.StoreBusy):
        indexer.fill_batch()
    monkeypatch.setattr(core_of(store).engine, "write", write)
    assert indexer.fill_batch() == 1
    assert len(drawing) == 1


def test_a_search_scans_a_long_queue_and_writes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\n".join(f"line number {number} " + "and " * 60 for number in range(2_000))
    transcript = store.store_transcript(lines)
    engine = Watched(core_of(store).engine)
    monkeypatch.setattr(core_of(store).background_indexer._worker, "wake", lambda: None)
    monkeypatch.setattr(core_of(store).engine, "write", engine.write)
    assert {hit.id for hit in store.recall("line number 7", k=5)} == {transcript.id}
    assert engine.holds == []
    assert backlog(store) == 1
    result = {item.document.source for item in search(store, "line", most=5_000)}
    assert result == {transcript.id}


def test_of_a_long_tail_only_what_may_fit_is_taken_apart(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"filling {number}" for number in range(2_000)]
    lines[700] = "the connections were made in Zürich by Émile"
    store.store_transcript("\n".join(lines))
    target = {
        query: {(item.document.start, round(item.score, 9)) for item in search(store, query)}
        for query in ("connected", "zurich EMILE", "1999", "nowhere")
    }
    value = counted(monkeypatch, tokenizer, "indexed_tokens")
    assert len(search(store, "connected")) == 5
    assert len(value) == 3 * 5
    value.clear()
    assert search(store, "nowhere") == []
    assert value == []
    fill(store)
    for query, result in target.items():
        after = {item.document.start for item in search(store, query)}
        assert after == {first for first, _ in result}, query
