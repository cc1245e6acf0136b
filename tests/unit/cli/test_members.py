"""What changed inside a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.cli.render import key_text
from memoranda.cli.render.key_text import MemberChange, compare

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)


def found(before: object, after: object) -> list[tuple[str, str]]:
    return [(change.kind, change.path) for change in compare(before, after)]


def test_members_come_go_and_change() -> None:
    before = {"same": 1, "gone": [1], "deep": {"a": {"b": 1}}}
    after = {"deep": {"a": {"b": 2}}, "same": 1, "new": None}
    assert list(compare(before, after)) == [
        MemberChange("removed", "gone", before=[1]),
        MemberChange("changed", "deep.a.b", before=1, after=2),
        MemberChange("added", "new", after=None),
    ]


def test_one_insertion_is_not_a_change_of_everything_behind_it() -> None:
    assert found({"todo": ["a", "b"]}, {"todo": ["x", "a", "b"]}) == [("added", "todo[0]")]
    assert found(["a", "b", "c"], ["b", "c"]) == [("removed", "[0]")]
    assert found([{"n": 1}, {"n": 2}], [{"n": 1}, {"n": 3}]) == [("changed", "[1].n")]
    assert found([1, 2, 3], [4]) == [("changed", "[0]"), ("removed", "[1]"), ("removed", "[2]")]


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), (1, 1.0), ("1", 1)])
def test_what_is_equal_in_python_need_not_be_in_json(before: object, after: object) -> None:
    assert found({"n": before}, {"n": after}) == [("changed", "n")]


def test_odd_names_are_quoted() -> None:
    assert found({}, {"a b": 1, "a.b": 1, "": 1, "9": 1, "名": 1}) == [
        ("added", '["a b"]'),
        ("added", '["a.b"]'),
        ("added", '[""]'),
        ("added", '["9"]'),
        ("added", "名"),
    ]


def test_long_lists_are_compared_place_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_text, "_MAX_ALIGNED_PAIRS", 8)
    assert found([1, 2, 3], [0, 1, 2]) == [(("changed"), f"[{place}]") for place in range(3)]


@given(DOCUMENTS, DOCUMENTS)
def test_nothing_is_found_only_where_nothing_changed(before: Any, after: Any) -> None:
    assert found(before, before) == []
    assert bool(found(before, after)) == (repr_of(before) != repr_of(after))


def repr_of(value: object) -> str:
    return key_text._text(value)
