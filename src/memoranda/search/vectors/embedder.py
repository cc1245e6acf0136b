"""Embedders: the protocol, how a caller names one, and its similarity threshold.

Every call of an embedder goes through this module. It checks the result, and translates every
exception into one of ours. Packages are imported when a model is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.model.limits import check_path, check_text, plain_text, short_repr

if TYPE_CHECKING:
    import numpy

    Matrix: TypeAlias = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]


# The similarity threshold.
#
# Every text has a vector, so some document is always the nearest. A cosine below the threshold of
# its model means nothing, and a query without an answer must find nothing.

DEFAULT_THRESHOLD: Final = 0.2
"""The least cosine that counts by itself, for an embedder without a `floor` of its own."""


def similarity_threshold(embedder: object) -> float:
    """Return the least cosine of a hit that is found by its vector alone."""
    threshold = getattr(embedder, "floor", DEFAULT_THRESHOLD)
    is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if not is_number or not isfinite(threshold) or not -1 <= threshold <= 1:
        raise InvalidInput(
            "embedder.floor", f"{short_repr(threshold)} is not a number from -1 to 1"
        )
    return float(threshold)


# Embedders.

AUTO = "auto"
ONNX = "onnx:"
"""Before the path of an ONNX model's folder; a path alone means the same."""
VARIABLE = "MEMORANDA_EMBEDDER"
MAX_NAME_BYTES = 512
"""Bytes of a model's name, which is stored beside the vectors."""
MAX_DIMENSION = 16_384
"""Numbers of a vector: more than models have."""
_MIN_LENGTH = 1e-12
"""Length below which a vector has no direction."""
_EXIT_EXCEPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit)


class Embedder(Protocol):
    """Turns text into vectors; texts of similar meaning have a high cosine.

    It is called from several threads. An exception counts as a temporary failure. It may have a
    `floor`, its similarity threshold: the least cosine of a query and a text that are related, 0.2
    by default. Below it, nothing is found by its vector alone. The attributes are read once, when
    the store is opened.
    """

    @property
    def name(self) -> str:
        """Identifies the model; stored beside the vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers of a vector; 0 while that is not known yet."""
        ...

    def embed(
        self, texts: Sequence[str], /, *, query: bool = False
    ) -> Sequence[Sequence[float]] | numpy.ndarray[Any, Any]:
        """Return a vector for each text; `query` tells queries from documents."""
        ...


EmbedderSpec: TypeAlias = Embedder | str | os.PathLike[str] | None
"""`"auto"`, None, `onnx:PATH` or the path alone, `http(s)://host/v1#model`, or an embedder."""


def resolve_embedder(spec: EmbedderSpec) -> Embedder | None:
    """Return the embedder of a specification; None: vectors are off, or not installed."""
    if spec is None:
        return None
    if isinstance(spec, (str, os.PathLike)):
        return _embedder_by_name(plain_text("embedder", os.fspath(spec)))
    _check_numpy()
    return CheckedEmbedder(spec)


def _check_numpy() -> None:
    if not find_spec("numpy"):
        raise _missing_package("numpy", "vectors")


def _embedder_by_name(text: str) -> Embedder | None:
    if text == AUTO:
        return _local() if find_spec("wordllama") and find_spec("numpy") else None
    _check_numpy()
    if text == "wordllama":
        return _local()
    if text.startswith(("http://", "https://")):
        from memoranda.search.vectors.openai_endpoint import EmbeddingsEndpoint

        return EmbeddingsEndpoint.of_url(text)
    from memoranda.search.vectors.onnx_model import OnnxModel

    path = text.removeprefix(ONNX)
    if not path:
        raise InvalidInput("embedder", f"{text!r} has no path: give onnx:PATH of a model's folder")
    return OnnxModel(check_path("embedder", path))


def _local() -> Embedder:
    from memoranda.search.vectors.wordllama_model import LocalModel

    return LocalModel()


