"""Purging: what was erased leaves the files, as soon as nobody who reads holds on to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

import memoranda
from memoranda import KeyRef
from memoranda.errors import MemorandaError, StoreBusy
from memoranda.log.erasure import purge as purging
from memoranda.search.index import indexer
from memoranda.storage.port import Progress
from memoranda.storage.sqlite import engine as engine_module
from memoranda.storage.sqlite import wal
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.cores import core_of
from tests.leftovers import leftovers
from tests.patience import HANG_SECONDS, wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def words_of(store: memoranda.Store, count: int, random: Random) -> dict[str, bytes]:
    """Write keys, memories and transcripts of all sizes, and return the word each of them has."""
    result: dict[str, bytes] = {}
    for number in range(count):
        word = f"secret{number:04}{random.getrandbits(48):012x}"
        text = word + "x" * random.choice([0, 3, 40, 300, 2000, 9000])
        kind = random.randrange(3)
        if kind == 0:
            store.write(key=f"k{number}", value={"v": text})
            store.write(key=f"k{number}", value={"v": word})
            result[f"key k{number}"] = word.encode()
        elif kind == 1:
            memory = store.remember(text, title=f"{word}t", tags=[f"{word}g"])
            result[f"memory_id {memory.id}"] = word.encode()
        else:
            transcript = store.store_transcript(f"{text} {word}")
            result[f"transcript_id {transcript.id}"] = word.encode()
    return result


def forget(store: memoranda.Store, what: str, *, purge: bool) -> None:
    field, name = what.split(" ")
    store.forget(**{field: name}, purge=purge)  # type: ignore[arg-type]


@pytest.mark.slow
def test_nothing_is_left_whatever_size_it_had(path: Path) -> None:
    random = Random(0)
    with memoranda.open(path, durability="relaxed") as opened:
        store = opened.bind(agent_id="ann")
        words = words_of(store, 300, random)
        going = random.sample(sorted(words), k=100)
        for what in going:
            forget(store, what, purge=False)
        assert store.stats().pending_purge
        assert store.purge()
        assert not store.stats().pending_purge
        target = {words[what] for what in going}
        assert leftovers(path, words.values()) == set(words.values()) - target
        store.verify()
    assert leftovers(path, words.values()) == set(words.values()) - target


def test_no_name_is_left(path: Path) -> None:
    agent, space, txn = "uniqueagent", "uniquespace", "uniquetxn"
    with memoranda.open(path, durability="relaxed") as store:
        ann, bob = store.bind(agent_id=agent, namespace=space), store.bind(agent_id="bob")
        ann.write(key="k", value={}, txn_id=txn)
        old = ann.remember("old", kind="reflection", visibility="private", title="t")
        memory = ann.remember("seen", kind="reflection", title="t")
        resting = bob.reflect("resting", on=[memory.id])
        ann.supersede(old=memory.id, new=ann.remember("new", kind="reflection").id)
        bob.supersede(old=resting.id, new=bob.remember("newer", kind="reflection").id)
        ann.reflect("on it", on=[resting.id, old.id])
        for notice in ann.invalidations():
            ann.resolve_invalidation(notice.id, decision="keep")
        ann.configure(max_reflection_depth=4)
        ann.set_cardinality(relation="is", cardinality="single")
        ann.assert_fact(subject="a", relation="is", object="b")
        ann.store_transcript("words")
        bob.write(key="k", value={}, because=[KeyRef("k", agent_id=agent, namespace=space)])
        ann.forget(key="k", purge=False)
        assert leftovers(path, [agent.encode(), space.encode(), txn.encode()])
        store.forget(whole_agent=agent)
        assert leftovers(path, [agent.encode(), txn.encode()]) == set()
        store.forget(whole_namespace=space)
        assert leftovers(path, [agent.encode(), space.encode(), txn.encode()]) == set()
        store.verify()
        assert store.rebuild().identical
        assert len(list(bob.invalidations(status="all"))) == 1


def test_a_reader_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "_READERS_WAIT_MS", 1)
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={"v": "secretword"})
        with memoranda.open(path) as other, core_of(other).engine.snapshot() as reader:
            assert reader.row("state_count") == (1,)
            certificate = store.forget(key="k")
            assert certificate.pending_purge
            assert store.stats().pending_purge
            assert store.get_state(key="k") is None
            assert not store.purge()
            assert reader.row("state_count") == (1,)
        assert store.certificate(certificate.erasure_id).pending_purge
    with memoranda.open(path) as again:
        assert again.stats().pending_purge
        assert again.purge()
        assert not again.certificate(certificate.erasure_id).pending_purge
        again.verify()
    assert leftovers(path, [b"secretword"]) == set()


def test_an_interrupt_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        for number in range(200):
            store.write(key=f"k{number}", value={"v": "secretword" * 50})
        store.forget(key="k7", purge=False)

        monkeypatch.setattr(wal, "_STEPS_BETWEEN_CALLS", 100)
        for step in range(wal.PURGE_STEPS):
            with pytest.raises(KeyboardInterrupt):
                store.purge(progress=interrupt_in(step))
            assert store.stats().pending_purge
            store.write(key=f"after{step}", value={})
            assert store.get_state(key="k8") is not None
        monkeypatch.undo()
        assert store.purge()
        assert len(list(store.list_keys())) == 199 + wal.PURGE_STEPS
        store.verify(deep=True)


def interrupt_in(step: int) -> Callable[[int, int], None]:
    """Return a progress function that is interrupted when a step begins or goes on."""

    def progress(pages: int, total: int) -> None:
        if pages >= step * total // wal.PURGE_STEPS:
            raise KeyboardInterrupt

    return progress


def test_what_is_erased_meanwhile_stays_pending(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="one", value={"v": "firstword"})
        store.write(key="two", value={"v": "secondword"})
        store.forget(key="one", purge=False)
        engine = core_of(opened).engine
        real = engine.purge

        def late(progress: Progress | None) -> bool:
            done = real(progress)
            store.forget(key="two", purge=False)
            return done

        monkeypatch.setattr(engine, "purge", late)
        assert not store.purge()
        monkeypatch.undo()
        assert store.stats().pending_purge
        assert store.purge()


def test_a_store_in_memory_has_nothing_to_purge() -> None:
    with memoranda.open(":memory:") as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={})
        assert not store.forget(key="k").pending_purge
        assert store.purge()


def test_purging_what_was_never_erased_does_nothing(path: Path) -> None:
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={})
        before = store.stats().commits
        assert store.purge()
        assert store.stats().commits == before


# Deferring: a large store is purged when somebody asks for it.


def is_found(store: memoranda.Store, memory_id: str) -> bool:
    """Say whether any read still gives the memory, or the word in it."""
    answers = (
        store.get_memory(memory_id),
        *store.memory_history(memory_id),
        *store.list_memories(),
        *store.recall("secretword"),
        *store.recall("secretword", known_at=3),
        *store.replay(),
        *store.sql("SELECT * FROM memories"),
        *store.sql("SELECT * FROM events"),
    )
    return "secretword" in repr(answers)


def test_a_small_store_is_purged_at_once(path: Path) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        memory = store.remember("secretword")
        certificate = store.forget(memory_id=memory.id)
        assert (certificate.pending_purge, certificate.pending_reason) == (False, None)
        assert leftovers(path, [b"secretword"]) == set()


def test_a_large_store_is_purged_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        memory = store.remember("secretword")
        store.remember("padding words")
        store.write(key="k", value={"v": "x"})
        assert is_found(store, memory.id)
        size = store.stats().data_bytes + store.stats().journal_bytes
        monkeypatch.setattr(purging, "PURGE_AT_ONCE_BYTES", size // 2)
        certificate = store.forget(memory_id=memory.id)
        assert certificate.pending_purge
        assert certificate.pending_reason is not None
        assert f"only up to {size // 2:,} are purged at once" in certificate.pending_reason
        assert "store.purge()" in certificate.pending_reason
        assert "memoranda purge" in certificate.pending_reason
        assert not is_found(store, memory.id)
        assert store.stats().pending_purge
        later = store.certificate(certificate.erasure_id)
        assert later.pending_reason is not None
        assert "store.purge()" in later.pending_reason
        assert store.purge()
        assert not store.stats().pending_purge
        later = store.certificate(certificate.erasure_id)
        assert (later.pending_purge, later.pending_reason) == (False, None)
        assert leftovers(path, [b"secretword"]) == set()
        store.verify(deep=True)


def test_the_size_is_the_documented_one() -> None:
    assert purging.PURGE_AT_ONCE_BYTES == 16 * 1024 * 1024
    page = Path(__file__).parents[3] / "docs/howto/forget.md"
    for text in (memoranda.Store.forget.__doc__, page.read_text()):
        assert "16 MiB" in (text or "")


@pytest.mark.parametrize("limit", [1, 1 << 40])
def test_a_caller_decides_otherwise(
    path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "PURGE_AT_ONCE_BYTES", limit)
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        one, two = store.remember("secretword"), store.remember("otherword")
        certificate = store.forget(memory_id=one.id, purge=False)
        assert certificate.pending_purge
        assert certificate.pending_reason is not None
        assert certificate.pending_reason.startswith("purging was left for later: ")
        assert not store.forget(memory_id=two.id, purge=True).pending_purge
        assert leftovers(path, [b"secretword", b"otherword"]) == set()


def test_progress_is_reported_and_grows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "_STEPS_BETWEEN_CALLS", 100)
    with memoranda.open(path, durability="relaxed") as opened:
        store = opened.bind(agent_id="ann")
        words_of(store, 300, Random(1))
        engine = core_of(opened).engine
        assert isinstance(engine, SqliteEngine)
        engine._writer.database.pragma("cache_size", 20)  # so that pages are read from the file
        store.write(key="k", value={})
        store.forget(key="k", purge=False)
        reports: list[tuple[int, int]] = []
        assert store.purge(progress=lambda pages, total: reports.append((pages, total)))
        counts = [pages for pages, _ in reports]
        (total,) = {total for _, total in reports}
        assert counts == sorted(counts)
        assert (counts[0], counts[-1]) == (0, total)
        assert any(pages % (total // wal.PURGE_STEPS) > 0 for pages in counts)


def test_a_progress_function_may_read_and_not_write(path: Path) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={"v": "secretword"})
        store.write(key="l", value={})
        store.forget(key="k", purge=False)

        def read(_: int, __: int) -> None:
            assert store.get_state(key="l") is not None

        def write(_: int, __: int) -> None:
            store.write(key="m", value={})

        with pytest.raises(MemorandaError, match="write"):
            store.purge(progress=write)
        assert store.stats().pending_purge
        assert store.purge(progress=read)
        assert store.get_state(key="m") is None


def test_others_write_between_the_steps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path) as opened, memoranda.open(path) as other:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={"v": "secretword"})
        store.forget(key="k", purge=False)
        real = SqliteEngine._purge_step

        def step_and_write(self: SqliteEngine, step: wal.PurgeStep, meter: wal.PurgeMeter) -> bool:
            result = real(self, step, meter)
            other.write(agent_id="bob", key=step.__name__, value={})
            return result

        monkeypatch.setattr(SqliteEngine, "_purge_step", step_and_write)
        assert store.purge()
        assert list(other.list_keys(agent_id="bob")) == ["rebuild_words", "rewrite_file"]
        assert leftovers(path, [b"secretword"]) == set()
        opened.verify(deep=True)


_DOCUMENTED_WAIT_MS = wal._READERS_WAIT_MS
"""As the package has it: while tests run, it is longer."""


def test_a_reader_delays_writers_no_longer_than_documented(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for readers is the only one: nothing is written while one is in the way."""
    monkeypatch.setattr(wal, "_READERS_WAIT_MS", _DOCUMENTED_WAIT_MS)
    with memoranda.open(path) as opened, memoranda.open(path) as other:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={"v": "secretword"})
        store.forget(key="k", purge=False)
        reports: list[int] = []
        with core_of(other).engine.snapshot() as reader:
            assert reader.row("state_count") == (0,)
            before = store.stats().journal_bytes
            assert not store.purge(progress=lambda pages, _: reports.append(pages))
            assert store.stats().journal_bytes == before
            store.write(key="l", value={})
        assert reports == [0]
        assert _DOCUMENTED_WAIT_MS == 250
        assert store.stats().pending_purge
        assert store.purge()


