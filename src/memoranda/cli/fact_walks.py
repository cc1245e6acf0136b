"""Commands that walk from fact to fact, and find names that may mean the same."""

from __future__ import annotations

from typing import Any

import click

from memoranda.cli import fact_inputs
from memoranda.cli.fact_options import takes_known_at, takes_valid_at
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_each
from memoranda.errors import NotFound

_ALONG = click.option("--relation", metavar="NAME", help="Only along this relation.")
_DIRECTION = click.option(
    "--direction",
    type=click.Choice(["out", "in", "both"]),
    default="both",
    show_default=True,
    help="From subjects to objects, back, or both ways.",
)
_HOPS = click.option(
    "--hops", metavar="N", type=int, default=1, show_default=True, help="How far to go."
)


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target_", metavar="TO")
@_ALONG
@_DIRECTION
@click.option(
    "--max-hops", metavar="N", type=int, default=6, show_default=True, help="The longest way."
)
@takes_valid_at
@takes_known_at
@takes_target
def path(
    target: Target,
    *,
    source: str,
    target_: str,
    valid_at: str | None,
    known_at: str | None,
    **walked: Any,
) -> None:
    """Show a shortest way from one entity to another through facts that hold.

    Example: memoranda fact path Ann Oslo --valid-at 2021
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        found = store.path(
            source,
            target_,
            valid_at=fact_inputs.instant(valid_at),
            known_at=fact_inputs.moment(known_at),
            **walked,
        )
    if found is None:
        raise NotFound(f"there is no way from {source!r} to {target_!r} through facts that hold")
    write_each(
        found,
        as_json=target.as_json,
        shape=fact_shapes.fact,
        lines=fact_lines.fact,
        nothing=f"{source!r} and {target_!r} are one",
    )


@click.command()
@click.argument("entity", metavar="ENTITY")
@_HOPS
@_ALONG
@_DIRECTION
@takes_valid_at
@takes_known_at
@takes_target
def neighbors(
    target: Target, *, entity: str, valid_at: str | None, known_at: str | None, **way: Any
) -> None:
    """List what is near an entity, the nearest first, and by which fact.

    Example: memoranda fact neighbors Ann --hops 2
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        found = store.neighbors(
            entity,
            valid_at=fact_inputs.instant(valid_at),
            known_at=fact_inputs.moment(known_at),
            **way,
        )
    write_each(
        found,
        as_json=target.as_json,
        shape=fact_shapes.neighbor,
        lines=fact_lines.neighbor,
        nothing=f"no fact that holds leads to or from {entity!r}",
    )


@click.command()
@click.argument("entities", metavar="ENTITY...", nargs=-1, required=True)
@_HOPS
@_ALONG
@takes_valid_at
@takes_known_at
@takes_target
def subgraph(
    target: Target,
    *,
    entities: tuple[str, ...],
    valid_at: str | None,
    known_at: str | None,
    **way: Any,
) -> None:
    """List every fact that holds among some entities and what is near them.

    Example: memoranda fact subgraph Ann Bo --hops 0
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        found = store.subgraph(
            entities,
            valid_at=fact_inputs.instant(valid_at),
            known_at=fact_inputs.moment(known_at),
            **way,
        )
    write_each(
        found.facts,
        as_json=target.as_json,
        shape=fact_shapes.fact,
        lines=fact_lines.fact,
        nothing="no fact holds among them",
    )


@click.command(name="suggest-merges")
@click.option(
    "--score", type=float, default=0.85, show_default=True, help="How alike names must be, to 1."
)
@click.option("--limit", type=int, default=50, show_default=True, help="How many at most.")
@takes_target
def suggest_merges(target: Target, **wanted: Any) -> None:
    """List entities whose names are alike; whether they are one, `merge` says.

    Example: memoranda fact suggest-merges --score 0.9
    """
    from memoranda.cli import fact_lines, fact_shapes

    with target.agents_store() as store:
        found = store.suggest_merges(**wanted)
    write_each(
        found,
        as_json=target.as_json,
        shape=fact_shapes.suggestion,
        lines=fact_lines.suggestion,
        nothing=f"no names of entities are alike {target.whose}",
    )
