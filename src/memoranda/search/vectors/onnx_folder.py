"""The files of an ONNX model: which model, its tokenizer, and what its configuration says.

| file | what is read |
|---|---|
| `model.onnx`, `onnx/model.onnx`, else a quantized one | the model |
| `tokenizer.json` | the tokenizer |
| `1_Pooling/config.json` | the pooling: mean, CLS or max; mean without the file |
| `sentence_bert_config.json`, `tokenizer_config.json`, `config.json` | the longest text |
| `config_sentence_transformers.json` | the prompts before queries and documents |
| `modules.json` | whether a dense layer follows the pooling |
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from memoranda.errors import InvalidInput

_MODEL_NAMES: Final = ("model.onnx", "onnx/model.onnx")
_QUANTIZED_NAMES: Final = ("model_quantized", "model_qint8", "model_quint8", "model_int8")
"""Beginnings of the names of quantized models, the most usual first."""
_DEFAULT_MAX_TOKENS: Final = 512
"""Tokens at which texts are cut if no file has a limit."""
_MAX_TOKENS: Final = 8_192
"""Tokens of a text at most: a tokenizer without a limit says 10 to the power of 30."""
_POOLINGS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
}
_MIB: Final = 1024 * 1024


class OnnxFolder:
    """A model's folder; `path` is the folder, or the file of one of its models."""

    def __init__(self, path: Path) -> None:
        if path.suffix == ".onnx":
            self.model = _existing_file(path)
            folder = path.parent.parent if path.parent.name == "onnx" else path.parent
        else:
            self.model, folder = _find_model(path), path
        self.tokenizer = _existing_file(folder / "tokenizer.json")
        self._folder = folder
        self.pooling = self._read_pooling()
        self.query_prompt, self.document_prompt = self._read_prompts()
        digest = _digest(self.model, f"{self.query_prompt}\0{self.document_prompt}")
        self.name = f"{folder.absolute().name}@{digest}"

    def _read_pooling(self) -> str:
        config = self._read("1_Pooling/config.json")
        name = config.get("pooling_mode")
        if isinstance(name, str):  # as newer versions of sentence-transformers write it
            config = {f"pooling_mode_{name}_token{'' if name == 'cls' else 's'}": True}
        modes = [key for key, value in config.items() if value is True and "pooling_mode" in key]
        if not modes:
            return "mean"
        if len(modes) > 1 or modes[0] not in _POOLINGS:
            raise InvalidInput(
                "embedder",
                f"{str(self._folder / '1_Pooling/config.json')!r} has {' and '.join(modes)}: give "
                f"a model with one of {', '.join(sorted(_POOLINGS))}",
            )
        return _POOLINGS[modes[0]]

    @cached_property
    def max_tokens(self) -> int:
        """Tokens at which texts are cut; read on first use, since a tokenizer has megabytes.

        It is the limit of sentence-transformers, else the lowest of the other files.
        """
        limit = _limit(self._read("sentence_bert_config.json").get("max_seq_length"))
        if limit is not None:
            return min(limit, _MAX_TOKENS)
        config = self._read("config.json")
        positions = _limit(config.get("max_position_embeddings"))
        if positions is not None and "roberta" in str(config.get("model_type", "")):
            positions = max(positions - 2, 1)  # its positions begin after that of the padding
        truncation = self._read("tokenizer.json").get("truncation")
        limits = (
            positions,
            _limit(self._read("tokenizer_config.json").get("model_max_length")),
            _limit(truncation.get("max_length")) if isinstance(truncation, dict) else None,
        )
        numbers = [limit for limit in limits if limit is not None]
        return min(*numbers, _MAX_TOKENS) if numbers else _DEFAULT_MAX_TOKENS

    @cached_property
    def has_dense_layer(self) -> bool:
        """Whether sentence-transformers puts the pooled vectors through another layer."""
        modules = self._decode("modules.json")
        if not isinstance(modules, list):
            return False
        kinds = (part.get("type") for part in modules if isinstance(part, dict))
        return any(str(kind).endswith(".Dense") for kind in kinds)

    def _read_prompts(self) -> tuple[str, str]:
        prompts = self._read("config_sentence_transformers.json").get("prompts")
        texts = prompts if isinstance(prompts, dict) else {}
        query = texts.get("query")
        document = texts.get("document", texts.get("passage"))
        return (
            query if isinstance(query, str) else "",
            document if isinstance(document, str) else "",
        )

    def _read(self, name: str) -> dict[str, Any]:
        config = self._decode(name)
        return config if isinstance(config, dict) else {}

    def _decode(self, name: str) -> Any:
        """Return what a JSON file has; None if there is no such file."""
        path = self._folder / name
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidInput("embedder", f"{str(path)!r} cannot be read: {error}") from error


def _limit(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _find_model(folder: Path) -> Path:
    if not folder.is_dir():
        raise InvalidInput(
            "embedder",
            f"there is no folder {str(folder)!r}: give the folder of an ONNX model, with "
            "model.onnx and tokenizer.json",
        )
    for name in _MODEL_NAMES:
        if (folder / name).is_file():
            return folder / name
    for beginning in _QUANTIZED_NAMES:
        for place in (folder, folder / "onnx"):
            for path in sorted(place.glob(f"{beginning}*.onnx")):
                return path
    raise InvalidInput(
        "embedder",
        f"there is no model.onnx in {str(folder)!r}, nor in its folder onnx, nor a quantized one "
        "such as model_quantized.onnx: give the folder of an ONNX model, or the model's file",
    )


def _existing_file(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInput("embedder", f"there is no {path.name} in {str(path.parent)!r}")
    return path


def _digest(path: Path, prompts: str) -> str:
    """Return a digest of the size and of three samples: a model has hundreds of megabytes."""
    digest = hashlib.sha256()
    weights = (path.with_name(f"{path.name}{end}") for end in ("_data", ".data"))
    for part in (path, *filter(Path.is_file, weights)):  # a large model has them in another file
        size = part.stat().st_size
        with part.open("rb") as file:
            digest.update(size.to_bytes(8, "big") + file.read(_MIB))
            file.seek(max(size // 2, 0))
            digest.update(file.read(_MIB))
            file.seek(max(size - _MIB, 0))
            digest.update(file.read(_MIB))
    if prompts != "\0":
        digest.update(prompts.encode())
    return digest.hexdigest()[:12]
