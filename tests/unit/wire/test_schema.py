"""The .proto says what the calls say, and its numbers stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.call import Call
from memoranda.calls.registry import CALLS
from memoranda.wire import numbers, schema
from memoranda.wire.derive import form_of
from memoranda.wire.forms import TEXT, FieldSpec, MessageSpec
from memoranda.wire.methods import METHODS, SERVICE, WRITE_STREAM
from memoranda.wire.numbers import NumberChanged
from memoranda.wire.proto_text import render
from memoranda.wire.requests import REMOTE_CALLS
from memoranda.wire.v1 import memoranda_pb2
from tests.scripts import load_script


def spec(*fields: str) -> dict[str, MessageSpec]:
    return {"M": MessageSpec("M", "A message.", [FieldSpec(name, TEXT) for name in fields])}


class TestNumbers:
    def test_new_fields_get_new_numbers(self) -> None:
        first = numbers.assign({}, spec("a", "b"))
        assert first == {"M": {"a": 1, "b": 2}}
        assert numbers.assign(first, spec("c", "b", "a")) == {"M": {"a": 1, "b": 2, "c": 3}}

    def test_the_number_of_a_removed_field_is_reserved(self) -> None:
        known = numbers.assign({"M": {"a": 1, "b": 2}}, spec("a", "c"))
        assert known == {"M": {"a": 1, "b": 2, "c": 3}}
        text = render([], spec("a", "c"), known)
        assert "  reserved 2;\n" in text
        assert '  reserved "b";\n' in text
        assert "string c = 3;" in text

    @pytest.mark.parametrize("now", [{"a": 2}, {"b": 1}, {}])
    def test_a_changed_or_lost_number_is_refused(self, now: dict[str, int]) -> None:
        with pytest.raises(NumberChanged, match=r"M\.a has the number .*, and had 1"):
            numbers.check_unchanged({"M": {"a": 1}}, {"M": now})
        with pytest.raises(NumberChanged, match=r"M\.a has the number None"):
            numbers.check_unchanged({"M": {"a": 1}}, {})

    def test_a_number_that_is_used_again_is_refused(self) -> None:
        with pytest.raises(NumberChanged, match=r"M\.b and M\.a have the number 1"):
            numbers.check_unchanged({"M": {"a": 1}}, {"M": {"a": 1, "b": 1}})
        with pytest.raises(NumberChanged, match=r"M\.b and M\.a have the number 1"):
            numbers.assign({"M": {"a": 1, "b": 1}}, {})
        with pytest.raises(NumberChanged, match=r"M\.a has the number 0"):
            numbers.assign({"M": {"a": 0}}, {})

    def test_the_generator_refuses_a_file_in_which_a_number_was_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = load_script("generate_proto")
        known: Any = json.loads(script.NUMBERS.read_text("utf-8"))
        known["WriteRequest"]["key"] = 777
        monkeypatch.setattr(script, "NUMBERS", tmp_path / "numbers.json")
        script.NUMBERS.write_text(json.dumps(known), "utf-8")
        with pytest.raises(NumberChanged, match=r"WriteRequest\.key has the number 777"):
            script.generate()


class TestService:
    def test_every_call_that_can_leave_the_process_has_a_method(self) -> None:
        service = memoranda_pb2.DESCRIPTOR.services_by_name["MemorandaService"]
        remote = {kind.__name__ for kind in CALLS.values() if kind.local_only is None}
        assert set(service.methods_by_name) == {*remote, "WriteStream"}
        assert service.full_name == SERVICE
        assert WRITE_STREAM.startswith(f"/{SERVICE}/")

    @pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
    def test_a_method_is_as_the_service_describes_it(self, method: Any) -> None:
        service = memoranda_pb2.DESCRIPTOR.services_by_name["MemorandaService"]
        described = service.methods_by_name[method.name]
        assert method.request.DESCRIPTOR is described.input_type
        assert method.response.DESCRIPTOR is described.output_type
        assert not described.client_streaming
        assert described.server_streaming == (method.shape != "unary")
        assert method.path == f"/{service.full_name}/{method.name}"
        fields = method.request.DESCRIPTOR.fields_by_name
        assert (fields["store"].number, fields["acting_agent"].number) == (1, 2)

    def test_shapes_are_those_of_the_calls(self) -> None:
        shapes = {method.kind: method.shape for method in METHODS.values()}
        assert shapes[CALLS["get_state"]] == "unary"
        assert shapes[CALLS["verify"]] == "long"
        assert shapes[CALLS["list_keys"]] == "pages"
        assert shapes[CALLS["replay"]] == shapes[CALLS["subscribe"]] == "events"


class TestText:
    def test_comments_are_those_of_the_calls(self) -> None:
        text = load_script("generate_proto").PROTO.read_text("utf-8")
        assert "// Write a key.\nmessage WriteRequest {" in text
        assert "// Makes it a compare-and-set; 0 expects no value.\n" in text
        assert "  // Write a key.\n  rpc Write(WriteRequest) returns (WriteResponse);" in text

    def test_a_type_without_a_form_is_named(self) -> None:
        for kind in (complex, tuple[bytes, int], bytes | list[int]):
            with pytest.raises(TypeError, match=r"wire: give it one in memoranda\.wire"):
                form_of(kind)

    def test_two_messages_of_one_name_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Other(Call[int], frozen=True):
            """Another call of a name that is taken."""

            text: str

        Other.__name__ = "GetState"
        extended = {**REMOTE_CALLS, "other": Other}
        monkeypatch.setattr(schema, "REMOTE_CALLS", extended)
        with pytest.raises(TypeError, match="two messages have the name GetStateRequest"):
            schema.messages()
