"""Arguments of calls from the path, the query and the body of a request.

Only their form is decoded here. Handlers check every argument, and name the wrong one. In a query,
a text is converted to the type of the argument. In a body, references, literals and nested calls
are objects:

- a reference: `{"memory_id": …}`, `{"key": …}`, `{"assertion_id": …}` or `{"transcript_id": …}`;
- the object of a fact that is a literal: `{"kind": "integer", "text": "5"}`;
- a call in a transaction: `{"call": "write", …}`;
- bytes: text in base64.

`namespace` may be left out: it is `default` then. So may an `agent_id` that a call must have, by a
caller that acts for one agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from memoranda.calls.arguments import TypedText
from memoranda.calls.call import Call, call_name
from memoranda.calls.registry import CALLS
from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.model.scope import DEFAULT_NAMESPACE
from memoranda.model.suggestions import did_you_mean
from memoranda.server.http.routes import Route

MAX_PARAMETERS = 200
"""Parameters of a query: more than any call has."""
_MAX_NAME_CHARACTERS = 100
"""Characters of an unknown name that are compared with those of arguments."""
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_TRUTHS = {"true": True, "false": False}

Members: TypeAlias = dict[str, Any]
FromText: TypeAlias = Callable[[str, str], Any]
"""Makes an argument of its name and of the text in a query."""
FromJson: TypeAlias = Callable[[str, Any, str | None], Any]
"""Makes an argument of its name, a JSON value, and the agent that the caller acts for."""

ALL_FLAGS: Mapping[str, str] = {"namespace": "all_namespaces", "agent_id": "all_agents"}
"""Argument for which null stands for all -> the query parameter that sets it to null."""
NULL = "null"
"""In a query, null as a number: no limit."""
LITERAL_KIND = "_kind"
"""The suffix of the parameter with the literal kind of a fact's object."""


class Argument(msgspec.Struct, frozen=True):
    """One argument of a call."""

    name: str
    type: Any
    required: bool

    @property
    def parts(self) -> tuple[Any, ...]:
        """The types that its value may have, besides None and UNSET."""
        return tuple(
            part for part in union_of(self.type) if part not in (NoneType, msgspec.UnsetType)
        )

    @property
    def allows_null(self) -> bool:
        """Whether null is a value of it."""
        return bool(self.sort) or NoneType in union_of(self.type)

    @property
    def sort(self) -> str:
        """`moment`, `instant` or `duration`, for arguments of any type; else empty."""
        return str(self.type.__metadata__[0]) if get_origin(self.type) is Annotated else ""

    @property
    def is_repeated(self) -> bool:
        """Whether a query may have it several times."""
        return any(get_origin(part) is tuple for part in self.parts)

    @property
    def flag(self) -> str | None:
        """The parameter of a query that stands for null, if there is one."""
        return ALL_FLAGS.get(self.name) if self.required and self.allows_null else None


def union_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


@cache
def arguments_of(kind: type[Call[Any]]) -> Mapping[str, Argument]:
    """Return the arguments of a call by name, in their order."""
    fields = msgspec.structs.fields(kind)
    return MappingProxyType(
        {field.name: Argument(field.name, field.type, field.required) for field in fields}
    )


# From texts.


