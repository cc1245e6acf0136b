"""Commands that assert, end, list and explain facts, and manage entities."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.commands.fact_transfer import export_file, import_file
from memoranda.cli.completion import complete_id
from memoranda.cli.ids import full_id
from memoranda.cli.options import (
    ArgumentGroup,
    Target,
    takes_evidence,
    takes_known_at,
    takes_limit,
    takes_literal,
    takes_parts,
    takes_target,
    takes_txn_id,
    takes_valid_at,
    takes_visibility,
)
from memoranda.cli.output import note, safe, takes_wide, write_each, write_json
from memoranda.errors import NotFound

if TYPE_CHECKING:
    from memoranda.graph.edge_resolver import EdgeResolution
    from memoranda.graph.records import Fact
    from memoranda.sdk.store.store import Store


# Explanations, relations and entities.

_PAGE_ROWS = 64
"""Facts whose short ids are looked up at once."""
_LARGE = click.option(
    "--allow-large", is_flag=True, help="Allow a change that derives very many facts again."
)


@click.command()
@click.argument("fact", metavar="ASSERTION", shell_complete=complete_id("fact"))
@takes_known_at
@takes_wide
@takes_target
def explain(target: Target, *, fact: str, known_at: str | None) -> None:
    """Show the assertions and quotations of a fact.

    ASSERTION is an id that `assert` or `list` printed, or its first characters.

    Example: memoranda fact explain 0190163d-8694-739b-aea5-966c26f8ad91
    """
    from memoranda.cli.render import fact_text

    with target.reader() as store:
        explanation = store.explain(full_id(store, fact, "fact"), known_at=inputs.moment(known_at))
    if target.as_json:
        write_json(explanation)
    else:
        click.echo(fact_text.explanation(explanation))


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
    """Set whether a relation has one object at a time, or many.

    A single relation has one, a multi relation any number; the default is multi. The setting
    applies to every agent in the namespace, and its facts are derived again. Without arguments,
    list the settings.

    Example: memoranda fact cardinality works_at single
    """
    if relation is None:
        with target.reader() as store:
            cardinalities = store.cardinalities()
        write_each(
            cardinalities.items(),
            as_json=target.as_json,
            json_form=lambda item: {"relation": item[0], "cardinality": item[1].value},
            text=lambda item: f"{item[1].value.ljust(6)}  {safe(item[0])}",
            if_empty=f"every relation is multi in namespace {target.namespace!r}",
        )
        return
    if kind is None:
        raise click.UsageError("give single or multi")
    with target.store(create=True) as store:
        receipt = store.set_cardinality(
            relation=relation, cardinality=kind, allow_large=allow_large, txn_id=txn_id
        )
    if target.as_json:
        write_json({"relation": relation, "cardinality": kind, "commit_ts": receipt.commit_ts})
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
    """Add an alias to an entity.

    Example: memoranda fact alias "Ann Lee" Annie
    """
    with target.agent_store() as store:
        receipt = store.alias(entity=entity, alias=alias_, allow_large=allow_large, txn_id=txn_id)
    if target.as_json:
        write_json({"entity": entity, "alias": alias_, "commit_ts": receipt.commit_ts})
    else:
        click.echo(f"{safe(alias_)} means {safe(entity)} from here on")


@click.command()
@click.argument("source", metavar="NAME")
@click.argument("into", metavar="INTO")
@_LARGE
@takes_txn_id
@takes_target
def merge(target: Target, *, source: str, into: str, allow_large: bool, txn_id: str | None) -> None:
    """Merge two entities under the name of the second.

    Example: memoranda fact merge "A. Lee" "Ann Lee"
    """
    with target.agent_store() as store:
        receipt = store.merge_entities(
            source=source, into=into, allow_large=allow_large, txn_id=txn_id
        )
    if target.as_json:
        write_json({"source": source, "into": into, "commit_ts": receipt.commit_ts})
    else:
        click.echo(f"{safe(source)} and {safe(into)} are one entity from here on: {safe(into)}")


@click.command()
@takes_known_at
@takes_limit
@takes_target
def entities(target: Target, *, known_at: str | None, limit: int | None) -> None:
    """List the entities of facts and their aliases.

    Example: memoranda fact entities --limit 20
    """
    from memoranda.cli.render import fact_text

    with target.agent_reader() as store:
        write_each(
            islice(store.entities(known_at=inputs.moment(known_at)), limit),
            as_json=target.as_json,
            text=fact_text.entity,
            if_empty=f"no entities {target.scope_text}",
        )


# Traversal, and entities with similar names.

_RELATION = click.option("--relation", metavar="NAME", help="Follow only this relation.")
_DIRECTION = click.option(
    "--direction",
    type=click.Choice(["out", "in", "both"]),
    default="both",
    show_default=True,
    help="Follow facts from subject to object, back, or both ways.",
)
_HOPS = click.option(
    "--hops", metavar="N", type=int, default=1, show_default=True, help="Most hops."
)


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target_", metavar="TO")
@_RELATION
@_DIRECTION
@click.option(
    "--max-hops", metavar="N", type=int, default=6, show_default=True, help="Longest path."
)
@takes_valid_at
@takes_known_at
@takes_wide
@takes_target
def path(
    target: Target,
    *,
    source: str,
    target_: str,
    valid_at: str | None,
    known_at: str | None,
    **options: Any,
) -> None:
    """Show a shortest path of facts between two entities.

    Only current facts count; --valid-at and --known-at choose another time.

    Example: memoranda fact path Ann Oslo --valid-at 2021
    """
    from memoranda.cli.render import fact_text

    with target.agent_reader() as store:
        facts = store.path(
            source,
            target_,
            valid_at=valid_at,
            known_at=inputs.moment(known_at),
            **options,
        )
    if facts is None:
        raise NotFound(f"no path from {source!r} to {target_!r} along facts that hold")
    write_each(
        facts,
        as_json=target.as_json,
        text=fact_text.fact,
        if_empty=f"{source!r} and {target_!r} are one entity",
    )


@click.command()
@click.argument("entity", metavar="ENTITY")
@_HOPS
@_RELATION
@_DIRECTION
@takes_valid_at
@takes_known_at
@takes_target
def neighbors(
    target: Target, *, entity: str, valid_at: str | None, known_at: str | None, **options: Any
) -> None:
    """List the neighbors of an entity, nearest first.

    Each has the fact that leads to it.

    Example: memoranda fact neighbors Ann --hops 2
    """
    from memoranda.cli.render import fact_text

    with target.agent_reader() as store:
        neighbors = store.neighbors(
            entity,
            valid_at=valid_at,
            known_at=inputs.moment(known_at),
            **options,
        )
    write_each(
        neighbors,
        as_json=target.as_json,
        text=fact_text.neighbor,
        if_empty=f"no current fact has the subject or object {entity!r}",
    )


@click.command()
@click.argument("entities", metavar="ENTITY...", nargs=-1, required=True)
@_HOPS
@_RELATION
@takes_valid_at
@takes_known_at
@takes_wide
@takes_target
def subgraph(
    target: Target,
    *,
    entities: tuple[str, ...],
    valid_at: str | None,
    known_at: str | None,
    **options: Any,
) -> None:
    """List the current facts among entities and their neighbors.

    Example: memoranda fact subgraph Ann Bo --hops 0
    """
    from memoranda.cli.render import fact_text

    with target.agent_reader() as store:
        graph = store.subgraph(
            entities,
            valid_at=valid_at,
            known_at=inputs.moment(known_at),
            **options,
        )
    write_each(
        graph.facts,
        as_json=target.as_json,
        text=fact_text.fact,
        if_empty="no current facts among them",
    )


@click.command(name="suggest-merges")
@click.option(
    "--score",
    type=float,
    default=0.85,
    show_default=True,
    help="Least similarity of two names, 0 to 1.",
)
@click.option("--limit", type=int, default=50, show_default=True, help="Most suggestions.")
@takes_target
def suggest_merges(target: Target, **options: Any) -> None:
    """List pairs of entities with similar names.

    They may be one: `fact merge` merges two.

    Example: memoranda fact suggest-merges --score 0.9
    """
    from memoranda.cli.render import fact_text

    with target.agent_reader() as store:
        suggestions = store.suggest_merges(**options)
    write_each(
        suggestions,
        as_json=target.as_json,
        text=fact_text.suggestion,
        if_empty=f"no entities with similar names {target.scope_text}",
    )


# Facts.


@click.group(cls=ArgumentGroup)
def fact() -> None:
    """Assert, end and query bitemporal facts.

    A fact is a subject, a relation and an object, such as Ann works_at Acme. Times are RFC 3339; a
    day, a month or a year stands for its first instant in UTC.
    """


@fact.command(name="assert")
@takes_parts("subject", "relation", "object")
@takes_literal
@click.option("--valid-from", metavar="TIME", help="Start of the valid time; default: now.")
@click.option("--valid-to", metavar="TIME", help="End of the valid time.")
@click.option("--confidence", metavar="X", type=float, default=1.0, help="Confidence, 0 to 1.")
@takes_evidence
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
    **options: Any,
) -> None:
    """Assert a fact, and show how it changes the timeline.

    Example: memoranda fact assert Ann works_at Acme --valid-from 2020-03
    """
    with target.agent_store(create=True) as store:
        options["source"] = _full_source(store, options["source"])
        resolution = store.assert_fact(
            subject=subject,
            relation=relation,
            object=inputs.fact_object(object_, literal),
            valid_from=valid_from,
            valid_to=valid_to,
            spans=[inputs.span(text) for text in spans] or None,
            **options,
        )
        _report(target, store, resolution, "nothing changed", subject, relation, object_)


@fact.command()
@takes_parts("subject", "relation", "object?")
@takes_literal
@click.option("--at", metavar="TIME", help="When it ended; default: now.")
@click.option("--allow-unknown", is_flag=True, help="Accept a subject that no fact mentions yet.")
@takes_evidence
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
    **options: Any,
) -> None:
    """End a fact.

    Without OBJECT, end every current fact of the subject and relation.

    Example: memoranda fact end Ann works_at Acme --at 2023-06-30
    """
    with target.agent_store() as store:
        options["source"] = _full_source(store, options["source"])
        resolution = store.end_fact(
            subject=subject,
            relation=relation,
            object=inputs.fact_object(object_, literal),
            at=at,
            spans=[inputs.span(text) for text in spans] or None,
            **options,
        )
        no_effect = "recorded, and nothing changed: no such fact held then"
        _report(target, store, resolution, no_effect, subject, relation, object_)


@fact.command()
@takes_parts("subject?", "relation?", "object?")
@takes_literal
@click.option(
    "--assertion",
    metavar="ID",
    shell_complete=complete_id("fact"),
    help="Retract this assertion only.",
)
@click.option("--reason", metavar="TEXT", help="Reason, stored in the log.")
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
    **options: Any,
) -> None:
    """Retract assertions made in error.

    Without OBJECT, retract all assertions of the subject and relation. The facts they had replaced
    are current again. The log keeps the assertions.

    Example: memoranda fact retract Ann works_at Acme --reason "another Ann"
    """
    with target.agent_store() as store:
        resolution = store.retract_fact(
            assertion_id=assertion and full_id(store, assertion, "fact"),
            subject=subject,
            relation=relation,
            object=inputs.fact_object(object_, literal),
            **options,
        )
        no_effect = "retracted; other assertions support the fact"
        if resolution.outcome == "unchanged":
            no_effect = "retracted before"
        _report(target, store, resolution, no_effect, subject, relation, object_)


@fact.command(name="list")
@click.option("--subject", metavar="NAME", help="Filter by subject.")
@click.option("--relation", metavar="NAME", help="Filter by relation.")
@click.option("--object", "object_", metavar="NAME", help="Filter by object.")
@takes_literal
@takes_valid_at
@takes_known_at
@click.option("--include-closed", is_flag=True, help="Include past and future facts.")
@click.option("--all-agents", is_flag=True, help="List the facts of every agent, with its name.")
@takes_limit
@takes_wide
@takes_target
def list_facts(
    target: Target,
    *,
    object_: str | None,
    literal: str | None,
    valid_at: str | None,
    known_at: str | None,
    all_agents: bool,
    limit: int | None,
    **options: Any,
) -> None:
    """List facts by valid time and transaction time.

    Each line begins with the first characters of an assertion's id, which `fact explain` and
    `fact retract --assertion` take.

    Example: memoranda fact list --subject Ann --valid-at 2021
    """
    from memoranda.calls.as_json import to_json
    from memoranda.cli.render import fact_text
    from memoranda.model.scope import ALL_AGENTS

    with target.reader() if all_agents else target.agent_reader() as store:
        facts = store.iter_facts(
            object=inputs.fact_object(object_, literal),
            valid_at=valid_at,
            known_at=inputs.moment(known_at),
            agent_id=ALL_AGENTS if all_agents else None,
            **options,
        )
        scope_text = target.events_text(all_agents=all_agents, all_namespaces=False)
        write_each(
            _with_short_ids(store, islice(facts, limit)),
            as_json=target.as_json,
            json_form=lambda pair: to_json(pair[0]),
            text=lambda pair: fact_text.fact(*pair, with_agent=all_agents),
            if_empty=f"no such facts {scope_text}",
        )


@fact.command()
@takes_parts("subject", "relation")
@takes_known_at
@takes_target
def timeline(target: Target, *, subject: str, relation: str, known_at: str | None) -> None:
    """Draw the timeline of a subject and a relation.

    Example: memoranda fact timeline Ann works_at
    """
    from memoranda.cli.render import fact_text
    from memoranda.cli.render.timeline_chart import draw, glyphs_for

    with target.agent_reader() as store:
        facts = store.timeline(subject=subject, relation=relation, known_at=inputs.moment(known_at))
    if target.as_json:
        for record in facts:
            write_json(record)
        return
    if not facts:
        note(f"no facts about {subject!r} {relation!r} {target.scope_text}")
    rows = [fact_text.bar(record) for record in facts]
    width = shutil.get_terminal_size().columns
    for line in draw(rows, width, glyphs=glyphs_for(sys.stdout.encoding)):
        click.echo(line)


for _command in (
    explain, path, neighbors, subgraph, import_file, export_file, cardinality, alias, merge,
    suggest_merges, entities,
):  # fmt: skip
    fact.add_command(_command)


def _with_short_ids(store: Store, facts: Iterator[Fact]) -> Iterator[tuple[Fact, str]]:
    """Yield each fact with the beginning of the id of its first assertion, a page at a time."""
    while page := list(islice(facts, _PAGE_ROWS)):
        ids = [fact.assertions[0] for fact in page if fact.assertions]
        short_ids = store.short_ids(ids, kind="fact")
        for fact in page:
            yield fact, short_ids.get(fact.assertions[0], "") if fact.assertions else ""


def _full_source(store: Store, source: str | None) -> str | None:
    """Return the complete id of the memory or transcript that a fact rests on."""
    return None if source is None else full_id(store, source, "memory", "transcript")


def _report(
    target: Target, store: Store, record: EdgeResolution, no_effect: str, *names: str | None
) -> None:
    """Print the effect on the timelines, with the names as the user typed them."""
    from memoranda.cli.render import fact_text

    if target.as_json:
        write_json(record)
        return
    edges = [*record.close, *(after for _, after in record.changed), *record.reopened]
    timelines = {(edge.subject_key, edge.relation) for edge in edges}
    if record.open is not None:
        timelines.add((record.open.subject_key, record.open.relation))
    facts = [
        fact
        for subject, relation in sorted(timelines)
        for fact in store.timeline(subject=subject, relation=relation)
    ]
    current = fact_text.CurrentFacts.of(facts, record.assertion_id, names)
    for line in list(fact_text.resolution(record, current)) or [no_effect]:
        click.echo(line)
    if record.assertion_id is not None:
        click.secho(f"assertion {record.assertion_id}  commit {record.commit_ts}", dim=True)
