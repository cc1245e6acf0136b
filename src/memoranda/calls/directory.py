"""Calls that describe the store, list agents and namespaces, and find ids."""

from __future__ import annotations

import msgspec

from memoranda.calls import id_lookup
from memoranda.calls.arguments import check_viewer
from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core, check_optional_integer
from memoranda.calls.grant import Grant
from memoranda.calls.id_lookup import IdMatch
from memoranda.log.pages import Pages
from memoranda.log.read import directory
from memoranda.log.read.directory import AgentSummary, NamespaceSummary
from memoranda.memory.requests import check_choice
from memoranda.model.limits import Limits, check_items, plain_text


class StoreDescription(msgspec.Struct, frozen=True):
    """The facts about a store that a client needs before it stages a call."""

    log_id: str
    limits: Limits
    actor: str | None
    """The agent that the caller acts for, whatever its calls name; None: the agent that each call
    names."""


class DescribeStore(Call[StoreDescription], frozen=True):
    """Describe the store to a client that has just connected."""

    reach = "scopes"
    added_in = "0.11.0"


class Agents(Call[AgentSummary], frozen=True):
    """List the agents that wrote anything, in the order of their ids, with their activity."""

    reach = "scopes"
    shape = "pages"


class Namespaces(Call[NamespaceSummary], frozen=True):
    """List the namespaces in order, with their activity; the engine's own are left out."""

    reach = "scopes"
    shape = "pages"


class FindId(Call[str], frozen=True):
    """Find the id that begins with a prefix."""

    reach = "id"

    prefix: str
    kinds: tuple[str, ...] | None = None
    agent_id: str | None = None


class FindIds(Call[list[IdMatch]], frozen=True):
    """List the first ids that begin with a prefix and that the caller may see."""

    reach = "id"

    prefix: str = ""
    kinds: tuple[str, ...] | None = None
    limit: int = 50
    agent_id: str | None = None


class ShortIds(Call[dict[str, str]], frozen=True):
    """Map ids of one kind to the shortest prefixes that are enough to find them."""

    reach = "id"

    ids: tuple[str, ...]
    kind: str


def describe_store(core: Core, grant: Grant, _: DescribeStore) -> StoreDescription:
    """Return the description."""
    return StoreDescription(core.log_id, core.limits, grant.actor)


def agents(core: Core, _: Grant, __: Agents) -> Pages[AgentSummary]:
    """Return the agents."""
    return directory.agents(core.engine)


def namespaces(core: Core, _: Grant, __: Namespaces) -> Pages[NamespaceSummary]:
    """Return the namespaces."""
    return directory.namespaces(core.engine)


def find_id(core: Core, grant: Grant, call: FindId) -> str:
    """Return the id; `NotFound` if there is none, `InvalidInput` if there are several."""
    kinds, viewer = id_lookup.check_kinds(call.kinds), check_viewer(core, grant, call.agent_id)
    with core.engine.snapshot() as reader:
        return id_lookup.find(reader, call.prefix, kinds, viewer)


def find_ids(core: Core, grant: Grant, call: FindIds) -> list[IdMatch]:
    """Return the ids in order."""
    limit = check_optional_integer("limit", call.limit, minimum=0) or 0
    text, kinds = plain_text("prefix", call.prefix), id_lookup.check_kinds(call.kinds)
    viewer = check_viewer(core, grant, call.agent_id)
    with core.engine.snapshot() as reader:
        return id_lookup.matches(reader, text, kinds, viewer, limit)


def short_ids(core: Core, _: Grant, call: ShortIds) -> dict[str, str]:
    """Return the prefixes by id."""
    names = [plain_text("ids", name) for name in check_items("ids", call.ids)]
    kind = check_choice("kind", call.kind, id_lookup.KINDS)
    with core.engine.reading() as reader:
        return id_lookup.shorten(reader, names, kind)


HANDLERS: Handlers = {
    DescribeStore: describe_store,
    Agents: agents,
    Namespaces: namespaces,
    FindId: find_id,
    FindIds: find_ids,
    ShortIds: short_ids,
}
