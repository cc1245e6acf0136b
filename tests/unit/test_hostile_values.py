"""Values that no message may choke on, and calls that refuse them before any work is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import ALL_AGENTS, CardinalityPolicy, InvalidInput, Scope, Store, load_signer
from memoranda import open as open_store
from memoranda.model.limits import MAX_REPR_CHARACTERS, short_repr
from memoranda.testing import memory_store
from tests.torture.hostile import MAKERS


@pytest.mark.slow
def test_any_value_can_be_shown() -> None:
    for make in MAKERS:
        assert 0 < len(short_repr(make())) <= MAX_REPR_CHARACTERS


@pytest.mark.parametrize("value", [None, 5, "x", [1, "a"], {"b": 1}, (), 1.5, ALL_AGENTS])
def test_small_values_are_shown_as_python_prints_them(value: object) -> None:
    assert short_repr(value) == repr(value)


def test_a_number_of_thousands_of_digits_is_shown_by_its_size() -> None:
    assert short_repr([10**5000]) == "[a number of 16610 bits]"


CALLS: dict[str, Callable[[Store, Any], object]] = {
    "verify": lambda store, odd: store.verify(progress=odd),
    "rebuild": lambda store, odd: store.rebuild(progress=odd),
    "reindex": lambda store, odd: store.reindex(progress=odd),
    "compact": lambda store, odd: store.compact(before=1, progress=odd),
    "backup": lambda store, odd: store.backup("x.db", progress=odd),
    "fork": lambda store, odd: store.fork("x.db", at=1, progress=odd),
    "export_log": lambda store, odd: store.export_log("x", progress=odd),
    "assert_facts": lambda store, odd: store.assert_facts([], progress=odd),
    "import_chat": lambda store, odd: store.import_chat("A: x", progress=odd),
    "extract": lambda store, odd: store.extract("x", extractor="rules", progress=odd),
}


@pytest.mark.parametrize("name", CALLS)
def test_progress_that_is_not_a_function_is_refused(name: str) -> None:
    with memory_store() as store, pytest.raises(InvalidInput, match="progress: 5 is not a func"):
        CALLS[name](store.bind(agent_id="a"), 5)


def test_parts_of_a_store_are_checked_before_a_file_is_made(tmp_path: Path) -> None:
    odd: Any = 5
    with pytest.raises(InvalidInput, match="clock: 5 is not a Clock"):
        open_store(tmp_path / "s.db", clock=odd)
    with pytest.raises(InvalidInput, match="ids: 5 is not a IdSource"):
        open_store(tmp_path / "s.db", ids=odd)
    with pytest.raises(InvalidInput, match="limits: 5 is not a Limits"):
        open_store(tmp_path / "s.db", limits=odd)
    assert not list(tmp_path.iterdir())


def test_odd_scopes_policies_and_paths_are_refused() -> None:
    odd: Any = 5
    with pytest.raises(InvalidInput, match="org_id"):
        Scope.of(agent_id="a", org_id=odd, user_id="u")
    with pytest.raises(InvalidInput, match="agent_id"):
        Scope.of(agent_id=odd, org_id="o", user_id="u")
    with pytest.raises(InvalidInput, match="relations: 5 is not a list"):
        CardinalityPolicy.with_single_valued(odd)
    with pytest.raises(InvalidInput, match="relations: 5 is int"):
        CardinalityPolicy.with_single_valued([odd])
    with pytest.raises(InvalidInput, match="signer: 5"):
        load_signer(odd)
    with memory_store() as store, pytest.raises(InvalidInput, match="scope: 5 is not a Scope"):
        store.current_edges(odd, "Ann", "x")
