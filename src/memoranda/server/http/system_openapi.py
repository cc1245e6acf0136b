"""The part of the OpenAPI document that is of no call: health, sessions and stores."""

from __future__ import annotations

from typing import Any

from memoranda.server.http.schemas import (
    TEXT,
    TIME,
    Schema,
    SchemaBook,
    array_of,
    nullable,
    object_of,
)
from memoranda.server.http.system import HEALTH, METRICS, OPENAPI, READY, SESSION, STORES

_PROBLEM: Schema = {"$ref": "#/components/responses/Problem"}
_STATUS: Schema = object_of({"status": TEXT})


def system_paths(book: SchemaBook) -> dict[str, Any]:
    """Return the paths."""
    session = book.named("Session", _session)
    stores = object_of({"items": array_of(object_of({"name": TEXT}))})
    token = object_of({"token": TEXT}) | {"additionalProperties": False}
    return {
        HEALTH: {"get": _operation("healthz", "Say that the process runs.", _STATUS, ())},
        READY: {"get": _operation("readyz", "Say whether requests are taken.", _STATUS, (503,))},
        METRICS: {
            "get": _operation(
                "metrics",
                "Show the metrics of the server, in the text format of Prometheus.",
                TEXT,
                (*_ASKED, 404),
                media="text/plain",
            )
        },
        OPENAPI: {
            "get": _operation("openapi", "Describe the interface.", {"type": "object"}, _REFUSED)
        },
        STORES: {
            "get": _operation("stores", "List the stores that the caller reaches.", stores, _ASKED)
        },
        SESSION: {
            "get": _operation("show_session", "Say who calls, and what for.", session, _ASKED),
            "post": {
                **_operation(
                    "open_session", "Exchange a token for a cookie.", session, (*_ASKED, 413, 415)
                ),
                "requestBody": {
                    "required": False,
                    "content": {"application/json": {"schema": token}},
                },
            },
            "delete": {
                "operationId": "close_session",
                "summary": "End the session of the cookie.",
                "tags": ["system"],
                "responses": {
                    "204": {"description": "There is no session any more."},
                    **{str(status): _PROBLEM for status in (*_REFUSED, 503)},
                },
            },
        },
    }


_REFUSED = (403, 421, 500, 503)
"""Statuses that every endpoint can answer with: refused, failed, or shutting down."""
_ASKED = (400, 401, *_REFUSED, 429)


def _operation(
    name: str,
    summary: str,
    schema: Schema,
    statuses: tuple[int, ...],
    media: str = "application/json",
) -> Any:
    answer = {"description": "The answer.", "content": {media: {"schema": schema}}}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["system"],
        "responses": {"200": answer} | {str(status): _PROBLEM for status in sorted(statuses)},
    }


def _session() -> Schema:
    return object_of(
        {
            "asks_for_tokens": {"type": "boolean"},
            "token_id": nullable(TEXT),
            "store": nullable(TEXT),
            "expires_at": nullable(TIME),
            "agent_id": nullable(TEXT),
            "agents": nullable(array_of(TEXT)),
            "namespaces": nullable(array_of(TEXT)),
            "verbs": array_of(TEXT),
        }
    )
