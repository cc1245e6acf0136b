"""Facts: saying what holds, ending it, taking it back, and asking on both axes of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

from recollect import InvalidInput, Store
from recollect.graph import beliefs
from tests.contract.opener import Opener


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


# One moment


@contextmanager
def interrupted(step: str, work: Callable[[], object]) -> Iterator[list[str]]:
    """Do something else in the middle of a read, before one of its steps."""
    done, calls = getattr(beliefs, step), list[str]()

    def late(*args: Any) -> Any:
        calls.append(step)
        if len(calls) == 1:
            work()
        return done(*args)

    with mock.patch.object(beliefs, step, late):
        yield calls


@pytest.mark.parametrize("known_at", [None, 1])
def test_a_long_list_of_facts_is_of_one_moment(reopen: Opener, known_at: int | None) -> None:
    """Somebody ends every fact while a list of them, longer than a page, is being read."""
    agent, other = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    with agent.begin_transaction() as tx:
        for number in range(600):
            tx.assert_fact(subject=f"s{number}", relation="is", object="here", valid_from=day(1))

    def end_all() -> None:
        with other.begin_transaction() as tx:
            for number in range(600):
                tx.end_fact(subject=f"s{number}", relation="is", at=day(2))

    with interrupted("of_subjects", end_all) as calls:
        found = agent.facts(include_closed=True, known_at=known_at)
    assert len(calls) > 1
    assert len(found) == 600
    assert {fact.valid_to for fact in found} == {None}
    assert {fact.valid_to for fact in agent.facts(include_closed=True)} == {day(2)}


def test_what_is_retracted_while_it_is_read_is_read_whole(reopen: Opener) -> None:
    agent, other = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    agent.assert_fact(subject="alice", relation="knows", object="bob", valid_from=day(1))

    def retract() -> None:
        other.retract_fact(subject="alice", relation="knows")

    with interrupted("facts_of", retract):
        (fact,) = agent.timeline(subject="alice", relation="knows")
    assert fact.object == "bob"
    assert len(fact.assertions) == 1
    assert agent.timeline(subject="alice", relation="knows") == []


# Since when, and until when


def test_what_comes_from_a_memory_without_a_time_ends_after_now(agent: Store) -> None:
    undated = agent.remember("no date").id
    dated = agent.remember("dated", event_time=day(1)).id
    about: dict[str, Any] = {"subject": "alice", "relation": "knows", "object": "bob"}
    for source, until in ((undated, day(2)), (None, day(2)), (dated, day(1))):
        with pytest.raises(InvalidInput, match=r"^valid_to: .* is not after "):
            agent.assert_fact(**about, source=source, valid_to=until)
    agent.assert_fact(**about, source=dated, valid_to=day(2))
    (fact,) = agent.facts(include_closed=True)
    assert (fact.valid_from, fact.valid_to) == (day(1), day(2))
