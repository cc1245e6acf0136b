"""The tools, resources and prompts that the conformance suite of MCP asks of a server."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from memoranda.server.mcp.connection import Context
from memoranda.server.mcp.server import new_server

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
_STEP_SECONDS = 0.05
Params: TypeAlias = types.CallToolRequestParams
Result: TypeAlias = types.CallToolResult | types.InputRequiredResult
Run: TypeAlias = Callable[[Context, Params], Awaitable[Result]]


def fixture_server(_: Any = None) -> Server[Any]:
    """Return a server of our factory, with what the suite asks for, also where it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return _server()


def _server() -> Server[Any]:
    return new_server(
        "conformance",
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_subscribe_resource=_accept,
        on_unsubscribe_resource=_accept,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
        on_set_logging_level=_accept,
    )


async def _accept(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def _complete(_: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"]))


# Tools.


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def _returns(*content: types.ContentBlock, is_error: bool = False) -> Run:
    async def run(_: Context, __: Params) -> Result:
        return types.CallToolResult(content=[*content], is_error=is_error)

    return run


def _embedded(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(resource=contents)


async def _log_messages(context: Context, _: Params) -> Result:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        params = {"level": "info", "data": text}
        if context.protocol_version < "2026":
            notification = types.LoggingMessageNotification(
                params=types.LoggingMessageNotificationParams.model_validate(params)
            )
            await context.session.send_notification(notification, context.request_id)
        await asyncio.sleep(_STEP_SECONDS)
    return _text("done")


async def _report_progress(context: Context, _: Params) -> Result:
    token = (context.meta or {}).get("progress_token")
    for progress in (0, 50, 100):
        if token is not None:
            notification = types.ProgressNotification(
                params=types.ProgressNotificationParams(
                    progress_token=token, progress=progress, total=100
                )
            )
            await context.session.send_notification(notification, context.request_id)
        await asyncio.sleep(_STEP_SECONDS)
    return _text("done")


def _sampling(text: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    return types.CreateMessageRequest(params=params)


async def _sample(context: Context, params: Params) -> Result:
    request = _sampling((params.arguments or {})["prompt"])
    response = await context.session.send_request(request, types.CreateMessageResult)
    return _text(f"LLM response: {response.content}")


def _asks_now(properties: Mapping[str, Any], message: str | None = None) -> Run:
    """Return a tool that asks the user during the call, as older revisions do."""
    schema = {"type": "object", "properties": dict(properties), "required": [*properties]}

    async def run(context: Context, params: Params) -> Result:
        text = message or (params.arguments or {})["message"]
        response = await context.session.elicit_form(text, schema, context.request_id)
        return _text(f"action={response.action}, content={response.content}")

    return run


# Calls in several rounds.


def _question(message: str, field: str) -> types.ElicitRequest:
    kind = "boolean" if field == "ok" else "string"
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def _asks(requests: Mapping[str, Any], state: str | None = None) -> Run:
    """Return a tool that answers with questions, until all of them are answered."""

    async def run(_: Context, params: Params) -> Result:
        responses = params.input_responses or {}
        if all(name in responses for name in requests) and params.request_state == state:
            return _text(f"state-ok {json.dumps(sorted(responses))}")
        return types.InputRequiredResult(input_requests=dict(requests), request_state=state)

    return run


async def _ask_twice(_: Context, params: Params) -> Result:
    state, responses = params.request_state, params.input_responses or {}
    if state == "one" and "step1" in responses:
        step = ("step2", "Step 2: What is your favorite color?", "color", "two")
    elif state == "two" and "step2" in responses:
        return _text("done")
    else:
        step = ("step1", "Step 1: What is your name?", "name", "one")
    name, message, field, next_state = step
    requests: types.InputRequests = {name: _question(message, field)}
    return types.InputRequiredResult(input_requests=requests, request_state=next_state)


async def _ask_within_capabilities(context: Context, _: Params) -> Result:
    capabilities = context.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, Any] = {}
    if capabilities.sampling is not None:
        requests["greeting"] = _sampling("Generate a greeting")
    if capabilities.elicitation is not None:
        requests["user_name"] = _question("What is your name?", "name")
    return types.InputRequiredResult(input_requests=requests)


async def _need_sampling(context: Context, _: Params) -> Result:
    capability = types.ClientCapabilities(sampling=types.SamplingCapability())
    if not context.session.check_client_capability(capability):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool needs sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return _text("done")


_NAME = _question("What is your name?", "name")
_GREETING, _ROOTS = _sampling("Generate a greeting", 50), types.ListRootsRequest()
_OPTIONS = ["option1", "option2", "option3"]
_TITLES = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
_TOOLS: Mapping[str, Run] = {
    "test_simple_text": _returns(
        types.TextContent(text="This is a simple text response for testing.")
    ),
    "test_image_content": _returns(types.ImageContent(data=PNG, mime_type="image/png")),
    "test_audio_content": _returns(types.AudioContent(data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": _returns(_embedded("test://embedded-resource", "an embedded one")),
    "test_multiple_content_types": _returns(
        types.TextContent(text="Multiple content types test:"),
        types.ImageContent(data=PNG, mime_type="image/png"),
        _embedded("test://mixed-content-resource", '{"test":"data"}', "application/json"),
    ),
    "test_error_handling": _returns(types.TextContent(text="an intended error"), is_error=True),
    "test_tool_with_logging": _log_messages,
    "test_logging_tool": _log_messages,
    "test_tool_with_progress": _report_progress,
    "test_sampling": _sample,
    "test_elicitation": _asks_now({"username": {"type": "string"}, "email": {"type": "string"}}),
    "test_elicitation_sep1034_defaults": _asks_now(
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "default": True},
        },
        "Please check",
    ),
    "test_elicitation_sep1330_enums": _asks_now(
        {
            "untitledSingle": {"type": "string", "enum": _OPTIONS},
            "titledSingle": {"type": "string", "oneOf": _TITLES},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
            "titledMulti": {"type": "array", "items": {"anyOf": _TITLES}},
        },
        "Please choose",
    ),
    "test_streaming_elicitation": _asks({"user_name": _NAME}),
    "test_missing_capability": _need_sampling,
    "test_input_required_result_elicitation": _asks({"user_name": _NAME}),
    "test_input_required_result_sampling": _asks(
        {"capital_question": _sampling("What is the capital of France?")}
    ),
    "test_input_required_result_list_roots": _asks({"client_roots": _ROOTS}),
    "test_input_required_result_request_state": _asks(
        {"confirm": _question("Please confirm", "ok")}, "asked"
    ),
    "test_input_required_result_tampered_state": _asks(
        {"confirm": _question("Please confirm", "ok")}, "asked"
    ),
    "test_input_required_result_multiple_inputs": _asks(
        {"user_name": _NAME, "greeting": _GREETING, "client_roots": _ROOTS}, "asked"
    ),
    "test_input_required_result_multi_round": _ask_twice,
    "test_input_required_result_capabilities": _ask_within_capabilities,
}


async def _list_tools(_: Context, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=f"The tool {name}", input_schema={"type": "object"})
            for name in _TOOLS
        ]
    )


async def _call_tool(context: Context, params: Params) -> Result:
    if params.name not in _TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
    return await _TOOLS[params.name](context, params)


# Resources.

_RESOURCES: Mapping[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="the static text"
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="the watched one"
    ),
}


