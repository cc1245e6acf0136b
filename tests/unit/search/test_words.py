"""Words: the same whatever they are written in, and nothing that could disturb the index."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.graph.entities import normal_name
from memoranda.search.text import tokenizer
from memoranda.search.text.tokenizer import (
    MAX_INDEXED_CHARACTERS,
    fold,
    indexed_tokens,
    query_terms,
    term_prefix,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("the and of", []),
        ("Connected, connecting: CONNECTIONS!", ["connect"] * 3),
        ("don't stop Alice's dogs", ["stop", "alic", "dog"]),
        ("naïve café", ["naiv", "cafe"]),
        ("nai\u0308ve cafe\u0301", ["naiv", "cafe"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),  # noqa: RUF001
        ("Straße", ["strass"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("v2 3.5 2024-01-02", ["v2", "3", "5", "2024", "01", "02"]),
        ("日本語", ["日本", "本語"]),
        ("が か", ["が", "か"]),
        ("東京 tower", ["東京", "tower"]),
        ("안녕하세요", ["안녕", "녕하", "하세", "세요"]),
        ("สวัสดี", ["สวั", "วัส", "สดี"]),
        ("👩‍💻 likes 👍🏽 ❤️", ["👩", "💻", "like", "👍", "❤"]),
        ("שָׁלוֹם", ["שלום"]),
        ("السَّلام عليكم", ["السلام", "عليكم"]),
        ("हिन्दी", ["हिन्दी"]),
        ("Москва́", ["москва"]),
        ('"a" NEAR(b, 2) AND own:x* ^y -z', ["near", "b", "2", "x", "z"]),
        ("x" * 100, ["x" * 64]),
        ("⭐ ⏰ ⌛ ⬛", ["⭐", "⏰", "⌛", "⬛"]),
        ("un\u00adseen ze\u200bro wi\u200ddth jo\u2060in", ["unseen", "zero", "width", "join"]),
        ("می\u200cروم", ["میروم"]),
        ("葛\U000e0100飾", ["葛飾"]),
    ],
)
def test_what_a_text_is_found_by(text: str, wanted: list[str]) -> None:
    assert tokens(text) == wanted


def test_the_index_also_has_the_characters_of_pairs() -> None:
    assert indexed_tokens("日本 tea 本 日") == ["日本", "tea", "本", "日"]
    assert indexed_tokens("日本日本 teas") == ["日本", "本日", "日本", "tea", "日", "本"]
    assert indexed_tokens("plain words") == tokens("plain words")


@given(st.text(st.sampled_from("ぁゖァヺ㐀䶿一鿿가힣日本語かなカナ한글"), min_size=1, max_size=9))
def test_letters_of_unspaced_scripts_take_a_short_cut_to_the_same_tokens(text: str) -> None:
    assert tokenizer._UNSPACED_RUN.fullmatch(text)
    with pytest.MonkeyPatch.context() as patch:
        fast = indexed_tokens(text)
        patch.setattr(tokenizer, "_UNSPACED_RUN", re.compile("(?!)"))
        assert indexed_tokens(text) == fast


def test_only_so_many_marks_of_a_letter_are_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    normalize, sizes = unicodedata.normalize, []

    def sized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        sizes.append(len(text))
        return normalize(form, text)

    for marks in ("\u0316\u0301", "\u0f73\u0316", "\uff9e\u0301"):
        with monkeypatch.context() as patched:
            patched.setattr(unicodedata, "normalize", sized)
            result = tokens(f"le{marks * 5_000}tter{marks} {'word ' * 9}")
        assert max(sizes) < 200
        assert result[-9:] == ["word"] * 9
    assert tokens("e" + "\u0316\u0301" * 9 + "nd") == ["end"]


def test_the_query_looks_for_each_word_once() -> None:
    assert query_terms("tea, Tea and teas") == ["tea"]


def test_only_so_much_of_a_text_is_taken() -> None:
    text = "word " * 60_000
    assert len(tokens(text)) == MAX_INDEXED_CHARACTERS // 5 + 1
    assert tokens("x " * MAX_INDEXED_CHARACTERS + "needle").count("needl") == 0


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_the_index_takes_each_token_for_one(text: str) -> None:
    """The engine's tokenizer must see neither more nor fewer of them, nor change any."""
    result = indexed_tokens(text.replace("\x00", ""))
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE w USING fts5(x, tokenize = \"ascii tokenchars '.'\")")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, instance)")
    stored = [f"12.{token}" for token in result]
    database.execute("INSERT INTO w VALUES (?)", (" ".join(stored),))
    rows = database.execute("SELECT term FROM v ORDER BY offset").fetchall()
    assert [term for (term,) in rows] == stored


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=100))
def test_spellings_of_one_name_are_the_same_words(text: str) -> None:
    target = tokens(text)
    assert tokens(normal_name(text)) == target
    assert tokens(unicodedata.normalize("NFD", text)) == target


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.integers(2_000, 9_000))
def test_a_long_text_has_the_words_of_its_parts(text: str, size: int) -> None:
    """It is folded piece by piece, and where a piece ends makes no difference."""
    part = f"{text} and then "
    count = size // len(part)
    assert tokens(part * count) == tokens(part) * count


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_a_folded_text_has_the_root_of_each_of_its_words(text: str) -> None:
    plain = fold(text)
    assert [token for token in indexed_tokens(text) if term_prefix(token) not in plain] == []


ENDINGS = st.sampled_from(
    ["s", "es", "ed", "ing", "y", "ies", "ational", "izer", "ization", "ousli", "ement", "e", "ll"]
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.text("aeioubcdlmnrstyz", min_size=1, max_size=6), st.lists(ENDINGS, max_size=3))
def test_a_word_begins_with_the_root_of_its_stem(begun: str, endings: list[str]) -> None:
    word = begun + "".join(endings)
    assert [token for token in tokens(word) if not word.startswith(term_prefix(token))] == []


@pytest.mark.parametrize("size", [1, 2, 511, 512, 513, 1_024, 1_025, 3_000])
def test_a_long_run_without_spaces_has_every_pair_once(size: int) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(size))
    pairs = [text[start : start + 2] for start in range(size - 1)] or [text]
    assert tokens(text) == pairs
    assert indexed_tokens(text) == list(dict.fromkeys([*pairs, *text]))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_words_of_ascii_are_runs_of_letters_and_digits(text: str) -> None:
    words = re.findall("[a-z0-9]+", text.lower())
    assert tokens(text) == [token for word in words for token in tokens(word)]
    # Beside a letter that is not ASCII, the same words take the general way.
    assert tokens(f"{text} \u00fc") == [*tokens(text), "u"]


def test_no_more_words_are_cached_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_CACHED_WORDS", 100)
    monkeypatch.setattr(tokenizer, "_token_caches", {})
    text = " ".join(f"running{number}" for number in range(1_000)) + " running"
    assert tokens(text) == [*(f"running{number}" for number in range(1_000)), "run"]
    assert len(tokenizer._token_caches["english"]) <= 100
