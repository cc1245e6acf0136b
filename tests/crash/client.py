"""A client that keeps account of what it was told, and can say whether a store kept to it.

Every transaction is known by its name alone: the name says what it writes, so a log tells whether
a transaction is in it as a whole, in part or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memoranda import AsyncTransaction, CommitUnknown, MemorandaError, Store, Transaction
from memoranda.model.document import Document
from tests.crash.checks import Address, Entry

AGENTS = ("ada", "bob", "cleo")
LARGE = 900_000
"""Three such values do not fit SQLite's cache: pages are written before the commit."""


def deeds_of(name: str, size: int = 600) -> list[tuple[Address, Document | None]]:
    """Return what the transaction of this name does: values that agree, one for an agent that
    nobody else writes for, and a deletion.
    """
    size = LARGE if name.startswith("large") else size
    value = {"by": name, "text": name * (size // len(name))}
    writes: list[tuple[Address, Document | None]] = [
        (("default", agent_id, "pair"), value) for agent_id in AGENTS
    ]
    writes.append((("default", f"agent of {name}", "own"), {"by": name}))
    return [*writes, (("team/eng", AGENTS[0], "gone"), None)]


def stage(transaction: Transaction | AsyncTransaction, name: str, size: int = 600) -> None:
    """Stage what the transaction of this name does."""
    for (namespace, agent_id, key), value in deeds_of(name, size):
        if value is None:
            transaction.delete(namespace=namespace, agent_id=agent_id, key=key)
        else:
            transaction.write(namespace=namespace, agent_id=agent_id, key=key, value=value)


@dataclass
class Client:
    """Commits to one store and remembers the answers."""

    store: Store
    acknowledged: dict[str, int] = field(default_factory=dict)
    refused: dict[str, MemorandaError] = field(default_factory=dict)
    unknown: dict[str, MemorandaError] = field(default_factory=dict)

    def commit(self, name: str, size: int = 600) -> bool:
        """Try to commit the transaction of this name, and say whether it was acknowledged."""
        self.refused.pop(name, None)
        self.unknown.pop(name, None)
        try:
            transaction = self.store.begin_transaction(txn_id=name)
            stage(transaction, name, size)
            self.acknowledged[name] = transaction.commit()
        except CommitUnknown as error:
            self.unknown[error.txn_id] = error
        except MemorandaError as error:
            self.refused[name] = error
        answers = (self.acknowledged, self.refused, self.unknown)
        assert sum(name in answer for answer in answers) == 1, "not answered, or by another's name"
        return name in self.acknowledged

    def check(self, log: Sequence[Entry], size: int = 600) -> None:
        """Check that a log keeps to what this client was told."""
        check_whole(log, size)
        places = {entry.txn_id: entry.commit_ts for entry in log}
        for name, commit_ts in self.acknowledged.items():
            assert places.get(name) == commit_ts, f"{name} was acknowledged as {commit_ts}"
        appeared = self.refused.keys() & places.keys()
        assert not appeared, f"{appeared} were refused and are in the log"


def check_whole(log: Sequence[Entry], size: int = 600) -> None:
    """Every transaction of a client is in the log with all it did, or not at all."""
    for entry in log:
        assert entry.deeds() == deeds_of(entry.txn_id, size), f"{entry.txn_id} is not whole"
