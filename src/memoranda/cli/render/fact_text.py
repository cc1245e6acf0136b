"""Facts, entities, explanations and the effects of assertions as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from memoranda.calls.as_json import time_text
from memoranda.cli.output import fit, safe
from memoranda.cli.render.key_text import proof_mark
from memoranda.cli.render.timeline_chart import Bar

if TYPE_CHECKING:
    from memoranda.graph.edge_resolver import EdgeResolution, ExistingEdge
    from memoranda.graph.records import (
        Assertion,
        Ending,
        Entity,
        Explanation,
        Fact,
        MergeSuggestion,
        Neighbor,
    )
    from memoranda.graph.requests import Object

_bold = partial(click.style, bold=True)
_dim = partial(click.style, dim=True)
_COLOURS = {"opened": "green", "reopened": "green", "closed": "yellow", "removed": "red"}


def short_time(time: datetime) -> str:
    """Return a time as a date if it is midnight in UTC, else to the second."""
    text = time_text(time)
    return text[:10] if text.endswith("T00:00:00.000000Z") else f"{text[:19]}Z"


def interval(start: datetime, end: datetime | None) -> str:
    """Return a valid-time interval; None is an open end."""
    if end is None:
        return f"since {short_time(start)}"
    return f"{short_time(start)} until {short_time(end)}"


def statement(subject: str, relation: str, object_: Object) -> str:
    """Return a fact as a sentence; a text that is not an entity's name is quoted."""
    from memoranda.graph.entities import Literal

    is_text = isinstance(object_, Literal) and isinstance(object_.value, str)
    return safe(f"{subject} {relation} " + (f"“{object_}”" if is_text else f"{object_}"))


def believer(record: Fact) -> str:
    """Return whose belief a fact is; of a shared one, who asserted it."""
    if record.agent_id is not None:
        return f"believed by {safe(record.agent_id)}"
    return f"shared, asserted by {safe(', '.join(dict.fromkeys(record.asserted_by)))}"


def fact(record: Fact, short_id: str = "", *, with_agent: bool = False) -> str:
    """Return a fact on one line: its statement, valid time and confidence.

    `short_id` is the beginning of the id of its first assertion, for `explain` and `retract`. A
    shared fact has its authors too, and every fact its agent if `with_agent` is set.
    """
    time = interval(record.valid_from, record.valid_to)
    if with_agent or record.agent_id is None:
        time += f"  {believer(record)}"
    if record.confidence < 1:
        time += f"  confidence {record.confidence:g}"
    mark = proof_mark(record)
    text = statement(record.subject, record.relation, record.object)
    heading = f"{short_id}  " if short_id else ""
    text = fit(text, beside=f"{heading}{time}  {click.unstyle(mark)}")
    line = f"{_bold(text) if record.valid_to is None else text}  {_dim(time)}{mark}"
    return f"{click.style(safe(heading), fg='yellow')}{line}"


def bar(record: Fact) -> Bar:
    """Return a fact as a bar of a chart, with its first day and its number of assertions."""
    count = len(record.assertions)
    times = f", asserted {count}x" if count > 1 else ""
    first_day = time_text(record.valid_from)[:10]
    return Bar(str(record.object), record.valid_from, record.valid_to, f"{first_day}{times}")


def entity(record: Entity) -> str:
    """Return an entity on one line: its name, its aliases, and when it was first known."""
    aliases = f"  also {', '.join(record.aliases)}" if record.aliases else ""
    since = _dim(f"known since {short_time(record.known_from)}")
    return f"{_bold(safe(record.name))}{safe(aliases)}  {since}"


def neighbor(record: Neighbor) -> str:
    """Return a neighbor on one line: its distance, and the fact that leads to it."""
    hops = _dim(f"{record.hop} away  {safe(str(record.via))}")
    return f"{_bold(safe(str(record.node)))}  {hops}"


def suggestion(record: MergeSuggestion) -> str:
    """Return two similar names on one line, and their similarity."""
    return f"{record.score:.2f}  {safe(record.entity)}  {_dim('~')}  {safe(record.other)}"


def explanation(record: Explanation) -> str:
    """Return a fact, its assertions, and its end if it has one."""
    end = () if record.end is None else (_ending(record.end),)
    return "\n".join((fact(record.fact), *map(_assertion, record.assertions), *end))


