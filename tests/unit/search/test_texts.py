"""Texts: what passages say is what they were derived with, and nothing else is read for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memoranda
from memoranda import Store
from memoranda.search.index import documents
from memoranda.search.index.documents import (
    DerivedDocument,
    DocumentInfo,
    DocumentText,
    Key,
    Sources,
)
from memoranda.search.index.partitions import Partition
from memoranda.search.text.transcript_chunks import ChunkLoader
from tests.cores import core_of

LINES = [f"line {number} was said" for number in range(20)]


@pytest.fixture
def story() -> Iterator[Store]:
    """A store with texts that were changed, withdrawn, cited and forgotten."""
    with memoranda.open(":memory:", embedder=None) as opened:
        store = opened.bind(agent_id="ann")
        _tell(store)
        yield store


def _tell(store: Store) -> None:
    transcript = store.store_transcript("\n".join(LINES))
    one = store.remember(
        "first words", tags=["a"], transcript=transcript.id, spans=[transcript.find(LINES[5])]
    )
    store.update_memory(one.id, title="a title")
    store.update_memory(one.id, content="long words " * 2_000)
    nine = transcript.find(LINES[9])
    store.link_transcript(memory_id=one.id, transcript_id=transcript.id, spans=[nine])
    store.retract_memory(one.id)
    store.assert_fact(subject="Ann", relation="lives_in", object="Oslo")
    store.forget(memory_id=store.remember("gone words").id)
    store.remember("private words", visibility="private")


def derived(store: Store) -> list[DerivedDocument]:
    with core_of(store).engine.snapshot() as reader:
        sources = Sources.of_commits(reader, range(1, store.stats().commits + 1))
        return [*documents.derive_documents(ChunkLoader(reader), sources).all()]


def read(store: Store, passages: list[DerivedDocument]) -> dict[Key, DocumentText]:
    with core_of(store).engine.snapshot() as reader:
        return documents.load_texts(reader, [_passage(passage) for passage in passages])


def _passage(of: DerivedDocument) -> DocumentInfo:
    return DocumentInfo(
        None,
        Partition(None, *of.partition_key),
        of.source,
        of.start,
        of.end,
        of.from_commit,
        of.to_commit,
    )


def test_every_passage_says_what_it_was_derived_with(story: Store) -> None:
    with core_of(story).engine.snapshot() as reader:
        sources = Sources.of_commits(reader, range(1, story.stats().commits + 1))
        cuttings = ChunkLoader(reader)
        passages = [*documents.derive_documents(cuttings, sources).all()]
        target = {passage.key: passage.load_text(cuttings) for passage in passages}
        texts = documents.load_texts(reader, [_passage(passage) for passage in passages])
    assert len(texts) == len(passages) > len(LINES) + 5
    assert texts == target


def test_nothing_is_derived_but_what_is_wanted(
    story: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [passage for passage in derived(story) if passage.partition_key[2] != "fact"]

    def fail(*_: object) -> None:
        raise AssertionError("not all of a source is wanted")

    for name in ("_memory_documents", "_chunk_documents", "_MemoryHistory"):
        monkeypatch.setattr(documents, name, fail)
    for passage in passages:
        assert [*read(story, [passage])] == [passage.key]


def test_what_is_gone_says_nothing(story: Store) -> None:
    passages = derived(story)
    for memory_id in {
        passage.source for passage in passages if passage.partition_key[2] == "memory"
    }:
        story.forget(memory_id=memory_id)
    remainder = read(story, passages)
    assert {key[0] for key in remainder} == {"fact", "passage"}
    for transcript_id in {
        passage.source for passage in passages if passage.partition_key[2] == "passage"
    }:
        story.forget(transcript_id=transcript_id)
    assert {key[0] for key in read(story, passages)} == {"fact"}
