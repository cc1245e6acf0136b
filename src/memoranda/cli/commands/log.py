"""Commands about the log: what is in it, whether it is sound, and what is derived from it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import click

from memoranda.cli import exits
from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import warn, write_each, write_facts, write_json
from memoranda.cli.progress import meter
from memoranda.cli.text import counted, safe, sized

if TYPE_CHECKING:
    from memoranda import Stats, Verification


@click.command()
@click.option("--all-agents", is_flag=True, help="What every agent did.")
@click.option("--all-namespaces", is_flag=True, help="In every namespace the agent wrote in.")
@click.option("--from", "from_time", metavar="TIME", help="From this time on (RFC 3339).")
@click.option("--to", "to_time", metavar="TIME", help="Before this time (RFC 3339).")
@click.option("--after", metavar="COMMIT|TOKEN", help="Behind this commit or resume token.")
@click.option("--through", metavar="COMMIT", type=int, help="Up to and with this commit.")
@click.option(
    "--kind", "kinds", metavar="KIND", multiple=True, help="Only write, or delete. Repeatable."
)
@takes_limit
@takes_target
def replay(
    target: Target,
    *,
    all_agents: bool,
    all_namespaces: bool,
    from_time: str | None,
    to_time: str | None,
    after: str | None,
    through: int | None,
    kinds: tuple[str, ...],
    limit: int | None,
) -> None:
    """Show what an agent did: its transactions, in commit order."""
    from memoranda.cli import lines, shapes
    from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES

    whose = target.whose_events(all_agents=all_agents, all_namespaces=all_namespaces)
    opened = target.store() if all_agents else target.agents_store()
    with opened as store, meter("Replaying", beside_output=False) as progress:
        events = store.replay(
            agent_id=ALL_AGENTS if all_agents else None,
            namespace=ALL_NAMESPACES if all_namespaces else None,
            from_timestamp=from_time,
            to_timestamp=to_time,
            after_commit=after,
            through_commit=through,
            kinds=kinds or None,
        )
        write_each(
            progress.counting(islice(events, limit)),
            as_json=target.as_json,
            shape=shapes.event,
            lines=partial(lines.event, with_namespace=all_namespaces, with_agent=all_agents),
            nothing=f"no events {whose}",
        )


@click.command()
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(),
    help="A signed checkpoint that was kept elsewhere.",
)
@click.option(
    "--key",
    "key_files",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Public keys you trust, a line each; else it is those the log trusts. Repeatable.",
)
@click.option("--deep", is_flag=True, help="Also compare every view with one built from the log.")
@takes_target
def verify(
    target: Target, *, checkpoint: str | None, key_files: tuple[str, ...], deep: bool
) -> None:
    """Prove that the log is what was written: walk its hash chain.

    The whole log is verified, whichever agent is named, and held to every checkpoint that the store
    keeps. Only one that was kept elsewhere shows that a log was truncated or chained anew. If
    anything does not hold, the exit code is 3 and the message names the first bad commit. It is 6
    if all holds, and erasures left something of events that an older version has written: nothing
    but the erasing commit says that this is what stood there.

    With --deep, what reads are answered from is built again in a temporary file and compared; the
    message names the first row that differs, and `memoranda rebuild` repairs it. Nothing changes.
    """
    from memoranda.cli import shapes
    from memoranda.cli.checkpoints import keys_in, note_in

    note = None if checkpoint is None else note_in("checkpoint", checkpoint)
    keys = keys_in(key_files)
    with target.store() as store, meter("Verifying") as progress:
        found = store.verify(checkpoint=note, keys=keys, deep=deep, progress=progress)
    if target.as_json:
        write_json(shapes.report(found))
        _end_unproven(found)
        return
    views = "" if found.rows is None else ", and the views are what the log says"
    click.secho(f"The chain holds{views}.", fg="green")
    write_facts(
        (
            ("commits", f"{found.commits:,}"),
            ("last commit", _when(found.last_committed_at)),
            ("checkpoints", _compared(found)),
            ("head hash", found.head_hash),
            ("log id", found.log_id),
            *(
                (("signed", f"{counted(found.signed, 'commit')} by agents"),)
                if found.signed
                else ()
            ),
            *((("rows compared", f"{found.rows:,}"),) if found.rows is not None else ()),
            *((("unproven places", f"{found.unproven:,}"),) if found.unproven else ()),
        )
    )
    _warn_all(found.warnings)
    _end_unproven(found)


def _end_unproven(found: Verification) -> None:
    """End with a code of its own if something is left of older events that nothing proves."""
    if found.unproven:
        click.get_current_context().exit(exits.UNPROVEN)


@click.command()
@takes_target
def rebuild(target: Target) -> None:
    """Build every view again from the log, and compare.

    A view is what reads are answered from. All agents' are rebuilt, whichever one is named; one
    that had been different is repaired by this.
    """
    from memoranda.cli import shapes

    with target.store() as store, meter("Rebuilding") as progress:
        found = store.rebuild(progress=progress)
    if target.as_json:
        write_json({**shapes.report(found), "identical": found.identical})
        return
    click.echo(f"Rebuilt {counted(found.rows, 'row')} from {counted(found.events, 'event')}.")
    if found.identical:
        click.secho("The views are identical to what was there.", fg="green")
    else:
        names = ", ".join(found.differing)
        click.secho(f"Repaired, because they were different: {names}.", fg="yellow")


@click.command()
@takes_target
def stats(target: Target) -> None:
    """Show how much the store holds, all agents together."""
    from memoranda.cli import shapes

    with target.store() as store:
        found = store.stats()
    if target.as_json:
        write_json({"store": target.location, **shapes.report(found)})
        return
    write_facts(
        (
            ("store", target.location),
            ("commits", f"{found.commits:,}"),
            ("last commit", _when(found.last_committed_at)),
            ("agents", f"{found.agents:,}"),
            ("namespaces", f"{found.namespaces:,}"),
            ("keys", f"{found.keys:,}"),
            ("memories", f"{found.memories:,}"),
            ("transcripts", f"{found.transcripts:,}"),
            ("open notices", f"{found.open_notices:,}"),
            ("facts", f"{found.facts:,}"),
            ("entities", f"{found.entities:,}"),
            ("data", sized(found.data_bytes)),
            ("journal", sized(found.journal_bytes)),
            ("checkpoint", _signed(found)),
            ("index", _indexed(found)),
            ("vectors", _embedded(found)),
            ("log id", found.log_id),
            ("epoch", str(found.epoch)),
        )
    )
    if found.pending_purge:
        warn("bytes of something that was erased are still in the files: run `memoranda purge`")
    _warn_all(found.warnings)


def _compared(found: Verification) -> str:
    if not found.checkpoints:
        return "none: what the chain itself does not show, nothing here would"
    return f"{found.checkpoints:,}, the last of {counted(found.last_checkpoint or 0, 'commit')}"


def _indexed(found: Stats) -> str:
    if not found.index_backlog:
        return "up to date"
    return f"{counted(found.index_backlog, 'commit')} behind"


def _embedded(found: Stats) -> str:
    if found.embedder is None:
        return "none"
    told = f"{found.vectors:,} of {safe(found.embedder)}"
    return f"{told}, {found.vector_backlog:,} to come" if found.vector_backlog else told


def _signed(found: Stats) -> str:
    if not found.checkpoint_size:
        return "none: off until somebody signs, see `memoranda checkpoint`"
    behind = counted(found.commits - found.checkpoint_size, "commit")
    return f"{_when(found.checkpoint_at)}, {behind} behind"


def _when(time: datetime | None) -> str:
    from memoranda.cli import shapes

    return shapes.time_text(time) if time else "none yet"


def _warn_all(warnings: Iterable[str]) -> None:
    for warning in warnings:
        warn(warning)
