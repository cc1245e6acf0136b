"""Commands about the log: replay, activity, tail, cursors, audit, verify, rebuild and stats."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import click

from memoranda.cli import exit_codes
from memoranda.cli.completion import complete_key
from memoranda.cli.options import Target, takes_limit, takes_store, takes_target
from memoranda.cli.output import (
    byte_size,
    note,
    plural,
    safe,
    takes_wide,
    warn,
    write_each,
    write_fields,
    write_json,
)
from memoranda.cli.progress import meter

if TYPE_CHECKING:
    from memoranda import Stats, Verification
    from memoranda.calls.job_status import JobStatus
    from memoranda.model.event import ReplayEvent
    from memoranda.sdk.store.subscriptions import Subscription


@click.command()
@click.option("--all-agents", is_flag=True, help="Transactions of every agent.")
@click.option("--all-namespaces", is_flag=True, help="Transactions in every namespace.")
@click.option("--from", "from_time", metavar="TIME", help="Start at this time.")
@click.option("--to", "to_time", metavar="TIME", help="End before this time.")
@click.option("--after", metavar="COMMIT|TOKEN", help="Start after this commit or resume token.")
@click.option("--through", metavar="COMMIT", type=int, help="End with this commit.")
@click.option(
    "--kind",
    "kinds",
    metavar="KIND",
    multiple=True,
    help="Filter by kind: write or delete. Repeatable.",
)
@takes_limit
@takes_wide
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
    """Show an agent's transactions in commit order."""
    from memoranda.cli.render import key_text
    from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES

    scope = target.events_text(all_agents=all_agents, all_namespaces=all_namespaces)
    reader = target.reader() if all_agents else target.agent_reader()
    with reader as store, meter("Replaying", beside_output=False) as progress:
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
            text=partial(key_text.event, with_namespace=all_namespaces, with_agent=all_agents),
            if_empty=f"no events {scope}",
        )


@click.command()
@click.option("--all-namespaces", is_flag=True, help="Operations in every namespace.")
@click.option("--from", "from_time", metavar="TIME", help="Start here; default: first event.")
@click.option("--to", "to_time", metavar="TIME", help="End before this; default: last event.")
@click.option(
    "--buckets",
    metavar="N",
    type=int,
    default=20,
    show_default=True,
    help="Divide the time into so many equal parts, 1 to 2,000.",
)
@takes_target
def activity(
    target: Target,
    *,
    all_namespaces: bool,
    from_time: str | None,
    to_time: str | None,
    buckets: int,
) -> None:
    """Draw how many operations an agent made over time, by kind.

    Example: memoranda activity --from 2026-02-07 --to 2026-02-08 --buckets 24
    """
    from memoranda.cli.render import activity_chart
    from memoranda.cli.render.timeline_chart import glyphs_for
    from memoranda.model.scope import ALL_NAMESPACES

    with target.agent_reader() as store:
        parts = store.timeline_buckets(
            namespace=ALL_NAMESPACES if all_namespaces else None,
            from_timestamp=from_time,
            to_timestamp=to_time,
            buckets=buckets,
        )
    if target.as_json:
        for bucket in parts:
            write_json(bucket)
    elif not any(bucket.events for bucket in parts):
        note(f"no events {target.events_text(all_agents=False, all_namespaces=all_namespaces)}")
    else:
        glyphs = glyphs_for(sys.stdout.encoding)
        width = shutil.get_terminal_size().columns
        chart = activity_chart.draw(parts, width, block=glyphs.block, ellipsis=glyphs.ellipsis)
        for line in chart:
            click.echo(line)


@click.command()
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(),
    help="A signed checkpoint kept outside the store.",
)
@click.option(
    "--key",
    "key_files",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    help="Public keys to trust, one a line; default: the keys the log trusts. Repeatable.",
)
@click.option("--deep", is_flag=True, help="Also rebuild every view and compare.")
@takes_store
def verify(
    target: Target, *, checkpoint: str | None, key_files: tuple[str, ...], deep: bool
) -> None:
    """Verify the hash chain, the checkpoints and the views.

    Verify the whole log, of all agents, against its hash chain and every checkpoint in the store.
    Only a checkpoint that was kept elsewhere proves that the log was not truncated or rewritten. If
    the verification fails, the exit code is 3 and the message names the first bad commit. The exit
    code is 6 if everything holds, but an erasure by an older version left parts of events that no
    hash covers.

    With --deep, rebuild the views in a temporary file and compare them; the message names the first
    row that differs, and `memoranda rebuild` repairs it. The store does not change.
    """
    from memoranda.cli.commands.checkpoints import keys_in, note_in

    note = None if checkpoint is None else note_in("checkpoint", checkpoint)
    keys = keys_in(key_files)
    with target.reader() as store, meter("Verifying") as progress:
        report = store.verify(checkpoint=note, keys=keys, deep=deep, progress=progress)
    if target.as_json:
        write_json(report)
        _exit_if_unproven(report)
        return
    views = "" if report.rows is None else ", and the views match the log"
    click.secho(f"The chain holds{views}.", fg="green")
    write_fields(
        (
            ("commits", f"{report.commits:,}"),
            ("last commit", _time(report.last_committed_at)),
            ("checkpoints", _checkpoints(report)),
            ("head hash", report.head_hash),
            ("log id", report.log_id),
            *((("signed", _signed(report)),) if report.signed else ()),
            *((("rows compared", f"{report.rows:,}"),) if report.rows is not None else ()),
            *((("unproven places", f"{report.unproven:,}"),) if report.unproven else ()),
        )
    )
    _warn_all(report.warnings)
    _exit_if_unproven(report)


