"""Calls that follow the log: subscriptions, and the cursors that they move."""

from __future__ import annotations

from memoranda.calls.arguments import check_agent
from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.log import select
from memoranda.errors import PermissionDenied
from memoranda.log.read.cursors import Cursor
from memoranda.log.read.feed import Feed, Start
from memoranda.model.event import ReplayEvent


class Subscribe(Call[ReplayEvent], frozen=True):
    """Follow the events of an agent, or of all agents, past and future."""

    needs_primary = True
    shape = "stream"

    agent_id: str | None
    """None: all agents."""
    namespace: str | None
    """None: all namespaces."""
    after_commit: int | str | None = None
    """Begin after it; None: with the next commit."""
    last: int | None = None
    """Begin with so many of the last events."""
    kinds: tuple[str, ...] | None = None
    prefix: str = ""
    cursor: str | None = None
    """Resume after the last event that was acknowledged under this name."""


class Acknowledge(Call[None], frozen=True):
    """Move a cursor to an event, durably, unless it is there or farther."""

    verb = "write"
    reach = "store"

    cursor: str
    token: str
    """The token of the event."""
    agent_id: str | None = None
    """The agent of the subscription, which a cursor that was dropped meanwhile belongs to."""


def subscribe(core: Core, grant: Grant, call: Subscribe) -> Feed:
    """Return the feed of the events.

    A cursor is stored for the whole store under its name, so a restricted grant has none.
    """
    if call.cursor is not None and not grant.covers_everything:
        raise PermissionDenied(
            "a subscription with a cursor needs a grant that covers every agent and namespace: "
            "keep the token of the last event, and begin after it"
        )
    cursor = None if call.cursor is None else _cursor(core, grant, call.cursor, call.agent_id)
    start = Start(after_commit=call.after_commit, last=call.last, cursor=cursor)
    selection = select(core, grant, call.agent_id, call.namespace, call.kinds, call.prefix)
    return Feed(core.engine, core.log_id, selection, start)


def acknowledge(core: Core, grant: Grant, call: Acknowledge) -> None:
    """Move the cursor; one that does not exist is made."""
    _cursor(core, grant, call.cursor, call.agent_id).advance(call.token)


def _cursor(core: Core, grant: Grant, name: str, agent_id: str | None) -> Cursor:
    """Return a cursor; a new one belongs to the caller's agent, or else to that of the call."""
    owner = check_agent(core, agent_id) if grant.actor is None else grant.actor
    return Cursor(core.engine, core.log_id, name, owner)


HANDLERS: Handlers = {Subscribe: subscribe, Acknowledge: acknowledge}
