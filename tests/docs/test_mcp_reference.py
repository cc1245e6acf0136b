"""The reference of MCP is what the tools say of themselves."""

from __future__ import annotations

from pathlib import Path

from memoranda.server.mcp.catalog import TOOLS
from tests.scripts import load_script

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mcp.md"


def test_the_reference_is_up_to_date_and_names_every_tool() -> None:
    text = PAGE.read_text("utf-8")
    assert text == load_script("generate_mcp_docs").generate(), "run `make generate`"
    for tool in TOOLS:
        assert f"\n### `{tool.name}`\n" in text
