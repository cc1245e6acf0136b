"""Requests of the revision of MCP without sessions, as they are sent over HTTP."""

from __future__ import annotations

from typing import Any

MODERN = "2026-07-28"


def modern_request(
    method: str, params: dict[str, Any] | None = None, secret: str | None = None
) -> dict[str, Any]:
    """Return the headers and the body of a request, as arguments of an HTTP client."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    params = {**(params or {}), "_meta": meta}
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **({"mcp-name": params["name"]} if "name" in params else {}),
        **({} if secret is None else {"authorization": f"Bearer {secret}"}),
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return {"headers": headers, "json": message}
