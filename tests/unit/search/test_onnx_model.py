"""A model in a folder: a tiny one, made here, that looks each token's vector up."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from memoranda.errors import InvalidInput, Unavailable
from memoranda.search.embedding import embed, embedder_of
from memoranda.search.onnx_model import OnnxModel

WORDS = {"[PAD]": 0, "[UNK]": 1, "red": 2, "green": 3, "blue": 4}
WEIGHTS = numpy.array([[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=numpy.float32)


def write_model(path: Path, weights: numpy.ndarray[Any, Any] = WEIGHTS) -> None:
    graph = helper.make_graph(
        [helper.make_node("Gather", ["weights", "input_ids"], ["last_hidden_state"])],
        "lookup",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
        ],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "colours"
    write_model(folder / "onnx" / "model.onnx")
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_tokens_are_averaged_without_what_pads_them(folder: Path) -> None:
    own = embedder_of(folder)
    assert isinstance(own, OnnxModel)
    found = embed(own, ["red", "red green blue blue", "", "what", "green red"])
    half, sixth = math.sqrt(0.5), math.sqrt(1 / 6)
    assert own.dimension == 3
    assert found.round(5).tolist() == [
        pytest.approx(row, abs=1e-5)
        for row in ([1, 0, 0], [sixth, sixth, 2 * sixth], [0] * 3, [0] * 3, [half, half, 0])
    ]


def test_many_texts_come_back_in_their_order(folder: Path) -> None:
    texts = [" ".join(["red", "green", "blue"][number % 3 :]) for number in range(100)]
    found = embed(OnnxModel(folder), texts)
    for text, row in zip(texts, found, strict=True):
        assert numpy.allclose(row, embed(OnnxModel(folder), [text])[0])
        if text == "blue":
            break


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("cls_token", [1, 0, 0]), ("max_tokens", [math.sqrt(0.5), 0, math.sqrt(0.5)])],
)
def test_pooling_is_as_the_folder_says(folder: Path, mode: str, expected: list[float]) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{mode}": True}))
    assert numpy.allclose(embed(OnnxModel(folder), ["red blue", "red"])[0], expected)


def test_long_texts_are_cut_where_the_model_ends(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 2}')
    assert numpy.allclose(embed(OnnxModel(folder), ["red red blue blue blue"])[0], [1, 0, 0])


def test_another_model_in_the_same_place_has_another_name(folder: Path) -> None:
    before = OnnxModel(folder).name
    assert before == OnnxModel(folder).name
    write_model(folder / "model.onnx", WEIGHTS * 2)
    assert OnnxModel(folder).name != before
    assert before.startswith("colours@")


def test_a_folder_without_a_model_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InvalidInput, match=r"no tokenizer\.json"):
        OnnxModel(folder)
    with pytest.raises(InvalidInput, match=r"no model\.onnx"):
        OnnxModel(folder.parent)


def test_a_broken_model_is_unavailable(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").write_bytes(b"this is no model")
    with pytest.raises(Unavailable, match="colours"):
        embed(OnnxModel(folder), ["red"])


def test_settings_that_cannot_be_read_are_refused(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        OnnxModel(folder)
