"""Languages: a memory is found by another form of its words, in the language of its namespace."""

from __future__ import annotations

import pytest

from memoranda import ALL_NAMESPACES, InvalidInput, Store
from tests.contract.opener import Opener

SENTENCES = {
    "german": (
        "Die Großmutter erzählte von alten Häusern am Fluss",
        ["das alte Haus am Fluß", "Haeuser", "Häuser", "Erzählungen der Grossmutter", "GROẞMUTTER"],
        "Der Zug hatte gestern Verspätung",
    ),
    "french": (
        "Les étudiantes ont mangé à la terrasse de l'école",
        ["elle mange souvent", "une étudiante", "l’ecole", "etudiantes", "les terrasses"],  # noqa: RUF001
        "Le train arrive demain matin",
    ),
    "spanish": (
        "El niño corrió hacia las montañas cantando canciones",
        ["corriendo", "una canción", "la montana", "cantar", "corrio"],
        "La reunión empieza mañana",
    ),
    "chinese": (
        "我昨天在北京的咖啡馆喝了一杯绿茶",
        ["北京有什么咖啡馆", "绿茶", "茶", "谁喝了茶?"],
        "火车明天早上出发",
    ),
    "japanese": (
        "祖母は東京タワーの近くでラーメンを食べました",
        ["ラーメンを食べる", "東京", "ﾗｰﾒﾝ", "食べたい"],
        "電車が遅れています",
    ),
    "korean": ("할머니가 김치찌개를 만들었다", ["김치찌개", "할머니는"], "기차가 늦었다"),
    "thai": ("ยายทำต้มยำกุ้งที่บ้าน", ["ต้มยำกุ้ง"], "รถไฟมาสาย"),
}
"""A sentence, queries in other words or forms that find it, and one that they do not find."""
STEMMED = ("german", "french", "spanish")


@pytest.fixture
def store(open_store: Opener) -> Store:
    return open_store(embedder=None).bind(agent_id="a1")


def set_language(store: Store, language: str, namespace: str | None = None) -> None:
    if language in STEMMED:
        store.reindex(language=language, namespace=namespace)


@pytest.mark.parametrize("indexed", [False, True], ids=["unindexed", "indexed"])
@pytest.mark.parametrize("language", SENTENCES)
def test_a_query_in_another_form_finds_the_memory(
    store: Store, language: str, *, indexed: bool
) -> None:
    text, queries, other = SENTENCES[language]
    set_language(store, language)
    memory = store.remember(text)
    store.remember(other)
    if indexed:
        store.reindex()
    assert {query: [hit.id for hit in store.recall(query)] for query in queries} == {
        query: [memory.id] for query in queries
    }
    store.verify(deep=True)


@pytest.mark.parametrize("indexed", [False, True], ids=["unindexed", "indexed"])
@pytest.mark.parametrize("language", SENTENCES)
def test_a_query_in_another_form_finds_the_passage(
    store: Store, language: str, *, indexed: bool
) -> None:
    text, queries, other = SENTENCES[language]
    set_language(store, language)
    store.store_transcript("\n".join([f"A: {text}", "B: ok", "A: ok", "B: ok", f"A: {other}"]))
    if indexed:
        store.reindex()
    for query in queries:
        assert store.recall(query, kinds=["passage"])[0].text == f"A: {text}", query


@pytest.mark.parametrize("indexed", [False, True], ids=["unindexed", "indexed"])
def test_one_store_holds_a_language_for_each_namespace(store: Store, *, indexed: bool) -> None:
    ids = {}
    for language, (text, _, _) in SENTENCES.items():
        set_language(store, language, f"team/{language}")
        below = f"team/{language}/notes"
        ids[language] = store.remember(text, namespace=below).id
    english = store.remember("She was running to the houses", namespace="team").id
    if indexed:
        store.reindex()
    for language, (_, queries, _) in SENTENCES.items():
        for query in queries:
            hits = store.recall(query, namespace=f"team/{language}/notes")
            assert [hit.id for hit in hits] == [ids[language]], query
            everywhere = store.recall(query, namespace=ALL_NAMESPACES)
            assert ids[language] in [hit.id for hit in everywhere], query
    assert [hit.id for hit in store.recall("house", namespace="team")] == [english]
    assert store.stats().language == "english"
    assert store.stats().languages == {f"team/{language}": language for language in STEMMED}
    store.verify(deep=True)


def test_mixed_text_in_one_memory_is_found_by_either_language(store: Store) -> None:
    memory = store.remember("Meeting notes: 東京オフィス moves to the 新宿 building 🚚")
    for query in ("東京", "offices moving", "オフィス", "新宿", "🚚", "meetings"):
        assert [hit.id for hit in store.recall(query)] == [memory.id]


def test_stop_words_of_the_language_find_nothing_by_themselves(store: Store) -> None:
    store.reindex(language="german")
    store.remember("Die Katze schläft und der Hund bellt")
    assert store.recall("und der die das") == []
    assert len(store.recall("und der Hund")) == 1


def test_a_namespace_keeps_its_language_when_that_of_the_store_changes(store: Store) -> None:
    memory = store.remember("die alten Häuser", namespace="de")
    store.reindex(language="german", namespace="de")
    store.reindex(language="french")
    assert [hit.id for hit in store.recall("Haus", namespace="de")] == [memory.id]
    assert (store.stats().language, store.stats().languages) == ("french", {"de": "german"})
    store.rebuild()
    assert [hit.id for hit in store.recall("Haus", namespace="de")] == [memory.id]
    assert store.stats().languages == {"de": "german"}


def test_a_namespace_without_a_language_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="without a language"):
        store.reindex(namespace="team")
    with pytest.raises(InvalidInput, match="namespace"):
        store.reindex(namespace="team//x", language="german")
    with pytest.raises(InvalidInput, match=r"Chinese.*every language"):
        store.reindex(language="chinese")
