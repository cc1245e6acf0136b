"""Commands that link memories: link, unlink and supersede."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_json

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
