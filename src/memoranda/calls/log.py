"""Calls that read the log: replays, counts over time, and cursors."""

from __future__ import annotations

from memoranda.calls.arguments import check_agent, check_namespace
from memoranda.calls.call import AnyInstant, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.log.pages import Pages
from memoranda.log.read import replay as log_replay
from memoranda.log.read import timeline_buckets as buckets
from memoranda.log.read.cursors import Cursor, list_cursors
from memoranda.log.read.replay import Bounds
from memoranda.log.read.timeline_buckets import DEFAULT_BUCKETS, MAX_BUCKETS, TimelineBucket
from memoranda.log.read.visibility import Selection, check_kinds
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import check_integer, plain_text
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES


class Replay(Call[ReplayEvent], frozen=True):
    """List the events of an agent, or of all agents, up to the current end of the log."""

    shape = "pages"

    agent_id: str | None
    """None: all agents."""
    namespace: str | None
    """None: all namespaces."""
    from_timestamp: AnyInstant = None
    to_timestamp: AnyInstant = None
    after_commit: int | str | None = None
    through_commit: int | None = None
    kinds: tuple[str, ...] | None = None


class TimelineBuckets(Call[list[TimelineBucket]], frozen=True):
    """Count an agent's operations by kind over time."""

    agent_id: str
    namespace: str | None
    """None: all namespaces."""
    from_timestamp: AnyInstant = None
    to_timestamp: AnyInstant = None
    buckets: int = DEFAULT_BUCKETS


class Cursors(Call[list[tuple[str, int]]], frozen=True):
    """List the cursors by name, with the last commit that each has acknowledged."""

    needs_primary = True
    reach = "scopes"


class DropCursor(Call[None], frozen=True):
    """Delete a cursor, if there is one."""

    verb = "write"
    reach = "store"
    lane = "search"

    cursor: str
    purge: bool = False


def replay(core: Core, grant: Grant, call: Replay) -> Pages[ReplayEvent]:
    """Return the events."""
    bounds = Bounds(
        from_timestamp=call.from_timestamp,
        to_timestamp=call.to_timestamp,
        after_commit=call.after_commit,
        through_commit=call.through_commit,
    )
    selection = select(core, grant, call.agent_id, call.namespace, call.kinds)
    return log_replay.Replay(core.engine, core.log_id, selection, bounds)


def timeline_buckets(core: Core, grant: Grant, call: TimelineBuckets) -> list[TimelineBucket]:
    """Return the buckets."""
    agent_id = plain_text("agent_id", call.agent_id)
    selection = select(core, grant, agent_id, call.namespace, None)
    bounds = Bounds(from_timestamp=call.from_timestamp, to_timestamp=call.to_timestamp)
    number = check_integer(
        "buckets", call.buckets, minimum=1, maximum=MAX_BUCKETS, noun="a number of buckets"
    )
    return buckets.read_buckets(core.engine, core.log_id, selection, bounds, number)


def cursors(core: Core, grant: Grant, _: Cursors) -> list[tuple[str, int]]:
    """Return the cursors; under a restricted grant, those of covered agents.

    A cursor belongs to an agent, whichever namespaces it reads, so it counts as covered if the
    grant names its agent.
    """
    if grant.covers_everything:
        return list_cursors(core.engine)
    actors = frozenset() if grant.actor is None else frozenset([grant.actor])
    return list_cursors(core.engine, actors if grant.agents is None else grant.agents)


def drop_cursor(core: Core, _: Grant, call: DropCursor) -> None:
    """Delete the cursor."""
    Cursor(core.engine, core.log_id, call.cursor).drop(purge=bool(call.purge))


def select(
    core: Core,
    grant: Grant,
    agent_id: str | None,
    namespace: str | None,
    kinds: object,
    prefix: str = "",
) -> Selection:
    """Return the checked selection of events that a replay or a subscription asks for."""
    agent, place = check_agent(core, agent_id), check_namespace(core, namespace)
    return Selection(
        agent_id=ALL_AGENTS if agent is None else grant.owner(agent),
        namespace=ALL_NAMESPACES if place is None else place,
        kinds=check_kinds(kinds),
        prefix=plain_text("prefix", prefix),
        viewer=grant.actor,
        coverage=None if grant.covers_everything else grant.coverage,
    )


HANDLERS: Handlers = {
    Replay: replay,
    TimelineBuckets: timeline_buckets,
    Cursors: cursors,
    DropCursor: drop_cursor,
}
