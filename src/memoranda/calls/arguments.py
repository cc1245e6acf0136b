"""Arguments that several calls have, and their checks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.graph.entities import Literal, literal_name, parse_literal
from memoranda.graph.requests import Object, check_object
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.operations.graph import Name
from memoranda.model.scope import DEFAULT_NAMESPACE, checked_scope

# Agents and namespaces. None stands for all of them, or for an agent that the call does not name.


def check_viewer(core: Core, grant: Grant, agent_id: str | None) -> str:
    """Return the agent whose visibility applies to a call that names this agent, or none.

    What is private to an agent that the grant does not cover is shown to nobody.
    """
    agent = grant.acting(agent_id)
    return grant.owner(checked_scope(DEFAULT_NAMESPACE, agent, core.limits, engine=True).agent_id)


def check_agent(core: Core, agent_id: str | None) -> str | None:
    """Return the agent that a call selects; None: all agents."""
    if agent_id is None:
        return None
    return checked_scope(DEFAULT_NAMESPACE, agent_id, core.limits, engine=True).agent_id


def check_namespace(core: Core, namespace: str | None) -> str | None:
    """Return the namespace that a call selects; None: all namespaces."""
    return None if namespace is None else check_place(core, namespace)


def check_place(core: Core, namespace: str) -> str:
    """Return the one namespace that a call names."""
    return checked_scope(namespace, "_", core.limits, engine=True).namespace


def check_members(core: Core, metadata: Document | None) -> Document:
    """Return the members of metadata that a call looks for."""
    if metadata is None:
        return {}
    return document.decode(document.encode("metadata", metadata, core.limits))


def plain_items(items: Any) -> Any:
    """Return a list of texts as plain data; the handler accepts or refuses what is no list."""
    is_list = isinstance(items, Iterable) and not isinstance(items, (str, bytes))
    return tuple(items) if is_list else items


# The objects of facts.


class TypedText(msgspec.Struct, frozen=True):
    """A literal as plain data."""

    kind: str
    text: str


def plain_object(value: Object | None) -> str | TypedText | None:
    """Return the object of a fact as plain data."""
    if not isinstance(value, Literal):
        return value
    name = literal_name(value, sys.maxsize)  # the handler knows the limit
    return TypedText(name.kind, name.text)


def plain_item(value: Any) -> Any:
    """Return the object of a fact from plain data: a name as it is, or a literal."""
    return parse_literal(value.kind, value.text) if isinstance(value, TypedText) else value


def check_plain_object(core: Core, value: str | TypedText) -> Name:
    """Return the name or the literal that is the object of a fact."""
    return check_object(plain_item(value), core.limits)
