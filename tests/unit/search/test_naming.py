"""Naming: what in a query could be a name, however the query is written."""

from __future__ import annotations

from unittest import mock

import pytest

from memoranda.graph.entities import normal_name
from memoranda.search.ranking.entity_match import candidate_names


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("tell me about (Alice)?", "alice"),
        ("Alice's life", "alice"),
        ("Alice\u2019s, then", "alice"),
        ("'Alice's'", "alice"),
        ("who writes C++?", "c++"),
        ("who writes C#!", "c#"),
        ("ask @ann.", "@ann"),
        ("see snake_case_", "snake case"),
        ("in New York, now", "new york"),
        ("\u00bfdónde está Zoë?", "zoë"),
    ],
)
def test_signs_around_a_name_do_not_count(query: str, name: str) -> None:
    assert name in candidate_names(query)


@pytest.mark.parametrize(
    "word",
    ["a" + "-" * 4_000 + "a", "a" + "\u0323\u0300" * 2_000 + "a", "''s" * 2_000, "-" * 4_000],
)
def test_no_work_is_done_on_what_is_too_long_for_a_name(word: str) -> None:
    with mock.patch(
        "memoranda.search.ranking.entity_match.normal_name", wraps=normal_name
    ) as compared:
        assert candidate_names(f"does {word} know Alice")[-1] == "alice"
    assert max(len(call.args[0]) for call in compared.call_args_list) <= 512
