"""Models in folders: tiny ones, made here, with the inputs and outputs that real ones have."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import memoranda
from memoranda.errors import InvalidInput, Unavailable
from memoranda.model.clock import FixedClock
from memoranda.search.vectors import embedder, onnx_model
from memoranda.search.vectors.embedder import embed, resolve_embedder
from memoranda.search.vectors.native_calls import NativeCalls
from memoranda.search.vectors.onnx_folder import OnnxFolder
from memoranda.search.vectors.onnx_model import OnnxModel
from tests.cores import core_of
from tests.patience import HANG_SECONDS

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
    own = resolve_embedder(folder)
    assert isinstance(own, OnnxModel)
    result = embed(own, ["red", "red green blue blue", "", "what", "green red"])
    half, sixth = math.sqrt(0.5), math.sqrt(1 / 6)
    assert own.dimension == 3
    assert result.round(5).tolist() == [
        pytest.approx(row, abs=1e-5)
        for row in ([1, 0, 0], [sixth, sixth, 2 * sixth], [0] * 3, [0] * 3, [half, half, 0])
    ]


def test_many_texts_come_back_in_their_order(folder: Path) -> None:
    texts = [" ".join(["red", "green", "blue"][number % 3 :]) for number in range(100)]
    result = embed(OnnxModel(folder), texts)
    for text, row in zip(texts, result, strict=True):
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
    with pytest.raises(InvalidInput, match=r"no model\.onnx.*model_quantized\.onnx"):
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


# Shapes of real models. `minilm` takes three inputs, and its vectors are averaged. `bge` takes two,
# begins every text with [CLS], whose vector sums up the text, and has a prompt for queries.

SHAPES = {
    "[PAD]": 0,
    "[UNK]": 1,
    "[CLS]": 2,
    "[SEP]": 3,
    "red": 4,
    "green": 5,
    "blue": 6,
    "find": 7,
}
ROWS = numpy.zeros((8, 4), dtype=numpy.float32)
ROWS[4:8] = numpy.eye(4, dtype=numpy.float32)
QUERY_PROMPT = "find "


def write_shape(
    folder: Path,
    *,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    outputs: tuple[str, ...] = ("last_hidden_state",),
    kind: int = TensorProto.INT64,
    file: str = "model.onnx",
) -> None:
    """Write a model whose token vectors are their own plus the mean of the text's."""
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["own"]),
        helper.make_node("ReduceMean", ["own"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Add", ["own", "mean"], ["last_hidden_state"]),
        helper.make_node("ReduceSum", ["own", "axis"], ["sentence_embedding"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "shape",
        [helper.make_tensor_value_info(name, kind, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            numpy_helper.from_array(ROWS, "rows"),
            numpy_helper.from_array(numpy.array([1], dtype=numpy.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / file))
    tokenizer = Tokenizer(models.WordLevel(SHAPES, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def minilm(tmp_path: Path) -> Path:
    folder = tmp_path / "minilm"
    write_shape(folder)
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 8})
    return folder


@pytest.fixture
def bge(tmp_path: Path) -> Path:
    folder = tmp_path / "bge"
    write_shape(folder, inputs=("input_ids", "attention_mask"))
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": QUERY_PROMPT}})
    return folder


def unit(*numbers: float) -> list[float]:
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def test_minilm_averages_its_tokens(minilm: Path) -> None:
    model = resolve_embedder(f"onnx:{minilm}")
    assert isinstance(model, OnnxModel)
    rows = embed(model, ["red", "red blue", "red red red"])
    assert numpy.allclose(rows[0], [1, 0, 0, 0])
    assert numpy.allclose(rows[1], unit(1, 0, 1, 0))
    assert numpy.allclose(rows[2], [1, 0, 0, 0])
    assert numpy.allclose(embed(model, ["red"], query=True), embed(model, ["red"]))


def test_minilm_cuts_texts_with_their_special_tokens(minilm: Path) -> None:
    model = OnnxModel(minilm)
    long = "red " * 6 + "blue " * 50
    assert numpy.allclose(embed(model, [long])[0], [1, 0, 0, 0])


def test_bge_takes_the_first_token_and_a_prompt_for_queries(bge: Path) -> None:
    model = OnnxModel(bge)
    assert numpy.allclose(embed(model, ["red blue"])[0], unit(1, 0, 1, 0))
    assert numpy.allclose(embed(model, ["red"], query=True)[0], unit(1, 0, 0, 1))
    write_json(bge / "config_sentence_transformers.json", {"prompts": {"passage": QUERY_PROMPT}})
    other = OnnxModel(bge)
    assert other.name != model.name, "its vectors are others"
    assert numpy.allclose(embed(other, ["red"])[0], unit(1, 0, 0, 1))
    assert numpy.allclose(embed(other, ["red"], query=True)[0], [1, 0, 0, 0])


def test_a_pooled_output_is_taken_as_it_is(minilm: Path) -> None:
    write_shape(minilm, outputs=("last_hidden_state", "sentence_embedding"))
    assert numpy.allclose(embed(OnnxModel(minilm), ["red red blue"])[0], unit(2, 0, 1, 0))


def test_a_dense_layer_must_be_in_the_model(minilm: Path) -> None:
    write_json(minilm / "modules.json", [{"type": "sentence_transformers.models.Normalize"}])
    assert numpy.allclose(embed(OnnxModel(minilm), ["red"])[0], [1, 0, 0, 0])
    write_json(minilm / "modules.json", [{"type": "sentence_transformers.models.Dense"}])
    with pytest.raises(InvalidInput, match=r"lacks the dense layer.*sentence_embedding"):
        embed(OnnxModel(minilm), ["red"])
    write_shape(minilm, outputs=("last_hidden_state", "sentence_embedding"))
    assert numpy.allclose(embed(OnnxModel(minilm), ["red"])[0], [1, 0, 0, 0])


def test_a_tokenizer_that_pads_and_cuts_by_itself_does_neither(minilm: Path) -> None:
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.enable_padding(length=128, pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(3)
    tokenizer.save(str(minilm / "tokenizer.json"))
    rows = embed(OnnxModel(minilm), ["red blue", "red blue green green green"])
    assert numpy.allclose(rows[0], unit(1, 0, 1, 0))
    assert numpy.allclose(rows[1], unit(1, 3, 1, 0))


def test_threads_do_not_wait_in_a_loop(minilm: Path) -> None:
    model = OnnxModel(minilm)
    embed(model, ["red"])
    options = model._session.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_inputs_may_be_of_32_bits(minilm: Path) -> None:
    write_shape(minilm, kind=TensorProto.INT32)
    assert numpy.allclose(embed(OnnxModel(minilm), ["green"])[0], [0, 1, 0, 0])


def write_endless(path: Path) -> None:
    """Write a model that adds its tokens up for ever if there are three of them or more."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["again"], ["more"]),
            helper.make_node("Add", ["sum", "sum"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, None),
        ],
    )
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["own"]),
        helper.make_node("Shape", ["input_ids"], ["length"], start=1),
        helper.make_node("Squeeze", ["length"], ["tokens"]),
        helper.make_node("Greater", ["tokens", "two"], ["endless"]),
        helper.make_node("Loop", ["", "endless", "own"], ["last_hidden_state"], body=body),
    ]
    graph = helper.make_graph(
        nodes,
        "endless",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(WEIGHTS, "weights"),
            numpy_helper.from_array(numpy.array(2, dtype=numpy.int64), "two"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path))


ENDING = """
import os, sys, threading, time
from pathlib import Path
from memoranda.errors import Unavailable
from memoranda.search.vectors import onnx_model
from memoranda.search.vectors.embedder import embed
from memoranda.search.vectors.native_calls import NATIVE_CALLS

onnx_model._UNRELATED = ("red", "green")
model = onnx_model.OnnxModel(Path(sys.argv[1]))
embed(model, ["red"])


def run():
    try:
        embed(model, ["red red red"])
    except Unavailable:
        os.write(1, b"ended\\n")  # at once: the thread may end behind it


threading.Thread(target=run, daemon=True).start()
while not NATIVE_CALLS._stops:
    time.sleep(0.001)
"""


def test_a_process_ends_while_a_model_runs(folder: Path) -> None:
    write_endless(folder / "onnx" / "model.onnx")
    command = [sys.executable, "-W", "ignore", "-c", ENDING, str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_no_call_begins_when_the_interpreter_ends() -> None:
    calls, clock, stops = NativeCalls(FixedClock()), FixedClock(), list[int]()
    with calls.running(lambda: stops.append(1)):
        pass
    calls.end()
    assert stops == [], "it had returned"
    with pytest.raises(Unavailable, match="interpreter ends"), calls.running(lambda: None):
        pass
    calls = NativeCalls(clock)
    with calls.running(lambda: stops.append(1)):
        calls.end()
        assert stops, "it is told to stop"
        assert clock.monotonic() >= 30, "it is not waited for without end"
        calls.forget()
        stops.clear()
        calls.end()
        assert stops == [], "a fork has no such thread"


@pytest.mark.parametrize(
    "file",
    [
        "model_quantized.onnx",
        "onnx/model_quantized.onnx",
        "onnx/model_qint8_avx512.onnx",
        "onnx/model_int8.onnx",
    ],
)
def test_a_quantized_model_is_found(minilm: Path, file: str) -> None:
    (minilm / "model.onnx").unlink()
    write_shape(minilm, file=file)
    assert numpy.allclose(embed(OnnxModel(minilm), ["green"])[0], [0, 1, 0, 0])
    by_file = resolve_embedder(f"onnx:{minilm / file}")
    assert by_file is not None
    assert by_file.name == OnnxModel(minilm).name


def test_texts_of_all_lengths_are_batched_and_come_back_in_order(
    minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_model, "_BATCH_TOKENS", 16)
    monkeypatch.setattr(onnx_model, "_TOKENIZED_TEXTS", 7)
    words = ["red", "green", "blue"]
    texts = [" ".join([words[number % 3]] * (number % 6 + 1)) for number in range(40)]
    model = OnnxModel(minilm)
    shapes: list[tuple[int, int]] = []
    run = OnnxModel._run

    def watched(self: OnnxModel, np: Any, encoded: Any, run_options: Any) -> Any:
        shapes.append((len(encoded), max(len(text.ids) for text in encoded)))
        return run(self, np, encoded, run_options)

    monkeypatch.setattr(OnnxModel, "_run", watched)
    rows = embed(model, texts)
    for text, row in zip(texts, rows, strict=True):
        assert row.argmax() == words.index(text.split()[0])
    assert all(count * length <= 16 for count, length in shapes)


def test_a_text_is_embedded_once_until_the_cache_is_dropped(
    minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = OnnxModel(minilm)
    embed(model, ["red"])
    with monkeypatch.context() as patch:
        patch.setattr(OnnxModel, "_run", None)
        assert numpy.allclose(embed(model, ["red", "red"]), [[1, 0, 0, 0]] * 2)
        model.drop_cache()
        with pytest.raises(Unavailable):
            embed(model, ["red"])
    monkeypatch.setattr(onnx_model, "_CACHED_TEXTS", 3)
    embed(model, ["red", "green", "blue", "red green", "blue green"])
    assert len(model._cache) == 3


def test_a_vector_made_before_an_erasure_is_not_cached_after_it(
    minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = OnnxModel(minilm)
    embed(model, ["red"])
    run = OnnxModel._run

    def erasing(self: OnnxModel, np: Any, encoded: Any, run_options: Any) -> Any:
        self.drop_cache()
        return run(self, np, encoded, run_options)

    monkeypatch.setattr(OnnxModel, "_run", erasing)
    embed(model, ["blue"])
    assert len(model._cache) == 0


def test_forgetting_empties_the_cache(minilm: Path, tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", embedder=f"onnx:{minilm}") as store:
        agent = store.bind(agent_id="a")
        memory = agent.remember("red blue")
        agent.remember("green")
        store.reindex()
        model = core_of(store).vectors.embedder
        assert isinstance(model, OnnxModel)
        assert len(model._cache) > 0
        hits = agent.recall("blue red red", kinds=["memory"])
        assert hits[0].id == memory.id
        assert hits[0].parts["vector"] > 0.5
        agent.forget(memory_id=memory.id)
        assert len(model._cache) == 0


def test_the_threshold_is_that_of_the_model(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = OnnxModel(minilm)
    embed(model, ["red"])
    assert model.floor == pytest.approx(0.2), "its unrelated texts have nothing in common"
    monkeypatch.setattr(onnx_model, "_UNRELATED", ("red blue", "red green", "red find"))
    model = OnnxModel(minilm)
    embed(model, ["red"])
    assert model.floor == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (("input_ids", "pixel_values"), "takes pixel_values"),
        (("input_ids", "attention_mask", "position_ids"), "takes position_ids"),
    ],
)
def test_inputs_that_a_text_does_not_give_are_refused(
    minilm: Path, inputs: tuple[str, ...], problem: str
) -> None:
    write_shape(minilm, inputs=inputs)
    with pytest.raises(InvalidInput, match=problem):
        embed(OnnxModel(minilm), ["red"])


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_lasttoken": True},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
    ],
)
def test_a_pooling_that_is_not_known_is_refused(minilm: Path, config: dict[str, bool]) -> None:
    write_json(minilm / "1_Pooling" / "config.json", config)
    with pytest.raises(InvalidInput, match="pooling_mode_mean_tokens"):
        OnnxModel(minilm)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for spec in (f"onnx:{tmp_path / 'nowhere'}", str(tmp_path / "nowhere")):
        with pytest.raises(InvalidInput, match="no folder"):
            memoranda.open(tmp_path / "store.db", embedder=spec)
    with pytest.raises(InvalidInput, match="has no path"):
        memoranda.open(tmp_path / "store.db", embedder="onnx:")
    with pytest.raises(InvalidInput, match=r"no other\.onnx"):
        memoranda.open(tmp_path / "store.db", embedder=f"onnx:{tmp_path / 'other.onnx'}")
    assert not (tmp_path / "store.db").exists()


def test_a_missing_package_is_named_when_the_store_is_opened(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_spec
    monkeypatch.setattr(
        embedder, "find_spec", lambda name: None if name == "onnxruntime" else there(name)
    )
    with pytest.raises(InvalidInput, match=r"onnxruntime.*memoranda\[onnx\]"):
        memoranda.open(tmp_path / "store.db", embedder=f"onnx:{minilm}")


def test_the_longest_text_is_read_from_any_file(minilm: Path) -> None:
    (minilm / "sentence_bert_config.json").unlink()
    assert OnnxFolder(minilm).max_tokens == 512
    write_json(minilm / "config.json", {"max_position_embeddings": 514, "model_type": "roberta"})
    assert OnnxFolder(minilm).max_tokens == 512
    write_json(minilm / "tokenizer_config.json", {"model_max_length": 256})
    assert OnnxFolder(minilm).max_tokens == 256
    write_json(minilm / "tokenizer_config.json", {"model_max_length": 10**30})
    write_json(minilm / "config.json", {"max_position_embeddings": 10**6})
    assert OnnxFolder(minilm).max_tokens == 8_192
    write_json(minilm / "sentence_bert_config.json", {"max_seq_length": 128})
    assert OnnxFolder(minilm).max_tokens == 128
