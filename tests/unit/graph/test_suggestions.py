"""Suggesting merges: what is alike is found, all of it, and nothing is bound."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from memoranda import Entity, InvalidInput, MergeSuggestion, Store
from memoranda.graph import merge_suggestions
from memoranda.graph.entities import normal_name
from memoranda.graph.merge_suggestions import suggest_merges
from memoranda.testing import memory_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entity(name: str, *aliases: str) -> Entity:
    return Entity(name, normal_name(name), aliases, NOW, "default", "a")


def alike(*names: str, score: float = 0.85, limit: int = 50) -> list[tuple[str, str]]:
    merges = suggest_merges([entity(name) for name in names], score=score, limit=limit)
    return [(item.entity, item.other) for item in merges]


def by_brute_force(entities: list[Entity], score: float) -> list[MergeSuggestion]:
    """Compare all with all, as rapidfuzz does it."""
    result = []
    for one, other in combinations(entities, 2):
        best = max(
            fuzz.token_sort_ratio(normal_name(mine), normal_name(yours)) / 100
            for mine in (one.name, *one.aliases)
            for yours in (other.name, *other.aliases)
        )
        if best >= score - 1e-9:
            result.append(MergeSuggestion(one.name, other.name, best))
    keys = {item.name: item.key for item in entities}
    return sorted(result, key=lambda item: (-item.score, keys[item.entity], keys[item.other]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Katherine Johnson", "Katharine Johnson"),
        ("Ada Lovelace", "Lovelace Ada"),
        ("Acme Corp", "ACME Corp."),
        ("Müller GmbH", "MÜLLER_GMBH."),
        ("北京大学出版社", "北京大学出板社"),
    ],
)
def test_what_somebody_would_take_for_one_is_found(one: str, other: str) -> None:
    assert alike(one, "somebody else", other) == [(one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ann", "Joanna"), ("order 4711", "order 4712"), ("Room 1 East", "Room 2 East"), ("a", "b")],
)
def test_what_is_part_of_another_or_has_other_numbers_is_not(one: str, other: str) -> None:
    assert alike(one, other) == []


def test_any_name_counts_and_a_pair_comes_once_at_its_best() -> None:
    entities = [
        entity("IBM", "International Business Machines"),
        entity("Big Blue"),
        entity("I.B.M", "Internal Business Machines", "International Busines Machines"),
    ]
    (result,) = suggest_merges(entities, score=0.85, limit=9)
    assert (result.entity, result.other) == ("IBM", "I.B.M")
    assert result.score == pytest.approx(60 / 61)


def test_the_most_alike_come_first_then_by_name_up_to_a_limit() -> None:
    names = ("abcdefghij", "abcdefghix", "abcdefghijk", "zbcdefghij")
    result = alike(*names)
    assert result[0] == ("abcdefghij", "abcdefghijk")
    assert alike(*names, limit=2) == result[:2]
    assert alike(*names, score=1) == []


@pytest.mark.parametrize("score", [0.5, 0.7, 0.85, 0.95, 1.0])
@pytest.mark.parametrize("block", [3, 4096])
def test_none_is_missed(score: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_suggestions, "_BLOCK_LABELS", block)
    chance = random.Random(7)
    syllables = ("an", "na", "ber", "li", "o", "sch", " ", "k", "ßa", "ū")
    names = {"".join(chance.choices(syllables, k=chance.randint(1, 7))).strip() for _ in range(150)}
    keys = {normal_name(name): name for name in sorted(names) if normal_name(name)}
    entities = [entity(name) for name in keys.values()]
    merges = suggest_merges(entities, score=score, limit=10**6)
    expected = by_brute_force(entities, score)
    assert [(item.entity, item.other) for item in merges] == [
        (item.entity, item.other) for item in expected
    ]
    assert [item.score for item in merges] == pytest.approx([item.score for item in expected])


@given(st.lists(st.text("abc d", min_size=1, max_size=12), max_size=12), st.floats(0.5, 1))
def test_none_is_missed_whatever_the_names(names: list[str], score: float) -> None:
    keys = {normal_name(name): name for name in names if normal_name(name)}
    entities = [entity(name) for name in keys.values()]
    merges = suggest_merges(entities, score=score, limit=1000)
    expected = {(item.entity, item.other) for item in by_brute_force(entities, score + 2e-9)}
    assert expected <= {(item.entity, item.other) for item in merges}
    assert all(item.score >= score - 1e-9 for item in merges)


def test_dropping_the_least_alike_on_the_way_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(3)
    names = sorted({"".join(chance.choices("abcd", k=8)) for _ in range(120)})
    whole = alike(*names, score=0.6, limit=10**6)
    monkeypatch.setattr(merge_suggestions, "_EXTRA_PAIRS", 5)
    assert alike(*names, score=0.6, limit=20) == whole[:20]


class TestInAStore:
    @pytest.fixture
    def store(self) -> Store:
        store = memory_store().bind(agent_id="a")
        for name in ("Katherine Johnson", "Katharine Johnson", "Ada", "ada lovelace"):
            store.assert_fact(subject=name, relation="is", object="somebody")
        return store

    def test_it_is_of_one_scope_and_binds_nothing(self, store: Store) -> None:
        (result,) = store.suggest_merges()
        assert (result.entity, result.other) == ("Katherine Johnson", "Katharine Johnson")
        assert 0.85 < result.score < 1
        assert len(list(store.replay())) == 4
        assert store.suggest_merges(agent_id="b") == []
        assert store.suggest_merges(namespace="other") == []

    def test_what_is_merged_is_not_suggested_again(self, store: Store) -> None:
        store.merge_entities(source="Katharine Johnson", into="Katherine Johnson")
        assert store.suggest_merges() == []

    def test_an_alias_makes_entities_alike(self, store: Store) -> None:
        store.alias(entity="Ada", alias="Ada Lovelace Byron")
        merges = store.suggest_merges(score=0.75)
        assert ("Ada", "ada lovelace") in [(item.entity, item.other) for item in merges]

    def test_relations_and_values_are_not_compared(self, store: Store) -> None:
        store.assert_fact(subject="Ada", relation="Katherine Johnsen", object="x")
        assert len(store.suggest_merges()) == 1

    @pytest.mark.parametrize(
        "options",
        [
            {"score": 0},
            {"score": 85},
            {"score": "x"},
            {"score": True},
            {"limit": 0},
            {"limit": 1.5},
        ],
    )
    def test_what_cannot_be_taken_is_named(self, store: Store, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput, match=next(iter(options))):
            store.suggest_merges(**options)
