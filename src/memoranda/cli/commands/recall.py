"""Commands that search: recall, and context for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from memoranda.cli import inputs
from memoranda.cli.options import (
    Target,
    choose_embedder,
    takes_embedder,
    takes_known_at,
    takes_target,
    takes_valid_at,
)
from memoranda.cli.output import takes_wide, write_each
from memoranda.cli.progress import search_notes, spinner

if TYPE_CHECKING:
    from memoranda import Store

Command = Callable[..., None]
_OPTIONS = (
    click.option(
        "--kind",
        "kinds",
        metavar="KIND",
        multiple=True,
        help="Filter by kind: memory, fact, passage, or a kind of memory. Repeatable.",
    ),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Filter by tag. Repeatable."),
    click.option("--metadata", metavar="JSON", help="Filter memories by metadata members."),
    click.option("--of", "owner", metavar="AGENT", help="Filter by owner."),
    click.option(
        "--children/--no-children", default=True, help="Include descendant namespaces (default)."
    ),
    click.option("--all-namespaces", is_flag=True, help="Search every namespace."),
    takes_valid_at,
    takes_known_at,
    click.option("--since", metavar="TIME", help="Only what happened or was said from then on."),
    click.option("--until", metavar="TIME", help="Only what happened or was said before then."),
    click.option("--speaker", metavar="NAME", help="Only what this person or role said."),
    click.option("--min-score", metavar="N", type=float, help="Only results with this score."),
    click.option(
        "--include-superseded/--no-superseded",
        default=None,
        help="Include superseded memories, marked as such.",
    ),
    click.option("--include-expired", is_flag=True, help="Include expired memories."),
    takes_embedder,
)


def takes_query(command: Command) -> Command:
    """Give a command the query and its filters."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return click.argument("query")(command)


@click.command()
@takes_query
@click.option("-k", "k", metavar="N", type=int, default=10, show_default=True, help="Most results.")
@click.option("--parts", is_flag=True, help="Show the parts of each score.")
@takes_wide
@takes_target
def recall(
    target: Target, *, query: str, k: int, parts: bool, embedder: str | None, **options: Any
) -> None:
    """Search memories, facts and transcripts.

    QUERY is a text, `-` to read it from stdin, or `@file`. The best result comes first.
    """
    from memoranda.cli.render import hit_text, memory_text

    text = inputs.text(query)
    with _search_store(target, embedder) as store:
        hits = store.recall(text, k=k, **_filters(options))
        successors = {hit.memory.superseded_by for hit in hits if hit.memory is not None}
        words_of = memory_text.words_in(store)
        words = {name: words_of(name) for name in successors if name is not None}
    best = hits[0].score if hits else 1.0
    ranks = {id(hit): rank for rank, hit in enumerate(hits, 1)}
    write_each(
        hits,
        as_json=target.as_json,
        text=lambda hit: hit_text.hit(
            hit, ranks[id(hit)], best, text, parts=parts, words_of=words.__getitem__
        ),
        if_empty=f"no results in namespace {target.namespace!r}",
    )


@click.command()
@takes_query
@click.option(
    "--budget",
    metavar="N",
    type=int,
    default=2000,
    show_default=True,
    help="Most tokens, each counted as four characters.",
)
@click.option("-k", "k", metavar="N", type=int, default=50, show_default=True, help="Most results.")
@takes_target
def context(
    target: Target, *, query: str, budget: int, k: int, embedder: str | None, **options: Any
) -> None:
    """Search, and format the results for a prompt.

    The text has dates, sources and superseding memories, and never exceeds the budget.
    """
    from memoranda.cli.output import safe, write_json

    with _search_store(target, embedder) as store:
        text = store.recall_context(inputs.text(query), budget=budget, k=k, **_filters(options))
    if target.as_json:
        write_json({"context": text})
    else:
        click.echo("\n".join(safe(line) for line in text.split("\n")))


@contextmanager
def _search_store(target: Target, embedder: str | None) -> Iterator[Store]:
    """Open the store for a search; without an embedder, start no worker and print no warning."""
    if choose_embedder(embedder) is None:
        search_store, notes = target.reader(), search_notes(_ignore)
    else:
        search_store, notes = target.store(embedder=embedder), search_notes()
    with search_store as store, notes, spinner("Searching"):
        yield store


def _ignore(_: str) -> None:
    """Drop a warning that there are no vectors: the user chose none."""


def _filters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options as arguments of the library."""
    from memoranda import ALL_NAMESPACES

    filters = {name: value for name, value in options.items() if value not in (None, (), False)}
    if filters.pop("all_namespaces", False):
        filters["namespace"] = ALL_NAMESPACES
    if "owner" in filters:
        filters["agent_id"] = filters.pop("owner")
    if "metadata" in filters:
        filters["metadata"] = inputs.document(filters["metadata"], "metadata")
    if options["include_superseded"] is False:
        filters["include_superseded"] = False
    filters["children"] = options["children"]
    filters["valid_at"] = options["valid_at"]
    filters["known_at"] = inputs.moment(options["known_at"])
    return filters
