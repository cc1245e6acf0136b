"""Embedders: what turns text into vectors, and how a caller names one.

Whatever one gives back is checked here, and whatever goes wrong inside one leaves here as an error
of ours; nothing else calls an embedder. Packages are imported when a model is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from memoranda.errors import InvalidInput, MemorandaError, Unavailable
from memoranda.model.limits import check_text, plain_text, shown
from memoranda.model.paths import check_path
from memoranda.search.floors import floor_of

if TYPE_CHECKING:
    import numpy

    Matrix: TypeAlias = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]

AUTO = "auto"
VARIABLE = "MEMORANDA_EMBEDDER"
MOST_NAME_BYTES = 512
MOST_DIMENSION = 16_384
_LEAST_LENGTH = 1e-12
"""What is shorter points nowhere."""
_ENDINGS = (KeyboardInterrupt, SystemExit, GeneratorExit)


class Embedder(Protocol):
    """Turns text into vectors; two that are alike in meaning point in about the same direction.

    It is called from several threads. Any error it raises counts as being out of order for now.
    It may have a `floor`: the least cosine of a query and a text that have something to do with one
    another, 0.2 if it says nothing. Below it, nothing is found by its meaning alone.
    All of these are read once, when it is given to a store.
    """

    @property
    def name(self) -> str:
        """What tells its vectors from those of another model; kept in the store beside them."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; 0 while that is not known yet."""
        ...

    def embed(
        self, texts: Sequence[str], /, *, query: bool = False
    ) -> Sequence[Sequence[float]] | numpy.ndarray[Any, Any]:
        """Return a vector for each text; `query` says that they are asked, not told."""
        ...


Given: TypeAlias = Embedder | str | os.PathLike[str] | None
"""`"auto"`, None, the folder of a model, `http(s)://host/v1#model`, or an embedder."""


def embedder_of(given: Given) -> Embedder | None:
    """Return the embedder that is meant; None: there are to be no vectors, or cannot be any."""
    if given is None:
        return None
    if given == AUTO:
        return _local() if find_spec("wordllama") and find_spec("numpy") else None
    if not find_spec("numpy"):
        raise _missing("numpy", "vectors")
    if isinstance(given, (str, os.PathLike)):
        return _named(plain_text("embedder", os.fspath(given)))
    return Foreign(given)


def _named(text: str) -> Embedder:
    if text == "wordllama":
        return _local()
    if text.startswith(("http://", "https://")):
        from memoranda.search.embeddings_endpoint import EmbeddingsEndpoint

        return EmbeddingsEndpoint.of_url(text)
    from memoranda.search.onnx_model import OnnxModel

    return OnnxModel(check_path("embedder", text))


def _local() -> Embedder:
    from memoranda.search.local import LocalModel

    return LocalModel()


class Foreign:
    """An embedder of somebody else's: what it says of itself is asked once, and checked."""

    def __init__(self, given: Embedder) -> None:
        missing = [part for part in ("name", "dimension", "embed") if _part(given, part) is None]
        if missing:
            raise InvalidInput(
                "embedder",
                f"{shown(given)} has no {' and no '.join(missing)}: give 'auto', None, the folder "
                "of a model, http(s)://host/v1#model, or an object as memoranda.Embedder describes",
            )
        self._given = given
        self.name = check_text("embedder.name", _part(given, "name"), most_bytes=MOST_NAME_BYTES)
        self.dimension = _dimension(_part(given, "dimension"))
        with _unreadable("floor"):
            self.floor = floor_of(given)

    def embed(
        self, texts: Sequence[str], /, *, query: bool = False
    ) -> Sequence[Sequence[float]] | numpy.ndarray[Any, Any]:
        """Let it embed texts."""
        return self._given.embed(texts, query=query)


def _part(given: object, part: str) -> Any:
    with _unreadable(part):
        return getattr(given, part, None)


def _unreadable(part: str) -> _Seam:
    return _Seam(lambda told: InvalidInput(f"embedder.{part}", f"cannot be read ({told})"))


def _dimension(given: Any) -> int:
    found = None if isinstance(given, bool) or not hasattr(given, "__index__") else index(given)
    if found is None or not 0 <= found <= MOST_DIMENSION:
        raise InvalidInput(
            "embedder.dimension",
            f"{shown(given)} is not a whole number from 0 to {MOST_DIMENSION}: give how many "
            "numbers a vector has, or 0 if that is not known yet",
        )
    return found


def needed(module: str, extra: str) -> Any:
    """Return a package that only an extra installs, or say which one."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, extra) from error


def _missing(module: str, extra: str) -> InvalidInput:
    return InvalidInput("embedder", f"needs the package {module}: pip install 'memoranda[{extra}]'")


def embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> Matrix:
    """Return a vector of length 1 for each text; one that means nothing has length 0.

    A vector that is not finite means nothing. If that is so of all, the embedder is out of order.
    """
    np = needed("numpy", "vectors")
    with _Seam(partial(_failed, embedder.name)):
        found = np.array(embedder.embed(texts, query=query), dtype=np.float32)
    if found.ndim != 2 or found.shape[0] != len(texts) or not 0 < found.shape[1] <= MOST_DIMENSION:
        raise Unavailable(
            f"embedder {embedder.name!r} was given {len(texts)} texts and gave numbers of shape "
            f"{found.shape}, not one vector each: check the model"
        )
    if embedder.dimension not in (0, found.shape[1]):
        raise Unavailable(
            f"embedder {embedder.name!r} gave vectors of {found.shape[1]} numbers and says "
            f"{embedder.dimension}: check the model"
        )
    if isinstance(embedder, Foreign):
        embedder.dimension = found.shape[1]  # from here on it is held to that
    return _of_length_one(np, embedder.name, found)


def _of_length_one(np: Any, name: str, found: Matrix) -> Matrix:
    finite = np.isfinite(found).all(axis=1)
    if not finite.any():
        raise Unavailable(f"embedder {name!r} gave vectors that are not finite: check the model")
    found[~finite] = 0.0
    largest = np.abs(found).max(axis=1, keepdims=True)  # else squares may overflow
    np.divide(found, largest, out=found, where=largest > _LEAST_LENGTH)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    found[(largest <= _LEAST_LENGTH)[:, 0]] = 0.0
    np.divide(found, lengths, out=found, where=lengths > 0)
    return found


def _failed(name: str, told: str) -> Unavailable:
    return Unavailable(f"embedder {name!r} failed ({told}): it is tried again later")


class _Seam:
    """Makes whatever an embedder raises an error of ours, its cause kept.

    What is no `Exception` either, as a panic in another language is not, is no reason to end.
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
        if error is not None and not isinstance(error, (MemorandaError, *_ENDINGS)):
            raise self._error(f"{type(error).__name__}: {shown(str(error))}") from error
