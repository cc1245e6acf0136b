"""Commands about notices: what rests on changed evidence, and the decision about it."""

from __future__ import annotations

from functools import partial
from itertools import islice

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import write_each, write_json


@click.command()
@click.option("--all-agents", is_flag=True, help="Notices of every agent.")
@click.option(
    "--status", metavar="STATUS", default="open", show_default=True, help="open, resolved or all."
)
@click.option("--keys", is_flag=True, help="List keys with stale sources instead.")
@takes_moment
@takes_limit
@takes_target
def inbox(
    target: Target, *, all_agents: bool, status: str, keys: bool, at: str | None, limit: int | None
) -> None:
    """List notices: keys, memories and facts whose evidence changed.

    With --keys, list the keys whose sources are no longer believed, and these sources.
    """
    from memoranda.cli.render import memory_text
    from memoranda.model.scope import ALL_AGENTS

    if keys:
        if all_agents or status != "open":
            raise click.UsageError("--keys goes with neither --all-agents nor --status")
        list_stale_keys(target, at=at, limit=limit)
        return
    with target.reader() as store:
        notices = store.invalidations(
            status=status, agent_id=ALL_AGENTS if all_agents else None, at=inputs.moment(at)
        )
        write_each(
            islice(notices, limit),
            as_json=target.as_json,
            text=partial(memory_text.notice, words_of=memory_text.words_in(store)),
            if_empty="no open notices" if status == "open" else "no notices",
        )


def list_stale_keys(target: Target, *, at: str | None, limit: int | None) -> None:
    """Print the keys whose sources are stale, and these sources."""
    from memoranda.calls.as_json import stale_key
    from memoranda.cli.render import why_colors

    with target.agent_reader() as store:
        write_each(
            islice(store.stale_keys(at=inputs.moment(at)), limit),
            as_json=target.as_json,
            json_form=stale_key,
            text=why_colors.stale_key,
            if_empty=f"no key {target.scope_text} has a stale source",
        )


@click.command()
@click.argument("notice_id", metavar="NOTICE", shell_complete=complete_id("notice"))
@click.argument("decision", metavar="keep|retract|revise")
@click.option(
    "--with",
    "replacement",
    metavar="ID",
    shell_complete=complete_id("memory"),
    help="The replacement, for revise.",
)
@click.option("--note", metavar="TEXT", help="Reason, stored in the log.")
@takes_target
def resolve(
    target: Target, *, notice_id: str, decision: str, replacement: str | None, note: str | None
) -> None:
    """Resolve a notice from the inbox.

    `keep` leaves everything as it is. `retract` retracts the memory, and `revise` replaces it by
    another. Writing or deleting a key, or retracting a fact, resolves the notices about it.
    """
    with target.agent_store() as store:
        notice_id = full_id(store, notice_id, "notice")
        if replacement is not None:
            replacement = full_id(store, replacement, "memory")
        notice = store.resolve_invalidation(
            notice_id, decision=decision, replacement=replacement, note=note
        )
    if target.as_json:
        write_json({"notice": notice_id, "decision": decision, "commit_ts": notice.commit_ts})
    else:
        click.echo(f"resolved {notice_id}  {decision}  commit {notice.commit_ts}")