def _signed(report: Verification) -> str:
    """Say how many commits are signed, and how many of these only as requests."""
    requests = f", {report.request_signed:,} as requests" if report.request_signed else ""
    return f"{plural(report.signed, 'commit')} by agents{requests}"


def _exit_if_unproven(report: Verification) -> None:
    """Exit with a code of its own if the log has parts that no hash covers."""
    if report.unproven:
        click.get_current_context().exit(exit_codes.UNPROVEN)


@click.command()
@takes_store
def rebuild(target: Target) -> None:
    """Rebuild every view from the log and compare.

    Reads are answered from views. The views of all agents are rebuilt, and a view that differs from
    the log is repaired.
    """
    from memoranda.calls.as_json import to_json

    with target.store() as store, meter("Rebuilding") as progress:
        report = store.rebuild(progress=progress)
    if target.as_json:
        write_json({**to_json(report), "identical": report.identical})
        return
    click.echo(f"Rebuilt {plural(report.rows, 'row')} from {plural(report.events, 'event')}.")
    if report.identical:
        click.secho("The views are identical to the previous ones.", fg="green")
    else:
        names = ", ".join(report.differing)
        click.secho(f"Repaired views that differed from the log: {names}.", fg="yellow")


@click.command()
@takes_store
def stats(target: Target) -> None:
    """Show the size and the state of the store."""
    from memoranda.calls.as_json import to_json

    with target.reader(embedder=None) as store:
        report = store.stats()
    if target.as_json:
        write_json({"store": target.name, **to_json(report)})
        return
    write_fields(
        (
            ("store", target.name),
            ("commits", f"{report.commits:,}"),
            ("last commit", _time(report.last_committed_at)),
            ("agents", f"{report.agents:,}"),
            ("namespaces", f"{report.namespaces:,}"),
            ("keys", f"{report.keys:,}"),
            ("memories", f"{report.memories:,}"),
            ("transcripts", f"{report.transcripts:,}"),
            ("open notices", f"{report.open_notices:,}"),
            ("facts", f"{report.facts:,}"),
            ("entities", f"{report.entities:,}"),
            ("data", byte_size(report.data_bytes)),
            ("journal", byte_size(report.journal_bytes)),
            ("checkpoint", _last_checkpoint(report)),
            ("index", _index(report)),
            ("vectors", _vectors(report)),
            ("log id", report.log_id),
            ("epoch", str(report.epoch)),
            *((f"job {job.name}", _job(job)) for job in report.jobs),
        )
    )
    if report.pending_purge:
        warn("the files still hold bytes of erased data: run `memoranda purge`")
    _warn_all(report.warnings)


def _job(job: JobStatus) -> str:
    """Return how the last run of a job went, and when the next one is due."""
    last = "has not run yet"
    if job.last_outcome is not None:
        last = f"{job.last_outcome} at {_time(job.last_started_at)}: {job.last_detail}"
    return f"{last}; {'runs now' if job.is_running else f'next at {_time(job.next_run_at)}'}"


def _checkpoints(report: Verification) -> str:
    if not report.checkpoints:
        return "none: only the chain was verified, so a rewritten log would pass"
    return f"{report.checkpoints:,}, the last of {plural(report.last_checkpoint or 0, 'commit')}"


def _index(report: Stats) -> str:
    if not report.index_backlog:
        return f"up to date, in {report.language}"
    return f"{plural(report.index_backlog, 'commit')} behind, in {report.language}"


def _vectors(report: Stats) -> str:
    if report.embedder is None:
        return "none"
    count = f"{report.vectors:,} of {safe(report.embedder)}"
    return f"{count}, {report.vector_backlog:,} to come" if report.vector_backlog else count


def _last_checkpoint(report: Stats) -> str:
    if not report.checkpoint_size:
        return "none: `memoranda checkpoint` signs one"
    lag = plural(report.commits - report.checkpoint_size, "commit")
    return f"{_time(report.checkpoint_at)}, {lag} behind"


