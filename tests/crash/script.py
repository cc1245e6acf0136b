"""The scripted workload: a store's life from its creation, in a few dozen commits.

It creates the store; writes, deletes and compares-and-sets for several agents, alone, in one
transaction and at once in several threads; names transactions and repeats them; writes enough for
the write-ahead log to be copied and started over; rebuilds, closes and reopens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from memoranda import Store, Transaction, TransactionConflict, VersionMismatch

Opener = Callable[[], Store]
Acknowledge = Callable[[int], None]

AGENTS = ("ada", "bob", "cleo")
TEAM = "team/eng"


class Script:
    """Runs the workload on stores it opens, and says which commits were acknowledged."""

    def __init__(self, open_store: Opener, acknowledge: Acknowledge) -> None:
        self._open = open_store
        self._acknowledge = acknowledge

    def run(self) -> None:
        with self._open() as store:
            self.small(store)
            self.refused(store)
            self.named(store)
        with self._open() as store:
            self.large(store)
            self.together(store)
            assert store.rebuild().identical
            self.write(store, "ada", "rebuilt", {"yes": True})
        with self._open() as store:
            self.small(store)

    def write(self, store: Store, agent_id: str, key: str, value: dict[str, object]) -> None:
        self._acknowledge(store.write(agent_id=agent_id, key=key, value=value).commit_ts)

    def small(self, store: Store) -> None:
        for number, agent_id in enumerate(AGENTS):
            self.write(store, agent_id, "alone", {"n": number})
        with store.begin_transaction() as transaction:
            for agent_id in AGENTS:
                transaction.write(agent_id=agent_id, key="shared", value={"text": "x" * 300})
                transaction.delete(agent_id=agent_id, key="alone", namespace=TEAM)
        assert transaction.commit_ts is not None
        self._acknowledge(transaction.commit_ts)
        self._acknowledge(store.delete(agent_id="ada", key="alone").commit_ts)
        self._acknowledge(store.delete(agent_id="bob", key="never there").commit_ts)

    def refused(self, store: Store) -> None:
        with pytest.raises(VersionMismatch):
            store.write(agent_id="ada", key="shared", value={}, expect_version=99)
        self._acknowledge(
            store.write(agent_id="ada", key="shared", value={"n": 2}, expect_version=1).commit_ts
        )
        late = store.begin_transaction()
        late.get_state(agent_id="ada", key="shared")
        self.write(store, "ada", "shared", {"n": 3})
        late.write(agent_id="bob", key="late", value={})
        with pytest.raises(TransactionConflict):
            late.commit()

    def named(self, store: Store) -> None:
        for _ in range(2):
            commit_ts = store.write(
                agent_id="bob", key="once", value={"n": 1}, txn_id="once"
            ).commit_ts
            self._acknowledge(commit_ts)

    def large(self, store: Store) -> None:
        for number in range(6):
            self.write(store, AGENTS[number % 3], f"large/{number % 4}", {"text": "y" * 9_000})
        self.write(store, "bob", "huge", {"text": "z" * 120_000})

    def together(self, store: Store) -> None:
        threads = [threading.Thread(target=self.count, args=(store, name)) for name in AGENTS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def count(self, store: Store, agent_id: str) -> None:
        """Raise a counter everybody raises, twice."""

        def step(transaction: Transaction) -> Transaction:
            record = transaction.get_state(agent_id="all", key="count")
            reached = record.value["n"] if record else 0
            transaction.write(agent_id="all", key="count", value={"n": reached + 1})
            transaction.write(agent_id=agent_id, key="count", value={"n": reached + 1})
            return transaction

        for _ in range(2):
            done = store.transact(step, retries=1_000)
            assert done.commit_ts is not None
            self._acknowledge(done.commit_ts)
