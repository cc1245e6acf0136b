"""That no test of ai-memory's is left out; where it lies beside a checkout, they are counted."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BESIDE = HERE.parents[2] / "shared"

TESTS: dict[str, tuple[str, ...]] = {
    "test_ai_memory_replay.py": (
        "observation_returns_only_its_own_transcripts",
        "reflection_returns_union_of_self_plus_three_sources",
        "depth_cap_bounds_chain_walk",
        "missing_root_returns_empty_union",
        "cycle_in_reflects_on_does_not_loop_forever",
        "shared_transcript_deduplicates_to_one_entry",
        "orphan_reflection_returns_only_self",
        "dangling_transcript_id_is_silently_dropped",
    ),
    "test_ai_memory_invalidation.py": (
        "invalidations_namespace_appends_underscore_segment",
        "list_dependents_returns_inbound_reflects_on_only",
        "propagate_writes_one_notification_per_dependent",
        "propagate_records_signed_events_row_per_notification",
        "propagate_with_no_dependents_is_a_no_op",
        "metadata_carries_all_four_required_fields",
    ),
}
"""Every test of ai-memory's, by the file that has it here under the same name."""


@pytest.mark.parametrize("name", TESTS)
def test_every_one_is_here_under_its_name(name: str) -> None:
    source = ast.parse((HERE / name).read_text("utf-8"))
    tests = {node.name for node in source.body if isinstance(node, ast.FunctionDef)}
    assert {f"test_{test}" for test in TESTS[name]} <= tests


@pytest.mark.parametrize(("name", "document"), [*zip(TESTS, ("000", "002"), strict=True)])
def test_every_one_of_the_document_is_listed(name: str, document: str) -> None:
    paths = list(BESIDE.glob(f"*/{document}_*.txt"))
    if not paths:
        pytest.skip(f"ai-memory's source is not beside this checkout, under {BESIDE}")
    source = paths[0].read_text("utf-8")
    assert re.findall(r"#\[test\]\s+\d+\s+fn (\w+)", source) == list(TESTS[name])
