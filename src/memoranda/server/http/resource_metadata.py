"""Metadata of OAuth protected resources (RFC 9728), for clients without a token.

A path that speaks MCP is a protected resource. Its answer 401 names a document, which says how
tokens are sent and, if the operator has one, which authorization server gives them out.
"""

from __future__ import annotations

import re
from typing import Any

from memoranda.server.http.messages import Header, Request
from memoranda.server.http.sessions import is_secure

METADATA = "/.well-known/oauth-protected-resource"
_QUOTABLE = re.compile(r"[!#-\[\]-~]+")
"""An address that can stand between quotes in a header; a client may send any name of a host."""


def challenge(request: Request) -> Header:
    """Return the header with the address of the document about a request's path."""
    url = _base(request) + METADATA + request.path
    metadata = f', resource_metadata="{url}"' if _QUOTABLE.fullmatch(url) else ""
    return b"www-authenticate", f'Bearer realm="memoranda"{metadata}'.encode()


def document(request: Request, path: str, authorization_servers: tuple[str, ...]) -> dict[str, Any]:
    """Return the document about the path of a resource."""
    members: dict[str, Any] = {
        "resource": _base(request) + path,
        "resource_name": "Memoranda",
        "bearer_methods_supported": ["header"],
    }
    if authorization_servers:
        members["authorization_servers"] = [*authorization_servers]
    return members


def _base(request: Request) -> str:
    """Return the scheme and the name under which the client reached the server."""
    scheme = "https" if is_secure(request) else "http"
    return f"{scheme}://{request.headers.get(b'host', b'').decode('latin-1')}"
