"""Resolving an edge against a catalog: what of it memoir's own tests leave open."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoranda import (
    CardinalityPolicy,
    Edge,
    EdgeError,
    EdgeResolution,
    ExistingEdge,
    InvalidInput,
    RelationCardinality,
    Scope,
    StoreBusy,
    StoreClosed,
    TemporalEdgeResolver,
)

SCOPE = Scope("default", "ada")
POLICY = CardinalityPolicy.with_single_valued(["lives in"])


def day(number: int) -> datetime:
    return datetime(2026, 6, number, tzinfo=UTC)


def lives(place: str, since: int, until: int | None = None, who: str = "eve") -> ExistingEdge:
    return ExistingEdge(who, "lives in", place, day(since), day(until) if until else None)


class Catalog:
    """Gives what it was given, and remembers what it was asked; it leaves the choice to others."""

    def __init__(self, *edges: ExistingEdge, error: Exception | None = None) -> None:
        self.edges = edges
        self.error = error
        self.asked: list[tuple[Scope, str, str]] = []

    def current_edges(
        self, scope: Scope, subject_key: str, relation: str
    ) -> Iterator[ExistingEdge]:
        self.asked.append((scope, subject_key, relation))
        yield from self.edges
        if self.error is not None:
            raise self.error


def resolve(catalog: Catalog, edge: Edge) -> EdgeResolution:
    return TemporalEdgeResolver(catalog, POLICY).resolve(SCOPE, edge)


def moves(place: str, since: int, who: str = "eve", relation: str = "lives in") -> Edge:
    return Edge(who, relation, place, 0.5, day(since))


def test_the_catalog_is_asked_by_the_forms_of_the_names() -> None:
    catalog = Catalog()
    resolve(catalog, moves("Rome", 1, who="Eve_Li", relation="LIVES_IN"))
    assert catalog.asked == [(SCOPE, "eve li", "lives in")]


def test_a_multi_valued_relation_is_not_looked_up() -> None:
    catalog = Catalog(error=StoreClosed())
    edge = moves("bob", 1, relation="knows")
    assert resolve(catalog, edge) == EdgeResolution(open=edge)
    assert catalog.asked == []


def test_only_what_is_current_and_of_this_subject_and_relation_is_ended() -> None:
    current = lives("Rome", 3)
    other = ExistingEdge("eve", "works at", "Acme", day(1))
    catalog = Catalog(lives("Oslo", 1, 3), current, lives("Bonn", 1, who="bob"), other)
    assert resolve(catalog, moves("Kyiv", 4)).close == (current,)


def test_all_current_edges_that_contradict_are_ended() -> None:
    edges = (lives("Rome", 1), lives("Oslo", 2))
    assert resolve(Catalog(*edges), moves("Kyiv", 4)).close == edges


def test_what_is_told_again_is_known_as_it_was_told_first() -> None:
    existing = ExistingEdge("Eve", "Lives In", "ROME", day(1))
    resolution = resolve(Catalog(existing), moves("rome", 5))
    assert resolution == EdgeResolution(open=Edge("Eve", "Lives In", "ROME", 0.5, day(1)))


def test_of_several_that_say_the_same_the_first_is_told_again() -> None:
    edges = (lives("Rome", 3), lives("Rome", 1), lives("Rome", 2))
    resolution = resolve(Catalog(*edges), moves("Rome", 5))
    assert resolution.open == moves("Rome", 1)
    assert resolution.close == ()


def test_what_became_true_earlier_is_no_restatement() -> None:
    edge = moves("Rome", 1)
    assert resolve(Catalog(lives("Rome", 2)), edge) == EdgeResolution(open=edge)


def test_instants_are_compared_not_their_offsets() -> None:
    east = timezone(timedelta(hours=9))
    existing = ExistingEdge("eve", "lives in", "Rome", datetime(2026, 6, 2, 8, tzinfo=east))
    again = resolve(Catalog(existing), moves("Rome", 2)).open
    assert again == Edge("eve", "lives in", "Rome", 0.5, datetime(2026, 6, 1, 23, tzinfo=UTC))
    assert resolve(Catalog(existing), moves("Rome", 1)).open == moves("Rome", 1)


@pytest.mark.parametrize(
    ("cause", "retryable"),
    [(StoreClosed(), False), (StoreBusy(), True), (TimeoutError("no answer"), False)],
)
def test_a_catalog_that_cannot_be_read_is_an_edge_error(
    cause: Exception, *, retryable: bool
) -> None:
    with pytest.raises(EdgeError, match=str(cause).partition(".")[0]) as raised:
        resolve(Catalog(lives("Rome", 1), error=cause), moves("Oslo", 2))
    assert raised.value.__cause__ is cause
    assert raised.value.retryable is retryable


def test_an_edge_error_of_the_catalog_stays_what_it_is() -> None:
    own = EdgeError("no graph here")
    with pytest.raises(EdgeError) as raised:
        resolve(Catalog(error=own), moves("Oslo", 2))
    assert raised.value is own


def test_a_mistake_in_a_catalog_is_not_called_a_failure_to_read() -> None:
    with pytest.raises(ZeroDivisionError):
        resolve(Catalog(error=ZeroDivisionError()), moves("Oslo", 2))


def test_a_time_without_an_offset_is_refused() -> None:
    naive = datetime(2026, 6, 1)  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="valid_from"):
        Edge("eve", "lives in", "Rome", 1.0, naive)
    with pytest.raises(InvalidInput, match="valid_from"):
        ExistingEdge("eve", "lives in", "Rome", naive)
    with pytest.raises(InvalidInput, match="valid_to"):
        ExistingEdge("eve", "lives in", "Rome", day(1), naive)


def test_a_policy_takes_a_list_of_names() -> None:
    with pytest.raises(InvalidInput, match="one text"):
        CardinalityPolicy.with_single_valued("lives in")
    with pytest.raises(InvalidInput, match="only spaces and underscores"):
        CardinalityPolicy.with_single_valued(["lives in", " _"])


def test_a_policy_compares_forms_however_it_was_made() -> None:
    for policy in (POLICY, CardinalityPolicy(frozenset({"LIVES_IN"}))):
        assert policy == POLICY
        assert policy.cardinality(" Lives  in") is RelationCardinality.SINGLE_VALUED
        assert policy.cardinality("lives") is RelationCardinality.MULTI_VALUED