async def _list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(name=uri, uri=uri, description=uri, mime_type=contents.mime_type)
            for uri, contents in _RESOURCES.items()
        ]
    )


async def _list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(name="data", uri_template="test://template/{id}/data")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(
    _: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents = _RESOURCES.get(uri)
    if contents is None and uri.startswith("test://template/"):
        text = json.dumps({"id": uri.split("/")[3], "templateTest": True})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if contents is None:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")


# Prompts.


def _prompt(*content: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=block) for block in content]
    )


_PROMPT_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def _list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"The prompt {name}",
                arguments=[types.PromptArgument(name=part, required=True) for part in arguments],
            )
            for name, arguments in _PROMPT_ARGUMENTS.items()
        ]
    )


async def _get_prompt(
    _: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    if params.name == "test_input_required_result_prompt":
        if "user_context" not in (params.input_responses or {}):
            question = _question("What context should the prompt use?", "context")
            return types.InputRequiredResult(input_requests={"user_context": question})
        return _prompt(types.TextContent(text="with the context"))
    if params.name == "test_prompt_with_embedded_resource":
        return _prompt(
            _embedded(arguments["resourceUri"], "Embedded resource content for testing."),
            types.TextContent(text="Please process the embedded resource above."),
        )
    if params.name == "test_prompt_with_image":
        return _prompt(
            types.ImageContent(data=PNG, mime_type="image/png"),
            types.TextContent(text="Please analyze the image above."),
        )
    if params.name not in _PROMPT_ARGUMENTS:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r}")
    return _prompt(types.TextContent(text=f"A prompt with {json.dumps(arguments)}"))
