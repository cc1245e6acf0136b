"""Search results as text for a terminal."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import click

from memoranda.cli.output import fit, max_columns, safe
from memoranda.cli.render.fact_text import believer
from memoranda.cli.render.key_text import proof_mark
from memoranda.cli.render.memory_text import WordsOf
from memoranda.cli.render.timeline_chart import glyphs_for
from memoranda.model.memory import join_lines, one_line
from memoranda.search.index.partitions import PASSAGE
from memoranda.search.ranking.filters import fact_sentence
from memoranda.search.ranking.score_parts import SCORE_FACTORS, SCORE_TERMS
from memoranda.search.results import WITHDRAWN
from memoranda.search.text.tokenizer import tokens

if TYPE_CHECKING:
    from memoranda.search.results import Hit

_BAR_COLUMNS = 10
"""Columns of the bar of a score."""
_SHORT_BAR_COLUMNS = 5
"""With it, the heading of an observation fits in 80 columns."""
_WIDE_COLUMNS = 90
"""A terminal with so many columns gets the long bar."""
_MIN_FACTOR_CHANGE = 0.0005
"""A factor closer to 1 than this is not printed: it would read 1.000."""
_INDENT = " " * 5
"""Columns under the rank of a hit."""
_WORD = re.compile(r"\w+")
_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_match_style = partial(click.style, fg="green", bold=True)
_yellow = partial(click.style, fg="yellow")


def hit(
    result: Hit, rank: int, best: float, query: str, *, parts: bool, words_of: WordsOf = str
) -> str:
    """Return a hit as a block: rank, score relative to the best one, text, and score parts."""
    kind = result.kind if result.memory is None else result.memory.kind
    date = "" if result.time is None else str(result.time)[:10]
    record = result.memory or result.fact
    fields = (f"{result.score:.3f}", _dim(date), kind, _dim(safe(result.id)))
    text = "  ".join(fields) + ("" if record is None else proof_mark(record))
    bar = _bar(result.score / best if best else 0)
    heading = f"{_bold(f'{rank:>3}')}  {click.style(bar, fg='cyan')}  {text}"
    return "\n".join((heading, *_text(result, query, words_of), *(_parts(result) if parts else ())))


def _bar(share: float) -> str:
    """Return a bar for a score; all bars of an output have the same scale."""
    width = max_columns()
    columns = _BAR_COLUMNS if width is None or width >= _WIDE_COLUMNS else _SHORT_BAR_COLUMNS
    return (glyphs_for(sys.stdout.encoding).block * max(round(columns * share), 1)).ljust(columns)


def _text(result: Hit, query: str, words_of: WordsOf) -> Iterator[str]:
    """Yield the text of a hit, and its superseding memory, valid time and duplicates."""
    memory, fact = result.memory, result.fact
    title = f"{memory.title}: " if memory is not None and memory.title else ""
    line = join_lines(result.text) if result.kind == PASSAGE else one_line(title + result.text)
    yield f"{_INDENT}{highlight(fit(safe(line), beside=_INDENT), query)}"
    if memory is not None and memory.superseded_by is not None and result.parts["superseded"] < 1:
        successor = safe(words_of(memory.superseded_by))
        yield f"{_INDENT}{_yellow(fit(f'superseded by {successor}', beside=_INDENT))}"
    elif result.kind == PASSAGE and result.parts["superseded"] < 1:
        yield f"{_INDENT}{_yellow(fit(WITHDRAWN, beside=_INDENT))}"
    if fact is not None:
        end = "" if fact.valid_to is None else f" to {fact.valid_to.date().isoformat()}"
        dates = f"from {fact.valid_from.date().isoformat()}{end}"
        yield f"{_INDENT}{_dim(f'{dates}, {believer(fact)}')}"
    for belief in result.conflicting:
        disputed = f"disputed: {belief.agent_id} believes {fact_sentence(belief)}"
        yield f"{_INDENT}{_yellow(fit(safe(disputed), beside=_INDENT))}"
    if result.duplicates:
        yield f"{_INDENT}{_dim('duplicates: ' + safe(', '.join(result.duplicates)))}"


def _parts(result: Hit) -> Iterator[str]:
    """Yield the calculation of a score: the sum of its terms, times its factors."""
    terms = " + ".join(
        f"{name} {result.parts[name]:.3f}" for name in SCORE_TERMS if result.parts[name]
    )
    factors = "".join(
        f" * {name} {factor:.3f}"
        for name in SCORE_FACTORS
        if abs((factor := result.parts[name]) - 1) >= _MIN_FACTOR_CHANGE
    )
    width = max_columns()
    text = f"({terms}){factors}"
    lines = [text] if width is None else textwrap.wrap(text, max(width - len(_INDENT), 20))
    yield from (f"{_INDENT}{_dim(line)}" for line in lines)


def highlight(text: str, query: str) -> str:
    """Return a text in which the words that share a stem with the query are styled."""
    query_tokens = _query_tokens(query)

    def style(word: re.Match[str]) -> str:
        return _match_style(word[0]) if query_tokens.intersection(tokens(word[0])) else word[0]

    return _WORD.sub(style, text)


@lru_cache(maxsize=1)
def _query_tokens(query: str) -> frozenset[str]:
    """Return the stems of a query; all hits of a search share them."""
    return frozenset(tokens(query))
