"""That no test of memoir's is left out; where it lies beside a checkout, they are counted."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BESIDE = HERE.parents[2] / "shared"

TESTS = (
    "should_append_without_closing_under_naive_resolver",
    "should_close_conflicting_single_valued_edge",
    "should_not_close_multi_valued_edges",
    "should_not_close_when_same_object_restated",
    "should_fold_restated_fact_by_adopting_existing_valid_from",
    "should_close_low_confidence_new_edge_over_high_confidence_old",
    "should_default_unknown_relations_to_multi_valued",
    "should_classify_cardinality_case_insensitively",
    "should_treat_empty_policy_as_all_multi_valued",
    "should_carry_event_time_as_valid_from",
)
"""Every test of memoir's; `test_memoir.py` has it under the same name."""


def test_every_one_is_here_under_its_name() -> None:
    source = ast.parse((HERE / "test_memoir.py").read_text("utf-8"))
    tests = {node.name for node in source.body if isinstance(node, ast.FunctionDef)}
    assert {f"test_{test}" for test in TESTS} <= tests


def test_every_one_of_the_document_is_listed() -> None:
    paths = list(BESIDE.glob("*/003_*.txt"))
    if not paths:
        pytest.skip(f"memoir's source is not beside this checkout, under {BESIDE}")
    source = paths[0].read_text("utf-8")
    tests = re.findall(r"#\[(?:tokio::)?test\b.*\]\s+\d+\s+(?:async )?fn (\w+)", source)
    assert tests == list(TESTS)
