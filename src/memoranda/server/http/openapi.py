"""The OpenAPI 3.1 document of the HTTP interface, generated from the registry of calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from memoranda.calls.arguments import TypedText
from memoranda.calls.call import Call, answer_type
from memoranda.calls.extraction import FindSameTranscript, GetHead
from memoranda.calls.facts import IterSharedFacts
from memoranda.calls.keys import GetState
from memoranda.calls.log import Cursors
from memoranda.calls.transactions import AskWithin
from memoranda.calls.transcripts import LoadTranscript, Origins
from memoranda.calls.why import StaleKeys, Why
from memoranda.errors import ERROR_TABLE
from memoranda.graph.records import Fact
from memoranda.memory.records import Memory, Origin
from memoranda.memory.transcripts import StoredTranscript
from memoranda.server.http.argument_schemas import (
    argument_schema,
    body_schema,
    field_notes,
    is_required,
)
from memoranda.server.http.arguments import (
    LITERAL_KIND,
    Argument,
    RouteArguments,
    arguments_of,
)
from memoranda.server.http.calls import DEFAULT_ITEMS, MAX_ITEMS, OCTETS
from memoranda.server.http.conditions import EXPECTED
from memoranda.server.http.message_openapi import MESSAGE_PATH, message_operation
from memoranda.server.http.routes import ROUTES, Route
from memoranda.server.http.schemas import (
    INTEGER,
    TEXT,
    TIME,
    Schema,
    SchemaBook,
    array_of,
    nullable,
    object_of,
)
from memoranda.server.http.streams import EVENT_STREAM, NDJSON
from memoranda.server.http.system_openapi import system_paths
from memoranda.state.reads import StateRecord
from memoranda.why.reason import Reason

API_VERSION = "1"
"""The version of the interface, which is in every path; that of the package is another."""
_DESCRIPTION = (
    "Every call on the stores of a server, as JSON. `docs/reference/http.md` explains it."
)
_OF_HTTP = (403, 406, 421, 500)
"""Statuses that any request can have, whatever it asks for."""
_OF_BODIES = (413, 415)
"""Statuses that only a request with a body can have."""
_PROBLEM: Schema = {"$ref": "#/components/responses/Problem"}


def document() -> dict[str, Any]:
    """Return the document."""
    book = SchemaBook()
    paths: dict[str, dict[str, Any]] = {**system_paths(book), MESSAGE_PATH: _messages()}
    for route in ROUTES.values():
        item = paths.setdefault(route.template, {"parameters": [_shared("Store")]})
        item[route.method.lower()] = _operation(book, route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Memoranda", "version": API_VERSION, "description": _DESCRIPTION},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted((book.components | {"Problem": _problem_schema()}).items())),
            "parameters": dict(_SHARED_PARAMETERS),
            "responses": {"Problem": _problem_response()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "memoranda"},
            },
        },
        "security": [{"bearer": []}, {"session": []}, {}],
    }


def _messages() -> dict[str, Any]:
    statuses = {*_OF_HTTP, *_OF_BODIES, *(report.http_status for report in ERROR_TABLE.values())}
    operation = message_operation({str(status): _PROBLEM for status in sorted(statuses)})
    return {"parameters": [_shared("Store")], "post": operation}


# Operations.


def _operation(book: SchemaBook, route: Route) -> dict[str, Any]:
    arguments, notes = RouteArguments(route), field_notes(route.kind)
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": _summary(route.kind),
        "tags": [route.kind.__module__.rpartition(".")[2].removesuffix("_writes")],
        "parameters": [
            *(_parameter(book, part, notes, "path") for part in arguments.path),
            *(item for part in arguments.query for item in _in_query(book, route, part, notes)),
            *_headers(route),
        ],
        "responses": _responses(book, route),
    }
    if route.has_body:
        schema = body_schema(book, arguments.body, notes)
        is_required = bool(schema.get("required"))
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": is_required, "content": content}
    return operation


def _summary(kind: type[Call[Any]]) -> str:
    text = (inspect.getdoc(kind) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("None", "null")


def _parameter(
    book: SchemaBook, argument: Argument, notes: Mapping[str, str], place: str
) -> dict[str, Any]:
    parameter: dict[str, Any] = {"name": argument.name, "in": place}
    if argument.name in notes:
        parameter["description"] = notes[argument.name]
    if place == "path" or is_required(argument):
        parameter["required"] = True
    parameter["schema"] = argument_schema(book, argument, in_query=True)
    return parameter


def _in_query(
    book: SchemaBook, route: Route, argument: Argument, notes: Mapping[str, str]
) -> Iterable[dict[str, Any]]:
    parameter = _parameter(book, argument, notes, "query")
    if argument.name in route.defaults:
        parameter.pop("required", None)
    yield parameter
    if argument.flag is not None:
        yield {
            "name": argument.flag,
            "in": "query",
            "description": f"Whether every {argument.name} is meant.",
            "schema": {"type": "boolean"},
        }
    if TypedText in argument.parts:
        yield {
            "name": argument.name + LITERAL_KIND,
            "in": "query",
            "description": f"The kind of literal that `{argument.name}` is; an entity has none.",
            "schema": TEXT,
        }


def _headers(route: Route) -> Iterable[Schema]:
    yield _shared("Agent")
    if route.is_write:
        yield _shared("IdempotencyKey")
    if EXPECTED in arguments_of(route.kind):
        yield _shared("IfMatch")
        yield _shared("IfNoneMatchAny")
    elif route.kind is GetState:
        yield _shared("IfNoneMatch")
    if route.kind.shape == "stream":
        yield _shared("LastEventId")
    if route.kind.shape == "pages":
        yield _shared("Limit")
        yield _shared("PageToken")


def _shared(name: str) -> Schema:
    return {"$ref": f"#/components/parameters/{name}"}


def _header(name: str, description: str) -> Schema:
    return {"name": name, "in": "header", "description": description, "schema": TEXT}


_SHARED_PARAMETERS: Mapping[str, Schema] = {
    "Store": {
        "name": "store",
        "in": "path",
        "required": True,
        "description": "The name of a store; `-` is the only one, or that of the token.",
        "schema": TEXT,
    },
    "Agent": _header("Memoranda-Agent", "The agent that the caller acts for, percent-encoded."),
    "IdempotencyKey": _header(
        "Idempotency-Key", "The `txn_id` of the write: sent twice, it has one effect."
    ),
    "IfMatch": _header(
        "If-Match", 'What is expected to be there: the `ETag` of an answer, or a version: `"3"`.'
    ),
    "IfNoneMatchAny": _header("If-None-Match", "`*`: nothing must be there."),
    "IfNoneMatch": _header("If-None-Match", "The `ETag` of an earlier answer."),
    "LastEventId": _header("Last-Event-ID", "The id of the last event: it goes on behind it."),
    "Limit": {
        "name": "limit",
        "in": "query",
        "description": "How many items a page has, about.",
        "schema": {**INTEGER, "minimum": 1, "maximum": MAX_ITEMS, "default": DEFAULT_ITEMS},
    },
    "PageToken": {
        "name": "page_token",
        "in": "query",
        "description": "The `next_page_token` of the page before; all else stays as it was.",
        "schema": TEXT,
    },
}


# Responses.


def _responses(book: SchemaBook, route: Route) -> dict[str, Any]:
    statuses = [*_OF_HTTP, *(report.http_status for report in ERROR_TABLE.values())]
    if route.has_body:
        statuses += _OF_BODIES
    if EXPECTED in arguments_of(route.kind):
        statuses.append(412)
    responses: dict[str, Any] = {"200": _answer_response(book, route)}
    if route.kind is GetState:
        responses["304"] = {"description": "The client has this very answer already."}
    return responses | {str(status): _PROBLEM for status in sorted(set(statuses))}


def _answer_response(book: SchemaBook, route: Route) -> dict[str, Any]:
    kind, schema = route.kind, answer_schema(book, route.kind)
    response: dict[str, Any] = {"description": "The answer."}
    if kind is LoadTranscript:
        return response | {"content": {OCTETS.decode(): {}}}
    if kind.shape == "stream":
        text = {"schema": {**TEXT, "contentMediaType": "application/json", "contentSchema": schema}}
        return response | {"content": {EVENT_STREAM.decode(): text}}
    if kind.shape == "pages":
        page = object_of(
            {
                "items": array_of(schema),
                "next_page_token": nullable(TEXT),
                "is_cut": {"const": True, "description": "There is more, and no page for it."},
            },
            ("is_cut",),
        )
        lines = {"schema": schema}
        return response | {
            "content": {"application/json": {"schema": page}, NDJSON.decode(): lines}
        }
    if kind.lane == "long":
        step = object_of({"progress": object_of({"done": INTEGER, "total": INTEGER})})
        lines = {"schema": {"anyOf": [step, object_of({"answer": schema})]}}
        return response | {
            "content": {"application/json": {"schema": schema}, NDJSON.decode(): lines}
        }
    if _has_version(route):
        response["headers"] = {"ETag": {"description": "The version and the log.", "schema": TEXT}}
    return response | {"content": {"application/json": {"schema": schema}}}


def _has_version(route: Route) -> bool:
    answer = str(answer_type(route.kind))
    return any(kind.__name__ in answer for kind in (StateRecord, Memory)) and (
        route.kind.shape == "value" and not answer.startswith("list")
    )


def answer_schema(book: SchemaBook, kind: type[Call[Any]]) -> Schema:
    """Return the schema of the answer of a call, or of one item of it."""
    if kind is Why:
        return object_of({"nodes": array_of(_reason_node(book))})
    if kind is Origins:
        return object_of({"nodes": array_of(_origin_node(book))})
    if kind is StaleKeys:
        rests_on = array_of(book.of(Reason))
        return {"allOf": [book.of(Reason), object_of({"rests_on": rests_on})]}
    if kind is IterSharedFacts:
        return object_of({"fact": book.of(Fact), "visibility": TEXT})
    if kind is Cursors:
        return array_of(object_of({"cursor": TEXT, "commit_ts": INTEGER}))
    if kind is GetHead:
        return object_of({"commit_ts": INTEGER, "committed_at": nullable(TIME)})
    if kind is FindSameTranscript:
        return nullable(book.of(StoredTranscript))
    if kind is AskWithin:
        reads = array_of({"type": "object"})
        return object_of({"answer": {}, "reads": reads})
    return book.of(answer_type(kind))


def _reason_node(book: SchemaBook) -> Schema:
    place = object_of({"number": INTEGER, "parent": nullable(INTEGER), "depth": INTEGER})
    return {"allOf": [place, book.of(Reason)]}


def _origin_node(book: SchemaBook) -> Schema:
    place = object_of({"parent": nullable(TEXT), "depth": INTEGER})
    return {"allOf": [place, book.of(Origin)]}


# Problems.


def _problem_schema() -> Schema:
    names = [kind.__name__ for kind in ERROR_TABLE]
    properties: dict[str, Schema] = {
        "type": {"type": "string", "format": "uri-reference"},
        "title": TEXT,
        "status": INTEGER,
        "detail": TEXT,
        "error": {"enum": names, "description": "The class of the error."},
        "retryable": {"type": "boolean"},
        "attributes": {"type": "object", "description": "The fields of the error."},
        "request_id": TEXT,
    }
    return object_of(properties, ("error", "retryable", "attributes"))


def _problem_response() -> dict[str, Any]:
    return {
        "description": "A problem, as RFC 9457 describes it.",
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }
