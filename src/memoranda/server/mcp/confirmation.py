"""Confirmation: a question to the user, by the protocol's own round trip.

Revision 2026-07-28 answers a call with the question, and the client calls again with what the user
said and a sealed state; the state is valid for the same arguments and the same caller only. Older
revisions ask during the call. In both, the client asks the user: the model cannot answer.
"""

from __future__ import annotations

from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memoranda.errors import InvalidInput
from memoranda.server.mcp.connection import Context

_FIELD: Final = "erase"
_REQUEST: Final = "confirm"
_ASKED: Final = "asked"
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {_FIELD: {"type": "boolean", "title": "Erase it for good", "default": False}},
    "required": [_FIELD],
}

_NEEDED: Final[dict[str, Any]] = {"requiredCapabilities": {"elicitation": {}}}


class QuestionPending(Exception):
    """The user has to be asked before the call can go on."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question

    def result(self) -> types.InputRequiredResult:
        """Return the answer that asks the question."""
        params = types.ElicitRequestFormParams(message=self.question, requested_schema=_SCHEMA)
        return types.InputRequiredResult(
            input_requests={_REQUEST: types.ElicitRequest(params=params)}, request_state=_ASKED
        )


class Confirmation:
    """Asks the user about one call."""

    def __init__(self, context: Context, params: types.CallToolRequestParams) -> None:
        self._context = context
        self._params = params

    async def __call__(self, question: str) -> bool:
        """Return whether the user said yes; raise `QuestionPending` if it is not known yet."""
        context, params = self._context, self._params
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        capability = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if not context.session.check_client_capability(capability):
            error = InvalidInput(
                params.name,
                "needs a confirmation, and this client cannot ask its user for one: use the "
                "command `memoranda forget` instead",
            )
            if is_modern:
                raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, str(error), _NEEDED)
            raise error
        if is_modern:
            response = (params.input_responses or {}).get(_REQUEST)
            if params.request_state != _ASKED or not isinstance(response, types.ElicitResult):
                raise QuestionPending(question)
            return _is_yes(response)
        try:
            response = await context.session.elicit_form(question, _SCHEMA, context.request_id)
        except MCPError as error:
            raise InvalidInput(
                params.name, "the client could not ask its user: nothing was erased"
            ) from error
        return _is_yes(response)


def _is_yes(response: types.ElicitResult) -> bool:
    return response.action == "accept" and (response.content or {}).get(_FIELD) is True
