"""What one of the clients does, again and again, while its server is killed: a lane.

Each deed has a name, which is in what it writes: so the log tells which deeds are in it, and how
often. A lane writes for an agent of its own, and with others for agent `all`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

from memoranda import (
    CommitUnknown,
    IdempotencyMismatch,
    MemorandaError,
    Store,
    Transaction,
    Unavailable,
)
from tests.crash.server.journal import Journal

COUNTERS = 4
"""Keys of agent `all` that every lane raises by one, again and again."""
PAUSE_SECONDS = 0.05
"""Before a lane goes on whose server could not be reached: others need the machine to start it."""
OWN = "own"
"""A key that nobody but its lane writes."""
Stop = Callable[[], bool]


class Lane:
    """A client of `memoranda.v1`: one of several threads or tasks that share a connection."""

    def __init__(self, store: Store, name: str, journal: Journal, seed: str) -> None:
        self._store = store.bind(agent_id=name)
        self._name = name
        self._journal = journal
        self._random = Random(f"{seed}/{name}")
        self._kinds: dict[str, Callable[[str, str | None], int]] = {
            "write": self.write,
            "pair": self.write_pair,
            "count": self.count,
            "remember": self.remember,
            "fact": self.believe,
        }
        self._last: set[str] = set()
        """The deeds of which one has written the lane's own key last."""
        self._open: set[str] = set()
        """Those of unknown outcome that have written it, or not."""

    def run(self, stopped: Stop) -> None:
        """Do one thing after the other, until it is time to stop."""
        number = 0
        while not stopped():
            self.do(number)
            number += 1
            if self._random.random() < 0.2:
                self.look()

    def do(self, number: int) -> None:
        """Do something; every other time under a `txn_id`, and then until it is committed."""
        kind = self._random.choice(list(self._kinds))
        name = f"{self._name}-{number}"
        self._journal.intend(name, kind)
        if kind == "count" or self._random.random() < 0.5:
            self._do_once(name, kind)
        else:
            self._do_until_committed(name, kind, name)

    def _do_once(self, name: str, kind: str) -> None:
        """Do something without a `txn_id`; every other time, find out what is unknown."""
        try:
            commit_ts = self._kinds[kind](name, None)
        except CommitUnknown as error:
            self._leave_open(name, kind, error.txn_id, error)
            # What has read something else meanwhile would not be the same transaction.
            if kind != "count" and self._random.random() < 0.5:
                self._do_until_committed(name, kind, error.txn_id)
        except MemorandaError as error:
            self._journal.refuse(name, error)
            time.sleep(PAUSE_SECONDS)
        else:
            self._acknowledge(name, kind, commit_ts)

    def _do_until_committed(self, name: str, kind: str, txn_id: str) -> None:
        """Do something under a `txn_id` until it is committed; now and then, once more."""
        commits = 0
        while not commits or self._random.random() < 0.1:
            try:
                commit_ts = self._kinds[kind](name, txn_id)
            except (CommitUnknown, Unavailable) as error:
                self._leave_open(name, kind, txn_id, error)
                time.sleep(PAUSE_SECONDS)
            except IdempotencyMismatch as error:
                # Ids that the caller did not name are derived otherwise: this is no retry, and the
                # error tells where the first one is.
                assert txn_id != name, "a deed under its own name is a retry"
                self._acknowledge(name, kind, _commit_of(error))
                return
            else:
                commits += 1
                self._acknowledge(name, kind, commit_ts)

    def _acknowledge(self, name: str, kind: str, commit_ts: int) -> None:
        self._journal.acknowledge(name, commit_ts)
        if kind in ("write", "pair"):
            self._open.discard(name)
            self._last = {name}

    def _leave_open(self, name: str, kind: str, txn_id: str, error: MemorandaError) -> None:
        self._journal.leave_open(name, txn_id, error)
        if kind in ("write", "pair"):
            self._open.add(name)

    def look(self) -> None:
        """Read what was acknowledged."""
        try:
            record = self._store.get_state(key=OWN)
        except Unavailable:
            return
        own = None if record is None else record.value["by"]
        possible = self._last | self._open
        assert own in possible or not self._last, f"{own} is there instead of {self._last}"

    # What is done. Each returns its commit.

    def write(self, name: str, txn_id: str | None) -> int:
        return self._store.write(key=OWN, value={"by": name}, txn_id=txn_id).commit_ts

    def write_pair(self, name: str, txn_id: str | None) -> int:
        """Write for two agents, and delete, in one transaction."""
        transaction = self._store.begin_transaction(txn_id=txn_id)
        transaction.write(key=OWN, value={"by": name})
        transaction.write(agent_id="all", key=f"from/{self._name}", value={"by": name})
        transaction.delete(agent_id="all", key="gone")
        return transaction.commit()

    def count(self, name: str, txn_id: str | None) -> int:
        """Raise a counter that others raise too."""
        key = f"count/{self._random.randrange(COUNTERS)}"

        def step(transaction: Transaction) -> Transaction:
            record = transaction.get_state(agent_id="all", key=key)
            reached = record.value["n"] if record else 0
            transaction.write(agent_id="all", key=key, value={"by": name, "n": reached + 1})
            return transaction

        return _commit_of(self._store.transact(step, txn_id=txn_id, retries=100))

    def remember(self, name: str, txn_id: str | None) -> int:
        return _commit_of(self._store.remember(name, txn_id=txn_id))

    def believe(self, name: str, txn_id: str | None) -> int:
        subject = f"{self._name}/{name[-1]}"
        return _commit_of(
            self._store.assert_fact(subject=subject, relation="did", object=name, txn_id=txn_id)
        )


def _commit_of(answer: Any) -> int:
    commit_ts: int | None = answer.commit_ts
    assert commit_ts is not None, "it was committed"
    return commit_ts
