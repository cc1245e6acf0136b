"""Receipts of writes and deletions of keys."""

from __future__ import annotations

from memoranda.log.views import Commit
from memoranda.model.clock import to_datetime
from memoranda.model.operations import Delete, Write
from memoranda.model.receipt import Outcome, Receipt
from memoranda.model.refs import KeyRef
from memoranda.state.key_cache import KeyHeadCache
from memoranda.storage.port import Reader


def cached_receipt(heads: KeyHeadCache, commit: Commit) -> Receipt | None:
    """Return the receipt of a commit of one key; None: it has to be read."""
    operation = _operation(commit)
    assert operation is not None, "it was just written"
    address = (operation.namespace, operation.agent_id, operation.key)
    replaced = heads.replaced(address, operation.version)
    return None if replaced is None else _receipt(commit, operation, replaced=replaced)


def read_receipt(reader: Reader, commit: Commit) -> Receipt:
    """Return the receipt of a commit of one key.

    A version that a compaction dropped counts as one with a value.
    """
    operation = _operation(commit)
    if operation is None:  # a retry, and the key was forgotten since
        time = to_datetime(commit.committed_at)
        return Receipt(commit_ts=commit.commit_ts, committed_at=time, outcome="deleted")
    row = reader.row(
        "state_version_live",
        agent_id=operation.agent_id,
        namespace=operation.namespace,
        key=operation.key,
        version=operation.version - 1,
    )
    replaced = operation.version > 1 if row is None else bool(row[0])
    return _receipt(commit, operation, replaced=replaced)


def _operation(commit: Commit) -> Write | Delete | None:
    """Return the write or deletion of a commit; what follows from it may stand beside it."""
    for operation in commit.operations:
        if isinstance(operation, (Write, Delete)):
            return operation
    return None


def _receipt(commit: Commit, operation: Write | Delete, *, replaced: bool) -> Receipt:
    """Return the receipt of an operation; `replaced`: the version before had a value."""
    outcome: Outcome
    if isinstance(operation, Write):
        outcome = "updated" if replaced else "created"
    else:
        outcome = "deleted" if replaced else "unchanged"
    return Receipt(
        commit_ts=commit.commit_ts,
        committed_at=to_datetime(commit.committed_at),
        outcome=outcome,
        version=operation.version,
        ref=KeyRef(operation.key, operation.version, operation.agent_id, operation.namespace),
    )
