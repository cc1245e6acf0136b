"""Commands about what facts are made of: names, relations, words."""

from __future__ import annotations

from itertools import islice

import click

from memoranda.cli import fact_inputs
from memoranda.cli.fact_options import takes_known_at, takes_parts, takes_txn_id
from memoranda.cli.options import Target, takes_limit, takes_target
from memoranda.cli.output import write_each, write_json
from memoranda.cli.text import safe

_LARGE = click.option(
    "--allow-large", is_flag=True, help="Also if very much has to be derived anew."
)


@click.command()
@click.argument("fact", metavar="ASSERTION")
@takes_known_at
@takes_target
def explain(target: Target, *, fact: str, known_at: str | None) -> None:
    """Show what was said for a fact, by whom, and in which words.

    ASSERTION is the id that `assert` printed, or one of those that `list --json` shows.

    Example: memoranda fact explain 0190163d-8694-739b-aea5-966c26f8ad91
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.store() as store:
        found = store.explain(fact, known_at=fact_inputs.moment(known_at))
    if target.as_json:
        write_json(fact_shapes.explanation(found))
    else:
        click.echo(fact_lines.explanation(found))


@click.command()
@takes_parts("relation?")
@click.argument(
    "kind", metavar="[single|multi]", type=click.Choice(["single", "multi"]), required=False
)
@_LARGE
@takes_txn_id
@takes_target
def cardinality(
    target: Target,
    *,
    relation: str | None,
    kind: str | None,
    allow_large: bool,
    txn_id: str | None,
) -> None:
    """Let a relation have one object at a time (single), or many (multi).

    It counts for every agent in the namespace, and what was said before is derived anew. Relations
    of which nothing was said are multi. Without arguments it lists what was said.

    Example: memoranda fact cardinality works_at single
    """
    if relation is None:
        with target.store() as store:
            known = store.cardinalities()
        write_each(
            known.items(),
            as_json=target.as_json,
            shape=lambda each: {"relation": each[0], "cardinality": each[1].value},
            lines=lambda each: f"{each[1].value.ljust(6)}  {safe(each[0])}",
            nothing=f"every relation is multi in namespace {target.namespace!r}",
        )
        return
    if kind is None:
        raise click.UsageError("say which: single or multi")
    with target.store(create=True) as store:
        commit = store.set_cardinality(
            relation=relation, cardinality=kind, allow_large=allow_large, txn_id=txn_id
        )
    if target.as_json:
        write_json({"relation": relation, "cardinality": kind, "commit_ts": commit})
        return
    meaning = "one object at a time" if kind == "single" else "any number of objects at a time"
    click.echo(f"{safe(relation)} has {meaning} in namespace {safe(target.namespace)}")


@click.command()
@click.argument("entity", metavar="NAME")
@click.argument("alias_", metavar="ALIAS")
@_LARGE
@takes_txn_id
@takes_target
def alias(
    target: Target, *, entity: str, alias_: str, allow_large: bool, txn_id: str | None
) -> None:
    """Give somebody or something another name.

    Example: memoranda fact alias "Ann Lee" Annie
    """
    with target.agents_store() as store:
        commit = store.alias(entity=entity, alias=alias_, allow_large=allow_large, txn_id=txn_id)
    if target.as_json:
        write_json({"entity": entity, "alias": alias_, "commit_ts": commit})
    else:
        click.echo(f"{safe(alias_)} means {safe(entity)} from here on")


@click.command()
@click.argument("source", metavar="NAME")
@click.argument("into", metavar="INTO")
@_LARGE
@takes_txn_id
@takes_target
def merge(target: Target, *, source: str, into: str, allow_large: bool, txn_id: str | None) -> None:
    """Let two entities be one, under the name of the second.

    Example: memoranda fact merge "A. Lee" "Ann Lee"
    """
    with target.agents_store() as store:
        commit = store.merge_entities(
            source=source, into=into, allow_large=allow_large, txn_id=txn_id
        )
    if target.as_json:
        write_json({"source": source, "into": into, "commit_ts": commit})
    else:
        click.echo(f"{safe(source)} and {safe(into)} are one from here on: {safe(into)}")


@click.command()
@takes_known_at
@takes_limit
@takes_target
def entities(target: Target, *, known_at: str | None, limit: int | None) -> None:
    """List who and what facts are about, with their other names.

    Example: memoranda fact entities --limit 20
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        write_each(
            islice(store.entities(known_at=fact_inputs.moment(known_at)), limit),
            as_json=target.as_json,
            shape=fact_shapes.entity,
            lines=fact_lines.entity,
            nothing=f"no entities {target.whose}",
        )
