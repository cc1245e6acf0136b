"""Vectors in memory: exact search equals comparing one by one, and sketches come near."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memoranda.search.vectors.nearest_neighbors import (
    BinaryQuantized,
    ExactVectors,
    GrowingMatrix,
    PartitionVectors,
)

Vectors = Any


def made(vectors: Vectors, exact: int = 10**9, parts: int = 3) -> PartitionVectors:
    partition_vectors = PartitionVectors(vectors.shape[1], exact)
    stored = vectors.astype("<f2")
    for part in np.array_split(np.arange(len(vectors)), parts):
        facts = [(int(number) + 1, int(number), int(number) + 10) for number in part]
        partition_vectors.add(facts, [stored[number].tobytes() for number in part])
    return partition_vectors


@st.composite
def cases(draw: st.DrawFn) -> tuple[Vectors, Vectors, int, int | None]:
    dimension = draw(st.integers(1, 8))
    numbers = st.floats(-1, 1, width=16)
    rows = draw(st.integers(1, 150))
    vectors = draw(arrays.arrays(np.float16, (rows, dimension), elements=numbers))
    query = draw(arrays.arrays(np.float32, dimension, elements=st.floats(-1, 1, width=32)))
    reference = draw(st.none() | st.integers(0, 150))
    return vectors, query, draw(st.integers(1, 20)), reference


@settings(max_examples=60, deadline=None)
@given(cases())
def test_exact_search_is_comparing_one_by_one(
    case: tuple[Vectors, Vectors, int, int | None],
) -> None:
    vectors, query, most, reference = case
    numbers, scores = made(vectors).best(query, most, reference)
    expected = {
        number + 1: float(np.dot(row.astype(np.float32), query))
        for number, row in enumerate(vectors)
        if reference is None or number <= reference < number + 10
    }
    best = sorted(expected.values(), reverse=True)[:most]
    assert len(numbers) == len(best)
    assert sorted(scores.tolist(), reverse=True) == pytest.approx(best, abs=1e-5)
    for number, score in zip(numbers.tolist(), scores.tolist(), strict=True):
        assert expected[number] == pytest.approx(score, abs=1e-5)


def clustered(count: int, dimension: int = 64) -> Vectors:
    numbers = np.random.default_rng(7)
    centres = numbers.standard_normal((count // 50, dimension))
    vectors = centres[numbers.integers(0, len(centres), count)]
    vectors = vectors + 0.5 * numbers.standard_normal(vectors.shape)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_sketches_name_those_that_are_near() -> None:
    vectors = clustered(4_000)
    exact, near = made(vectors), made(vectors, exact=1_000)
    assert (exact.approximate, near.approximate) == (False, True)
    hits = 0
    for query in vectors[:50].astype(np.float32):
        best, _ = exact.best(query, 10, None)
        candidates, _ = near.best(query, 200, None)
        hits += len(set(best.tolist()) & set(candidates.tolist()))
    assert hits >= 0.95 * 500


def test_sketches_take_any_dimension() -> None:
    for dimension in (1, 63, 64, 65, 100):
        vectors = clustered(100, dimension)
        sketches = BinaryQuantized(vectors)
        sketches.add(vectors)
        scores = sketches.scores(vectors[3].astype(np.float32))
        assert scores[3] == scores.max() == 0


def test_what_is_gone_is_not_named_and_leaves_room_for_others() -> None:
    vectors = made(clustered(300))
    query = clustered(300)[0].astype(np.float32)
    first = vectors.best(query, 5, None)[0].tolist()
    for number in first:
        vectors.remove(number)
    second = vectors.best(query, 5, None)[0].tolist()
    assert len(second) >= 5
    assert not set(first) & set(second)
    assert vectors.removed == 5


def test_growing_does_not_disturb_who_looks() -> None:
    column = GrowingMatrix(2, np.int64)
    column.add(np.array([[1, 2]]))
    rows = column.rows()
    for number in range(500):
        column.add(np.array([[number, number]]))
    assert rows.tolist() == [[1, 2]]
    assert len(column) == 501
    assert column.rows()[-1].tolist() == [499, 499]


def test_exact_scores_are_of_float32() -> None:
    exact = ExactVectors(2)
    exact.add(np.array([[1, 0]], np.float16))
    assert exact.scores(np.array([1, 0], np.float32)).dtype == np.float32


class Growing(GrowingMatrix):
    """A matrix to which another thread adds while it is asked how long it is."""

    grow_by = 0

    @property
    def _count(self) -> int:
        rows, self.grow_by = self.grow_by, 0
        if rows:
            self.add(np.full((rows, 2), 7))
        return self._length

    @_count.setter
    def _count(self, count: int) -> None:
        self._length = count


def test_rows_that_are_added_meanwhile_are_all_there_or_not_at_all() -> None:
    matrix = Growing(2, np.int64)
    matrix.add(np.full((60, 2), 7))
    matrix.grow_by = 100
    rows = matrix.rows()
    assert len(rows) in (60, 160)
    assert (rows == 7).all()


def test_a_search_while_vectors_are_quantized_has_a_score_for_each_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float16)
    partition_vectors, sizes = made(vectors, parts=1), list[tuple[int, int]]()
    quantize, query = BinaryQuantized.add, vectors[0].astype(np.float32)

    def add(quantized: BinaryQuantized, rows: Vectors) -> None:
        ids, scores = partition_vectors.best(query, 5, None)  # as another thread does
        sizes.append((len(ids), len(scores)))
        quantize(quantized, rows)

    monkeypatch.setattr(BinaryQuantized, "add", add)
    partition_vectors._exact_limit = 40
    partition_vectors.add([(41, 1, 10)], [vectors[0].astype("<f2").tobytes()])
    assert partition_vectors.approximate
    assert sizes == [(5, 5), (5, 5)]