# The store's own background work.


class ReadingIndexer:
    """Keeps the indexer of a store in its first snapshot until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, may_go_on: Callable[[], bool]) -> None:
        self.is_reading = False
        self.has_read = False
        read_inputs = indexer.read_inputs

        def read_slowly(*arguments: Any, **options: Any) -> Any:
            self.is_reading = True
            wait_until(lambda: self.has_read or may_go_on())
            self.has_read = True
            return read_inputs(*arguments, **options)

        monkeypatch.setattr(indexer, "read_inputs", read_slowly)
        monkeypatch.setattr(wal, "_READERS_WAIT_MS", 1)

    def start(self, store: memoranda.Store) -> None:
        core_of(store).background_indexer._worker.wake()
        wait_until(lambda: self.is_reading)


def test_a_purge_waits_for_the_indexer_to_close_its_snapshot(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BACKGROUND_WAIT_SECONDS", HANG_SECONDS)
    with memoranda.open(path, embedder=None) as store:
        engine = core_of(store).engine
        reading = ReadingIndexer(monkeypatch, lambda: engine.purge_waits)
        memory = store.remember("quixotical", agent_id="ann")
        reading.start(store)
        certificate = store.forget(memory_id=memory.id, agent_id="ann")
        assert reading.has_read
        assert not certificate.pending_purge, certificate.pending_reason
        assert not engine.purge_waits
    assert leftovers(path, [b"quixotical"]) == set()


def test_the_indexer_waits_for_a_purge(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path, embedder=None) as store:
        worker = core_of(store).background_indexer._worker
        reading = ReadingIndexer(monkeypatch, lambda: True)
        memory = store.remember("one", agent_id="ann")
        store.remember("two", agent_id="ann")
        store.forget(memory_id=memory.id, agent_id="ann", purge=False)

        def progress(pages: int, total: int) -> None:
            worker.wake()
            assert not reading.is_reading, f"{pages} of {total}"

        assert store.purge(progress=progress)
        wait_until(lambda: reading.is_reading)


def test_a_purge_does_not_wait_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "BACKGROUND_WAIT_SECONDS", 0.01)
    with memoranda.open(path, embedder=None) as store:
        is_over = Event()
        reading = ReadingIndexer(monkeypatch, is_over.is_set)
        memory = store.remember("quixotical", agent_id="ann")
        reading.start(store)
        try:
            assert store.forget(memory_id=memory.id, agent_id="ann").pending_purge
            assert not core_of(store).engine.purge_waits
        finally:
            is_over.set()
        wait_until(lambda: not core_of(store).background_indexer._worker.is_busy)
        assert store.purge()


def test_an_error_of_the_progress_function_is_its_own(path: Path) -> None:
    def refuse(pages: int, total: int) -> None:
        raise StoreBusy(f"{pages} of {total}")

    with memoranda.open(path, embedder=None) as store:
        memory = store.remember("one", agent_id="ann")
        store.forget(memory_id=memory.id, agent_id="ann", purge=False)
        with pytest.raises(StoreBusy, match=" of "):
            store.purge(progress=refuse)
        assert store.purge()