def _time(time: datetime | None) -> str:
    from memoranda.calls.as_json import time_text

    return time_text(time) if time else "none yet"


def _warn_all(warnings: Iterable[str]) -> None:
    for warning in warnings:
        warn(warning)


# Subscriptions: following the log, and cursors.

_DEFAULT_EVENTS = 10
"""Past events that `tail` prints first, as the command `tail` prints lines."""


@click.command()
@click.option("--all-agents", is_flag=True, help="Transactions of every agent.")
@click.option(
    "--all-namespaces", is_flag=True, help="Transactions in every namespace, new ones too."
)
@click.option(
    "-n",
    "--last",
    metavar="N",
    type=click.IntRange(min=0),
    help=f"Start with the last N events; default: {_DEFAULT_EVENTS}, or by --after or --cursor.",
)
@click.option(
    "--after",
    metavar="COMMIT|TOKEN",
    help="Start after this commit or resume token; 0: at the start.",
)
@click.option(
    "--kind",
    "kinds",
    metavar="KIND",
    multiple=True,
    help="Filter by kind: write or delete. Repeatable.",
)
@click.option(
    "--prefix", default="", shell_complete=complete_key, help="Filter by the prefix of keys."
)
@click.option("--notices", is_flag=True, help="Only notices to the agent; see `memoranda inbox`.")
@click.option(
    "--cursor",
    metavar="NAME",
    help="Store the position under this name, and continue there next time.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=float,
    help="Stop when no event came for so long; 0: at the last event.",
)
@takes_wide
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
    notices: bool,
    cursor: str | None,
    timeout: float | None,
) -> None:
    """Follow an agent's transactions as they are committed.

    Print the last events, then follow the commits of every process until Ctrl-C or --timeout. With
    --cursor, an event is acknowledged when it has been printed; one that was not is printed again
    the next time.
    """
    from memoranda.cli.render import key_text
    from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES

    if last is None and after is None and cursor is None:
        last = _DEFAULT_EVENTS
    scope = target.events_text(all_agents=all_agents, all_namespaces=all_namespaces)
    reader = target.reader() if all_agents else target.agent_reader()
    with reader as store:
        subscription = store.subscribe(
            agent_id=ALL_AGENTS if all_agents else None,
            namespace=ALL_NAMESPACES if all_namespaces else None,
            after_commit=after,
            last=last,
            kinds=kinds or None,
            prefix=prefix,
            notices=notices,
            cursor=cursor,
            timeout=timeout,
        )
        write_each(
            _events(subscription, acknowledge=cursor is not None),
            as_json=target.as_json,
            text=partial(key_text.event, with_namespace=all_namespaces, with_agent=all_agents),
            if_empty=f"no events {scope}",
        )


@click.command()
@click.option("--drop", metavar="NAME", help="Delete this cursor instead.")
@click.option("--purge", is_flag=True, help="With --drop: remove its name from the files at once.")
@takes_store
def cursors(target: Target, *, drop: str | None, purge: bool) -> None:
    """List subscription cursors and their positions.

    `tail --cursor` and subscriptions of programs create cursors. They belong to the store, not to
    an agent.
    """
    if purge and drop is None:
        raise click.UsageError("--purge needs --drop")
    with target.reader() as store:
        if drop is not None:
            store.drop_cursor(cursor=drop, purge=purge)
            return
        write_each(
            store.cursors(),
            as_json=target.as_json,
            json_form=lambda cursor: {"cursor": cursor[0], "commit_ts": cursor[1]},
            text=lambda cursor: f"{safe(cursor[0])}  commit {cursor[1]}",
            if_empty="no cursors",
        )


def _events(subscription: Subscription, *, acknowledge: bool) -> Iterator[ReplayEvent]:
    """Yield the events; a request for the next one means that the last one was printed."""
    for event in subscription:
        yield event
        sys.stdout.flush()
        if acknowledge:
            subscription.ack(event)


@click.command()
@click.option(
    "--type",
    "types",
    metavar="TYPE",
    multiple=True,
    help="Filter by type, such as memory.retracted or 'link.*'. Repeatable.",
)
@click.option("--by", metavar="AGENT", help="Filter by agent.")
@click.option("--after", metavar="COMMIT|TOKEN", help="Start after this commit or resume token.")
@takes_limit
@takes_store
def audit(
    target: Target,
    *,
    types: tuple[str, ...],
    by: str | None,
    after: str | None,
    limit: int | None,
) -> None:
    """List actions and refusals, with hashes for content."""
    from memoranda.cli.render import memory_text

    with target.reader() as store, meter("Auditing", beside_output=False) as progress:
        events = store.audit_events(
            event_type=types or None, agent_id=by, after_commit=0 if after is None else after
        )
        write_each(
            progress.counting(islice(events, limit)),
            as_json=target.as_json,
            text=memory_text.audit_event,
            if_empty="no audit events",
        )
