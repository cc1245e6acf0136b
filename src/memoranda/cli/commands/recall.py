"""Commands that find things again: recall, and context for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.embedders import chosen, takes_embedder
from memoranda.cli.fact_options import takes_known_at, takes_valid_at
from memoranda.cli.options import Target, takes_target
from memoranda.cli.output import write_each
from memoranda.cli.progress import waiting
from memoranda.cli.telling import telling

if TYPE_CHECKING:
    from memoranda import Store

Command = Callable[..., None]
_OPTIONS = (
    click.option(
        "--kind",
        "kinds",
        metavar="KIND",
        multiple=True,
        help="Only memory, fact or passage, or a kind of memories. Repeatable.",
    ),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only with this. Repeatable."),
    click.option("--metadata", metavar="JSON", help="Only memories with these members."),
    click.option("--of", "owner", metavar="AGENT", help="Only of this agent."),
    click.option("--children", is_flag=True, help="Also in the namespaces below."),
    click.option("--all-namespaces", is_flag=True, help="In every namespace."),
    takes_valid_at,
    takes_known_at,
    click.option(
        "--include-superseded/--no-superseded",
        default=None,
        help="Whether what was replaced is shown, marked as such.",
    ),
    click.option("--include-expired", is_flag=True, help="Also what has expired."),
    takes_embedder,
)


def takes_question(command: Command) -> Command:
    """Give a command what says where to look, for what, and as of when."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("query")(command)


@click.command()
@takes_question
@click.option("-k", "k", metavar="N", type=int, default=10, show_default=True, help="How many.")
@click.option("--parts", is_flag=True, help="Show how each score came about.")
@takes_target
def recall(
    target: Target, *, query: str, k: int, parts: bool, embedder: str | None, **asked: Any
) -> None:
    """Find memories, facts and pieces of transcripts.

    QUERY is what to look for, in plain words, `-` to read it from stdin, or `@file`. The best is
    shown first.
    """
    from memoranda.cli import hit_lines, hit_shapes

    text = inputs.text(query)
    with _searching(target, embedder) as store:
        found = store.recall(text, k=k, **_options(asked))
    best = found[0].score if found else 1.0
    ranks = {id(hit): rank for rank, hit in enumerate(found, 1)}
    write_each(
        found,
        as_json=target.as_json,
        shape=hit_shapes.hit,
        lines=lambda hit: hit_lines.hit(hit, ranks[id(hit)], best, text, parts=parts),
        nothing=f"nothing found in namespace {target.namespace!r}",
    )


@click.command()
@takes_question
@click.option(
    "--budget",
    metavar="N",
    type=int,
    default=2000,
    show_default=True,
    help="How much: four characters each, which is about a token.",
)
@click.option("-k", "k", metavar="N", type=int, default=50, show_default=True, help="How many.")
@takes_target
def context(
    target: Target, *, query: str, budget: int, k: int, embedder: str | None, **asked: Any
) -> None:
    """Find things, and write them as text for a prompt.

    It has dates, sources, and what superseded what, and is never longer than the budget.
    """
    from memoranda.cli.output import write_json
    from memoranda.cli.text import safe

    with _searching(target, embedder) as store:
        found = store.recall_context(inputs.text(query), budget=budget, k=k, **_options(asked))
    if target.as_json:
        write_json({"context": found})
    else:
        click.echo("\n".join(safe(line) for line in found.split("\n")))


@contextmanager
def _searching(target: Target, embedder: str | None) -> Iterator[Store]:
    """Open a store to search in; who wants no embedder need not be told that there is none."""
    told = telling(_nobody) if chosen(embedder) is None else telling()
    with target.store(embedder=embedder) as store, told, waiting("Searching"):
        yield store


def _nobody(_: str) -> None:
    """Tell nobody."""


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked in the words of the library; what was not said is left out."""
    from memoranda import ALL_NAMESPACES
    from memoranda.cli import fact_inputs

    options = {name: value for name, value in asked.items() if value not in (None, (), False)}
    if options.pop("all_namespaces", False):
        options["namespace"] = ALL_NAMESPACES
    if "owner" in options:
        options["agent_id"] = options.pop("owner")
    if "metadata" in options:
        options["metadata"] = inputs.document(options["metadata"])
    if asked["include_superseded"] is False:
        options["include_superseded"] = False
    options["valid_at"] = fact_inputs.instant(asked["valid_at"])
    options["known_at"] = inputs.moment(asked["known_at"])
    return options
