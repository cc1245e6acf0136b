"""Stems: those of the Snowball algorithms, for words alone."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.search.text.stemmer import check_language, languages, stem
from memoranda.search.text.tokenizer import term_prefix, tokens

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("falling", "fall"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("skies", "sky"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("electrical", "electr"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("technologies", "technolog"),
        ("quickly", "quick"),
        ("by", "by"),
        ("os", "os"),
    ],
)
def test_a_word_is_reduced(word: str, wanted: str) -> None:
    assert stem(word) == wanted


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("german", "die Häuser des Hauses", ["haus", "haus"]),
        ("spanish", "canciones canción", ["cancion", "cancion"]),
        ("french", "les maisons de l'été", ["maison"]),
        ("spanish", "corrió corrio corriendo", ["corr", "corri", "corri", "corr"]),
        ("french", "mangées mange", ["mang", "mange", "mang"]),
        ("french", "sûr sur", ["sur"]),
        ("german", "Haeuser Straße strasse über", ["haus", "strass", "strass"]),
        ("russian", "книги книга", ["книг", "книг"]),
        ("german", "v2 2024 a1b2 Häuser2", ["v2", "2024", "a1b2", "hauser2"]),
        ("german", "日本語 Häuser", ["日本", "本語", "haus"]),
        ("porter", "connections os the", ["connect", "os"]),
    ],
)
def test_words_of_other_languages_are_reduced(language: str, text: str, wanted: list[str]) -> None:
    assert tokens(text, language) == wanted


def test_every_language_takes_any_text() -> None:
    text = "Grüße, naïve 日本語 हिन्दी книга السلام x1 👍 a " + "x" * 5_000
    for language in languages():
        result = tokens(text, language)
        assert "x1" in result, language
        assert max(map(len, result)) <= 64


@pytest.mark.parametrize("language", ["klingon", "", "English", "en"])
def test_an_unknown_language_is_refused_with_those_there_are(language: str) -> None:
    with pytest.raises(InvalidInput, match=r"one of .*english.*german") as caught:
        check_language(language)
    assert caught.value.field == "language"


def test_a_language_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput):
        check_language(7)


def test_every_word_has_the_root_of_its_stem() -> None:
    """By that, what waits to be indexed is sifted."""
    texts = [path.read_text("utf-8").lower() for path in (ROOT / "src").rglob("*.py")]
    texts += [path.read_text("utf-8").lower() for path in ROOT.glob("docs/**/*.md")]
    suffixes = "s es ed ing ly ation ational ness fulness ize izer ment able ibility ive".split()  # noqa: SIM905
    plain = sorted({word for text in texts for word in re.findall("[a-z]{2,30}", text)})
    words = [*plain, *(f"{word}{end}" for word in plain[::9] for end in suffixes)]
    assert len(words) > 5_000
    for language in ("english", "porter"):
        assert [word for word in words if term_prefix(stem(word, language)) not in word] == []


def test_threads_reduce_words_at_once() -> None:
    words = [f"connect{'ed' * (number % 2)}x{'ing' * (number % 3)}" for number in range(2_000)]
    target = [stem(word) for word in words]
    result: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: result.append([stem(word) for word in words]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [target] * 4
