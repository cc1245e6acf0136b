"""Commands about what memories rest on: links, origins, notices, settings, and the audit trail."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_target
from memoranda.cli.output import write_each, write_json
from memoranda.cli.progress import meter
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.memory.records import Link

_RELATION = click.option(
    "--relation",
    metavar="NAME",
    default="related_to",
    show_default=True,
    help="related_to, supersedes, contradicts, derived_from or reflects_on.",
)


@click.command()
@click.argument("source", metavar="SOURCE")
@click.argument("target_id", metavar="TARGET")
@_RELATION
@takes_target
def link(target: Target, *, source: str, target_id: str, relation: str) -> None:
    """Link one memory to another."""
    with target.agents_store() as store:
        _report(target, store.link(source=source, target=target_id, relation=relation))


@click.command()
@click.argument("source", metavar="SOURCE")
@click.argument("target_id", metavar="TARGET")
@_RELATION
@takes_target
def unlink(target: Target, *, source: str, target_id: str, relation: str) -> None:
    """Close a link. That it held stays in the log."""
    with target.agents_store() as store:
        _report(target, store.unlink(source=source, target=target_id, relation=relation))


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@takes_target
def supersede(target: Target, *, old: str, new: str) -> None:
    """Let one memory take another one's place, and tell those who reflect on the old one."""
    with target.agents_store() as store:
        _report(target, store.supersede(old=old, new=new))


@click.command()
@click.argument("memory_id", metavar="ID")
@takes_moment
@takes_target
def origins(target: Target, *, memory_id: str, at: str | None) -> None:
    """Show what a memory rests on: memories, and the words they come from.

    As JSON, each memory is an object of its own and names its `parent`, which rests on it.
    """
    from memoranda.cli import belief_lines, belief_shapes

    with target.store() as store:
        found = store.origins(memory_id, at=inputs.moment(at))
    if found is None:
        raise NotFound(f"there is no memory {memory_id!r} that can be seen")
    write_each(
        belief_shapes.mentions(found),
        as_json=target.as_json,
        shape=belief_shapes.origin,
        lines=belief_lines.origin,
        nothing="",
    )


@click.command()
@click.option("--all-agents", is_flag=True, help="What there is for anybody.")
@click.option(
    "--status", metavar="WHICH", default="open", show_default=True, help="open, resolved or all."
)
@click.option("--keys", is_flag=True, help="The keys that rest on something stale, instead.")
@takes_moment
@takes_limit
@takes_target
def inbox(
    target: Target, *, all_agents: bool, status: str, keys: bool, at: str | None, limit: int | None
) -> None:
    """Show what there is to decide: memories whose ground was superseded.

    With `--keys`: values that rest on something which is no longer believed, and on what.
    """
    from memoranda.cli import belief_lines, belief_shapes, why
    from memoranda.model.scope import ALL_AGENTS

    if keys:
        if all_agents or status != "open":
            raise click.UsageError("--keys goes with neither --all-agents nor --status")
        why.list_stale_keys(target, at=at, limit=limit)
        return
    with target.store() as store:
        found = store.invalidations(
            status=status, agent_id=ALL_AGENTS if all_agents else None, at=inputs.moment(at)
        )
        write_each(
            islice(found, limit),
            as_json=target.as_json,
            shape=belief_shapes.notice,
            lines=belief_lines.notice,
            nothing="nothing to decide" if status == "open" else "no notices",
        )


@click.command()
@click.argument("notice_id", metavar="NOTICE")
@click.argument("decision", metavar="keep|retract|revise")
@click.option("--with", "replacement", metavar="ID", help="The memory that takes its place.")
@click.option("--note", metavar="TEXT", help="Why.")
@takes_target
def resolve(
    target: Target, *, notice_id: str, decision: str, replacement: str | None, note: str | None
) -> None:
    """Decide what becomes of a memory whose ground was superseded.

    `keep` changes nothing, `retract` takes it back, `revise` lets another memory take its place.
    """
    with target.agents_store() as store:
        commit = store.resolve_invalidation(
            notice_id, decision=decision, replacement=replacement, note=note
        )
    if target.as_json:
        write_json({"notice": notice_id, "decision": decision, "commit_ts": commit})
    else:
        click.echo(f"resolved {notice_id}  {decision}  commit {commit}")


@click.command()
@click.option("--max-reflection-depth", metavar="N", type=int, help="0 forbids reflections.")
@click.option(
    "--tier",
    "tiers",
    metavar="TIER=SECONDS",
    multiple=True,
    help="How long memories of a tier last; `never` for ever. Repeatable.",
)
@click.option("--retention", metavar="SECONDS", help="How long transcripts are kept; or `never`.")
@click.option(
    "--log-retention", metavar="SECONDS", help="How far back `compact --retention` keeps the log."
)
@takes_target
def configure(
    target: Target,
    *,
    max_reflection_depth: int | None,
    tiers: tuple[str, ...],
    retention: str | None,
    log_retention: str | None,
) -> None:
    """Set how long things last and how deep reflections go, in a namespace and below it."""
    settings: dict[str, Any] = {}
    if max_reflection_depth is not None:
        settings["max_reflection_depth"] = max_reflection_depth
    if tiers:
        pairs = (text.partition("=")[::2] for text in tiers)
        settings["tiers"] = {name: inputs.duration("tiers", length) for name, length in pairs}
    if retention is not None:
        settings["transcript_retention"] = inputs.duration("transcript_retention", retention)
    if log_retention is not None:
        settings["log_retention"] = inputs.duration("log_retention", log_retention)
    with target.store(create=True) as store:
        commit = store.configure(**settings)
    if target.as_json:
        write_json({"namespace": target.namespace, "commit_ts": commit})
    else:
        click.echo(f"configured {target.namespace}  commit {commit}")


@click.command()
@click.option(
    "--type",
    "types",
    metavar="TYPE",
    multiple=True,
    help="Only this, such as memory.retracted, or a family, such as 'link.*'. Repeatable.",
)
@click.option("--by", metavar="AGENT", help="Only what this agent did.")
@click.option("--after", metavar="COMMIT|TOKEN", help="Only what was done behind this.")
@takes_limit
@takes_target
def audit(
    target: Target,
    *,
    types: tuple[str, ...],
    by: str | None,
    after: str | None,
    limit: int | None,
) -> None:
    """List what was done and what was refused, by whom, with hashes in the place of content."""
    from memoranda.cli import belief_lines, belief_shapes

    with target.store() as store, meter("Auditing", beside_output=False) as progress:
        found = store.audit_events(
            event_type=types or None, agent_id=by, after_commit=0 if after is None else after
        )
        write_each(
            progress.counting(islice(found, limit)),
            as_json=target.as_json,
            shape=belief_shapes.audit_event,
            lines=belief_lines.audit_event,
            nothing="nothing was done",
        )


def _report(target: Target, made: Link) -> None:
    from memoranda.cli import belief_lines, belief_shapes

    if target.as_json:
        write_json(belief_shapes.link(made))
    else:
        click.echo(belief_lines.link(made))
