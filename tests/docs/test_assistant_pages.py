"""The pages about assistants: the day that a scripted one runs, and snippets to paste.

That the day is what the page shows is checked with all generated files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoranda.cli.assistants.clients import CLIENTS, HOOK_CLIENTS
from memoranda.cli.assistants.configuration import own_command
from memoranda.server.mcp.catalog import TOOLS
from tests.unit.cli.runner import Cli

DOCS = Path(__file__).parents[2] / "docs"
HOW_TO = DOCS / "howto" / "use-with-an-assistant.md"
PROGRAM = "/home/ann/.local/bin/memoranda"
"""Where the page says that the program is."""


def test_the_day_goes_through_everything_that_an_assistant_needs() -> None:
    page = (DOCS / "explanation" / "a-day-with-an-assistant.md").read_text("utf-8")
    called = set(re.findall(r"^```text\n(\w+) \{", page, re.MULTILINE))
    core = {tool.name for tool in TOOLS if tool.is_core}
    assert called >= core | {"transcript_store", "memory_supersede", "memory_resolve_invalidation"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_snippet_is_what_would_be_installed(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path)
    cli.env |= {"MEMORANDA_DB": None, "MEMORANDA_AGENT": None}
    hooks = ("--hooks",) if client == "claude-code" else ()
    printed = cli("mcp", "install", "--client", client, "--print", *hooks)
    page = HOW_TO.read_text("utf-8")
    for snippet in printed.replace(own_command()[0], PROGRAM).split("\n}\n"):
        assert snippet.strip() in page


def test_the_page_names_every_core_tool_and_every_client() -> None:
    page = HOW_TO.read_text("utf-8")
    for tool in TOOLS:
        assert (f"`{tool.name}`" in page) == tool.is_core
    for name in (*CLIENTS, *HOOK_CLIENTS):
        assert f"`{name}`" in page
