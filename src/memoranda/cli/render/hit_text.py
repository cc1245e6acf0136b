"""What a search found, as the lines a person reads."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import click

from memoranda.cli.bars import glyphs_for
from memoranda.cli.output import fit
from memoranda.cli.text import safe
from memoranda.model.lines import joined_lines, one_line
from memoranda.search.hits import ADDED, MULTIPLIED
from memoranda.search.shelves import PASSAGE
from memoranda.search.words import tokens

if TYPE_CHECKING:
    from memoranda.search.hits import Hit

_BAR = 10
_SHOWN = 0.0005
"""What changes a score by less is not shown."""
_WORD = re.compile(r"\w+")
_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_found = partial(click.style, fg="green", bold=True)
_warned = partial(click.style, fg="yellow")


def hit(found: Hit, rank: int, best: float, query: str, *, parts: bool) -> str:
    """Return a hit as a block: its rank, how good it is beside the best, and what it says."""
    kind = found.kind if found.memory is None else found.memory.kind
    date = "" if found.time is None else str(found.time)[:10]
    filled = max(round(_BAR * found.score / best), 1) if best else 1
    bar = (glyphs_for(sys.stdout.encoding).block * filled).ljust(_BAR)
    heading = "  ".join(
        (
            _bold(f"{rank:>3}"),
            click.style(bar, fg="cyan"),
            f"{found.score:.3f}",
            _dim(date),
            kind,
            _dim(safe(found.id)),
        )
    )
    return "\n".join((heading, *_said(found, query), *(_parts(found) if parts else ())))


def _said(found: Hit, query: str) -> Iterator[str]:
    """Yield what a hit says, and what is to be known of that."""
    memory, fact = found.memory, found.fact
    title = f"{memory.title}: " if memory is not None and memory.title else ""
    said = joined_lines(found.text) if found.kind == PASSAGE else one_line(title + found.text)
    text = fit(safe(said), beside=" " * 5)
    yield f"     {highlighted(text, query)}"
    if memory is not None and memory.superseded_by is not None and found.parts["superseded"] < 1:
        yield f"     {_warned(f'superseded by {memory.superseded_by}')}"
    if fact is not None:
        end = "" if fact.valid_to is None else f" to {fact.valid_to.date().isoformat()}"
        yield f"     {_dim(f'from {fact.valid_from.date().isoformat()}{end}')}"
    if found.duplicates:
        yield f"     {_dim('the same: ' + safe(', '.join(found.duplicates)))}"


def _parts(found: Hit) -> Iterator[str]:
    """Yield how a score came about."""
    summed = " + ".join(f"{name} {found.parts[name]:.3f}" for name in ADDED if found.parts[name])
    factors = "".join(
        f" * {name} {factor:.3f}"
        for name in MULTIPLIED
        if abs((factor := found.parts[name]) - 1) >= _SHOWN
    )
    yield f"     {_dim(f'({summed}){factors}')}"


def highlighted(text: str, query: str) -> str:
    """Return a text with those of its words marked that a query has, in whatever form."""
    wanted = _wanted(query)

    def marked(word: re.Match[str]) -> str:
        return _found(word[0]) if wanted.intersection(tokens(word[0])) else word[0]

    return _WORD.sub(marked, text)


@lru_cache(maxsize=1)
def _wanted(query: str) -> frozenset[str]:
    """Return the words of a query, which are the same for each of its hits."""
    return frozenset(tokens(query))