def _integer(name: str, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise InvalidInput(name, f"{short_repr(text)} is not a whole number")
    return int(text)


def _integer_or_null(name: str, text: str) -> int | None:
    return None if text == NULL else _integer(name, text)


def _number(name: str, text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise InvalidInput(name, f"{short_repr(text)} is not a number")
    return float(text)


def _truth(name: str, text: str) -> bool:
    if text not in _TRUTHS:
        raise InvalidInput(name, f"{short_repr(text)} is neither true nor false")
    return _TRUTHS[text]


def _integer_or_text(_: str, text: str) -> int | str:
    return int(text) if _INTEGER.fullmatch(text) else text


def _text(_: str, text: str) -> str:
    return text


def _document(name: str, text: str) -> Any:
    return decode_json(name, text.encode())


def from_text(argument: Argument) -> FromText:
    """Return a function that converts a text to the argument."""
    parts = argument.parts
    if argument.sort:
        return _integer_or_text if argument.sort == "moment" else _text
    if int in parts and str not in parts:
        return _integer_or_null if argument.allows_null else _integer
    if int in parts:
        return _integer_or_text
    if float in parts:
        return _number
    if bool in parts:
        return _truth
    is_document = any(get_origin(part) is dict for part in parts)
    return _document if is_document else _text


# From JSON.

_REFS: Mapping[str, type[msgspec.Struct]] = {
    "memory_id": MemoryRef,
    "assertion_id": FactRef,
    "transcript_id": TranscriptRef,
    "key": KeyRef,
}
"""The member that an object has which is a reference -> its type."""


def decode_json(name: str, data: bytes) -> Any:
    """Decode JSON; raise `InvalidInput` for invalid bytes."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidInput(name, f"it is not JSON: {error}") from error


def _ref(name: str, value: Any, _: str | None = None) -> Any:
    """Return a reference; the handler refuses any other value."""
    if not isinstance(value, dict):
        return value
    kind = next((kind for member, kind in _REFS.items() if member in value), None)
    if kind is None:
        raise InvalidInput(
            name,
            f"{short_repr(value)} is not a reference: it has none of the members "
            f"{', '.join(_REFS)}",
        )
    return _record(name, value, kind)


def _refs(name: str, value: Any, _: str | None = None) -> Any:
    if isinstance(value, list):
        return tuple(_ref(f"{name}[{index}]", item) for index, item in enumerate(value))
    return _ref(name, value)


def _record(name: str, value: Any, kind: type[msgspec.Struct]) -> Any:
    """Return a record from an object with its fields."""
    names = kind.__struct_fields__
    if unknown := next((member for member in value if member not in names), None):
        raise InvalidInput(f"{name}.{unknown[:_MAX_NAME_CHARACTERS]}", "is not a member of it")
    try:
        return msgspec.convert(msgspec.to_builtins(kind(**value)), kind)
    except (TypeError, msgspec.ValidationError) as error:
        raise InvalidInput(name, f"{short_repr(value)} is not understood: {error}") from error


def _literal(name: str, value: Any, _: str | None = None) -> Any:
    return _record(name, value, TypedText) if isinstance(value, dict) else value


def _bytes(name: str, value: Any, _: str | None = None) -> Any:
    if isinstance(value, list):
        return tuple(_bytes(f"{name}[{index}]", item) for index, item in enumerate(value))
    if not isinstance(value, str):
        return value
    try:
        return msgspec.convert(value, bytes)
    except msgspec.ValidationError as error:
        raise InvalidInput(name, f"{short_repr(value)} is not bytes in base64") from error


_NOUNS: Mapping[type, str] = {
    NoneType: "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def _of_type(
    name: str, value: Any, _: str | None = None, *, allowed: frozenset[type], nouns: str
) -> Any:
    """Return a JSON value that is of the right type; the handler checks the rest."""
    if type(value) not in allowed:
        raise InvalidInput(name, f"{short_repr(value)} is not {nouns}")
    return value


def _checker(argument: Argument) -> FromJson | None:
    """Return a function that refuses values of a wrong type, which Python might accept."""
    types: list[type] = []
    for part in argument.parts:
        types += _JSON_TYPES.get(get_origin(part) or part, ())
    if argument.sort:
        types = [str] if argument.sort == "instant" else [int, str]
        types += [float] if argument.sort == "duration" else []
    if not types:
        return None
    nouns = [_NOUNS[kind] for kind in types]
    if argument.allows_null:
        types.append(NoneType)
    if float in types:
        types.append(int)
    return partial(_of_type, allowed=frozenset(types), nouns=" or ".join(nouns))


_JSON_TYPES: Mapping[Any, tuple[type, ...]] = {
    bool: (bool,),
    int: (int,),
    float: (float,),
    str: (str,),
    tuple: (list,),
    list: (list,),
    dict: (dict,),
    Mapping: (dict,),
}
"""Type of an argument -> the types of its JSON values."""


def _converted(name: str, value: Any, _: str | None = None, *, kind: type[msgspec.Struct]) -> Any:
    if value is None:
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(name, f"{short_repr(value)} is not understood: {error}") from error


def _nested(name: str, value: Any, actor: str | None) -> Any:
    if not isinstance(value, dict):
        raise InvalidInput(name, f"{short_repr(value)} is not a call: give an object with `call`")
    members = dict(value)
    call = members.pop("call", None)
    kind = CALLS.get(call) if isinstance(call, str) else None
    if kind is None:
        hint = did_you_mean(call[:_MAX_NAME_CHARACTERS], CALLS) if isinstance(call, str) else ""
        raise InvalidInput(f"{name}.call", f"{short_repr(call)} is not a call{hint}")
    _decode_members(kind, members, actor)
    return _complete(kind, members, actor)


def _nested_calls(name: str, value: Any, actor: str | None) -> Any:
    if not isinstance(value, list):
        raise InvalidInput(name, f"{short_repr(value)} is not a list of calls")
    return tuple(_nested(f"{name}[{index}]", part, actor) for index, part in enumerate(value))


def is_call(part: Any) -> bool:
    """Say whether a type is one of calls."""
    kind = get_origin(part) or part
    return isinstance(kind, type) and issubclass(kind, Call)


def _is_record(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, msgspec.Struct)


def from_json(argument: Argument) -> FromJson | None:
    """Return a function that converts a JSON value to the argument; None: it needs none."""
    items = tuple(
        part for item in argument.parts if get_origin(item) is tuple for part in get_args(item)
    )
    parts = (*argument.parts, *(part for item in items for part in union_of(item)))
    if any(map(is_call, argument.parts)):
        return _nested
    if any(map(is_call, items)):
        return _nested_calls
    if any(ref in parts for ref in _REFS.values()):
        return _refs
    if TypedText in parts:
        return _literal
    if bytes in parts:
        return _bytes
    records = [part for part in parts if _is_record(part)]
    return partial(_converted, kind=records[0]) if records else _checker(argument)


@cache
def _decoders(kind: type[Call[Any]]) -> Mapping[str, FromJson]:
    decoders = {name: from_json(argument) for name, argument in arguments_of(kind).items()}
    return {name: decode for name, decode in decoders.items() if decode is not None}


# Calls.


_NO_DEFAULTS: Mapping[str, Any] = MappingProxyType({})


def _decode_members(kind: type[Call[Any]], members: Members, actor: str | None) -> None:
    """Convert the members of a JSON object to arguments, where they need it."""
    for name, decode in _decoders(kind).items():
        if name in members:
            members[name] = decode(name, members[name], actor)


def _complete(
    kind: type[Call[Any]],
    members: Members,
    actor: str | None,
    defaults: Mapping[str, Any] = _NO_DEFAULTS,
) -> Call[Any]:
    """Return a call with its arguments, after filling in those that may be left out."""
    required, names = _names(kind)
    for name in required:
        if name not in members:
            members[name] = _default(kind, name, actor)
    for name, value in defaults.items():
        members.setdefault(name, value)
    if not members.keys() <= names:
        raise unknown_argument(kind, next(name for name in members if name not in names), names)
    return kind(**members)


@cache
def _names(kind: type[Call[Any]]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the arguments that a call must have, and all of them."""
    arguments = arguments_of(kind)
    required = tuple(name for name, argument in arguments.items() if argument.required)
    return required, frozenset(arguments)


def _default(kind: type[Call[Any]], name: str, actor: str | None) -> Any:
    if name == "namespace":
        return DEFAULT_NAMESPACE
    if name == "agent_id" and actor is not None:
        return actor
    hint = ": give one, or say in the header Memoranda-Agent for which agent you call"
    raise InvalidInput(name, f"is missing in {call_name(kind)}{hint if name == 'agent_id' else ''}")


def unknown_argument(kind: type[Call[Any]], name: str, names: Iterable[str]) -> InvalidInput:
    """Return the error for a name that no argument has."""
    short = name[:_MAX_NAME_CHARACTERS]
    hint = did_you_mean(short, names)
    return InvalidInput(short, f"is not an argument of {call_name(kind)}{hint}")


class RouteArguments:
    """The arguments of one route: their places in a request, and their conversion to a call."""

    def __init__(self, route: Route) -> None:
        self.route = route
        arguments = arguments_of(route.kind)
        self.path = [arguments[name] for name in route.parameters]
        remaining = [
            argument
            for name, argument in arguments.items()
            if name not in route.parameters and name not in route.left_out
        ]
        self.query = [part for part in remaining if not route.has_body or part.name in route.query]
        self.body = [part for part in remaining if route.has_body and part.name not in route.query]
        self._from_path = [(part.name, from_text(part)) for part in self.path]
        self._from_query = {part.name: (from_text(part), part.is_repeated) for part in self.query}
        self._flags = {part.flag: part.name for part in self.query if part.flag is not None}
        self._literals = {
            part.name + LITERAL_KIND: part.name for part in self.query if TypedText in part.parts
        }
        self._not_in_body = frozenset((*route.parameters, *route.left_out, *route.query))

    def call(
        self, texts: list[str], query: bytes, body: Any, actor: str | None, own: frozenset[str]
    ) -> tuple[Call[Any], dict[str, str]]:
        """Return the call of a request, and the parameters of the query that are the route's own.

        `texts` are those of the path, `body` is the decoded body, `own` has the names of parameters
        that are no arguments.
        """
        members: Members = {}
        if self.route.has_body:
            members = self._members(body)
            try:
                _decode_members(self.route.kind, members, actor)
            except RecursionError as error:
                raise InvalidInput("body", "has too many calls inside each other") from error
        for (name, convert), text in zip(self._from_path, texts, strict=True):
            members[name] = convert(name, text)
        route_values = self._read_query(query, members, own) if query else {}
        return _complete(self.route.kind, members, actor, self.route.defaults), route_values

    def _members(self, body: Any) -> Members:
        if body is None:
            return {}
        if not isinstance(body, dict):
            raise InvalidInput("body", f"{short_repr(body)} is not a JSON object")
        for name in self._not_in_body:
            if name in body:
                raise InvalidInput(name, "is given in the body: it is a part of the address")
        return body

    def _read_query(self, query: bytes, members: Members, own: frozenset[str]) -> dict[str, str]:
        route_values: dict[str, str] = {}
        literals: dict[str, str] = {}
        for name, text in parse_query(query):
            if name in own:
                route_values[name] = text
            elif name in self._from_query:
                convert, is_repeated = self._from_query[name]
                if is_repeated:
                    members[name] = (*members.get(name, ()), convert(name, text))
                elif name in members:
                    raise InvalidInput(name, "is given twice")
                else:
                    members[name] = convert(name, text)
            elif name in self._flags:
                if _truth(name, text):
                    members[self._flags[name]] = None
            elif name in self._literals:
                literals[self._literals[name]] = text
            else:
                names = (*self._from_query, *self._flags, *own)
                raise unknown_argument(self.route.kind, name, names)
        for name, kind in literals.items():
            members[name] = TypedText(kind, members.get(name, ""))
        return route_values


def parse_query(query: bytes) -> list[tuple[str, str]]:
    """Return the parameters of a query in order; raise `InvalidInput` for an invalid one."""
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except ValueError as error:  # also UnicodeDecodeError
        raise InvalidInput("query", f"{short_repr(query)} is not understood: {error}") from error
