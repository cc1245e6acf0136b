"""What the store answers about facts, as the lines a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from memoranda.cli.bars import Bar
from memoranda.cli.output import fit
from memoranda.cli.shapes import time_text
from memoranda.cli.text import safe

if TYPE_CHECKING:
    from memoranda.graph.inputs import Object
    from memoranda.graph.records import (
        Assertion,
        Ending,
        Entity,
        Explanation,
        Fact,
        MergeSuggestion,
        Neighbor,
    )
    from memoranda.graph.resolution import EdgeResolution, ExistingEdge

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_COLOURS = {"opened": "green", "reopened": "green", "closed": "yellow", "removed": "red"}


def when(time: datetime) -> str:
    """Return a time as short as people say it: the day where one begins, else to the second."""
    text = time_text(time)
    return text[:10] if text.endswith("T00:00:00.000000Z") else f"{text[:19]}Z"


def held(begin: datetime, end: datetime | None) -> str:
    """Return when something held."""
    return f"since {when(begin)}" if end is None else f"{when(begin)} until {when(end)}"


def said(subject: str, relation: str, object_: Object) -> str:
    """Return a fact as a sentence; a text that is no name is quoted."""
    from memoranda.graph.literal import Literal

    quoted = isinstance(object_, Literal) and isinstance(object_.value, str)
    return safe(f"{subject} {relation} " + (f"“{object_}”" if quoted else f"{object_}"))


def fact(found: Fact) -> str:
    """Return a fact on a line: what, since when, and how sure."""
    time = held(found.valid_from, found.valid_to)
    if found.confidence < 1:
        time += f"  confidence {found.confidence:g}"
    sentence = said(found.subject, found.relation, found.object)
    sentence = fit(sentence, beside=f"{time}  ")
    return f"{_bold(sentence) if found.valid_to is None else sentence}  {_dim(time)}"


def bar(found: Fact) -> Bar:
    """Return a fact as a bar: its object, the day it began, and how often it was said."""
    times = f", said {len(found.assertions)}x" if len(found.assertions) > 1 else ""
    return Bar(
        str(found.object),
        found.valid_from,
        found.valid_to,
        f"{time_text(found.valid_from)[:10]}{times}",
    )


def entity(found: Entity) -> str:
    """Return somebody or something on a line, and its other names."""
    names = f"  also {', '.join(found.aliases)}" if found.aliases else ""
    return (
        f"{_bold(safe(found.name))}{safe(names)}  {_dim(f'known since {when(found.known_from)}')}"
    )


def neighbor(found: Neighbor) -> str:
    """Return what is near something, and the fact that leads there."""
    hops = _dim(f"{found.hop} away  {safe(str(found.via))}")
    return f"{_bold(safe(str(found.node)))}  {hops}"


def suggestion(found: MergeSuggestion) -> str:
    """Return two names that are alike, and how much."""
    return f"{found.score:.2f}  {safe(found.entity)}  {_dim('~')}  {safe(found.other)}"


def explanation(found: Explanation) -> str:
    """Return a fact, and under it everything that was said for it, and what ended it."""
    ended = () if found.end is None else (_ending(found.end),)
    told = (_assertion(each) for each in found.assertions)
    return "\n".join((fact(found.fact), *told, *ended))


def _assertion(found: Assertion) -> str:
    words = said(found.subject, found.relation, found.object)
    since = f"    {words}  {_dim(f'since {when(found.valid_from)}')}"
    return "\n".join((_sayer("said by", found), since, *_ground(found)))


def _ending(found: Ending) -> str:
    until = f"    {_dim(f'until {when(found.at)}')}"
    return "\n".join((_sayer("ended by", found), until, *_ground(found)))


def _sayer(deed: str, found: Assertion | Ending) -> str:
    who = f"{found.actor} on {when(found.committed_at)}, commit {found.commit_ts}"
    return f"  {deed} {safe(who)}  {_dim(found.id)}"


def _ground(found: Assertion | Ending) -> Iterator[str]:
    """Yield what something comes from, and its words."""
    if found.source is not None:
        name, *_ = found.source.__struct_fields__
        yield f"    from {name.removesuffix('_id')} {safe(getattr(found.source, name))}"
    for each in found.quotes:
        yield f"      {_dim(fit(safe(f'“{each}”'), beside=' ' * 6))}"


class Spoken(NamedTuple):
    """What there is now of the timelines that something was done to, to tell it by."""

    facts: Mapping[tuple[str, str, str, datetime], Fact]
    """By the keys of subject, relation and object, and when it begins."""
    own: Fact | None
    """What holds because of what was said."""
    spelled: Mapping[str, str]
    """Names by their keys."""

    @classmethod
    def of(
        cls, facts: Iterable[Fact], assertion_id: str | None, typed: Iterable[str | None]
    ) -> Spoken:
        """Return the facts as they can be looked up, and names as they were typed."""
        known = {_keys(each): each for each in facts}
        own = next((each for each in known.values() if assertion_id in each.assertions), None)
        names = [name for each in known.values() for name in (each.subject, each.relation)]
        spelled = {_key(name): name for name in (*names, *typed) if name is not None}
        return cls(known, own, spelled)

    def line(self, deed: str, edge: ExistingEdge) -> str:
        """Return an edge as it is now; one that is gone as it was."""
        found = self.now(edge)
        if found is not None:
            words = said(found.subject, found.relation, found.object)
            return _deed(deed, words, held(found.valid_from, found.valid_to))
        keys = (edge.subject_key, edge.relation, edge.object_key)
        words = said(*(self.spelled.get(key, key) for key in keys))
        return _deed(deed, words, held(edge.valid_from, edge.valid_to))

    def now(self, edge: ExistingEdge) -> Fact | None:
        """Return what an edge is now."""
        return self.facts.get((edge.subject_key, edge.relation, edge.object_key, edge.valid_from))


def _keys(found: Fact) -> tuple[str, str, str, datetime]:
    return _key(found.subject), _key(found.relation), _key(found.object), found.valid_from


def _key(name: Object) -> str:
    from memoranda.graph.names import normal_name

    return normal_name(name) if isinstance(name, str) else str(name)


def resolution(found: EdgeResolution, spoken: Spoken) -> Iterator[str]:
    """Yield what became of a timeline, a line each: what opened, closed, changed."""
    if spoken.own is not None:
        own = spoken.own
        words = said(own.subject, own.relation, own.object)
        again = found.folded is not None
        times = f", said {len(own.assertions)} times" if again else ""
        deed = "confirmed" if again else "opened"
        yield _deed(deed, words, held(own.valid_from, own.valid_to) + times)
    for edge in found.close:
        yield spoken.line("removed" if spoken.now(edge) is None else "closed", edge)
    for before, after in found.changed:
        was = _dim(f"  was {held(before.valid_from, before.valid_to)}")
        yield spoken.line("changed", after) + was
    for edge in found.reopened:
        yield spoken.line("reopened", edge)


def _deed(deed: str, words: str, time: str) -> str:
    return f"{click.style(deed, fg=_COLOURS.get(deed))} {words}  {_dim(time)}"
