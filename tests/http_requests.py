"""Calls as requests of HTTP: what a client would send for each of them."""

from __future__ import annotations

from base64 import b64encode
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from memoranda.calls.arguments import TypedText
from memoranda.calls.as_json import to_json
from memoranda.calls.call import Call, call_name
from memoranda.calls.memories import GetMemory
from memoranda.server.http.arguments import LITERAL_KIND, NULL, RouteArguments, arguments_of
from memoranda.server.http.routes import ROUTES, Route


def route_of(call: Call[Any]) -> Route:
    """Return the route by which a call can be made."""
    if isinstance(call, GetMemory) and call.memory_id is None:
        return ROUTES["get_memory_by_title"]
    return ROUTES[call_name(type(call))]


def given(call: Call[Any]) -> dict[str, Any]:
    """Return the arguments of a call that are not left out."""
    fields = {field.name: field for field in msgspec.structs.fields(call)}
    values = {name: getattr(call, name) for name in fields}
    return {
        name: value
        for name, value in values.items()
        if fields[name].required or value != fields[name].default
    }


def plain(value: Any) -> Any:
    """Return an argument as JSON."""
    if isinstance(value, Call):
        return {"call": call_name(type(value))} | {
            name: plain(part) for name, part in given(value).items()
        }
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, msgspec.Struct):
        members = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        return {name: part for name, part in members.items() if part not in (None, [])}
    if isinstance(value, (datetime, date)):
        return to_json(value)
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def request_of(call: Call[Any], store: str = "acme") -> tuple[str, str, Any]:
    """Return the method, the target and the body of a request that makes a call."""
    route, members = route_of(call), given(call)
    path = route.template.replace("{store}", store)
    for name in route.parameters:
        path = path.replace(f"{{{name}}}", quote(str(members.pop(name)), safe=""))
    arguments = RouteArguments(route)
    pairs: list[tuple[str, str]] = []
    for argument in arguments.query:
        if argument.name in members:
            pairs += _pairs(call, argument.name, members.pop(argument.name))
    query = f"?{urlencode(pairs)}" if pairs else ""
    if not route.has_body:
        left = {name for name in members if name not in route.left_out}
        assert not left, f"{left} cannot be sent"
        return route.method, path + query, None
    return route.method, path + query, {name: plain(part) for name, part in members.items()}


def _pairs(call: Call[Any], name: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        flag = arguments_of(type(call))[name].flag
        return [(name, NULL)] if flag is None else [(flag, "true")]
    if isinstance(value, TypedText):
        return [(name, value.text), (name + LITERAL_KIND, value.kind)]
    if isinstance(value, tuple):
        return [(name, str(item)) for item in value]
    if isinstance(value, bool):
        return [(name, str(value).lower())]
    return [(name, msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value))]
