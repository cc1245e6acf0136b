"""The guards of links: they read no more rows than there are edges to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from memoranda import LinkCycle, Store, Transaction
from memoranda.testing import memory_store
from tests.work import queries_of_caller

CHAIN = 500
FAN = 10_000
WALKED = ("links_from", "links_to")


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as opened:
        yield opened.bind(agent_id="a")


def rows_read(call: Callable[[], Any], *names: str) -> int:
    """Count the rows that queries of these names give while a call runs."""
    with queries_of_caller() as queries:
        call()
    return sum(rows for query, rows in queries if query in names)


def closing(store: Store, source: str, target: str, relation: str) -> Callable[[], None]:
    def call() -> None:
        with pytest.raises(LinkCycle):
            store.link(source=source, target=target, relation=relation)

    return call


def make_chain(store: Store, relation: str) -> list[str]:
    store.configure(max_reflection_depth=CHAIN)

    def work(transaction: Transaction) -> list[str]:
        ids = [transaction.remember(str(number)) for number in range(CHAIN + 1)]
        for target, source in pairwise(ids):
            transaction.link(source=source, target=target, relation=relation)
        return ids

    return store.transact(work)


@pytest.mark.parametrize("relation", ["reflects_on", "derived_from", "supersedes"])
def test_a_chain(store: Store, relation: str) -> None:
    ids = make_chain(store, relation)
    walked = rows_read(closing(store, ids[0], ids[-1], relation), *WALKED)
    print(f"\nchain of {CHAIN} {relation}: {walked} rows read to find the cycle")  # noqa: T201
    assert walked <= CHAIN
    top = store.get_memory(ids[-1])
    assert top is not None
    assert top.reflection_depth == (CHAIN if relation == "reflects_on" else 0)

    def grow() -> None:
        fresh = store.remember("fresh")
        store.link(source=fresh.id, target=ids[0], relation=relation)

    assert rows_read(grow, *WALKED, "memory_depths") <= 3


@pytest.mark.slow
@pytest.mark.parametrize("outwards", [True, False], ids=["out", "in"])
def test_a_fan(store: Store, outwards: bool) -> None:  # noqa: FBT001
    hub = store.remember("hub").id
    for first in range(0, FAN, FAN // 4):
        with store.begin_transaction() as transaction:
            for number in range(first, first + FAN // 4):
                leaf = transaction.remember(str(number))
                source, target = (hub, leaf) if outwards else (leaf, hub)
                transaction.link(source=source, target=target, relation="derived_from")
    bottom, top = store.remember("bottom").id, store.remember("top").id
    spared = rows_read(
        lambda: store.link(source=hub, target=bottom, relation="derived_from"), *WALKED
    )
    print(f"\nfan of {FAN} edges {outwards=}: {spared} rows read for a link to a leaf")  # noqa: T201
    assert spared == 0
    store.link(source=top, target=hub, relation="derived_from")
    walked = rows_read(closing(store, bottom, top, "derived_from"), *WALKED)
    print(f"fan of {FAN} edges {outwards=}: {walked} rows read to find the cycle")  # noqa: T201
    assert walked <= (FAN if outwards else 0) + 2
    assert len(store.links(hub)) == FAN + 2


def test_a_diamond_is_no_cycle_and_each_memory_is_visited_once(store: Store) -> None:
    layers = [[store.remember(f"{row}.{column}").id for column in range(4)] for row in range(6)]
    for above, below in pairwise(layers):
        with store.begin_transaction() as transaction:
            for source in above:
                for target in below:
                    transaction.link(source=source, target=target, relation="derived_from")
    edges = 5 * 4 * 4
    walked = rows_read(closing(store, layers[-1][0], layers[0][0], "derived_from"), *WALKED)
    assert walked <= edges
