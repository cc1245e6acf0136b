"""Cutting: every word of a transcript is in one unit, and what is around a span is near it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.search.cutting import LONGEST, Cutting, cut


def texts(text: str) -> list[str]:
    cutting = Cutting(text.encode())
    return [cutting.of(unit) for unit in cutting.units]


def test_a_unit_is_a_line() -> None:
    assert texts("one\n\n  two \r\nthree") == ["one", "two", "three"]
    assert texts("") == texts(" \n ") == []


def test_long_lines_are_cut_where_sentences_end() -> None:
    sentence = "It was said at length what is to be done about the wörds. "
    found = texts(sentence * 60)
    assert len(found) > 2
    assert all(len(unit) <= LONGEST and unit.endswith("wörds.") for unit in found)
    assert texts("x" * (2 * LONGEST + 1)) == ["x" * LONGEST, "x" * LONGEST, "x"]
    assert texts("語" * (LONGEST + 1)) == ["語" * LONGEST, "語"]


def test_very_long_transcripts_are_cut_coarser() -> None:
    assert len(cut(b"a line that is short\n" * 60_000)) < 2_000
    assert len(cut(b"a\n" * 30_000)) < 100


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="ab語. \n", max_size=900), max_size=6))
def test_nothing_is_lost_and_nothing_twice(parts: list[str]) -> None:
    text = "".join(part * 3 for part in parts).encode()
    units = cut(text)
    assert units == sorted(units)
    last = 0
    for first, beyond in units:
        assert last <= first < beyond
        assert not text[last:first].strip()
        assert len(text[first:beyond].decode()) <= LONGEST
        last = beyond
    assert not text[last:].strip()


def test_what_is_around_a_span() -> None:
    text = "one\ntwo\nthree\nfour\nfive\nsix"
    cutting = Cutting(text.encode())

    def around(*words: str) -> tuple[str, str]:
        spans = [(text.index(word), text.index(word) + len(word)) for word in words]
        return cutting.around(spans)

    assert around("one") == ("", "two\nthree")
    assert around("three") == ("one\ntwo", "four\nfive")
    assert around("six") == ("four\nfive", "")
    assert around("two\nthree") == ("one", "four\nfive")
    assert around("hre") == ("one\ntwo\nt", "e\nfour\nfive")
    assert around("one", "six") == ("four\nfive", "two\nthree")
    assert cutting.around([(0, 0)]) == ("", "")
    assert Cutting(b"").around([(0, 1)]) == ("", "")
    assert cutting.neighbours(0) == ("", "two\nthree")
