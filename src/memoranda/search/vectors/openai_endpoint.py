"""Embeddings of an endpoint with OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.clock import Clock
from memoranda.model.limits import check_text, short_repr
from memoranda.net.http_client import TIMEOUT, Endpoint
from memoranda.search.vectors.embedder import MAX_NAME_BYTES, require_package

if TYPE_CHECKING:
    from memoranda.search.vectors.embedder import Matrix

_BATCH_TEXTS = 128
"""Texts of one request: within the usual limits of endpoints."""
_BATCH_CHARACTERS = 200_000
"""Characters of one request, likewise."""
_MAX_CHARACTERS = 24_000
"""Characters at which texts are cut: most models refuse more than about 8,000 tokens."""
_EMPTY_TEXT = " "
"""Sent for an empty text, which endpoints refuse."""


class EmbeddingsEndpoint:
    """A model at `POST {url}/embeddings`; its name alone identifies it."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> None:
        self.name = check_text("embedder", model, max_bytes=MAX_NAME_BYTES)
        self.dimension = 0
        """Known after the first answer."""
        self._endpoint = Endpoint(
            url, api_key=api_key, timeout=timeout, clock=clock, field="embedder"
        )

    @classmethod
    def of_url(cls, text: str) -> EmbeddingsEndpoint:
        """Parse `https://host/v1#model`."""
        url, _, model = text.partition("#")
        if not model:
            raise InvalidInput(
                "embedder",
                f"{short_repr(text)} names no model: write it after #, as in {url}#model",
            )
        return cls(url, model=model)

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Request the vectors in batches; a query is not retried, because a search waits for it."""
        np = require_package("numpy", "vectors")
        parts = [
            self._request(np, batch, retries=0 if query else None) for batch in _batches(texts)
        ]
        none: Matrix = np.zeros((0, self.dimension), np.float32)
        return np.concatenate(parts) if parts else none

    def _request(self, np: Any, texts: list[str], retries: int | None) -> Matrix:
        body = {"model": self.name, "input": texts}
        answer = self._endpoint.post("embeddings", body, retries=retries)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            indexes = [row["index"] for row in rows]
            vectors: Matrix = np.array([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(
                f"{self._endpoint.url}/embeddings answered {short_repr(answer)}, which is no list "
                "of embeddings: check the address and the model"
            ) from error
        if indexes != list(range(len(texts))) or vectors.ndim != 2:
            raise Unavailable(
                f"{self._endpoint.url}/embeddings got {len(texts)} texts and answered with "
                f"{len(rows)} vectors: check the model"
            )
        self._check_dimension(vectors.shape[1])
        return vectors

    def _check_dimension(self, dimension: int) -> None:
        if self.dimension not in (0, dimension):
            raise Unavailable(
                f"model {self.name!r} returned {self.dimension} dimensions before, and now "
                f"{dimension}: check which model the address serves"
            )
        self.dimension = dimension


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        shortened = text[:_MAX_CHARACTERS] or _EMPTY_TEXT
        is_full = batches and len(batches[-1]) >= _BATCH_TEXTS
        if not batches or is_full or size + len(shortened) > _BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(shortened)
        size += len(shortened)
    return batches
