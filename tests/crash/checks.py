"""What must hold of every store, whatever was done to it: asked of the log, not of its makers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import apsw

from memoranda import ALL_NAMESPACES, OperationType, Store
from memoranda.log import pages
from memoranda.log.views import Commit
from memoranda.model.operations import AnyOperation
from tests.cores import core_of

Address = tuple[str, str, str]
"""Namespace, agent, key."""
Cell = tuple[str, object, int]
"""Key, value, version."""


@dataclass(frozen=True)
class Entry:
    """An event of the log: its number, its name, what it did, and its hash."""

    commit_ts: int
    txn_id: str
    operations: tuple[AnyOperation, ...]
    hash: bytes

    def deeds(self) -> list[tuple[Address, object]]:
        """Return the state operations: where, and the value, which is None for a deletion."""
        return [
            ((operation.namespace, operation.agent_id, operation.key), operation.value)
            for operation in self.operations
            if operation.type in (OperationType.WRITE, OperationType.DELETE)
        ]


def read_log(store: Store) -> list[Entry]:
    """Return every event as stored."""
    with core_of(store).engine.reading() as reader:
        stored = list(pages.events(reader, after=0, through=pages.head_commit(reader)))
    commits = [(Commit.of(event), event.hash) for event in stored]
    return [
        Entry(commit.commit_ts, commit.envelope.txn_id, commit.operations, digest)
        for commit, digest in commits
    ]


def audit(store: Store) -> list[Entry]:
    """Check that log, versions, views and replays agree, and return the log."""
    log = read_log(store)
    assert [entry.commit_ts for entry in log] == list(range(1, len(log) + 1)), "a gap"
    assert store.verify().commits == len(log)
    names = [entry.txn_id for entry in log]
    assert len(set(names)) == len(names), "a transaction is in the log twice"
    check_versions(log)
    check_state(store, log)
    check_replays(store, log)
    assert store.rebuild().identical, "the views are not what the log says"
    return log


def check_versions(log: list[Entry]) -> None:
    """Every key's versions are 1, 2, 3 … in the order of the log."""
    versions: defaultdict[Address, int] = defaultdict(int)
    for entry in log:
        for operation in entry.operations:
            if operation.type in (OperationType.WRITE, OperationType.DELETE):
                address = (operation.namespace, operation.agent_id, operation.key)
                versions[address] += 1
                assert operation.version == versions[address], f"{address} in {entry.commit_ts}"


def check_state(store: Store, log: list[Entry]) -> None:
    """The current state is what doing everything in the log again gives."""
    folded: defaultdict[tuple[str, str], dict[str, Cell]] = defaultdict(dict)
    for entry in log:
        for operation in entry.operations:
            cells = folded[operation.namespace, operation.agent_id]
            if operation.type is OperationType.WRITE:
                cells[operation.key] = (operation.key, operation.value, operation.version)
            elif operation.type is OperationType.DELETE:
                cells.pop(operation.key, None)
    for (namespace, agent_id), cells in folded.items():
        entries = store.scan_prefix(prefix="", namespace=namespace, agent_id=agent_id)
        assert {item.key: (item.key, item.value, item.version) for item in entries} == cells


def check_replays(store: Store, log: list[Entry]) -> None:
    """Every agent's replay is its part of the log, in order."""
    parts: defaultdict[str, list[tuple[int, tuple[AnyOperation, ...]]]] = defaultdict(list)
    for entry in log:
        for agent_id in {operation.agent_id for operation in entry.operations}:
            mine = tuple(item for item in entry.operations if item.agent_id == agent_id)
            parts[agent_id].append((entry.commit_ts, mine))
    for agent_id, expected in parts.items():
        replay = store.replay(agent_id=agent_id, namespace=ALL_NAMESPACES)
        assert [(event.commit_ts, event.operations) for event in replay] == expected


def check_file(path: Path) -> None:
    """The file is sound in the eyes of SQLite."""
    database = apsw.Connection(str(path))
    try:
        assert database.execute("PRAGMA integrity_check").get == "ok"
    finally:
        database.close()
