"""Commands that list the agents and the namespaces of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_limit, takes_store
from memoranda.cli.output import note, takes_wide, write_json
from memoranda.cli.render.table import Row, write_table

if TYPE_CHECKING:
    from memoranda.log.read.directory import AgentSummary, NamespaceSummary


@click.command()
@takes_wide
@takes_limit
@takes_store
def agents(target: Target, *, limit: int | None) -> None:
    """List the agents and their activity.

    An agent is listed with the number of its namespaces and commits, and its last commit. No
    content is shown.
    """
    with target.reader() as store:
        summaries = islice(store.agents(), limit)
        _write(target, summaries, _agent_row, "no agents: nothing was written yet")


@click.command()
@takes_wide
@takes_limit
@takes_store
def namespaces(target: Target, *, limit: int | None) -> None:
    """List the namespaces and their activity.

    A namespace is listed with the number of its agents and commits, and its last commit. No content
    is shown.
    """
    with target.reader() as store:
        summaries = islice(store.namespaces(), limit)
        empty = "no namespaces: nothing was written yet"
        _write(target, summaries, _namespace_row, empty)


def _write(
    target: Target,
    summaries: Iterable[AgentSummary] | Iterable[NamespaceSummary],
    row: Callable[..., Row],
    if_empty: str,
) -> None:
    if target.as_json:
        for summary in summaries:
            write_json(summary)
    elif not write_table(map(row, summaries)):
        note(if_empty)


def _agent_row(summary: AgentSummary) -> Row:
    return {
        "agent": summary.agent_id,
        "namespaces": summary.namespaces,
        **_activity(summary),
    }


def _namespace_row(summary: NamespaceSummary) -> Row:
    return {"namespace": summary.namespace, "agents": summary.agents, **_activity(summary)}


def _activity(summary: AgentSummary | NamespaceSummary) -> Row:
    from memoranda.calls.as_json import time_text

    return {
        "commits": summary.commits,
        "last commit": summary.last_commit,
        "last active": f"{time_text(summary.last_active)[:19]}Z",
    }
