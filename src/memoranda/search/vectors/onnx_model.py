"""An ONNX model with its tokenizer, in a folder of the user.

The folder has the layout of sentence-transformers and Hugging Face; `onnx_folder.py` reads it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput
from memoranda.search.vectors.embedder import (
    DEFAULT_THRESHOLD,
    check_packages,
    require_package,
)
from memoranda.search.vectors.native_calls import NATIVE_CALLS
from memoranda.search.vectors.onnx_folder import OnnxFolder
from memoranda.storage.thread_locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.vectors.embedder import Matrix

_TOKENIZED_TEXTS = 256
"""Texts that are tokenized at once, and then put into batches of similar length."""
_BATCH_TOKENS = 1_024
"""Tokens of one run, padding included. More take more memory, and more time a token, as they do not
fit into a processor's cache. A longer text is a run of its own."""
_CHARACTERS_PER_TOKEN = 32
"""Characters that are tokenized for each token the model takes in: more than it needs."""
_THREADS = 2
"""Threads of onnxruntime: embedding is background work."""
_LOG_FATAL = 4
"""Level of what onnxruntime prints: its errors are exceptions, too."""
_CACHED_TEXTS = 4_096
"""Vectors that are cached: six megabytes of 384 dimensions."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""Outputs that are used, the best first; a model with other names is read by its first one."""
_UNRELATED = (
    "The invoice of March was paid twice",
    "Grandma bakes plum cake on Sundays",
    "A tram derailed near the harbour",
    "def parse(line): return line.split()",
    "He is allergic to penicillin",
    "The band tunes its guitars before the show",
    "Rust formed on the hinges of the gate",
    "Wolves returned to the valley after a century",
    "Our lease ends in two years",
    "The goalkeeper saved three penalties",
    "Water boils at a lower temperature on mountains",
    "Please reset my password",
)
"""Sentences that have nothing to do with each other: their cosines give the model's threshold."""
_MAX_THRESHOLD = 0.95
"""The highest threshold: above it a model would find nothing by vectors."""


