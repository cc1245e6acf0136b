"""A model in a folder of the user's: ONNX, with its tokenizer.

The folder is laid out as sentence-transformers and Hugging Face do it: `model.onnx` or
`onnx/model.onnx`, `tokenizer.json`, and if they are there `1_Pooling/config.json` and
`sentence_bert_config.json`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.errors import InvalidInput
from memoranda.search.embedding import needed
from memoranda.storage.locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.embedding import Matrix

_BATCH = 32
_THREADS = 2
_MOST_TOKENS = 512
"""Where neither tokenizer nor model says how many tokens it takes."""
_MIB = 1024 * 1024


class OnnxModel:
    """A model that is run by onnxruntime; loaded when something is first embedded.

    Its name is the folder's with a digest of the model behind it, so that another model in the
    same place is noticed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = _model_file(folder)
        self._tokens = _there(folder / "tokenizer.json")
        self.name = f"{folder.absolute().name}@{_digest(self._model)}"
        self.dimension = 0
        """Known once it is loaded."""
        self._pooling = _pooling(folder)
        self._lock = new_lock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._inputs: frozenset[str] = frozenset()

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Run the model over the texts, those of a length together, and pool what it gives."""
        del query  # the model does not tell questions from answers
        np = needed("numpy", "onnx")
        self._load()
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows: list[Any] = [None] * len(texts)
        for first in range(0, len(order), _BATCH):
            places = order[first : first + _BATCH]
            for place, row in zip(places, self._run(np, [texts[i] for i in places]), strict=True):
                rows[place] = row
        found: Matrix = np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)
        self.dimension = int(found.shape[1])
        return found

    def _run(self, np: Any, texts: list[str]) -> Matrix:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([text.ids for text in encoded], np.int64)
        mask = np.array([text.attention_mask for text in encoded], np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.array([text.type_ids for text in encoded], np.int64),
        }
        output = self._session.run(
            None, {name: value for name, value in given.items() if name in self._inputs}
        )[0]
        return _pooled(np, np.asarray(output, np.float32), mask, self._pooling)

    def _load(self) -> None:
        with self._lock:
            if self._session is not None:
                return
            runtime = needed("onnxruntime", "onnx")
            self._tokenizer = self._load_tokenizer()
            options = runtime.SessionOptions()
            options.intra_op_num_threads = _THREADS
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            session = runtime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"]
            )
            self._inputs = frozenset(part.name for part in session.get_inputs())
            self._session = session

    def _load_tokenizer(self) -> Any:
        tokenizer = needed("tokenizers", "onnx").Tokenizer.from_file(str(self._tokens))
        kept = (tokenizer.truncation or {}).get("max_length", _MOST_TOKENS)
        said = _said(self._folder / "sentence_bert_config.json").get("max_seq_length")
        tokenizer.enable_truncation(said if type(said) is int and said > 0 else kept)
        if tokenizer.padding is None:
            tokenizer.enable_padding()
        else:  # to the longest of a batch, not to a fixed length
            tokenizer.enable_padding(**{**tokenizer.padding, "length": None})
        return tokenizer


def _pooled(np: Any, output: Any, mask: Any, pooling: str) -> Matrix:
    """Return one vector a text, of what the model gives for its tokens, or for it as a whole."""
    if output.ndim == 2:
        return output  # type: ignore[no-any-return]
    if pooling == "cls":
        return output[:, 0]  # type: ignore[no-any-return]
    seen = mask[:, :, None].astype(np.float32)
    if pooling == "max":
        return np.where(seen > 0, output, -np.inf).max(axis=1)  # type: ignore[no-any-return]
    summed = (output * seen).sum(axis=1)
    return summed / np.maximum(seen.sum(axis=1), 1.0)  # type: ignore[no-any-return]


def _model_file(folder: Path) -> Path:
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    raise InvalidInput(
        "embedder", f"there is no model.onnx in {str(folder)!r}, nor in its folder onnx"
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInput("embedder", f"there is no {path.name} in {str(path.parent)!r}")
    return path


def _digest(path: Path) -> str:
    """Return what tells models apart without reading hundreds of megabytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(size.to_bytes(8, "big") + file.read(_MIB))
        file.seek(max(size // 2, 0))
        digest.update(file.read(_MIB))
        file.seek(max(size - _MIB, 0))
        digest.update(file.read(_MIB))
    return digest.hexdigest()[:12]


def _pooling(folder: Path) -> str:
    """Return how the vectors of a text's tokens become one: as sentence-transformers says it."""
    said = _said(folder / "1_Pooling" / "config.json")
    if said.get("pooling_mode_cls_token"):
        return "cls"
    return "max" if said.get("pooling_mode_max_tokens") else "mean"


def _said(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInput("embedder", f"{str(path)!r} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}
