"""Looking up facts by what was said for them, and entities by their names: many at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from memoranda.graph import beliefs
from memoranda.graph.beliefs import Asking, Belief
from memoranda.graph.derive import NEWEST
from memoranda.graph.records import Fact
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


class When(msgspec.Struct, frozen=True):
    """The two axes of time that facts are asked for on."""

    known: int | None
    """The commit up to which things are known; None: all that is."""
    valid: int
    """The instant at which they hold."""
    closed: bool = False
    """Whether those are meant too that held before."""


class Named(msgspec.Struct, frozen=True):
    """An entity that goes by some name."""

    scope: Scope
    scope_id: int
    key: str
    """The name."""
    node: int


def by_assertions(
    reader: Reader, ids: Collection[str], when: When, viewer: str | None = None
) -> dict[str, Fact]:
    """Return facts by the ids of what was said for them; what does not hold is not there.

    Nor is what is private to another than the viewer, or follows from nothing else.
    """
    if not ids:
        return {}
    rows = reader.rows("graph_assertions_beside_private", ids=_listed(ids), viewer=viewer or "")
    beside = set() if viewer is None else {row[0] for row in rows}
    rest = [each for each in ids if each not in beside]
    found: dict[str, Fact] = {}
    sought = _current(reader, rest) if when.known is None else _past(reader, rest, when.known)
    known = NEWEST if when.known is None else when.known
    for scope, held in chain(sought, _past(reader, beside, known, viewer)):
        for _, fact in shown_at(reader, scope, held, when, viewer):
            found.update(dict.fromkeys(fact.assertions, fact))
    return found


def shown_at(
    reader: Reader,
    scope: Scope,
    held: Iterable[Belief],
    when: When,
    viewer: str | None = None,
) -> list[tuple[Belief, Fact]]:
    """Return those of some beliefs that hold at an instant, or held, as facts, each object once."""
    shown = beliefs.backed(reader, [each for each in held if _fits(each, when)])
    if not when.closed:
        shown = beliefs.once_each(shown)
    return list(zip(shown, beliefs.facts_of(reader, scope, shown, viewer), strict=True))


def named(
    reader: Reader,
    names: Collection[str],
    *,
    namespaces: Sequence[str],
    agent_id: str | None,
    known: int | None,
    most: int,
) -> list[Named]:
    """Return the entities that went by these names at a commit, in some namespaces."""
    rows = reader.rows(
        "graph_nodes_named",
        names=_listed(names),
        namespaces=_listed(namespaces),
        agent_id=agent_id,
        known=NEWEST if known is None else known,
        most=most,
    )
    return [Named(Scope(row[0], row[1]), row[2], row[3], row[4]) for row in rows]


def _fits(belief: Belief, when: When) -> bool:
    held = belief.held
    return held.first[0] <= when.valid and (when.closed or when.valid < held.end[0])


def _current(reader: Reader, ids: Collection[str]) -> Iterator[tuple[Scope, list[Belief]]]:
    """Yield the edges that assertions are part of, by whose they are."""
    found: dict[Scope, dict[str, Belief]] = {}
    for row in reader.rows("graph_edges_of_assertions", ids=_listed(ids)):
        found.setdefault(Scope(row[0], row[1]), {})[row[2]] = beliefs.belief_of(row[3:])
    for scope, held in found.items():
        yield scope, list({(each.edge, each.held.first): each for each in held.values()}.values())


def _past(
    reader: Reader, ids: Collection[str], known: int, viewer: str | None = None
) -> Iterator[tuple[Scope, list[Belief]]]:
    """Yield what was believed at a commit of what these assertions are about."""
    subjects: dict[tuple[Scope, int], set[int]] = {}
    for row in reader.rows("graph_subjects_of_assertions", ids=_listed(ids), known=known):
        subjects.setdefault((Scope(row[0], row[1]), row[2]), set()).add(row[3])
    wanted = set(ids)
    for (scope, scope_id), nodes in subjects.items():
        asking = Asking(scope=scope, scope_id=scope_id, known=known)
        asking = beliefs.seen_by(reader, asking, viewer)
        held = beliefs.of_subjects(reader, asking, sorted(nodes))
        yield (
            scope,
            [each for each in held if any(said.assertion_id in wanted for said in each.said)],
        )


def _listed(values: Collection[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
