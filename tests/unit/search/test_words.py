"""Words: the same whatever they are written in, and nothing that could disturb the index."""

from __future__ import annotations

import unicodedata
from typing import Literal

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.graph.names import normal_name
from recollect.search.words import MOST_CHARACTERS, indexed_tokens, terms, tokens


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


def test_only_so_many_marks_of_a_letter_are_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    normalize, sizes = unicodedata.normalize, []

    def sized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
        sizes.append(len(text))
        return normalize(form, text)

    for marks in ("\u0316\u0301", "\u0f73\u0316", "\uff9e\u0301"):
        with monkeypatch.context() as patched:
            patched.setattr(unicodedata, "normalize", sized)
            found = tokens(f"le{marks * 5_000}tter{marks} {'word ' * 9}")
        assert max(sizes) < 200
        assert found[-9:] == ["word"] * 9
    assert tokens("e" + "\u0316\u0301" * 9 + "nd") == ["end"]


def test_the_query_looks_for_each_word_once() -> None:
    assert terms("tea, Tea and teas") == ["tea"]


def test_only_so_much_of_a_text_is_taken() -> None:
    text = "word " * 60_000
    assert len(tokens(text)) == MOST_CHARACTERS // 5 + 1
    assert tokens("x " * MOST_CHARACTERS + "needle").count("needl") == 0


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_the_index_takes_each_token_for_one(text: str) -> None:
    """The engine's tokenizer must see neither more nor fewer of them, nor change any."""
    found = indexed_tokens(text.replace("\x00", ""))
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE w USING fts5(x, tokenize = \"ascii tokenchars '.'\")")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, instance)")
    stored = [f"12.{token}" for token in found]
    database.execute("INSERT INTO w VALUES (?)", (" ".join(stored),))
    seen = database.execute("SELECT term FROM v ORDER BY offset").fetchall()
    assert [term for (term,) in seen] == stored


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=100))
def test_spellings_of_one_name_are_the_same_words(text: str) -> None:
    wanted = tokens(text)
    assert tokens(normal_name(text)) == wanted
    assert tokens(unicodedata.normalize("NFD", text)) == wanted