class OnnxModel:
    """A model that onnxruntime runs; loaded on first use.

    Its name is the folder's name with a digest of the model, so that another model in the same
    folder is noticed.
    """

    def __init__(self, path: Path) -> None:
        self._files = OnnxFolder(path)
        check_packages("onnx", "numpy", "onnxruntime", "tokenizers")
        self.name = self._files.name
        self.dimension = 0
        """Known after the first run."""
        self.floor = DEFAULT_THRESHOLD
        """The least cosine of related texts; measured when the model is loaded."""
        self._lock = new_lock()
        """Protects loading and the cache."""
        self._session: Any = None
        self._tokenizer: Any = None
        self._pad_id = 0
        self._input_types: dict[str, str] = {}
        self._output = ""
        self._cache: OrderedDict[bytes, Any] = OrderedDict()
        self._drops = 0
        """How often the cache was emptied: vectors made before that are not put into it."""

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Return the pooled output for each text; queries and documents get the model's prompts."""
        np = require_package("numpy", "onnx")
        run_options = require_package("onnxruntime", "onnx").RunOptions()
        run_options.log_severity_level = _LOG_FATAL
        prompt = self._files.query_prompt if query else self._files.document_prompt
        with NATIVE_CALLS.running(partial(setattr, run_options, "terminate", True)):
            self._load(np)
            return self._embed(np, texts, prompt, run_options)

    def _embed(self, np: Any, texts: Sequence[str], prompt: str, run_options: Any) -> Matrix:
        prompted = [prompt + text for text in texts]
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in prompted]
        drops, rows = self._drops, self._cached(keys)
        missing = {key: text for key, text in zip(keys, prompted, strict=True) if key not in rows}
        new = dict(zip(missing, self._run_all(np, [*missing.values()], run_options), strict=True))
        self._remember(new, drops)
        rows |= new
        shape = (0, self.dimension)
        vectors: Matrix = np.stack([rows[key] for key in keys]) if keys else np.zeros(shape)
        return vectors

    def drop_cache(self) -> None:
        """Empty the cache: something was erased, and its vectors must leave memory."""
        with self._lock:
            self._cache.clear()
            self._drops += 1

    def _cached(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        with self._lock:
            rows = {key: self._cache[key] for key in keys if key in self._cache}
            for key in rows:
                self._cache.move_to_end(key)
            return rows

    def _remember(self, rows: dict[bytes, Any], drops: int) -> None:
        with self._lock:
            if drops == self._drops:
                self._cache.update(rows)
            while len(self._cache) > _CACHED_TEXTS:
                self._cache.popitem(last=False)

    # Running the model.

    def _run_all(self, np: Any, texts: Sequence[str], run_options: Any = None) -> list[Any]:
        """Run the model over texts, in batches of similar length."""
        rows: list[Any] = [None] * len(texts)
        for start in range(0, len(texts), _TOKENIZED_TEXTS):
            limit = self._files.max_tokens * _CHARACTERS_PER_TOKEN
            chunk = [text[:limit] for text in texts[start : start + _TOKENIZED_TEXTS]]
            encoded = self._tokenizer.encode_batch(chunk)
            for batch in _batches([len(text.ids) for text in encoded]):
                outputs = self._run(np, [encoded[position] for position in batch], run_options)
                for position, row in zip(batch, outputs, strict=True):
                    rows[start + position] = row
        return rows

    def _run(self, np: Any, encoded: Sequence[Any], run_options: Any) -> Matrix:
        length = max(max(len(text.ids) for text in encoded), 1)
        shape = (len(encoded), length)
        inputs = {
            "input_ids": np.full(shape, self._pad_id, np.int64),
            "attention_mask": np.zeros(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
        }
        for row, text in enumerate(encoded):
            size = len(text.ids)
            inputs["input_ids"][row, :size] = text.ids
            inputs["attention_mask"][row, :size] = text.attention_mask
            inputs["token_type_ids"][row, :size] = text.type_ids
        values = {
            name: inputs[name].astype(np.int32) if "int32" in kind else inputs[name]
            for name, kind in self._input_types.items()
        }
        (output,) = self._session.run([self._output], values, run_options)
        vectors = _pool(
            np, np.asarray(output, np.float32), inputs["attention_mask"], self._files.pooling
        )
        self.dimension = int(vectors.shape[1])
        return vectors

    # Loading.

    def _load(self, np: Any) -> None:
        with self._lock:
            if self._session is not None:
                return
            runtime = require_package("onnxruntime", "onnx")
            self._load_tokenizer()
            options = runtime.SessionOptions()
            options.intra_op_num_threads = _THREADS
            options.inter_op_num_threads = 1
            # Else its threads wait for each other in a loop, a third of the processor's time.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.log_severity_level = _LOG_FATAL
            session = runtime.InferenceSession(
                str(self._files.model), options, providers=["CPUExecutionProvider"]
            )
            self._input_types = self._check_inputs(session)
            names = [part.name for part in session.get_outputs()]
            self._output = next((name for name in _OUTPUTS if name in names), names[0])
            self._check_modules()
            self._session = session
            self.floor = self._measure_threshold(np)

    def _check_inputs(self, session: Any) -> dict[str, str]:
        """Return the declared inputs and their types; refuse those that a text does not give."""
        types = {part.name: part.type for part in session.get_inputs()}
        unknown = sorted(types.keys() - set(_INPUTS))
        if unknown or "input_ids" not in types:
            problem = f"takes {', '.join(unknown)}" if unknown else "takes no input_ids"
            raise InvalidInput(
                "embedder",
                f"the model {str(self._files.model)!r} {problem}: give one that takes input_ids "
                "and at most attention_mask and token_type_ids, as text encoders do",
            )
        return types

    def _check_modules(self) -> None:
        """Refuse token vectors that still have to go through a layer which is not in the model."""
        if self._files.has_dense_layer and self._output != _OUTPUTS[0]:
            raise InvalidInput(
                "embedder",
                f"the model {str(self._files.model)!r} lacks the dense layer that modules.json "
                f"has: export it with the output {_OUTPUTS[0]}",
            )

    def _load_tokenizer(self) -> None:
        tokenizer = require_package("tokenizers", "onnx").Tokenizer.from_file(
            str(self._files.tokenizer)
        )
        tokenizer.enable_truncation(self._files.max_tokens)
        self._pad_id = (tokenizer.padding or {}).get("pad_id", 0)
        tokenizer.no_padding()  # batches are padded here, after texts were sorted by length
        self._tokenizer = tokenizer

    def _measure_threshold(self, np: Any) -> float:
        """Return a cosine that few unrelated texts reach: two deviations above their mean.

        Unrelated texts have cosines around 0 with some models and around 0.6 with others.
        """
        vectors = np.stack(self._run_all(np, _UNRELATED))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.maximum(lengths, 1e-12)
        cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        threshold = float(cosines.mean() + 2 * cosines.std())
        return min(max(threshold, DEFAULT_THRESHOLD), _MAX_THRESHOLD)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the positions of texts in batches of similar length and bounded size."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: lengths[position]):
        if batch and (len(batch) + 1) * lengths[position] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _pool(np: Any, output: Any, mask: Any, pooling: str) -> Matrix:
    """Return one vector for each text; a model may give one for each token."""
    if output.ndim == 2:
        return output  # type: ignore[no-any-return]
    if pooling == "cls":
        return output[:, 0]  # type: ignore[no-any-return]
    weights = mask[:, :, None].astype(np.float32)
    if pooling == "max":
        largest = np.where(weights > 0, output, -np.inf).max(axis=1)
        return np.where(np.isfinite(largest), largest, 0.0)  # type: ignore[no-any-return]
    summed = (output * weights).sum(axis=1)
    return summed / np.maximum(weights.sum(axis=1), 1.0)  # type: ignore[no-any-return]
