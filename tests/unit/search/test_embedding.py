"""Naming an embedder, and holding it to what it promises."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from memoranda.errors import InvalidInput, Unavailable
from memoranda.search.vectors import embedder
from memoranda.search.vectors.embedder import embed, resolve_embedder
from memoranda.search.vectors.openai_endpoint import EmbeddingsEndpoint
from memoranda.search.vectors.wordllama_model import LocalModel
from tests.embedders import Hashing


class FixedVectors:
    """Gives back what it was made with."""

    name = "given"
    dimension = 0

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Any:
        return self._rows


def test_auto_is_the_local_model_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(resolve_embedder("auto"), LocalModel)
    monkeypatch.setattr(embedder, "find_spec", lambda _: None)
    assert resolve_embedder("auto") is None
    assert resolve_embedder(None) is None


def test_an_address_names_its_model() -> None:
    result = resolve_embedder("http://127.0.0.1:1/v1#small")
    assert isinstance(result, EmbeddingsEndpoint)
    assert (result.name, result.dimension) == ("small", 0)


def test_an_object_is_asked_once_what_it_is() -> None:
    own = Hashing(dimension=4)
    result = resolve_embedder(own)
    assert result is not None
    own.name, own.dimension = "other", 5
    assert (result.name, result.dimension) == ("hashing", 4)
    with pytest.raises(Unavailable, match="5 dimensions, and declares 4"):
        embed(result, ["a"])


def test_a_dimension_may_be_a_number_of_numpy() -> None:
    own = Hashing()
    own.dimension = numpy.int64(32)  # type: ignore[assignment]
    result = resolve_embedder(own)
    assert result is not None
    assert type(result.dimension) is int


@pytest.mark.parametrize("dimension", [8.0, True, "8", -1, 16_385, [8]])
def test_what_is_no_dimension_is_refused(dimension: Any) -> None:
    own = Hashing()
    own.dimension = dimension
    with pytest.raises(InvalidInput, match="whole number from 0"):
        resolve_embedder(own)


def test_a_dimension_that_is_learned_holds() -> None:
    own = FixedVectors([[1.0, 2.0]])
    result = resolve_embedder(own)
    assert result is not None
    embed(result, ["a"])
    own._rows = [[1.0, 2.0, 3.0]]
    with pytest.raises(Unavailable, match="3 dimensions, and declares 2"):
        embed(result, ["a"])


def test_a_name_that_cannot_be_read_is_refused() -> None:
    class Nameless(Hashing):
        @property
        def name(self) -> str:
            raise RuntimeError("nobody knows")

        @name.setter
        def name(self, _: str) -> None:
            pass

    with pytest.raises(InvalidInput, match="nobody knows") as caught:
        resolve_embedder(Nameless())
    assert caught.value.field == "embedder.name"


@pytest.mark.parametrize(
    "spec",
    ["http://host/v1", "http://#model", "", "/nowhere", Path("/nowhere"), 7, object(), Hashing("")],
)
def test_what_names_none_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve_embedder(spec)
    assert caught.value.field in ("embedder", "embedder.name")


def test_an_extra_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"pip install 'memoranda\[vectors\]'"):
        embedder.require_package("a_package_that_is_not_there", "vectors")


@pytest.mark.slow
def test_importing_memoranda_loads_no_model() -> None:
    heavy = ("numpy", "wordllama", "onnxruntime", "tokenizers", "httpx2")
    loaded = f"[name for name in {heavy} if name in sys.modules]"
    program = f"import sys, memoranda; memoranda.open; print({loaded})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_vectors_have_length_one() -> None:
    result = embed(FixedVectors([[3.0, 4.0], [1e30, 0.0], [0.0, -1e-5]]), ["a", "b", "c"])
    assert result.dtype == numpy.float32
    assert numpy.allclose(result, [[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]])


def test_what_points_nowhere_has_length_zero() -> None:
    rows = [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [1e-30, 0.0], [1.0, 0.0]]
    result = embed(FixedVectors(rows), ["a"] * 5)
    assert result.tolist() == [[0.0, 0.0]] * 4 + [[1.0, 0.0]]


@pytest.mark.parametrize(
    "rows",
    [
        [[math.nan, 1.0], [math.inf, 1.0]],
        [[1.0, 2.0]],
        [[1.0], [1.0, 2.0]],
        [1.0, 2.0],
        [[], []],
        [["x"], ["y"]],
        None,
        [[1e999, 0], [0, -1e999]],
    ],
)
def test_an_embedder_that_gives_something_else_is_out_of_order(rows: Any) -> None:
    with pytest.raises(Unavailable, match="given"):
        embed(FixedVectors(rows), ["a", "b"])


def test_another_dimension_than_promised_is_out_of_order() -> None:
    own = FixedVectors([[1.0, 2.0]])
    own.dimension = 3
    with pytest.raises(Unavailable, match="2 dimensions, and declares 3"):
        embed(own, ["a"])


def test_whatever_it_raises_is_our_error_with_its_cause() -> None:
    own, boom = Hashing(), ZeroDivisionError("boom")

    def fail(_: Sequence[str]) -> None:
        raise boom

    own.before = fail
    with pytest.raises(Unavailable, match="ZeroDivisionError") as caught:
        embed(own, ["a"])
    assert caught.value.__cause__ is boom


def test_what_is_not_even_an_exception_is_our_error_too() -> None:
    class PanicError(BaseException):
        pass

    def panic(_: Sequence[str]) -> None:
        raise PanicError("index out of bounds")

    own = Hashing()
    own.before = panic
    with pytest.raises(Unavailable, match="index out of bounds"):
        embed(own, ["a"])


def test_an_interrupt_stays_one() -> None:
    own = Hashing()

    def interrupt(_: Sequence[str]) -> None:
        raise KeyboardInterrupt

    own.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        embed(own, ["a"])
