"""What a store is, said as simply as possible: a list of events, and folds over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Value = dict[str, Any] | None
Address = tuple[str, str, str]
"""Namespace, agent, key."""


@dataclass(frozen=True)
class Op:
    address: Address
    version: int
    value: Value
    """None: deleted."""


@dataclass(frozen=True)
class Event:
    commit_ts: int
    committed_at: int
    txn_id: str
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Staged:
    address: Address
    value: Value
    expect_version: int | None


class Refused(Exception):
    """A commit that must not happen; says which error the store should raise."""


@dataclass
class Draft:
    """A transaction as the model sees it."""

    txn_id: str | None
    since: int
    staged: list[Staged] = field(default_factory=list)
    keys_read: set[Address] = field(default_factory=set)
    prefixes_read: set[Address] = field(default_factory=set)


class Model:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.named: dict[str, tuple[int, tuple[Staged, ...]]] = {}

    @property
    def head(self) -> int:
        return len(self.events)

    def ops(self, through: int | None = None) -> Iterator[tuple[Event, Op]]:
        for event in self.events[:through]:
            for op in event.ops:
                yield event, op

    def versions(self, address: Address, at: int | None = None) -> list[tuple[Event, Op]]:
        return [(event, op) for event, op in self.ops(at) if op.address == address]

    def current(self, address: Address, at: int | None = None) -> tuple[Event, Op] | None:
        """The newest version, unless it is a deletion."""
        versions = self.versions(address, at)
        return versions[-1] if versions and versions[-1][1].value is not None else None

    def keys(self, namespace: str, agent: str, prefix: str, at: int | None = None) -> list[str]:
        addresses = {op.address for _, op in self.ops(at)}
        return sorted(
            key
            for owner, name, key in addresses
            if (owner, name) == (namespace, agent)
            and key.startswith(prefix)
            and self.current((owner, name, key), at)
        )

    def seen(self, draft: Draft, address: Address) -> tuple[int, Value] | None:
        """Version and value of a key as an open transaction sees it."""
        own = [staged for staged in draft.staged if staged.address == address]
        if not own:
            result = self.current(address, draft.since)
            return (result[1].version, result[1].value) if result else None
        if own[-1].value is None:
            return None
        return len(self.versions(address, draft.since)) + len(own), own[-1].value

    def keys_seen(self, draft: Draft, namespace: str, agent: str, prefix: str) -> list[str]:
        keys = set(self.keys(namespace, agent, prefix, draft.since))
        for owner, name, key in (staged.address for staged in draft.staged):
            if (owner, name) == (namespace, agent) and key.startswith(prefix):
                keys.add(key)
        return sorted(key for key in keys if self.seen(draft, (namespace, agent, key)))

    def commit(self, draft: Draft, clock: int, txn_id: str) -> int:
        """Return the commit, or raise `Refused` with the name of the error."""
        if draft.txn_id in self.named:
            commit_ts, staged = self.named[draft.txn_id]
            if staged != tuple(draft.staged):
                raise Refused("IdempotencyMismatch")
            return commit_ts
        if not draft.staged:
            return self.head
        self._check_reads(draft)
        ops = tuple(self._decide(draft.staged))
        last = self.events[-1].committed_at if self.events else 0
        self.events.append(Event(self.head + 1, max(last + 1, clock), txn_id, ops))
        if draft.txn_id is not None:
            self.named[draft.txn_id] = (self.head, tuple(draft.staged))
        return self.head

    def _check_reads(self, draft: Draft) -> None:
        for event in self.events[draft.since :]:
            for namespace, agent, key in (op.address for op in event.ops):
                if (namespace, agent, key) in draft.keys_read:
                    raise Refused("TransactionConflict")
                for owner, name, prefix in draft.prefixes_read:
                    if (owner, name) == (namespace, agent) and key.startswith(prefix):
                        raise Refused("TransactionConflict")

    def _decide(self, staged: Iterable[Staged]) -> Iterator[Op]:
        ops: list[Op] = []
        for request in staged:
            mine = [op for op in ops if op.address == request.address]
            versions = [op for _, op in self.versions(request.address)] + mine
            live = versions[-1].version if versions and versions[-1].value is not None else 0
            if request.expect_version not in (None, live):
                raise Refused("VersionMismatch")
            ops.append(Op(request.address, len(versions) + 1, request.value))
        return iter(ops)

    def replay(self, agent: str, namespaces: set[str], after: int, through: int) -> list[Event]:
        result = []
        for event in self.events[after:through]:
            ops = tuple(
                op for op in event.ops if op.address[1] == agent and op.address[0] in namespaces
            )
            if ops:
                result.append(Event(event.commit_ts, event.committed_at, event.txn_id, ops))
        return result
