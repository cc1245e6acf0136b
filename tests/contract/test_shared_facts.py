"""Facts with their visibility: rows that say it, and listings that tell it."""

from __future__ import annotations

import pytest

from memoranda import InvalidInput, Store


def test_rows_in_python_name_the_row_of_an_unknown_visibility(owner: Store) -> None:
    text = {"subject": "Ann", "relation": "is"}
    rows = [
        {**text, "object": "well", "visibility": "private"},
        {**text, "object": "ill", "visibility": "secret"},
    ]
    with pytest.raises(InvalidInput, match="row 2, visibility: 'secret' is not 'namespace'"):
        owner.assert_facts(rows)


def test_the_same_row_with_another_visibility_is_said_as_well(owner: Store) -> None:
    row = {"subject": "Ann", "relation": "is", "object": "well"}
    stored_item = {**row, "visibility": "private"}
    assert owner.assert_facts([stored_item], once="file").asserted == 1
    assert owner.assert_facts([stored_item], once="file").unchanged == 1
    assert owner.assert_facts([row], once="file").asserted == 1, "else others were not told"
    assert owner.assert_facts([{**row, "visibility": "namespace"}], once="file").unchanged == 1


def test_to_its_agent_facts_are_private_and_to_another_all_that_it_sees_is_shared(
    owner: Store, other: Store
) -> None:
    assert list(owner.iter_shared_facts()) == []
    text = {"subject": "Ann", "relation": "is"}
    stored_item = {**text, "object": "ill", "visibility": "private"}
    owner.assert_facts([{**text, "object": "well"}, stored_item])
    own = [(str(fact.object), observations) for fact, observations in owner.iter_shared_facts()]
    assert own == [("well", "namespace"), ("ill", "private")]
    result = [
        (str(fact.object), observations)
        for fact, observations in other.iter_shared_facts(agent_id="owner")
    ]
    assert result == [("well", "namespace")]
