"""Stems: those of the well-known algorithm, as SQLite has it too."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from memoranda.search.stems import stem

ROOT = Path(__file__).parents[3]
DEGENERATE = ("eed", "ies", "sses")
"""Endings that are no words, which SQLite takes for words of which nothing is left."""


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
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("electrical", "electr"),
        ("adoption", "adopt"),
        ("controlling", "control"),
        ("by", "by"),
    ],
)
def test_a_word_is_reduced(word: str, wanted: str) -> None:
    assert stem(word) == wanted


def test_a_vocabulary_is_reduced_as_by_the_engine() -> None:
    texts = [path.read_text("utf-8").lower() for path in (ROOT / "src").rglob("*.py")]
    texts += [path.read_text("utf-8").lower() for path in ROOT.glob("docs/**/*.md")]
    suffixes = "s es ed ing ly ation ational ness fulness ize izer ment able ibility ive".split()  # noqa: SIM905
    plain = {word for text in texts for word in re.findall("[a-z]{2,30}", text)}
    whole = sorted(plain - {*DEGENERATE})  # with an ending, these are none either
    words = sorted(plain | {f"{word}{end}" for word in whole[::9] for end in suffixes})
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter ascii')")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    with database:
        database.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(words, 1))
    stems = {words[doc - 1]: term for term, doc in database.execute("SELECT term, doc FROM v")}
    assert len(stems) == len(words) > 5_000
    differing = {word for word, term in stems.items() if stem(word) != term}
    assert differing <= {*DEGENERATE}
