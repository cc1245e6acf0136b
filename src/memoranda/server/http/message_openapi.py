"""The part of the OpenAPI document about requests whose bodies are messages."""

from __future__ import annotations

from typing import Any

from memoranda.wire.methods import METHODS
from memoranda.wire.over_http import FRAMES_MEDIA, MESSAGE_MEDIA, PREFIX, RPC, WRITES

MESSAGE_PATH = f"{PREFIX}/{{store}}/{RPC}/{{method}}"
_ABOUT = (
    "The messages of `proto/memoranda/v1`, for clients that speak protocol buffers. A method with "
    "one answer gives a message, any other one frames. `docs/reference/wire.md` has more."
)


def message_operation(problems: dict[str, Any]) -> dict[str, Any]:
    """Return the operation, which fails with these problems."""
    unary = sorted(name for name, method in METHODS.items() if method.shape == "unary")
    return {
        "operationId": "call_method",
        "summary": "Send a call as a message.",
        "description": f"{_ABOUT} Methods with one answer: {', '.join(unary)}.",
        "tags": ["messages"],
        "parameters": [
            {
                "name": "method",
                "in": "path",
                "required": True,
                "description": "The name of the method, as in the service `MemorandaService`.",
                "schema": {"enum": sorted({*METHODS, WRITES})},
            },
            {"$ref": "#/components/parameters/Agent"},
        ],
        "requestBody": {"required": False, "content": {MESSAGE_MEDIA: {}}},
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {MESSAGE_MEDIA: {}, FRAMES_MEDIA: {}},
            },
            **problems,
        },
    }
