"""Commands about facts: saying what holds, and asking what held when."""

from __future__ import annotations

import shutil
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import fact_inputs
from memoranda.cli.fact_export import export_file
from memoranda.cli.fact_import import import_file
from memoranda.cli.fact_names import alias, cardinality, entities, explain, merge
from memoranda.cli.fact_options import (
    FactGroup,
    takes_ground,
    takes_known_at,
    takes_literal,
    takes_parts,
    takes_txn_id,
    takes_valid_at,
    takes_visibility,
)
from memoranda.cli.fact_walks import neighbors, path, subgraph, suggest_merges
from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import note, write_each, write_json

if TYPE_CHECKING:
    from memoranda.graph.resolution import EdgeResolution
    from memoranda.sdk.store import Store


@click.group(cls=FactGroup)
def fact() -> None:
    """Say what holds and since when, and ask what held when.

    A fact is a subject, a relation and an object, such as Ann works_at Acme. Times are RFC 3339,
    or a day, a month or a year, which mean their first moment in UTC.
    """


@fact.command(name="assert")
@takes_parts("subject", "relation", "object")
@takes_literal
@click.option("--valid-from", metavar="TIME", help="Since when it holds; not given, since now.")
@click.option("--valid-to", metavar="TIME", help="When it stopped.")
@click.option("--confidence", metavar="X", type=float, default=1.0, help="0 to 1.")
@takes_ground
@takes_visibility
@takes_txn_id
@takes_target
def assert_(
    target: Target,
    *,
    subject: str,
    relation: str,
    object_: str,
    literal: str | None,
    valid_from: str | None,
    valid_to: str | None,
    spans: tuple[str, ...],
    **said: Any,
) -> None:
    """Say that something holds, and see what that does to what held before.

    Example: memoranda fact assert Ann works_at Acme --valid-from 2020-03
    """
    with target.agents_store(create=True) as store:
        made = store.assert_fact(
            subject=subject,
            relation=relation,
            object=fact_inputs.thing(object_, literal),
            valid_from=fact_inputs.instant(valid_from),
            valid_to=fact_inputs.instant(valid_to),
            spans=[fact_inputs.span(text) for text in spans] or None,
            **said,
        )
        _report(target, store, made, "nothing changed", subject, relation, object_)


@fact.command()
@takes_parts("subject", "relation", "object?")
@takes_literal
@click.option("--at", metavar="TIME", help="When it stopped; not given, now.")
@takes_ground
@takes_visibility
@takes_txn_id
@takes_target
def end(
    target: Target,
    *,
    subject: str,
    relation: str,
    object_: str | None,
    literal: str | None,
    at: str | None,
    spans: tuple[str, ...],
    **said: Any,
) -> None:
    """Say that something stopped being true. Without OBJECT: whatever held.

    Example: memoranda fact end Ann works_at Acme --at 2023-06-30
    """
    with target.agents_store() as store:
        made = store.end_fact(
            subject=subject,
            relation=relation,
            object=fact_inputs.thing(object_, literal),
            at=fact_inputs.instant(at),
            spans=[fact_inputs.span(text) for text in spans] or None,
            **said,
        )
        nothing = "noted, and nothing changed: no such fact held then"
        _report(target, store, made, nothing, subject, relation, object_)


@fact.command()
@takes_parts("subject?", "relation?", "object?")
@takes_literal
@click.option("--assertion", metavar="ID", help="Only what was said under this id.")
@click.option("--reason", metavar="TEXT", help="Why.")
@takes_txn_id
@takes_target
def retract(
    target: Target,
    *,
    subject: str | None,
    relation: str | None,
    object_: str | None,
    literal: str | None,
    assertion: str | None,
    **said: Any,
) -> None:
    """Take back what was said in error. Without OBJECT: all of a subject and relation.

    What was believed instead comes back. That it was said stays in the log.

    Example: memoranda fact retract Ann works_at Acme --reason "another Ann"
    """
    with target.agents_store() as store:
        made = store.retract_fact(
            assertion_id=assertion,
            subject=subject,
            relation=relation,
            object=fact_inputs.thing(object_, literal),
            **said,
        )
        held = "retracted before" if made.commit_ts is None else "retracted; others say the same"
        _report(target, store, made, held, subject, relation, object_)


@fact.command(name="list")
@click.option("--subject", metavar="NAME", help="Only about this.")
@click.option("--relation", metavar="NAME", help="Only of this relation.")
@click.option("--object", "object_", metavar="NAME", help="Only what leads to this.")
@takes_literal
@takes_valid_at
@takes_known_at
@click.option("--include-closed", is_flag=True, help="What held before and what will, as well.")
@takes_limit
@takes_target
def list_them(
    target: Target,
    *,
    object_: str | None,
    literal: str | None,
    valid_at: str | None,
    known_at: str | None,
    limit: int | None,
    **wanted: Any,
) -> None:
    """List what holds, now or at some time, as far as is known or was.

    Example: memoranda fact list --subject Ann --valid-at 2021
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        found = store.iter_facts(
            object=fact_inputs.thing(object_, literal),
            valid_at=fact_inputs.instant(valid_at),
            known_at=fact_inputs.moment(known_at),
            **wanted,
        )
        write_each(
            islice(found, limit),
            as_json=target.as_json,
            shape=fact_shapes.fact,
            lines=fact_lines.fact,
            nothing=f"no such facts {target.whose}",
        )


@fact.command()
@takes_parts("subject", "relation")
@takes_known_at
@takes_target
def timeline(target: Target, *, subject: str, relation: str, known_at: str | None) -> None:
    """Draw what held when, of a subject and a relation.

    Example: memoranda fact timeline Ann works_at
    """
    from memoranda.cli import fact_lines, fact_shapes
    from memoranda.cli.bars import draw, glyphs_for

    with target.agents_store() as store:
        found = store.timeline(
            subject=subject, relation=relation, known_at=fact_inputs.moment(known_at)
        )
    if target.as_json:
        for each in found:
            write_json(fact_shapes.fact(each))
        return
    if not found:
        note(f"nothing is known of {subject!r} {relation!r} {target.whose}")
    rows = [fact_lines.bar(each) for each in found]
    width = shutil.get_terminal_size().columns
    for line in draw(rows, width, glyphs=glyphs_for(sys.stdout.encoding)):
        click.echo(line)


for _command in (
    explain, path, neighbors, subgraph, import_file, export_file, cardinality, alias, merge,
    suggest_merges, entities,
):  # fmt: skip
    fact.add_command(_command)


def _report(
    target: Target, store: Store, made: EdgeResolution, nothing: str, *typed: str | None
) -> None:
    """Say what became of the timelines that were touched, in the words that were typed."""
    from memoranda.cli import fact_lines, fact_shapes

    if target.as_json:
        write_json(fact_shapes.resolution(made))
        return
    edges = [*made.close, *(after for _, after in made.changed), *made.reopened]
    touched = {(edge.subject_key, edge.relation) for edge in edges}
    if made.open is not None:
        touched.add((made.open.subject_key, made.open.relation))
    facts = [
        each
        for subject, relation in sorted(touched)
        for each in store.timeline(subject=subject, relation=relation)
    ]
    lines = list(fact_lines.resolution(made, fact_lines.Spoken.of(facts, made.assertion_id, typed)))
    for line in lines or [nothing]:
        click.echo(line)
    if made.assertion_id is not None:
        click.secho(f"assertion {made.assertion_id}  commit {made.commit_ts}", dim=True)
