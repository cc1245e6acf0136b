"""Commands about links, origins, notices, settings, the audit trail and explanations."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_id, complete_ref
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_limit, takes_moment, takes_store, takes_target
from memoranda.cli.output import note, takes_wide, write_each, write_json
from memoranda.cli.progress import meter
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.memory.records import Link
    from memoranda.sdk.store.store import Store

_RELATION = click.option(
    "--relation",
    metavar="NAME",
    default="related_to",
    show_default=True,
    help="related_to, supersedes, contradicts, derived_from or reflects_on.",
)


@click.command()
@click.argument("source", metavar="SOURCE", shell_complete=complete_id("memory"))
@click.argument("target_id", metavar="TARGET", shell_complete=complete_id("memory"))
@_RELATION
@takes_target
def link(target: Target, *, source: str, target_id: str, relation: str) -> None:
    """Link one memory to another."""
    with target.agent_store() as store:
        ends = _ends(store, source, target_id)
        _report(target, store.link(**ends, relation=relation))


@click.command()
@click.argument("source", metavar="SOURCE", shell_complete=complete_id("memory"))
@click.argument("target_id", metavar="TARGET", shell_complete=complete_id("memory"))
@_RELATION
@takes_target
def unlink(target: Target, *, source: str, target_id: str, relation: str) -> None:
    """End a link between two memories."""
    with target.agent_store() as store:
        ends = _ends(store, source, target_id)
        _report(target, store.unlink(**ends, relation=relation))


@click.command()
@click.argument("old", metavar="OLD", shell_complete=complete_id("memory"))
@click.argument("new", metavar="NEW", shell_complete=complete_id("memory"))
@takes_target
def supersede(target: Target, *, old: str, new: str) -> None:
    """Replace a memory by another and notify its dependents."""
    with target.agent_store() as store:
        ends = _ends(store, old, new)
        _report(target, store.supersede(old=ends["source"], new=ends["target"]))


@click.command()
@click.argument("memory_id", metavar="ID", shell_complete=complete_id("memory"))
@takes_moment
@takes_wide
@takes_target
def origins(target: Target, *, memory_id: str, at: str | None) -> None:
    """Show the sources of a memory, down to transcripts.

    JSON output has one object for each memory, with the id of its `parent`.
    """
    from memoranda.cli.render import memory_text
    from memoranda.sdk.as_json import origin_nodes

    with target.reader() as store:
        memory_id = full_id(store, memory_id, "memory")
        root = store.origins(memory_id, at=inputs.moment(at))
    if root is None:
        raise NotFound(f"not found: memory {memory_id!r}: it may be expired, retracted or private")
    if target.as_json:
        for node in origin_nodes(root):
            write_json(node)
        return
    for branch in memory_text.branches(root):
        click.echo(memory_text.origin(branch))


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


@click.command()
@click.option(
    "--max-reflection-depth",
    metavar="N",
    type=int,
    help="Most levels of reflections; 0 forbids them.",
)
@click.option(
    "--tier",
    "tiers",
    metavar="TIER=DURATION",
    multiple=True,
    help="Lifetime of a tier's memories, such as 7d, or `never`. Repeatable.",
)
@click.option("--retention", metavar="DURATION", help="Retention of transcripts, or `never`.")
@click.option(
    "--log-retention", metavar="DURATION", help="Retention of the log, for `compact --retention`."
)
@click.option(
    "--facts",
    type=click.Choice(["own", "shared"]),
    help="Whether its agents have facts of their own or share one history.",
)
@click.option("--allow-large", is_flag=True, help="Allow to derive many facts again.")
@takes_target
def configure(
    target: Target,
    *,
    max_reflection_depth: int | None,
    tiers: tuple[str, ...],
    retention: str | None,
    log_retention: str | None,
    facts: str | None,
    allow_large: bool,
) -> None:
    """Change the settings of a namespace and its descendants."""
    settings: dict[str, Any] = {}
    if facts is not None:
        settings |= {"facts": facts, "allow_large": allow_large}
    if max_reflection_depth is not None:
        settings["max_reflection_depth"] = max_reflection_depth
    if tiers:
        pairs = (text.partition("=")[::2] for text in tiers)
        settings["tiers"] = {name: inputs.duration(length) for name, length in pairs}
    if retention is not None:
        settings["transcript_retention"] = inputs.duration(retention)
    if log_retention is not None:
        settings["log_retention"] = inputs.duration(log_retention)
    with target.store(create=True) as store:
        receipt = store.configure(**settings)
    if target.as_json:
        write_json({"namespace": target.namespace, "commit_ts": receipt.commit_ts})
    else:
        click.echo(f"configured {target.namespace}  commit {receipt.commit_ts}")


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


def _ends(store: Store, source: str, target_id: str) -> dict[str, str]:
    """Return the complete ids of the two memories of a link."""
    return {
        "source": full_id(store, source, "memory"),
        "target": full_id(store, target_id, "memory"),
    }


def _report(target: Target, record: Link) -> None:
    from memoranda.cli.render import memory_text

    if target.as_json:
        write_json(record)
    else:
        click.echo(memory_text.link(record))


# Explanations: a tree of sources, and keys whose sources are stale.


@click.command()
@click.argument("ref", metavar="REF", shell_complete=complete_ref)
@takes_moment
@takes_wide
@takes_target
def why(target: Target, *, ref: str, at: str | None) -> None:
    """Explain a key, a memory or a fact by its sources.

    REF is KEY[@VERSION], memory:ID[@VERSION], fact:ID or transcript:ID[@START-END], with offsets in
    bytes; write the prefix `key:` before a key that begins with one of these prefixes. A source
    that is no longer believed is marked as stale, and so is everything that rests on it. JSON
    output has one object for each node, with the number of its `parent`. Only the beginning of a
    very large or deep tree is drawn; JSON output has all of it.
    """
    from memoranda.cli import references
    from memoranda.cli.render import why_text
    from memoranda.model.refs import KeyRef
    from memoranda.sdk.as_json import reason_nodes
    from memoranda.why.reason import truncate, truncation_note

    reference = references.parse(ref)
    reader = target.agent_reader() if isinstance(reference, KeyRef) else target.reader()
    with reader as store:
        root = store.why(references.full_ref(store, ref), at=inputs.moment(at))
    if target.as_json:
        for node in reason_nodes(root):
            write_json(node)
        return
    branches, omitted = truncate(root.branches())
    for branch in branches:
        click.echo(why_text.branch_text(branch))
    if omitted:
        note(f"{truncation_note(omitted)}: --json prints them all")


def list_stale_keys(target: Target, *, at: str | None, limit: int | None) -> None:
    """Print the keys whose sources are stale, and these sources."""
    from memoranda.cli.render import why_text
    from memoranda.sdk.as_json import stale_key

    with target.agent_reader() as store:
        write_each(
            islice(store.stale_keys(at=inputs.moment(at)), limit),
            as_json=target.as_json,
            json_form=stale_key,
            text=why_text.stale_key,
            if_empty=f"no key {target.scope_text} has a stale source",
        )
