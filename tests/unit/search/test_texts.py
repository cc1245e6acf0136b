"""Texts: what passages say is what they were derived with, and nothing else is read for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memoranda
from memoranda import Store
from memoranda.search import deriving, texts
from memoranda.search.passages import Derived, Key, Passage, Words
from memoranda.search.shelves import Shelf
from memoranda.search.sources import Sources
from memoranda.search.transcripts import Cuttings

LINES = [f"line {number} was said" for number in range(20)]


@pytest.fixture
def told() -> Iterator[Store]:
    """A store with texts that were changed, withdrawn, cited and forgotten."""
    with memoranda.open(":memory:", embedder=None) as opened:
        store = opened.bind(agent_id="ann")
        _tell(store)
        yield store


def _tell(store: Store) -> None:
    said = store.store_transcript("\n".join(LINES))
    one = store.remember("first words", tags=["a"], transcript=said.id, spans=[said.find(LINES[5])])
    store.update_memory(one.id, title="a title")
    store.update_memory(one.id, content="long words " * 2_000)
    nine = said.find(LINES[9])
    store.link_transcript(memory_id=one.id, transcript_id=said.id, spans=[nine])
    store.retract_memory(one.id)
    store.assert_fact(subject="Ann", relation="lives_in", object="Oslo")
    store.forget(memory_id=store.remember("gone words").id)
    store.remember("private words", visibility="private")


def derived(store: Store) -> list[Derived]:
    with store._core.engine.snapshot() as reader:
        sources = Sources.of_commits(reader, range(1, store.stats().commits + 1))
        return [*deriving.derive(Cuttings(reader), sources)]


def read(store: Store, passages: list[Derived]) -> dict[Key, Words]:
    with store._core.engine.snapshot() as reader:
        return texts.text_of(reader, [_passage(each) for each in passages])


def _passage(of: Derived) -> Passage:
    return Passage(None, Shelf(None, *of.spot), of.source, of.first, of.beyond, of.since, of.until)


def test_every_passage_says_what_it_was_derived_with(told: Store) -> None:
    with told._core.engine.snapshot() as reader:
        sources = Sources.of_commits(reader, range(1, told.stats().commits + 1))
        cuttings = Cuttings(reader)
        passages = [*deriving.derive(cuttings, sources)]
        wanted = {each.key: each.words(cuttings) for each in passages}
        found = texts.text_of(reader, [_passage(each) for each in passages])
    assert len(found) == len(passages) > len(LINES) + 5
    assert found == wanted


def test_nothing_is_derived_but_what_is_wanted(
    told: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [each for each in derived(told) if each.spot[2] != "fact"]

    def fail(*_: object) -> None:
        raise AssertionError("not all of a source is wanted")

    for name in ("_memories", "_units", "_Memory"):
        monkeypatch.setattr(deriving, name, fail)
    for each in passages:
        assert [*read(told, [each])] == [each.key]


def test_what_is_gone_says_nothing(told: Store) -> None:
    passages = derived(told)
    for memory_id in {each.source for each in passages if each.spot[2] == "memory"}:
        told.forget(memory_id=memory_id)
    left = read(told, passages)
    assert {key[0] for key in left} == {"fact", "passage"}
    for transcript_id in {each.source for each in passages if each.spot[2] == "passage"}:
        told.forget(transcript_id=transcript_id)
    assert {key[0] for key in read(told, passages)} == {"fact"}