class CheckedEmbedder:
    """A user's embedder, whose attributes are read once and checked."""

    def __init__(self, embedder: Embedder) -> None:
        attributes = ("name", "dimension", "embed")
        missing = [name for name in attributes if _attribute(embedder, name) is None]
        if missing:
            raise InvalidInput(
                "embedder",
                f"{short_repr(embedder)} has no {' and no '.join(missing)}: give 'auto', None, "
                "onnx:PATH, http(s)://host/v1#model, or an object as "
                "memoranda.Embedder describes",
            )
        self._embedder = embedder
        name = _attribute(embedder, "name")
        self.name = check_text("embedder.name", name, max_bytes=MAX_NAME_BYTES)
        self.dimension = _check_dimension(_attribute(embedder, "dimension"))
        with _unreadable("floor"):
            self.floor = similarity_threshold(embedder)

    def embed(
        self, texts: Sequence[str], /, *, query: bool = False
    ) -> Sequence[Sequence[float]] | numpy.ndarray[Any, Any]:
        """Embed texts."""
        return self._embedder.embed(texts, query=query)


def _attribute(embedder: object, name: str) -> Any:
    with _unreadable(name):
        return getattr(embedder, name, None)


def _unreadable(name: str) -> _TranslateErrors:
    return _TranslateErrors(
        lambda cause: InvalidInput(f"embedder.{name}", f"cannot be read ({cause})")
    )


def _check_dimension(value: Any) -> int:
    is_integer = not isinstance(value, bool) and hasattr(value, "__index__")
    dimension = index(value) if is_integer else -1
    if not 0 <= dimension <= MAX_DIMENSION:
        raise InvalidInput(
            "embedder.dimension",
            f"{short_repr(value)} is not a whole number from 0 to {MAX_DIMENSION}: give how many "
            "numbers a vector has, or 0 if that is not known yet",
        )
    return dimension


def require_package(module: str, extra: str) -> Any:
    """Import a package that an extra installs; raise `InvalidInput` that names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing_package(module, extra) from error


def check_packages(extra: str, *modules: str) -> None:
    """Refuse an embedder whose packages are not installed, without importing them."""
    for module in modules:
        if not find_spec(module):
            raise _missing_package(module, extra)


def _missing_package(module: str, extra: str) -> InvalidInput:
    return InvalidInput("embedder", f"needs the package {module}: pip install 'memoranda[{extra}]'")


def embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> Matrix:
    """Return a vector of length 1 for each text, or of length 0 if it has no direction.

    A vector that is not finite counts as 0. If all are, it raises `Unavailable`, as for any other
    failure of the embedder.
    """
    np = require_package("numpy", "vectors")
    with _TranslateErrors(partial(_failure, embedder.name)):
        vectors = np.array(embedder.embed(texts, query=query), dtype=np.float32)
    is_matrix = vectors.ndim == 2 and vectors.shape[0] == len(texts)
    if not is_matrix or not 0 < vectors.shape[1] <= MAX_DIMENSION:
        raise Unavailable(
            f"embedder {embedder.name!r} got {len(texts)} texts and returned an array of shape "
            f"{vectors.shape}, not one vector each: check the model"
        )
    if embedder.dimension not in (0, vectors.shape[1]):
        raise Unavailable(
            f"embedder {embedder.name!r} returned vectors of {vectors.shape[1]} dimensions, and "
            f"declares {embedder.dimension}: check the model"
        )
    if isinstance(embedder, CheckedEmbedder):
        embedder.dimension = vectors.shape[1]  # later vectors must have the same
    return _normalize(np, embedder.name, vectors)


def _normalize(np: Any, name: str, vectors: Matrix) -> Matrix:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.any():
        raise Unavailable(
            f"embedder {name!r} returned vectors that are not finite: check the model"
        )
    vectors[~finite] = 0.0
    largest = np.abs(vectors).max(axis=1, keepdims=True)  # else squares may overflow
    np.divide(vectors, largest, out=vectors, where=largest > _MIN_LENGTH)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[(largest <= _MIN_LENGTH)[:, 0]] = 0.0
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def _failure(name: str, cause: str) -> Unavailable:
    return Unavailable(f"embedder {name!r} failed ({cause}): it is retried later")


class _TranslateErrors:
    """Translates the exceptions of an embedder into ours, with their cause.

    It also catches `BaseException` subclasses such as Rust panics.
    """

    def __init__(self, error: Callable[[str], MemorandaError]) -> None:
        self._error = error

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, (MemorandaError, *_EXIT_EXCEPTIONS)):
            raise self._error(f"{type(error).__name__}: {short_repr(str(error))}") from error