def _assertion(record: Assertion) -> str:
    text = statement(record.subject, record.relation, record.object)
    since = f"    {text}  {_dim(f'since {short_time(record.valid_from)}')}"
    return "\n".join((_actor("asserted by", record), since, *_evidence(record)))


def _ending(record: Ending) -> str:
    until = f"    {_dim(f'until {short_time(record.at)}')}"
    return "\n".join((_actor("ended by", record), until, *_evidence(record)))


def _actor(action: str, record: Assertion | Ending) -> str:
    commit = f"{record.actor} on {short_time(record.committed_at)}, commit {record.commit_ts}"
    return f"  {action} {safe(commit)}  {_dim(record.id)}"


def _evidence(record: Assertion | Ending) -> Iterator[str]:
    """Yield the source of a statement, and its quotations."""
    if record.source is not None:
        name, *_ = record.source.__struct_fields__
        yield f"    from {name.removesuffix('_id')} {safe(getattr(record.source, name))}"
    for quote in record.quotes:
        yield f"      {_dim(fit(safe(f'“{quote}”'), beside=' ' * 6))}"


class CurrentFacts(NamedTuple):
    """The facts after an assertion, to describe its effect with current names and times."""

    by_key: Mapping[tuple[str, str, str, datetime], Fact]
    """(subject key, relation key, object key, valid_from) -> fact."""
    own: Fact | None
    """The fact that rests on the new assertion."""
    names: Mapping[str, str]
    """Normalised name -> the name as typed or stored."""

    @classmethod
    def of(
        cls, facts: Iterable[Fact], assertion_id: str | None, typed_names: Iterable[str | None]
    ) -> CurrentFacts:
        """Index the facts, and the names in them and in the command."""
        by_key = {_fact_key(record): record for record in facts}
        own = next((fact for fact in by_key.values() if assertion_id in fact.assertions), None)
        names = [name for fact in by_key.values() for name in (fact.subject, fact.relation)]
        by_normal_name = {_key(name): name for name in (*names, *typed_names) if name is not None}
        return cls(by_key, own, by_normal_name)

    def line(self, action: str, edge: ExistingEdge) -> str:
        """Return an action on an edge: as the edge is now, or as it was if it is gone."""
        record = self.fact_of(edge)
        if record is not None:
            text = statement(record.subject, record.relation, record.object)
            return _action(action, text, interval(record.valid_from, record.valid_to))
        keys = (edge.subject_key, edge.relation, edge.object_key)
        text = statement(*(self.names.get(key, key) for key in keys))
        return _action(action, text, interval(edge.valid_from, edge.valid_to))

    def fact_of(self, edge: ExistingEdge) -> Fact | None:
        """Return the current fact of an edge."""
        return self.by_key.get((edge.subject_key, edge.relation, edge.object_key, edge.valid_from))


def _fact_key(record: Fact) -> tuple[str, str, str, datetime]:
    return _key(record.subject), _key(record.relation), _key(record.object), record.valid_from


def _key(name: Object) -> str:
    from memoranda.graph.entities import normal_name

    return normal_name(name) if isinstance(name, str) else str(name)


def resolution(record: EdgeResolution, current: CurrentFacts) -> Iterator[str]:
    """Yield a line for each edge that an assertion opened, closed, changed or reopened."""
    if current.own is not None:
        own = current.own
        text = statement(own.subject, own.relation, own.object)
        is_repeated = record.folded is not None
        times = f", asserted {len(own.assertions)} times" if is_repeated else ""
        action = "confirmed" if is_repeated else "opened"
        yield _action(action, text, interval(own.valid_from, own.valid_to) + times)
    for edge in record.close:
        yield current.line("removed" if current.fact_of(edge) is None else "closed", edge)
    for before, after in record.changed:
        was = _dim(f"  was {interval(before.valid_from, before.valid_to)}")
        yield current.line("changed", after) + was
    for edge in record.reopened:
        yield current.line("reopened", edge)


def _action(action: str, text: str, time: str) -> str:
    return f"{click.style(action, fg=_COLOURS.get(action))} {text}  {_dim(time)}"
