"""Errors as plain JSON: the same class with the same attributes comes back."""

from __future__ import annotations

import json
import math
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.calls.core import all_views, error_codec
from memoranda.errors import (
    ERROR_TABLE,
    Compacted,
    EdgeError,
    InvalidInput,
    MemorandaError,
    StoreBusy,
    TransactionConflict,
    Unavailable,
    VersionMismatch,
    ViewsDiffer,
)
from memoranda.log.commit.conflict_queue import OutOfTurn
from memoranda.model.error_codec import ErrorCodec
from memoranda.model.scope import Scope
from memoranda.state.requests import KeyRead
from tests.unit.test_errors import PLAIN, SPECIAL

READ_TYPES = [kind for view in all_views().all for kind in view.tracked_reads]
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCOPES = st.builds(Scope, st.text(), st.text())


def reads_of(kind: Any) -> st.SearchStrategy[Any]:
    values: dict[Any, st.SearchStrategy[Any]] = {Scope: SCOPES, bool: st.booleans()}
    parts = {
        field.name: values.get(field.type, st.text()) for field in msgspec.structs.fields(kind)
    }
    return st.builds(kind, **parts)


SPECIAL_VALUES = {
    "reads": st.lists(st.one_of(*map(reads_of, READ_TYPES)), max_size=3).map(tuple),
    "row": st.dictionaries(
        st.text(),
        st.none() | INTEGERS | st.text() | st.binary() | st.floats(allow_nan=False, width=32),
        max_size=5,
    ),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return values of an attribute's type; a type of another kind needs a strategy here."""
    plain = {str: st.text(), int: INTEGERS, bool: st.booleans(), NoneType: st.none()}
    plain[float] = st.floats(allow_nan=False, allow_infinity=False)
    if hint in plain:
        return plain[hint]
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    assert isinstance(hint, UnionType), f"an attribute has the type {hint}"
    return st.one_of(*map(values_of, get_args(hint)))


def attributes_of(kind: type[MemorandaError]) -> dict[str, st.SearchStrategy[Any]]:
    return {
        name: SPECIAL_VALUES[name] if name in SPECIAL_VALUES else values_of(hint)
        for name, hint in get_type_hints(kind).items()
    }


def through_json(error: MemorandaError) -> MemorandaError:
    codec = error_codec()
    encoded = codec.encode(error)
    text = json.dumps(encoded, allow_nan=False)
    assert msgspec.json.decode(msgspec.json.encode(encoded)) == json.loads(text)
    return codec.decode(json.loads(text))


def same(one: MemorandaError, other: MemorandaError) -> bool:
    names = get_type_hints(type(one))
    return (type(one), one.args, str(one)) == (type(other), other.args, str(other)) and all(
        getattr(one, name, None) == getattr(other, name, None) for name in names
    )


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", ERROR_TABLE, ids=lambda kind: str(kind.__name__))
def test_every_class_comes_back_with_its_attributes(
    kind: type[MemorandaError], data: st.DataObject
) -> None:
    error = kind.__new__(kind, data.draw(st.text()))
    for name, strategy in attributes_of(kind).items():
        if data.draw(st.booleans()):
            setattr(error, name, data.draw(strategy))
    assert same(through_json(error), error)


@pytest.mark.parametrize("error", [*SPECIAL, *PLAIN], ids=lambda error: type(error).__name__)
def test_what_constructors_make_comes_back(error: MemorandaError) -> None:
    assert vars(error).keys() <= get_type_hints(type(error)).keys(), "every attribute is annotated"
    assert same(through_json(error), error)


def test_the_form_is_this() -> None:
    error = VersionMismatch(key="k", expected=1, actual=2)
    error.position = 3
    assert error_codec().encode(error) == {
        "error": "VersionMismatch",
        "message": str(error),
        "retryable": False,
        "attributes": {"position": 3, "key": "k", "expected": 1, "actual": 2},
    }
    conflict = TransactionConflict()
    conflict.reads = (KeyRead(Scope("n", "a"), "k"),)
    assert error_codec().encode(conflict)["attributes"] == {
        "reads": [{"read": "KeyRead", "scope": {"namespace": "n", "agent_id": "a"}, "key": "k"}]
    }
    differ = ViewsDiffer("state", "state", "a row differs", row={"value": b"\xff"})
    attributes: Any = error_codec().encode(differ)["attributes"]
    assert attributes["row"] == {"value": {"base64": "/w=="}}
    infinite = ViewsDiffer("graph", "graph_edge", "a row differs", row={"confidence": math.inf})
    assert same(through_json(infinite), infinite)


def test_a_class_outside_the_tree_comes_back_as_its_base() -> None:
    error = OutOfTurn()
    error.reads = (KeyRead(Scope("n", "a"), "k"),)
    again = through_json(error)
    assert type(again) is TransactionConflict
    assert (str(again), again.reads) == (str(error), error.reads)


def test_whether_it_is_retryable_comes_with_each_error() -> None:
    busy = StoreBusy()
    busy.retryable = False
    assert not through_json(busy).retryable
    assert through_json(StoreBusy()).retryable
    assert through_json(EdgeError(retryable=True)).retryable


def test_text_that_is_not_unicode_is_escaped() -> None:
    error = through_json(Unavailable("/tmp/\udcff.db does not answer"))
    assert str(error) == "/tmp/\\udcff.db does not answer"


def test_what_a_newer_version_sends_is_understood_as_far_as_possible() -> None:
    codec = ErrorCodec()
    unknown = codec.decode({"error": "Newer", "message": "new", "retryable": True, "more": 1})
    assert (type(unknown), str(unknown), unknown.retryable) == (MemorandaError, "new", True)
    compacted = codec.decode(
        {"error": "Compacted", "message": "gone", "attributes": {"horizon": 7, "more": 1}}
    )
    assert isinstance(compacted, Compacted)
    assert vars(compacted) == {"horizon": 7}
    conflict = codec.decode(
        {"error": "TransactionConflict", "message": "m", "attributes": {"reads": [{"read": "x"}]}}
    )
    assert isinstance(conflict, TransactionConflict)
    assert conflict.reads == ()


@pytest.mark.parametrize(
    "encoded",
    [
        None,
        [],
        {},
        {"error": "NotFound"},
        {"error": 1, "message": "m"},
        {"error": "Compacted", "message": "m", "attributes": {"horizon": "7"}},
        {"error": "LinkCycle", "message": "m", "attributes": {"path": "a"}},
        {"error": "TransactionConflict", "message": "m", "attributes": {"reads": [1]}},
        {"error": "TransactionConflict", "message": "m", "attributes": {"reads": [{"read": []}]}},
        {"error": "ViewsDiffer", "message": "m", "attributes": {"row": {"x": {"base64": "!"}}}},
        {"error": "ViewsDiffer", "message": "m", "attributes": {"row": {"x": {"float": "1"}}}},
    ],
    ids=repr,
)
def test_another_form_is_refused(encoded: object) -> None:
    with pytest.raises(InvalidInput, match="not an encoded error"):
        error_codec().decode(encoded)
