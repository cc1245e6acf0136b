"""Reads of a transaction: they see its own changes, and conflict with those of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Literal, Store, TransactionConflict
from tests.contract.opener import Opener

Change = Callable[[Any, dict[str, str]], object]
WORKS: dict[str, Any] = {"subject": "Ann", "relation": "works at"}


@pytest.fixture
def names(agent: Store) -> dict[str, str]:
    """A chain: c reflects on b, which reflects on a."""
    agent.assert_fact(**WORKS, object="Acme", valid_from="2020")
    a = agent.remember("a", title="a").id
    b = agent.reflect("b", on=[a]).id
    c = agent.reflect("c", on=[b]).id
    agent.write(key="k/1", value={"n": 1})
    return {"a": a, "b": b, "c": c, "other": agent.remember("other").id}


def test_facts_are_those_the_store_has_after_the_commit(agent: Store) -> None:
    agent.assert_fact(**WORKS, object="Acme", valid_from="2020")
    with agent.begin_transaction() as tx:
        tx.assert_fact(**WORKS, object="Globex", valid_from="2021", valid_to="2022")
        tx.assert_fact(**WORKS, object="Acme", valid_from="2021")
        tx.assert_fact(**WORKS, object=Literal(7), valid_from="2021")
        tx.end_fact(**WORKS, object=Literal(7), at="2024")
        staged = {year: tx.facts(**WORKS, valid_at=str(year)) for year in range(2019, 2026)}
        staged[0] = tx.facts(**WORKS)
    for year, facts in staged.items():
        when: dict[str, Any] = {"valid_at": str(year)} if year else {}
        committed = agent.facts(**WORKS, **when)
        assert [(fact.object, fact.valid_from, fact.valid_to) for fact in facts] == [
            (fact.object, fact.valid_from, fact.valid_to) for fact in committed
        ]
    assert [fact.object for fact in staged[2021]] == ["Acme", "Globex", Literal(7)]


def test_dependents_are_those_the_store_has_after_the_commit(
    agent: Store, names: dict[str, str]
) -> None:
    with agent.begin_transaction() as tx:
        d = tx.reflect("d", on=[names["a"], names["c"]])
        tx.unlink(source=names["c"], target=names["b"], relation="reflects_on")
        staged = {depth: tx.dependents(names["a"], depth=depth) for depth in (0, 1, 2, None)}
        assert tx.dependents(d) == []
        assert tx.dependents("nothing") == []
    for depth, records in staged.items():
        assert records == agent.dependents(names["a"], depth=depth)
    assert {record.id for record in staged[1]} == {names["b"], d}


def test_dependents_that_the_viewer_may_not_see_stay_hidden(owner: Store, other: Store) -> None:
    a = owner.remember("a").id
    owner.reflect("secret", on=[a], visibility="private")
    with other.begin_transaction() as tx:
        assert tx.dependents(a, depth=None) == other.dependents(a, depth=None) == []
    with owner.begin_transaction() as tx:
        assert len(tx.dependents(a, depth=None)) == 1


READS: dict[str, tuple[Change, Change, Change]] = {
    "facts": (
        lambda tx, n: tx.facts(**WORKS),
        lambda s, n: s.assert_fact(**WORKS, object="Globex"),
        lambda s, n: s.assert_fact(subject="Bob", relation="works at", object="Globex"),
    ),
    "facts that an end closes": (
        lambda tx, n: tx.facts(**WORKS),
        lambda s, n: s.end_fact(**WORKS),
        lambda s, n: s.assert_fact(subject="Ann", relation="knows", object="Bob"),
    ),
    "dependents": (
        lambda tx, n: tx.dependents(n["a"]),
        lambda s, n: s.reflect("x", on=[n["a"]]),
        lambda s, n: s.reflect("x", on=[n["other"]]),
    ),
    "dependents, far away": (
        lambda tx, n: tx.dependents(n["a"], depth=None),
        lambda s, n: s.reflect("x", on=[n["c"]]),
        lambda s, n: s.reflect("x", on=[n["other"]]),
    ),
    "dependents, unlinked": (
        lambda tx, n: tx.dependents(n["a"], depth=2),
        lambda s, n: s.unlink(source=n["c"], target=n["b"], relation="reflects_on"),
        lambda s, n: s.update_memory(n["c"], priority=9),
    ),
    "links": (
        lambda tx, n: tx.links(n["a"]),
        lambda s, n: s.link(source=n["other"], target=n["a"], relation="related_to"),
        lambda s, n: s.link(source=n["other"], target=n["c"], relation="related_to"),
    ),
    "a memory by id": (
        lambda tx, n: tx.get_memory(n["a"]),
        lambda s, n: s.update_memory(n["a"], priority=9),
        lambda s, n: s.update_memory(n["b"], priority=9),
    ),
    "a memory by title": (
        lambda tx, n: tx.get_memory(title="a"),
        lambda s, n: s.remember("new", title="a"),
        lambda s, n: s.remember("new", title="b"),
    ),
    "a title that nothing has": (
        lambda tx, n: tx.get_memory(title="z"),
        lambda s, n: s.remember("new", title="z"),
        lambda s, n: s.remember("new", title="y"),
    ),
    "a prefix": (
        lambda tx, n: list(tx.scan_prefix(prefix="k/")),
        lambda s, n: s.write(key="k/2", value={}),
        lambda s, n: s.write(key="l", value={}),
    ),
    "keys": (
        lambda tx, n: list(tx.list_keys(prefix="k/")),
        lambda s, n: s.delete(key="k/1"),
        lambda s, n: s.write(key="l", value={}),
    ),
}
"""A read of a transaction, a change by others that it must notice, and one that it must not."""


@pytest.mark.parametrize("name", READS)
def test_a_read_conflicts_with_what_changes_its_answer_alone(
    agent: Store, names: dict[str, str], name: str
) -> None:
    read, changes, elsewhere = READS[name]
    tx = agent.begin_transaction()
    before = read(tx, names)
    elsewhere(agent, names)
    assert read(tx, names) == before  # as of its beginning
    tx.write(key="out", value={})
    tx.commit()
    tx = agent.begin_transaction()
    read(tx, names)
    changes(agent, names)
    tx.write(key="out", value={"late": True})
    with pytest.raises(TransactionConflict):
        tx.commit()
    record = agent.get_state(key="out")
    assert record is not None
    assert record.value == {}


def test_two_that_read_and_write_a_timeline_do_not_both_win(reopen: Opener) -> None:
    """Each would assert only because nothing is known yet: write skew is refused."""
    store = reopen().bind(agent_id="a")
    first, second = store.begin_transaction(), store.begin_transaction()
    for tx, employer in ((first, "Acme"), (second, "Globex")):
        assert tx.facts(**WORKS) == []
        tx.assert_fact(**WORKS, object=employer)
    first.commit()
    with pytest.raises(TransactionConflict):
        second.commit()
    assert [fact.object for fact in store.facts(**WORKS)] == ["Acme"]
