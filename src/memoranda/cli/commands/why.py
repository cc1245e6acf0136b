"""Commands that explain: `why` for keys, memories and facts, and `origins` for a memory."""

from __future__ import annotations

import click

from memoranda.cli import inputs
from memoranda.cli.completion import complete_id, complete_ref
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_moment, takes_target
from memoranda.cli.output import note, takes_wide, write_json
from memoranda.errors import NotFound


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
    from memoranda.calls.as_json import reason_nodes
    from memoranda.cli import references
    from memoranda.cli.render import why_colors
    from memoranda.model import ref_text
    from memoranda.model.refs import KeyRef
    from memoranda.why.tree_drawing import truncate, truncation_note

    reference = ref_text.parse(ref)
    reader = target.agent_reader() if isinstance(reference, KeyRef) else target.reader()
    with reader as store:
        root = store.why(references.full_ref(store, ref), at=inputs.moment(at))
    if target.as_json:
        for node in reason_nodes(root):
            write_json(node)
        return
    branches, omitted = truncate(root.branches())
    for branch in branches:
        click.echo(why_colors.branch_text(branch))
    if omitted:
        note(f"{truncation_note(omitted)}: --json prints them all")


@click.command()
@click.argument("memory_id", metavar="ID", shell_complete=complete_id("memory"))
@takes_moment
@takes_wide
@takes_target
def origins(target: Target, *, memory_id: str, at: str | None) -> None:
    """Show the sources of a memory, down to transcripts.

    JSON output has one object for each memory, with the id of its `parent`.
    """
    from memoranda.calls.as_json import origin_nodes
    from memoranda.cli.render import memory_text

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
