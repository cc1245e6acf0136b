"""The lineage page: it is what the map says, and the map names tests that run."""

from __future__ import annotations

import ast

import pytest

from scripts.generate_lineage import LINEAGE, ROOT, TARGET, generate
from tests.lineage import ai_memory_map, memoir_map, statehouse_map
from tests.lineage.corrections import EVERY, applied
from tests.lineage.statehouse_map import Entry

SECTIONS = (*statehouse_map.SECTIONS, *ai_memory_map.SECTIONS, *memoir_map.SECTIONS)
ENTRIES = [entry for section in SECTIONS for entry in section.entries]
NODES = sorted({entry.test for entry in ENTRIES if entry.test})
LEFT_OUT = {"skip", "skipif", "xfail", "importorskip"}


def find_test(node: str) -> ast.FunctionDef | None:
    """Return the source of the test a pytest node names."""
    path, _, name = node.partition("::")
    for result in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(result, ast.FunctionDef) and result.name == name:
            return result
    return None


def leaves_out(source: ast.AST) -> bool:
    """Say whether pytest is told to skip here, or to expect a failure."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in LEFT_OUT for node in ast.walk(source)
    )


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text("utf-8") == generate()


@pytest.mark.parametrize("node", NODES)
def test_a_test_of_the_map_exists_and_runs(node: str) -> None:
    test = find_test(node)

    assert test is not None
    assert test.name.startswith("test_")
    assert not leaves_out(test)


def test_no_module_of_the_map_is_left_out_as_a_whole() -> None:
    for path in {node.partition("::")[0] for node in NODES}:
        for statement in ast.parse((ROOT / path).read_text("utf-8")).body:
            assert isinstance(statement, ast.FunctionDef) or not leaves_out(statement)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.theirs)
def test_an_entry_is_held_or_said_to_be_missing(entry: Entry) -> None:
    assert bool(entry.test) != bool(entry.not_yet)
    assert entry.theirs
    assert entry.ours or entry.not_yet


def test_what_is_changed_is_a_correction_its_test_applies() -> None:
    tests = applied()
    changed = {entry.changed for entry in ENTRIES if entry.changed}

    assert changed == {correction.id for correction in EVERY}
    for entry in ENTRIES:
        if entry.changed:
            assert entry.test.removeprefix(LINEAGE) in tests[entry.changed]


def test_every_test_is_on_the_page() -> None:
    page = TARGET.read_text("utf-8")
    for path in {node.partition("::")[0] for node in NODES}:
        for statement in ast.parse((ROOT / path).read_text("utf-8")).body:
            if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_"):
                assert f"{path}::{statement.name}" in page
