"""The connection of an HTTP request: from its caller, its store and the query of its address.

`/mcp?namespace=team/eng&agent=helper&tools=full&read_only=true` is what the configuration of a
client has. A token limits all of it, and one that names an agent decides who acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeVar
from urllib.parse import parse_qsl

from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.model.scope import DEFAULT_NAMESPACE
from memoranda.model.suggestions import did_you_mean
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.mcp.catalog import ToolSet
from memoranda.server.mcp.connection import Connection
from memoranda.server.mcp.dispatched_carrier import DispatchedCarrier
from memoranda.server.mcp.session import DEFAULT_AGENT

Value = TypeVar("Value")
PARAMETERS: Final = ("agent", "namespace", "tools", "read_only")
_TOOL_SETS: Final[Mapping[str, ToolSet]] = {"core": "core", "full": "full"}
_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}


def connection_of(dispatcher: Dispatcher, caller: Caller, store: str, query: bytes) -> Connection:
    """Return the connection of a request, or raise `InvalidInput` for a query that means none."""
    parameters = _parameters(query)
    acting = caller.acting(parameters.get("agent", DEFAULT_AGENT))
    agent = acting.grant.actor
    assert agent is not None, "the caller acts for somebody"
    return Connection(
        carrier=DispatchedCarrier(dispatcher, acting, store),
        agent_id=agent,
        namespace=parameters.get("namespace") or _namespace(acting.grant),
        tool_set=_choice(parameters, "tools", "core", _TOOL_SETS),
        is_read_only=_choice(parameters, "read_only", "false", _FLAGS),
        verbs=acting.grant.verbs,
        owner=None if acting.token is None else f"{acting.token.id} {agent}",
        count_answer=partial(dispatcher.count_answer, acting),
    )


def _parameters(query: bytes) -> dict[str, str]:
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    for name, _ in pairs:
        if name not in PARAMETERS:
            hint = did_you_mean(name, PARAMETERS)
            raise InvalidInput(
                name, f"is no parameter here: there are {', '.join(PARAMETERS)}{hint}"
            )
    return dict(pairs)


def _choice(
    parameters: Mapping[str, str], name: str, default: str, values: Mapping[str, Value]
) -> Value:
    text = parameters.get(name, default)
    if text not in values:
        raise InvalidInput(name, f"{short_repr(text)} is not one of {', '.join(values)}")
    return values[text]


def _namespace(grant: Grant) -> str:
    """Return the namespace of an address that names none: the default one, or the token's."""
    if not grant.namespaces or grant.coverage.covers_namespace(DEFAULT_NAMESPACE):
        return DEFAULT_NAMESPACE
    first, *remaining = sorted(grant.namespaces)
    if remaining:
        raise InvalidInput(
            "namespace",
            f"is missing, and the token covers {', '.join((first, *remaining))}: add "
            f"?namespace={first} to the address",
        )
    return first
