"""The language of the index: changed at any time, and nothing is missed in between."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.errors import InvalidInput
from memoranda.sdk.doctor import diagnose
from memoranda.search.index import background_indexer, check, indexer, language_change, tables
from memoranda.search.index.tables import Stale
from memoranda.search.text import language as index_language
from memoranda.search.text import tokenizer
from memoranda.search.text.language import IndexLanguage
from memoranda.search.text.stemmer import stem
from tests.cores import core_of
from tests.embedders import Hashing
from tests.searching import sources
from tests.unit.search.stores import eventually, remember

TEXTS = ("Das Häuschen steht bei den Häusern", "She quickly replayed the keys", "id x9 of 2024")


@pytest.fixture(autouse=True)
def nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests say when something is rewritten."""
    monkeypatch.setattr(background_indexer.BackgroundIndexer, "start", lambda _: None)
    monkeypatch.setattr(language_change, "_BATCH_DOCUMENTS", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def filled(store: Store) -> list[str]:
    ids = remember(store.bind(agent_id="ann"), TEXTS)
    store.reindex()
    return ids


def words(store: Store) -> str:
    """Return the indexed tokens of the passages themselves."""
    with core_of(store).engine.snapshot() as reader:
        rows = reader.rows("fulltext_by_id", ids="[1,2,3]")
    return " ".join(own for _, own, _, _ in rows)


def make_old(path: Path) -> list[str]:
    """Make a store as an older version left it: with Porter's stems, and no language noted."""
    with memoranda.open(path, embedder=Hashing()) as store:
        ids = filled(store)
        assert store.reindex(language="porter").rewritten == 3
        engine = core_of(store).engine
        engine.write(lambda writer: writer.run("meta_remove", name="index_language"))
        engine.write(lambda writer: writer.run("meta_set", name="view:search", value="2"))
        assert ".quickli" in words(store)
    return ids


def test_the_language_is_english_unless_another_is_set(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        assert store.stats().language == "english"
        assert store.reindex().language == "english"
        assert ".quick " in words(store)


def test_another_language_rewrites_words_and_keeps_vectors(path: Path) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        house, _, number = filled(store)
        assert store.stats().vectors == 3
        assert sources(store, "Hauses") == set()
        done = store.reindex(language="german")
        assert (done.language, done.rewritten, done.vectors) == ("german", 3, 0)
        assert sources(store, "Hauses") == {house}
        assert sources(store, "x9") == {number}
        assert store.stats().vectors == 3
        assert store.stats().warnings == ()
        assert not store.reindex(language="german")
        check.check_index(core_of(store).engine)
    with memoranda.open(path, embedder=None) as store:
        assert store.stats().language == "german"
        remember(store.bind(agent_id="ann"), ["zwei Hauses"])
        assert len(sources(store, "Häuser")) == 2
        store.reindex()
        assert len(sources(store, "Häuser")) == 2


def test_while_it_is_rewritten_nothing_is_missed_and_stats_say_so(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        house, keys, _ = filled(store)
        store.reindex(text=False, language="german")
        remainder = [3, 2, 1]
        while True:
            assert sources(store, "replayed") == {keys}
            assert sources(store, "Häusern") == {house}
            assert sources(store, "replaying") == ({keys} if len(remainder) > 1 else set())
            check.check_index(core_of(store).engine)
            if not remainder:
                break
            (reports,) = store.stats().warnings
            count = remainder.pop(0)
            assert f"{count} document" in reports
            assert "english and not yet in german" in reports
            assert "memoranda reindex" in reports
            findings = [
                finding for finding in diagnose(path, quick=True) if finding.check == "index"
            ]
            assert [finding.status for finding in findings] == ["warning"]
            core_of(store).background_indexer.indexer.restem_batch()
        assert store.stats().warnings == ()


def test_a_language_changed_twice_in_a_row_still_finds_all(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        house, keys, _ = filled(store)
        store.reindex(text=False, language="german")
        core_of(store).background_indexer.indexer.restem_batch()
        store.reindex(text=False, language="french")
        assert sources(store, "Häusern") == {house}
        assert sources(store, "replaying") == {keys}
        assert store.reindex().rewritten == 3
        check.check_index(core_of(store).engine)
        with core_of(store).engine.reading() as reader:
            assert index_language.read(reader) == IndexLanguage(
                "french", tokenizer_version=tokenizer.VERSION
            )


def test_an_unknown_language_changes_nothing(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        with pytest.raises(InvalidInput, match=r"klingon.*english"):
            store.reindex(language="klingon")
        assert store.stats().language == "english"


def test_an_index_of_an_older_version_is_rewritten_and_keeps_its_vectors(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, keys, _ = make_old(path)
    with memoranda.open(path, embedder=Hashing()) as store:
        assert sources(store, "quickly replay key") == {keys}
        assert "3 documents are indexed in porter" in store.stats().warnings[0]
    monkeypatch.undo()
    with memoranda.open(path, embedder=Hashing()) as store:
        eventually(lambda: store.stats().warnings == ())
        assert sources(store, "quick") == {keys}
        assert (store.stats().vectors, store.stats().vector_backlog) == (3, 0)
        assert ".quickli" not in words(store)
        check.check_index(core_of(store).engine)


def test_a_process_that_dies_goes_on_where_it_was(path: Path) -> None:
    make_old(path)
    with memoranda.open(path, embedder=None) as store:
        core_of(store).background_indexer.indexer.restem_batch()
    with memoranda.open(path, embedder=None) as store:
        assert store.reindex().rewritten == 2
        check.check_index(core_of(store).engine)


def test_what_was_prepared_in_the_old_language_is_not_put_in(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        ids = remember(store.bind(agent_id="ann"), ["noch mehr Häuser"])
        engine = core_of(store).engine

        def changing(name: str) -> None:
            if name == "derived" and store.stats().language == "english":
                store.reindex(text=False, language="german")

        indexer.Indexer(engine, failpoint=changing).fill()
        store.reindex()
        assert ids[0] in sources(store, "Hauses")
        check.check_index(engine)


def test_what_is_erased_meanwhile_is_not_written_back(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        house, *_ = filled(store)
        store.reindex(text=False, language="german")
        engine = core_of(store).engine
        part = language_change.prepare(
            engine, core_of(store).background_indexer.indexer.cache, lambda: None
        )
        assert part is not None
        store.bind(agent_id="ann").forget(memory_id=house)
        with pytest.raises(Stale):
            engine.write(lambda writer: language_change.write_slice(writer, part, part.items))
        store.reindex()
        assert sources(store, "Häuser") == set()
        check.check_index(engine)


def test_a_rebuild_and_a_fork_keep_the_language(path: Path, tmp_path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        store.reindex(text=False, language="german")
        store.rebuild()
        assert store.stats().language == "german"
        store.reindex()
        assert len(sources(store, "Hauses")) == 1
        check.check_index(core_of(store).engine)
        store.fork(tmp_path / "fork.db", at=store.stats().commits)
    with memoranda.open(tmp_path / "fork.db", embedder=None) as store:
        assert store.stats().language == "german"
        assert len(sources(store, "Hauses")) == 1


def test_a_language_that_cannot_be_read_is_mended(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        core_of(store).engine.write(
            lambda writer: writer.run("meta_set", name="index_language", value="{oops")
        )
        assert store.stats().warnings != ()
        assert store.reindex().rewritten == 3
        assert store.stats().warnings == ()


def test_progress_counts_the_passages_that_are_rewritten(path: Path) -> None:
    observations: list[tuple[int, int]] = []
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        store.reindex(
            language="german", progress=lambda done, whole: observations.append((done, whole))
        )
    assert observations == [(1, 3), (2, 3), (3, 3)]


def test_an_index_of_an_older_version_is_searched_where_nothing_may_be_written(path: Path) -> None:
    _, keys, _ = make_old(path)
    with memoranda.open(path, embedder=None, read_only=True) as store:
        assert sources(store, "quickly") == {keys}
        assert sources(store, "replaying") == {keys}
        assert store.stats().language == "english"
        assert "porter" in store.stats().warnings[0]


def of_first_tokenizer(path: Path) -> list[str]:
    """Make a German store as the first tokenizer left it: stems of words without accents."""

    def first(text: str, *_: object) -> list[str]:
        words = tokenizer.fold(text).replace(".", " ").split()
        return [stem(word, "german") for word in words]

    with memoranda.open(path, embedder=Hashing()) as store:
        store.reindex(language="german")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "indexed_tokens", first)
            ids = remember(store.bind(agent_id="ann"), TEXTS)
            store.reindex()
        core_of(store).engine.write(
            lambda writer: writer.run("meta_set", name="index_language", value='["german",[],0,0]')
        )
        assert ".bei" in words(store)
    return ids


def test_an_index_of_an_older_tokenizer_is_rewritten_and_keeps_its_vectors(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, *_ = of_first_tokenizer(path)
    with memoranda.open(path, embedder=Hashing()) as store:
        assert "3 documents are indexed in german" in store.stats().warnings[0]
        for remainder in (3, 2, 1, 0):
            assert sources(store, "Hauses") == {house}
            assert sources(store, "steht bei Häuschen") == {house}
            check.check_index(core_of(store).engine)
            if remainder:
                core_of(store).background_indexer.indexer.restem_batch()
    monkeypatch.undo()
    with memoranda.open(path, embedder=Hashing()) as store:
        eventually(lambda: store.stats().warnings == ())
        assert sources(store, "Hauses") == {house}
        assert (store.stats().vectors, store.stats().vector_backlog) == (3, 0)
        assert ".bei" not in words(store)
        check.check_index(core_of(store).engine)


def test_an_index_of_an_older_tokenizer_is_searched_where_nothing_may_be_written(
    path: Path,
) -> None:
    house, *_ = of_first_tokenizer(path)
    with memoranda.open(path, embedder=None, read_only=True) as store:
        assert sources(store, "Hauses") == {house}
        assert store.stats().language == "german"


def test_a_namespace_is_restemmed_while_nothing_is_missed(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        agent = store.bind(agent_id="ann")
        house = agent.remember("die Häuser", namespace="team/de").id
        keys = agent.remember("she replayed the keys", namespace="team").id
        store.reindex()
        store.reindex(text=False, language="german", namespace="team/de")
        while True:
            by_words = [hit.id for hit in agent.recall("Häuser", namespace="team/de")]
            assert by_words == [house]
            assert [hit.id for hit in agent.recall("replaying", namespace="team")] == [keys]
            check.check_index(core_of(store).engine)
            if not store.stats().warnings:
                break
            core_of(store).background_indexer.indexer.restem_batch()
        assert [hit.id for hit in agent.recall("Hauses", namespace="team/de")] == [house]


def test_a_namespace_set_to_the_language_it_has_restems_nothing(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        filled(store)
        store.reindex(text=False, language="german")
        core_of(store).background_indexer.indexer.restem_batch()
        assert store.reindex(text=False, language="german", namespace="default").rewritten == 0
        assert "2 documents" in store.stats().warnings[0]
        assert store.reindex().rewritten == 2
        assert store.stats().languages == {"default": "german"}


def test_a_fork_keeps_the_languages_of_namespaces(path: Path, tmp_path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        house = store.bind(agent_id="ann").remember("die Häuser", namespace="de").id
        store.reindex(language="german", namespace="de")
        store.fork(tmp_path / "fork.db", at=1)
    with memoranda.open(tmp_path / "fork.db", embedder=None) as store:
        assert store.stats().languages == {"de": "german"}
        hits = store.bind(agent_id="ann").recall("Hauses", namespace="de")
        assert [hit.id for hit in hits] == [house]


def test_the_nearest_language_wins() -> None:
    languages = IndexLanguage("french", namespaces={"a": "german", "a/b/c": "spanish"})
    names = ("a", "a/b", "a/b/c", "a/b/c/d", "ab", "b/a", "")
    assert [languages.of(name) for name in names] == [
        "german",
        "german",
        "spanish",
        "spanish",
        "french",
        "french",
        "french",
    ]
