"""Commands that follow the log, and those who do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_each
from memoranda.cli.text import safe

if TYPE_CHECKING:
    from memoranda.model.event import ReplayEvent
    from memoranda.sdk.subscription import Subscription

_LAST = 10


@click.command()
@click.option("--all-agents", is_flag=True, help="What every agent does.")
@click.option("--all-namespaces", is_flag=True, help="In every namespace, also in those to come.")
@click.option(
    "-n",
    "--last",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Begin with the last N events; {_LAST} unless --after or --cursor says where to begin.",
)
@click.option(
    "--after", metavar="COMMIT|TOKEN", help="Begin behind this commit or resume token; 0: with all."
)
@click.option(
    "--kind", "kinds", metavar="KIND", multiple=True, help="Only write, or delete. Repeatable."
)
@click.option("--prefix", default="", help="Only keys that begin so.")
@click.option(
    "--cursor",
    metavar="NAME",
    help="Remember what was printed under this name, and begin behind it the next time.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    help="End when nothing came for so long; 0: with the last event there is.",
)
@takes_target
def tail(
    target: Target,
    *,
    all_agents: bool,
    all_namespaces: bool,
    last: int | None,
    after: str | None,
    kinds: tuple[str, ...],
    prefix: str,
    cursor: str | None,
    timeout: float | None,
) -> None:
    """Show what an agent did last, and then what it does, as it happens.

    Commits of every process are seen. It goes on until Ctrl-C, or until nothing came for --timeout
    seconds. With --cursor, an event is marked as done when it has been printed; one that was not is
    printed again the next time.
    """
    from memoranda.cli import lines, shapes
    from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES

    if last is None and after is None and cursor is None:
        last = _LAST
    whose = target.whose_events(all_agents=all_agents, all_namespaces=all_namespaces)
    opened = target.store() if all_agents else target.agents_store()
    with opened as store:
        subscription = store.subscribe(
            agent_id=ALL_AGENTS if all_agents else None,
            namespace=ALL_NAMESPACES if all_namespaces else None,
            after_commit=after,
            last=last,
            kinds=kinds or None,
            prefix=prefix,
            cursor=cursor,
            timeout=timeout,
        )
        write_each(
            _each(subscription, acknowledge=cursor is not None),
            as_json=target.as_json,
            shape=shapes.event,
            lines=partial(lines.event, with_namespace=all_namespaces, with_agent=all_agents),
            nothing=f"no events {whose}",
        )


@click.command()
@click.option("--drop", metavar="NAME", help="Forget this cursor instead.")
@click.option("--purge", is_flag=True, help="With --drop: let its name leave the files at once.")
@takes_target
def cursors(target: Target, *, drop: str | None, purge: bool) -> None:
    """List the cursors, and the commit up to which each is done.

    A cursor is made by `tail --cursor`, or by a subscription in a program. It belongs to the store,
    whichever agent is named.
    """
    if purge and drop is None:
        raise click.UsageError("--purge goes with --drop: name the cursor")
    with target.store() as store:
        if drop is not None:
            store.drop_cursor(cursor=drop, purge=purge)
            return
        write_each(
            store.cursors(),
            as_json=target.as_json,
            shape=lambda cursor: {"cursor": cursor[0], "commit_ts": cursor[1]},
            lines=lambda cursor: f"{safe(cursor[0])}  commit {cursor[1]}",
            nothing="no cursors",
        )


def _each(subscription: Subscription, *, acknowledge: bool) -> Iterator[ReplayEvent]:
    """Yield the events; whoever asks for the next has printed the last."""
    for event in subscription:
        yield event
        sys.stdout.flush()
        if acknowledge:
            subscription.ack(event)
