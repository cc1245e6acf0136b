"""That nothing of Statehouse's replay document is left out, and no correction stands for nothing.

The document itself is not part of Memoranda; where a checkout has it beside it, it is counted.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lineage.corrections import EVERY, applied, corrected

HERE = Path(__file__).parent
BESIDE = HERE.parents[2] / "shared"

BLOCKS: dict[tuple[str, int], str] = {
    ("Overview", 1): "test_overview_1_replay_tells_what_an_agent_did",
    ("1. Completeness", 1): "test_completeness_1_what_was_committed_and_nothing_else",
    ("2. Ordering", 1): "test_ordering_1_the_order_of_commits_not_of_beginnings",
    ("3. Atomicity", 1): "test_atomicity_1_one_event_with_three_operations",
    ("4. Isolation", 1): "test_isolation_1_an_agent_sees_its_own_events",
    ("5. Consistency", 1): "test_consistency_1_the_last_event_is_the_state",
    ("Event Structure", 1): "test_event_structure_1_the_fields_of_an_event",
    ("Event Structure", 2): "test_event_structure_2_the_fields_of_an_operation",
    ("By Time Range", 1): "test_by_time_range_1_from_is_in_and_to_is_out",
    ("By Namespace", 1): "test_by_namespace_1_only_that_namespace",
    ("By Agent", 1): "test_by_agent_1_all_namespaces_of_an_agent",
    ("Streaming", 1): "test_streaming_1_memory_does_not_grow_with_the_history",
    ("1. Debugging", 1): "test_debugging_1_find_the_wrong_decision",
    ("2. Auditing", 1): "test_auditing_1_export_what_an_agent_did",
    ("3. State Reconstruction", 1): "test_state_reconstruction_1_from_nothing_to_now",
    ("4. Testing", 1): "test_testing_1_two_runs_that_do_the_same",
    ("5. Provenance Tracking", 1): "test_provenance_tracking_1_from_the_answer_to_its_sources",
    ("Empty Replay", 1): "test_empty_replay_1_is_empty_and_no_error",
    ("Concurrent Replay", 1): "test_concurrent_replay_1_two_threads_see_the_same",
    ("Replay During Writes", 1): "test_replay_during_writes_1_ends_where_it_began",
    ("Replay During Writes", 2): "test_replay_during_writes_2_a_new_replay_has_the_new_write",
    ("Deleted Keys", 1): "test_deleted_keys_1_the_deletion_is_an_event",
    ("Deleted Keys", 2): "test_deleted_keys_2_the_state_has_no_such_key",
    ("1. Structure Keys for Replay", 1): "test_structure_keys_1_find_by_prefix",
    ("2. Include Metadata", 1): "test_include_metadata_1_the_reason_is_kept_with_the_decision",
    ("3. Periodic Summaries", 1): "test_periodic_summaries_1_every_hundred_steps",
    ("4. Test Replay", 1): "test_test_replay_1_an_agent_is_tested_by_its_replay",
}
"""Every Python block of the document, by heading and number, and the test that holds it."""


def test_every_block_has_its_test() -> None:
    source = ast.parse((HERE / "test_statehouse.py").read_text("utf-8"))
    tests = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}

    assert len(set(BLOCKS.values())) == len(BLOCKS)
    for (heading, number), name in BLOCKS.items():
        text = ast.get_docstring(tests[name]) or ""
        assert text.startswith(f"{heading}, block {number}: ")


def test_every_block_of_the_document_is_listed() -> None:
    documents = list(BESIDE.glob("*/004_*.txt"))
    if not documents:
        pytest.skip(f"Statehouse's replay document is not beside this checkout, under {BESIDE}")

    counter = Counter(_headings_of_blocks(documents[0].read_text("utf-8")))

    assert counter == Counter(heading for heading, _ in BLOCKS)


def _headings_of_blocks(document: str) -> Iterator[str]:
    """Yield, for each Python block, the heading it stands under."""
    heading, inside = "", False
    for line in document.splitlines():
        if line.startswith("```"):
            inside = not inside
            if line == "```python":
                yield heading
        elif not inside and (match := re.match(r"#+ (.+)", line)):
            heading = match[1]


def test_every_correction_is_applied_by_a_test() -> None:
    names = [correction.id for correction in EVERY]

    assert len(set(names)) == len(names)
    assert set(applied()) == set(names)


def test_a_correction_that_is_not_listed_cannot_be_applied() -> None:
    with pytest.raises(KeyError, match="no such thing"):
        corrected("no such thing")
