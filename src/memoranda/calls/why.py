"""Calls that explain values, memories and facts by their provenance."""

from __future__ import annotations

from memoranda.calls.arguments import check_viewer
from memoranda.calls.call import AnyMoment, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.calls.grant import Grant
from memoranda.calls.requests import check_ref
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import resolve_as_of
from memoranda.model.limits import plain_text
from memoranda.model.refs import Ref
from memoranda.why import stale
from memoranda.why.explain import ExplainContext, explain
from memoranda.why.reason import Reason


class Why(Call[Reason], frozen=True):
    """Explain a key, a memory or a fact, as a tree down to quoted words."""

    reach = "walk"

    ref: Ref
    """A key has its agent and its namespace."""
    at: AnyMoment = None
    agent_id: str | None = None


class StaleKeys(Call[Reason], frozen=True):
    """List the keys that rest on something that is no longer believed, with their reasons."""

    reach = "walk"
    shape = "pages"

    agent_id: str
    namespace: str
    prefix: str = ""
    at: AnyMoment = None


def why(core: Core, grant: Grant, call: Why) -> Reason:
    """Return the reason."""
    viewer = check_viewer(core, grant, call.agent_id)
    ref = check_ref("ref", call.ref, Defaults(), core.limits)
    with core.engine.snapshot() as reader:
        as_of = resolve_as_of(reader, core.clock, call.at)
        return explain(ExplainContext(reader, as_of, viewer), ref)


def stale_keys(core: Core, grant: Grant, call: StaleKeys) -> Pages[Reason]:
    """Return the reasons."""
    return stale.StaleKeys(
        core.engine,
        grant.scope(call.namespace, call.agent_id, core.limits),
        prefix=plain_text("prefix", call.prefix),
        as_of=core.as_of(call.at),
        viewer=check_viewer(core, grant, call.agent_id),
    )


HANDLERS: Handlers = {Why: why, StaleKeys: stale_keys}
