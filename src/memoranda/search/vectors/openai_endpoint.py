"""Embeddings from any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.clock import Clock
from memoranda.model.limits import check_text, shown
from memoranda.search.embedding import MOST_NAME_BYTES, needed
from memoranda.search.endpoint import TIMEOUT, Endpoint

if TYPE_CHECKING:
    from memoranda.search.embedding import Matrix

_BATCH = 128
_BATCH_CHARACTERS = 200_000
_MOST_CHARACTERS = 24_000
"""Longer texts are cut: most models take about 8,000 tokens, and refuse more."""
_BLANK = " "
"""What is sent for an empty text, which endpoints refuse."""


class EmbeddingsEndpoint:
    """A model behind `POST {url}/embeddings`; it is known by the model's name alone."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        clock: Clock | None = None,
    ) -> None:
        self.name = check_text("embedder", model, most_bytes=MOST_NAME_BYTES)
        self.dimension = 0
        """Learned from the first answer."""
        self._endpoint = Endpoint(
            url, api_key=api_key, timeout=timeout, clock=clock, field="embedder"
        )

    @classmethod
    def of_url(cls, text: str) -> EmbeddingsEndpoint:
        """Return the one that `https://host/v1#model` names."""
        url, _, model = text.partition("#")
        if not model:
            raise InvalidInput(
                "embedder", f"{shown(text)} names no model: write it behind #, as in {url}#model"
            )
        return cls(url, model=model)

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Ask for the vectors, as many at a time as is usual; who asks a question waits once."""
        np = needed("numpy", "vectors")
        parts = [self._ask(np, batch, retries=0 if query else None) for batch in _batches(texts)]
        none: Matrix = np.zeros((0, self.dimension), np.float32)
        return np.concatenate(parts) if parts else none

    def _ask(self, np: Any, texts: list[str], retries: int | None) -> Matrix:
        body = {"model": self.name, "input": texts}
        answer = self._endpoint.post("embeddings", body, retries=retries)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            places = [row["index"] for row in rows]
            found: Matrix = np.array([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(
                f"{self._endpoint.url}/embeddings answered {shown(answer)}, which are no "
                "embeddings: check the address and the model"
            ) from error
        if places != list(range(len(texts))) or found.ndim != 2:
            raise Unavailable(
                f"{self._endpoint.url}/embeddings was given {len(texts)} texts and answered with "
                f"{len(rows)} vectors: check the model"
            )
        self._learn(found.shape[1])
        return found

    def _learn(self, dimension: int) -> None:
        if self.dimension not in (0, dimension):
            raise Unavailable(
                f"model {self.name!r} gave vectors of {self.dimension} numbers before, and now of "
                f"{dimension}: check what the address leads to"
            )
        self.dimension = dimension


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        sent = text[:_MOST_CHARACTERS] or _BLANK
        if not batches or len(batches[-1]) >= _BATCH or size + len(sent) > _BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(sent)
        size += len(sent)
    return batches
