"""The definition of a tool: a name, a description, typed arguments and a typed answer.

A tool is written as an asynchronous function of a session and its arguments. Its name and its
docstring are what assistants read; the schemas are derived from the types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_type_hints

import msgspec

from memoranda.calls.call import Verb
from memoranda.errors import InvalidInput
from memoranda.server.mcp.session import Session

Run = TypeVar("Run", bound=Callable[..., Awaitable[msgspec.Struct]])


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool; None means that an argument was not given."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of a tool; fields with their default are left out."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, as it is listed and run."""

    name: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    run: Callable[[Session, Any], Awaitable[Answer]]
    verb: Verb
    """What the caller's grant must allow."""
    is_core: bool
    is_destructive: bool
    """Whether it erases data; other changes keep the history."""

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.verb in ("read", "admin")

    def parse(self, arguments: dict[str, Any]) -> Arguments:
        """Return checked arguments, or raise `InvalidInput` that names the tool and the argument.

        Numbers as text are accepted: models send them.
        """
        try:
            return msgspec.convert(arguments, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            names = ", ".join(self.arguments.__struct_fields__)
            raise InvalidInput(self.name, f"{error}. It takes these arguments: {names}") from error

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, as short as it can be: every prompt has it."""
        return _slim(_root_schema(self.arguments))

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the answer."""
        return _root_schema(self.answer)


def tool(
    *, verb: Verb = "read", core: bool = False, destructive: bool = False
) -> Callable[[Run], Tool]:
    """Make a tool of a function of a session and its arguments."""

    def make(run: Any) -> Tool:
        hints = get_type_hints(run)
        return Tool(
            name=run.__name__,
            description=" ".join((run.__doc__ or "").split()),
            arguments=hints["arguments"],
            answer=hints["return"],
            run=run,
            verb=verb,
            is_core=core,
            is_destructive=destructive,
        )

    return make


def _root_schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of a struct as an object, with the definitions that it needs."""
    schema = msgspec.json.schema(kind)
    definitions = schema["$defs"]
    root = definitions.pop(kind.__name__)
    for part in (root, *definitions.values()):
        part.pop("title", None)
        part.pop("description", None)
    return root | {"$defs": definitions} if definitions else root  # type: ignore[no-any-return]


def _slim(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of arguments without null, and without empty defaults."""
    properties = {}
    for name, described in schema["properties"].items():
        part = dict(described)
        if not part.get("default"):
            part.pop("default", None)
        options = [item for item in part.pop("anyOf", ()) if item != {"type": "null"}]
        if len(options) == 1:
            part |= options[0]
        elif options:
            part["anyOf"] = options
        properties[name] = part
    slim = {"type": "object", "properties": properties}
    return slim | {"required": schema["required"]} if schema.get("required") else slim
