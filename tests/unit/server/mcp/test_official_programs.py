"""The official conformance suite, and the command line of the Inspector, against our server.

The suite needs tools with names of its own. A fixture has them, on our factory of servers, behind
our HTTP server, and passes all that a revision requires. The product has other tools: on it, the
scenarios run that are about any server.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memoranda.server.http.settings import HttpSettings
from memoranda.server.mcp import streamable_http
from memoranda.server.mcp.catalog import TOOLS
from tests.mcp_conformance_fixture import fixture_server
from tests.node_packages import NodePackages
from tests.server_process import ServerThread

pytestmark = pytest.mark.slow
SUITE, SUITE_VERSION = "@modelcontextprotocol/conformance", "0.2.0-alpha.12"
INSPECTOR, INSPECTOR_VERSION = "@modelcontextprotocol/inspector", "2.12.0"
REQUIRED = {"2026-07-28": 37, "2025-11-25": 30}
"""Scored scenarios of a revision."""
NOT_SCORED: Mapping[str, str] = {
    "tasks-": "tasks are an extension, and no tool of ours runs so long",
    "json-schema-2020-12": "about a tool with a schema of the suite's own",
    "http-custom-header-server-validation": "no tool asks for an argument as a header",
    "http-header-validation": "scored below, on the product",
}
"""Scenarios that may fail, since nobody requires them, and why they do not apply."""
PRODUCT = ("server-stateless", "tools-list", "caching", "dns-rebinding-protection",
           "http-header-validation", "resources-list", "prompts-list",
           "sep-2164-resource-not-found", "input-required-result-unsupported-methods")  # fmt: skip
NEEDS_A_TEST_TOOL: Mapping[str, str] = {
    "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
    "sep-2575-missing-capability-http-400": "test_missing_capability",
    "sep-2575-http-server-no-independent-requests-on-stream": "test_streaming_elicitation",
    "sep-2575-server-no-log-without-loglevel": "test_logging_tool",
}
"""Checks that cannot be made of the product, which does not have the tool; the fixture has."""


@pytest.fixture(scope="module")
def suite() -> NodePackages:
    return NodePackages(f"{SUITE}@{SUITE_VERSION}")


@pytest.fixture
def fixture_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the fixture in the place of the tools of a memory."""
    monkeypatch.setattr(streamable_http, "memory_server", fixture_server)
    with ServerThread(file=tmp_path / "store.db", http=HttpSettings(port=0)) as server:
        yield f"http://127.0.0.1:{server.server.http_port}/mcp"


@pytest.fixture
def product_url(tmp_path: Path) -> Iterator[str]:
    with ServerThread(file=tmp_path / "store.db", http=HttpSettings(port=0)) as server:
        yield f"http://127.0.0.1:{server.server.http_port}/mcp?tools=full"


@pytest.mark.parametrize("revision", REQUIRED)
def test_the_fixture_passes_all_that_a_revision_requires(
    revision: str, suite: NodePackages, fixture_url: str, tmp_path: Path
) -> None:
    options = ("--url", fixture_url, "--requirements", revision)
    code, output = suite.run(SUITE, "dist/index.js", "server", *options, home=tmp_path)
    assert code == 0, output
    summary = output.partition("=== SUMMARY ===")[2].partition("Total:")[0]
    outcomes = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", summary, re.MULTILINE)
    not_scored = set(re.findall(r"^  [✓✗] (\S+) \(", output, re.MULTILINE))
    passed = {
        name
        for mark, name, count, failures in outcomes
        if mark == "✓" and name not in not_scored and int(count) and failures == "0"
    }
    failed = {name for mark, name, _, _ in outcomes if mark == "✗"}
    assert failed <= not_scored, output
    assert all(name.startswith(tuple(NOT_SCORED)) for name in failed), failed
    assert len(passed) == REQUIRED[revision]


@pytest.mark.parametrize("scenario", PRODUCT)
def test_the_product_passes_what_is_about_any_server(
    scenario: str, suite: NodePackages, product_url: str, tmp_path: Path
) -> None:
    options = ("--url", product_url, "--scenario", scenario, "--spec-version", "2026-07-28")
    results = tmp_path / "results"
    _, output = suite.run(
        SUITE, "dist/index.js", "server", *options, "-o", str(results), home=tmp_path
    )
    (path,) = results.glob("*/checks.json")
    checks = json.loads(path.read_text("utf-8"))
    failed = {check["id"] for check in checks if check["status"] == "FAILURE"}
    expected = set(NEEDS_A_TEST_TOOL) if scenario == "server-stateless" else set()
    assert failed == expected, output
    assert any(check["status"] == "SUCCESS" for check in checks)
    assert not {tool.name for tool in TOOLS} & set(NEEDS_A_TEST_TOOL.values())


def test_the_inspector_calls_a_tool_and_finds_no_fault_with_the_schemas(
    product_url: str, tmp_path: Path
) -> None:
    inspector = NodePackages(f"{INSPECTOR}@{INSPECTOR_VERSION}")
    arguments = ["-m", "memoranda", "mcp", "--db", str(tmp_path / "own.db"), "--tools", "full"]
    servers = {"ours": {"command": sys.executable, "args": arguments}}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    ways = (("--config", str(config), "--server", "ours"), ("--server-url", product_url))
    for way in ways:

        def inspect(*method: str, way: tuple[str, ...] = way) -> Any:
            script = "clients/launcher/build/index.js"
            options = ("--cli", *way, "--transport", "http") if way == ways[1] else ("--cli", *way)
            code, output = inspector.run(INSPECTOR, script, *options, *method, home=tmp_path)
            assert code == 0, output
            return json.loads(output)

        call = ("--method", "tools/call", "--tool-name", "memory_store")
        stored = inspect(*call, "--tool-arg", "content=tea")["structuredContent"]
        assert (stored["outcome"], stored["commit"]) == ("created", 1)
        listed = inspect("--method", "tools/list", "--strict")["tools"]
        assert [tool["name"] for tool in listed] == [tool.name for tool in TOOLS]
