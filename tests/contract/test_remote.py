"""The table of tests that do not hold for a store of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.remote import NOT_REMOTE


@pytest.mark.parametrize("name", NOT_REMOTE)
def test_each_of_its_rows_names_a_test(name: str) -> None:
    module, _, function = name.partition("::")
    text = (Path(__file__).parent / f"{module}.py").read_text("utf-8")
    assert f"def {function}(" in text
