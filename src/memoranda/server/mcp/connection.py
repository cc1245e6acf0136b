"""Connections: the caller, the store, and the tools of a request.

All of this is decided where the connection is made: by the command line, or by the address and the
token of a request. Nothing of it is an argument of a tool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from mcp.server.context import ServerRequestContext

from memoranda.calls.call import VERBS, Verb
from memoranda.server.mcp.carriers import Carrier
from memoranda.server.mcp.catalog import ToolSet, offered
from memoranda.server.mcp.tool import Tool

Context = ServerRequestContext[Any, Any]
"""The SDK's context of a request."""


def _count_nothing(_: int) -> None:
    """Ignore the size of an answer: the default without metering."""


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The scope and the rights of one request."""

    carrier: Carrier
    agent_id: str
    namespace: str
    tool_set: ToolSet = "core"
    is_read_only: bool = False
    verbs: frozenset[Verb] = frozenset(VERBS)
    """What the caller may do at all; tools for anything else are not listed."""
    owner: str | None = None
    """The id of its token: a session, or a call in several rounds, must be continued with the same
    token."""
    count_answer: Callable[[int], None] = _count_nothing
    """Counts the bytes of an answer."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are listed."""
        return offered(self.tool_set, self.verbs, is_read_only=self.is_read_only)

    def find(self, name: str) -> Tool | None:
        """Return a tool of this connection by its name.

        It also returns a tool that the token does not allow: calling that one is a denial, which
        the server records.
        """
        tools = offered(self.tool_set, frozenset(VERBS), is_read_only=self.is_read_only)
        return next((tool for tool in tools if tool.name == name), None)


Connect = Callable[[Context], Connection]
"""Returns the connection of a request; raises if it has none."""
