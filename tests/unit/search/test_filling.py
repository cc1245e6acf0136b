"""Filling: behind the commits, in parts, once or often, by whichever process; nothing is missed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Store, StoreFull, ViewsDiffer
from memoranda.sdk.doctor import diagnose
from memoranda.search import background_worker
from memoranda.search.index import background_indexer, unindexed
from memoranda.search.index import indexer as index_indexer
from memoranda.search.index.partitions import (
    namespaces_below,
    totals,
    visibility_of,
    visible_partitions,
)
from memoranda.search.index.unindexed import UnindexedDocuments, scan
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.text.tokenizer import MAX_INDEXED_CHARACTERS
from tests.cores import core_of
from tests.patience import HANG_SECONDS
from tests.searching import backlog, fill, search, sources
from tests.unit.search.stores import eventually


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed") as opened:
        yield opened.bind(agent_id="ann")


def test_it_happens_behind_the_commits(store: Store) -> None:
    for number in range(background_indexer.WAKE_THRESHOLD - 1):
        store.remember(f"number {number}")
    assert backlog(store) == background_indexer.WAKE_THRESHOLD - 1
    last = store.remember("number last")
    eventually(lambda: backlog(store) == 0)
    assert sources(store, "last") == {last.id}
    assert len(sources(store, "number")) == background_indexer.WAKE_THRESHOLD
    store.verify(deep=True)


def test_what_large_commits_bring_is_indexed_at_once(store: Store) -> None:
    with store.begin_transaction() as transaction:
        for number in range(2 * background_indexer.WAKE_THRESHOLD):
            transaction.remember(f"number {number}")
    eventually(lambda: backlog(store) == 0)
    assert len(sources(store, "number")) == 2 * background_indexer.WAKE_THRESHOLD
    store.verify(deep=True)


def test_keys_are_not_listed(store: Store) -> None:
    store.write(key="k", value={"text": "words"})
    assert backlog(store) == 0


@pytest.mark.slow
def test_what_fails_fails_no_commit_and_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise StoreFull("there is no room")

    monkeypatch.setattr(background_worker, "MAX_BACKOFF_SECONDS", 0.01)
    with monkeypatch.context() as patched:
        patched.setattr(index_indexer.Plan, "write_part", fail)
        for number in range(2 * background_indexer.WAKE_THRESHOLD):
            store.remember(f"number {number}")
        eventually(lambda: bool(store.stats().warnings))
        assert backlog(store) == 2 * background_indexer.WAKE_THRESHOLD
        (reports,) = store.stats().warnings
        assert "not being filled: there is no room" in reports
    assert len(sources(store, "number")) == 2 * background_indexer.WAKE_THRESHOLD
    eventually(lambda: backlog(store) == 0)
    assert store.stats().warnings == ()


@pytest.mark.slow
def test_a_long_transcript_is_indexed_in_parts(store: Store) -> None:
    lines = [f"line number {number}" for number in range(index_indexer.MAX_PLAN_DOCUMENTS + 500)]
    engine = core_of(store).engine
    with core_of(store).background_indexer.indexer._work_lock:
        transcript = store.store_transcript("\n".join(lines))
        assert index_indexer.Indexer(engine).fill_batch() == 0
        core_of(store).background_indexer.close()
    assert backlog(store) == 1
    with engine.reading() as reader:
        assert 0 < totals(reader)[0] < len(lines)
    assert len(search(store, "line", most=5_000)) == len(lines)
    store.verify(deep=True)
    assert fill(store) == 1
    assert backlog(store) == 0
    assert len(search(store, "line", most=5_000)) == len(lines)
    assert {item.document.source for item in search(store, "line 7")} == {transcript.id}
    store.verify(deep=True)


def test_filling_again_changes_nothing(store: Store) -> None:
    memory = store.remember("some words")
    store.update_memory(memory.id, content="other words")
    fill(store)
    before = search(store, "words", known=2)
    core_of(store).engine.write(lambda writer: writer.put_all("index_queue_add", [(1, 1), (2, 1)]))
    assert fill(store) == 2
    assert search(store, "words", known=2) == before


def test_a_search_does_not_write(store: Store) -> None:
    core_of(store).background_indexer.close()  # nobody indexes meanwhile
    with store.begin_transaction() as transaction:
        for number in range(background_indexer.SEARCH_WAKE_THRESHOLD + 1):
            transaction.remember(f"number {number}")
    store.rebuild()
    with core_of(store).engine.reading() as reader:
        before = reader.row("meta_get", name="index"), totals(reader)
    assert [hit.text for hit in store.recall("number 77", k=1)] == ["number 77"]
    with core_of(store).engine.reading() as reader:
        assert (reader.row("meta_get", name="index"), totals(reader)) == before
    assert backlog(store) == 1


@pytest.mark.slow
def test_a_search_wakes_the_indexer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 10**9)
    with store.begin_transaction() as transaction:
        for number in range(background_indexer.SEARCH_WAKE_THRESHOLD + 1):
            transaction.remember(f"number {number}")
    assert backlog(store) == 1
    assert store.recall("number 77")
    eventually(lambda: backlog(store) == 0)


@pytest.mark.parametrize("scan_all", [0, 10**9])
def test_a_scan_in_small_batches_finds_what_the_index_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch, scan_all: int
) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 10**9)
    monkeypatch.setattr(unindexed, "MAX_PLAN_DOCUMENTS", 2)
    monkeypatch.setattr(unindexed, "_PAGE_COMMITS", 3)
    monkeypatch.setattr(unindexed, "SCAN_ALL_DOCUMENTS", scan_all)
    transcript = store.store_transcript("before the tea\nkettles of tea\nafter the tea")
    memories = [store.remember(f"tea of kind {number}").id for number in range(9)]
    fill(store)
    for number, memory_id in enumerate(memories[:6]):  # each in several commits of the queue
        store.update_memory(memory_id, content=f"coffee of kind {number}")
        store.update_memory(memory_id, content=f"tea of sort {number}")
    store.retract_memory(memories[7])
    store.remember("tea cited", transcript=transcript.id, spans=[transcript.find("kettles of tea")])
    for query, reference in (("tea", None), ("coffee", None), ("tea kind", 12), ("kettles", None)):
        before = {item.document.key: item.score for item in search(store, query, known=reference)}
        with core_of(store).engine.snapshot() as reader:
            assert reader.row("index_queue_totals") != (0, 0)
        after = {item.document.key for item in _filled_copy(store, query, reference)}
        assert set(before) == after, query


def _filled_copy(store: Store, query: str, known: int | None) -> list[ScoredDocument]:
    """Return what is found once all is indexed, and leave the queue as it was."""
    with core_of(store).engine.reading() as reader:
        queued = reader.rows("index_queue_page", after=0, limit=-1)
    fill(store)
    match = search(store, query, known=known)
    core_of(store).engine.write(lambda writer: writer.put_all("index_queue_add", queued))
    return match


def test_of_very_many_matches_the_best_are_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 10**9)
    monkeypatch.setattr(unindexed, "MAX_MATCHES", 20)
    with store.begin_transaction() as transaction:
        for number in range(200):
            tags = ["gold"] if number % 50 == 7 else []
            transaction.remember(f"tea number {number}", tags=tags)
    match = search(store, "tea gold")
    assert 10 <= len(match) <= 20
    golden = {memory.id for memory in store.list_memories(tags=["gold"])}
    assert {item.document.source for item in match[:4]} == golden


def test_long_memories_are_much_sooner(store: Store) -> None:
    core_of(store).background_indexer.close()  # nobody fills it meanwhile
    threshold = background_indexer.SEARCH_WAKE_THRESHOLD
    few = threshold * 800 // MAX_INDEXED_CHARACTERS + 1
    with store.begin_transaction() as transaction:
        for _ in range(few):
            transaction.remember("long " * (MAX_INDEXED_CHARACTERS // 4))
    store.update_memory(store.remember("short").id, content="longer " * 400)
    with core_of(store).engine.reading() as reader:
        assert threshold < index_indexer.backlog_documents(reader) < threshold + 90


def test_a_score_stays_when_it_is_indexed(store: Store) -> None:
    store.remember("tea " * 500)
    fill(store)
    for number in range(9):
        store.remember(f"tea of kind {number} " * (number + 1))
    before = {item.document.source: item.score for item in search(store, "tea kind")[:9]}
    fill(store)
    after = {item.document.source: item.score for item in search(store, "tea kind")[:9]}
    assert after == pytest.approx(before)


def test_two_handles_find_at_once_what_either_wrote(store: Store, path: Path) -> None:
    with memoranda.open(path, durability="relaxed") as opened:
        other = opened.bind(agent_id="ann")
        one = store.remember("quartz")
        assert sources(other, "quartz") == {one.id}
        fill(other)
        assert sources(store, "quartz") == {one.id}
        other.update_memory(one.id, content="basalt")
        assert (sources(store, "quartz"), sources(store, "basalt")) == (set(), {one.id})
        fill(store)
        assert (sources(other, "quartz"), sources(other, "basalt")) == (set(), {one.id})
        other.forget(memory_id=one.id)
        assert sources(store, "basalt") == set()


@pytest.mark.slow
def test_another_process_is_found_at_once(store: Store, path: Path) -> None:
    work = (
        "import sys, memoranda\n"
        "with memoranda.open(sys.argv[1]) as store:\n"
        "    store.bind(agent_id='ann').remember('obsidian')\n"
    )
    store.remember("padding")
    fill(store)
    subprocess.run([sys.executable, "-c", work, str(path)], check=True, timeout=HANG_SECONDS)
    (match,) = search(store, "obsidian")
    assert match.document.id is None


def test_the_context_of_another_namespace_stays_there(store: Store) -> None:
    other = store.bind(namespace="other")
    transcript = other.store_transcript("one\nhidden words\nthree")
    memory = store.remember("a belief", transcript=transcript.id, spans=[transcript.find("three")])
    for _ in range(2):
        assert sources(store, "hidden") == set()
        assert sources(store, "belief") == {memory.id}
        fill(store)


def test_only_so_much_of_a_long_memory_is_found(store: Store) -> None:
    text = "filling " * (MAX_INDEXED_CHARACTERS // 8) + "needle"
    memory = store.remember(text, title="the haystack", tags=["straw"])
    for _ in range(2):
        assert sources(store, "needle") == set()
        assert sources(store, "haystack") == sources(store, "straw") == {memory.id}
        fill(store)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "the of and",
        '"a" NEAR(b',
        "own : x*",
        "👍",
        "日本語",
        "שלום",
        "x" * 100_000,
        "é" * 9,
        "\x01",
    ],
)
def test_odd_queries_find_nothing_and_harm_nothing(store: Store, query: str) -> None:
    store.remember("padding words")
    for _ in range(2):
        assert search(store, query) == []
        fill(store)


def test_a_very_long_query_looks_for_the_rarest_words(store: Store) -> None:
    common = " ".join(f"word{number}" for number in range(100))
    memory = store.remember(f"{common} needle")
    for _ in range(5):
        store.remember(common)
    for _ in range(2):
        assert search(store, f"{common} needle " * 300)[0].document.source == memory.id
        fill(store)


def test_shelves_of_others_are_not_seen(store: Store) -> None:
    bob = store.bind(agent_id="bob", namespace="team/below")
    bob.remember("mine", visibility="private")
    bob.remember("ours")
    store.bind(namespace="team").remember("above")
    fill(store)
    with core_of(store).engine.snapshot() as reader:
        assert namespaces_below(reader, "team") == ("team", "team/below")

        def seen(viewer: str, *names: str) -> set[tuple[str, str]]:
            visibility = visibility_of(
                namespaces=names or None, viewer=viewer, kinds=["memory"], past=True
            )
            partitions = visible_partitions(reader, visibility)
            return {(partition.namespace, partition.owner) for partition in partitions}

        assert seen("ann") == {("team/below", ""), ("team", "")}
        assert seen("bob", "team/below") == {("team/below", ""), ("team/below", "bob")}
        assert seen("bob", "team") == {("team", "")}
        everything = visibility_of(namespaces=None, viewer="ann", kinds=["memory"], past=True)
        assert scan(reader, everything, terms=["word"]) == UnindexedDocuments()


def test_inboxes_are_searched_only_when_named(store: Store) -> None:
    old, new = (store.remember(text, kind="reflection") for text in ("old", "new"))
    store.reflect("on the old", on=[old.id])
    store.supersede(old=old.id, new=new.id)
    for _ in range(2):
        assert search(store, "superseded", namespaces=None) == []
        assert len(search(store, "superseded", namespaces=["default/_invalidations"])) == 1
        fill(store)


@pytest.mark.parametrize("copy", ["fork", "backup", "import"])
def test_copies_find_the_same(store: Store, tmp_path: Path, copy: str) -> None:
    stored_item, target = store.remember("kept words"), store.remember("gone words")
    fill(store)
    store.forget(memory_id=target.id)
    other = tmp_path / "other.db"
    if copy == "fork":
        store.fork(other, at=store.stats().commits)
    elif copy == "backup":
        store.backup(other)
    else:
        store.export_log(tmp_path / "log.jsonl")
        memoranda.import_log(tmp_path / "log.jsonl", other)
    with memoranda.open(other) as opened:
        for _ in range(2):
            assert sources(opened, "words") == {stored_item.id}
            opened.verify(deep=True)
            fill(opened)


def test_the_doctor_says_how_far_it_is(store: Store, path: Path) -> None:
    def told() -> tuple[str, str]:
        (result,) = (finding for finding in diagnose(path, quick=True) if finding.check == "index")
        return result.status, result.message

    assert told() == ("ok", "the index of words has every commit")
    store.remember("words")
    assert told() == ("ok", "the index of words lacks 1 commit")
    core_of(store).engine.write(lambda writer: writer.put("index_queue_add", 2**40, 10_000))
    assert told()[0] == "warning"


TAMPERED = {
    "passage": (
        "UPDATE passage SET since = since - 1",
        "UPDATE passage SET source = 'x'",
        "UPDATE passage SET shelf = 2 WHERE shelf = 1",
        "UPDATE passage SET until_commit = 7",
        "DELETE FROM passage",
        "INSERT INTO passage SELECT 99, shelf, 'x', 0, 0, 1, until_commit, 0 FROM passage LIMIT 1",
        "DELETE FROM to_index",
        "INSERT INTO vector VALUES (77, x'00')",
    ),
    "words": (
        "INSERT INTO to_index VALUES (4000, 1)",
        "UPDATE passage SET length = 3",
        "UPDATE words SET own = '1.other' WHERE rowid = 1",
        "UPDATE words_content SET c0 = '1.other' WHERE id = 1",
        "UPDATE words_data SET block = x'0000000a' WHERE id = 10",
    ),
    "shelf": ("UPDATE shelf SET size = size + 1", "UPDATE shelf SET length = 7 WHERE id = 1"),
}


@pytest.mark.parametrize(
    ("table", "deed"), [(table, deed) for table, deeds in TAMPERED.items() for deed in deeds]
)
def test_a_deep_look_finds_what_is_wrong(store: Store, path: Path, table: str, deed: str) -> None:
    store.remember("some words")
    store.bind(agent_id="bob").remember("private words", visibility="private")
    fill(store)
    store.remember("more words")
    store.verify(deep=True)
    with apsw.Connection(str(path)) as database:
        database.execute(deed)
    with pytest.raises(memoranda.Corruption) as caught:
        store.verify(deep=True)
    if isinstance(caught.value, ViewsDiffer):
        assert caught.value.view == "search"
    assert table in str(caught.value)
    store.rebuild()
    store.verify(deep=True)
    fill(store)
    store.verify(deep=True)
