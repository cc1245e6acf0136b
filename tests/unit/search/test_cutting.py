"""Cutting: every word of a transcript is in one unit, and what is around a span is near it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.search.text import transcript_chunks as text_chunker
from memoranda.search.text.transcript_chunks import MAX_CHUNK_CHARACTERS, ChunkedText, split_chunks


def texts(text: str) -> list[str]:
    cutting = ChunkedText(text.encode())
    return [cutting.text_at(unit) for unit in cutting.chunks]


def test_a_unit_is_a_line() -> None:
    assert texts("one\n\n  two \r\nthree") == ["one", "two", "three"]
    assert texts("") == texts(" \n ") == []


def test_long_lines_are_cut_where_sentences_end() -> None:
    sentence = "It was said at length what is to be done about the wörds. "
    result = texts(sentence * 60)
    assert len(result) > 2
    assert all(len(unit) <= MAX_CHUNK_CHARACTERS and unit.endswith("wörds.") for unit in result)
    assert texts("x" * (2 * MAX_CHUNK_CHARACTERS + 1)) == [
        "x" * MAX_CHUNK_CHARACTERS,
        "x" * MAX_CHUNK_CHARACTERS,
        "x",
    ]
    assert texts("語" * (MAX_CHUNK_CHARACTERS + 1)) == ["語" * MAX_CHUNK_CHARACTERS, "語"]


def test_very_long_transcripts_are_cut_coarser() -> None:
    assert len(split_chunks(b"a line that is short\n" * 60_000)) < 2_000
    assert len(split_chunks(b"a\n" * 30_000)) < 100


def test_a_long_line_is_walked_through_and_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    place_to_cut = text_chunker._split_position
    observations: list[str] = []

    def place(text: str, *where: int) -> int:
        observations.append(text)
        return place_to_cut(text, *where)

    monkeypatch.setattr(text_chunker, "_split_position", place)
    assert len(texts("It was said. " * 1_000)) == len(observations) + 1 > 10
    assert len({id(text) for text in observations}) == 1


def test_lines_put_together_take_a_step_for_each_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, steps = text_chunker._skip_whitespace, []

    def counted(text: bytes, at: int) -> int:
        steps.append(at)
        return begin(text, at)

    monkeypatch.setattr(text_chunker, "_skip_whitespace", counted)
    units = split_chunks(b"a\n" * 30_000)
    assert len(steps) == len(units) + 1 < 100


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(st.text(alphabet="ab語. \u3000\n", max_size=900), max_size=6),
    together=st.booleans(),
)
def test_nothing_is_lost_and_nothing_twice(parts: list[str], *, together: bool) -> None:
    text = "".join(part * 3 for part in parts).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_chunker, "_LONG_TRANSCRIPT_BYTES", 0 if together else len(text))
        units = split_chunks(text)
    assert units == sorted(units)
    last = 0
    for first, beyond in units:
        assert last <= first < beyond
        assert not text[last:first].decode().strip()
        assert len(text[first:beyond].decode()) <= MAX_CHUNK_CHARACTERS
        last = beyond
    assert not text[last:].decode().strip()


def test_what_is_around_a_span() -> None:
    text = "one\ntwo\nthree\nfour\nfive\nsix"
    cutting = ChunkedText(text.encode())

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
    assert ChunkedText(b"").around([(0, 1)]) == ("", "")
    assert cutting.neighbours(0) == ("", "two\nthree")
