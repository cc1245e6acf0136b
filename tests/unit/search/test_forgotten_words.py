"""Forgetting: no word, no vector and no name of a shelf is left, indexed or not yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

import memoranda
from memoranda import Store
from memoranda.storage.port import Writer
from memoranda.storage.sqlite.connection import Connection
from memoranda.testing import FixedClock
from tests.cores import core_of
from tests.leftovers import files_of, leftovers
from tests.searching import backlog, fill, search, sources


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed") as opened:
        yield opened.bind(agent_id="ann")


def embed(store: Store) -> None:
    """Give each passage a vector by which its source can be recognised."""

    def add_vectors(writer: Writer) -> None:
        assert isinstance(writer, Connection)
        writer.database.execute(
            "INSERT INTO vector SELECT id, CAST('vector ' || source AS BLOB) FROM passage"
        )

    core_of(store).engine.write(add_vectors)


def vector(source: str) -> bytes:
    return f"vector {source}".encode()


def nothing_is_left(store: Store, path: Path) -> None:
    """None of it is found, now or at any commit, nor in the files; filled or not."""
    for _ in range(2):
        for reference in (None, *range(1, store.stats().commits + 1)):
            assert search(store, "quixotical", known=reference, namespaces=None) == []
        assert leftovers(path, [b"quixot"]) == set()
        store.verify(deep=True)
        fill(store)


@pytest.mark.parametrize("indexed", ["indexed", "waiting"])
def test_a_memory(store: Store, path: Path, indexed: str) -> None:
    other = store.remember("padding words")
    memory = store.remember("quixotical plans", title="quixotical", tags=["quixotical"])
    store.update_memory(memory.id, content="more quixotical plans")
    store.retract_memory(memory.id)
    if indexed == "indexed":
        fill(store)
        embed(store)
        assert leftovers(path, [b"quixot", vector(memory.id)]) == {b"quixot", vector(memory.id)}
    assert sources(store, "quixotical") == set()
    store.forget(memory_id=memory.id)
    nothing_is_left(store, path)
    assert sources(store, "padding") == {other.id}
    remainder = {vector(other.id)} if indexed == "indexed" else set()
    assert leftovers(path, [vector(memory.id), vector(other.id)]) == remainder


@pytest.mark.parametrize("indexed", ["indexed", "waiting"])
def test_a_transcript_and_what_stood_around_memories(
    store: Store, path: Path, indexed: str
) -> None:
    words = "padding\nquixotical plans\nthe words that count\nquixotical ends"
    transcript = store.store_transcript(words)
    span = transcript.find("the words that count")
    memory = store.remember("a belief", transcript=transcript.id, spans=[span])
    if indexed == "indexed":
        fill(store)
        embed(store)
    assert sources(store, "quixotical") == {transcript.id, memory.id}
    store.forget(transcript_id=transcript.id)
    assert sources(store, "belief") == {memory.id}
    nothing_is_left(store, path)
    assert leftovers(path, [vector(memory.id), vector(transcript.id)]) == set()
    assert sources(store, "belief") == {memory.id}


@pytest.mark.parametrize("indexed", ["indexed", "waiting"])
def test_facts_from_a_source(store: Store, path: Path, indexed: str) -> None:
    memory = store.remember("somebody said so")
    store.assert_fact(subject="Quixotical", relation="is", object="x", source=memory.id)
    store.assert_fact(subject="ann", relation="quixotical", object="x", source=memory.id)
    store.retract_fact(subject="ann", relation="quixotical", object="x")
    store.assert_fact(subject="ann", relation="is", object="padding")
    if indexed == "indexed":
        fill(store)
    assert len(search(store, "quixotical")) == 1
    assert len(search(store, "quixotical", known=store.stats().commits - 2)) == 2
    store.forget(facts_from=memory.id)
    assert len(search(store, "padding")) == 1
    assert leftovers(path, [b"quixot", b"Quixot"]) == set()
    store.verify(deep=True)


@pytest.mark.parametrize("indexed", ["indexed", "waiting"])
def test_ends_that_were_extracted(store: Store, path: Path, indexed: str) -> None:
    store.remember("padding words")
    report = store.import_chat("Quixotina: I left Quixotical.", extractor="rules")
    if indexed == "indexed":
        fill(store)
        embed(store)
    assert leftovers(path, [b"Quixotical", b"quixotical"])
    for link in store.memories_for(report.transcript_id):
        store.forget(memory_id=link.memory_id)
    store.forget(transcript_id=report.transcript_id)
    nothing_is_left(store, path)
    assert leftovers(path, [b"Quixot"]) == set()


@pytest.mark.parametrize("indexed", ["indexed", "waiting"])
@pytest.mark.parametrize("target", ["whole_agent", "whole_namespace"])
def test_an_agent_or_a_namespace(store: Store, path: Path, indexed: str, target: str) -> None:
    other = store.remember("padding words")
    bound = store.bind(agent_id="quixotical-agent", namespace="quixotical-space")
    bound.remember("quixotical plans", visibility="private")
    bound.remember("quixotical plans")
    bound.store_transcript("quixotical words")
    bound.assert_fact(subject="quixotical", relation="is", object="x")
    if indexed == "indexed":
        fill(store)
    name = {"whole_agent": "quixotical-agent", "whole_namespace": "quixotical-space"}[target]
    store.forget(**{target: name})  # type: ignore[arg-type]
    fill(store)
    assert leftovers(path, [name.encode(), b"quixotical plans"]) == set()
    assert sources(store, "padding") == {other.id}
    store.verify(deep=True)
    with apsw.Connection(str(path)) as database:
        owners = database.execute("SELECT namespace, owner FROM shelf").fetchall()
    assert owners == [("default", "")]


def test_a_sweep(path: Path) -> None:
    clock = FixedClock()
    with memoranda.open(path, durability="relaxed", clock=clock) as opened:
        store = opened.bind(agent_id="ann")
        store.remember("quixotical plans", ttl=60)
        memory = store.remember("padding words")
        fill(store)
        clock.advance(7200)
        assert store.sweep(expired_for=60) is not None
        nothing_is_left(store, path)
        assert sources(store, "padding") == {memory.id}


@pytest.mark.slow
def test_no_beginning_of_thousands_of_words_is_left(store: Store, path: Path) -> None:
    """The index tells its pages apart by beginnings of words, which outlive the words."""
    random = Random(0)
    secrets = [f"quixotical{random.getrandbits(48):012x}" for _ in range(12_000)]
    forgotten = []
    for number in range(0, len(secrets), 50):
        memory = store.remember(" ".join(secrets[number : number + 50]))
        forgotten.append(memory.id)
        store.remember(
            " ".join(f"{random.choice('abcxyz')}{random.getrandbits(40)}" for _ in range(20))
        )
    fill(store)
    for memory_id in forgotten:
        store.forget(memory_id=memory_id, purge=False)
    assert store.purge()
    fill(store)
    assert backlog(store) == 0
    assert not any(b"quixotical" in file.read_bytes() for file in files_of(path))
    store.verify(deep=True)


def test_what_a_compaction_erases_leaves_and_what_holds_is_found(store: Store, path: Path) -> None:
    memory = store.remember("quixotical plans")
    store.update_memory(memory.id, content="sober plans")
    stored_item = store.remember("padding words")
    fill(store)
    head = store.stats().commits
    store.compact(before=head, confirm=True)
    assert store.purge()
    assert leftovers(path, [b"quixot"]) == set()
    for _ in range(2):
        assert sources(store, "plan") == {memory.id}
        assert sources(store, "padding") == {stored_item.id}
        assert sources(store, "quixotical") == set()
        store.verify(deep=True)
        fill(store)
