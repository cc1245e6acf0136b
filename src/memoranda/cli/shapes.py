"""What the store answers, as the JSON a program reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from memoranda.model.event import ReplayEvent
from memoranda.model.instant import to_micros, to_rfc3339
from memoranda.model.operations import AnyOperation, Write
from memoranda.model.refs import Ref
from memoranda.state.records import StateChange, StateEntry, StateRecord, StateVersion

Shape = dict[str, Any]


def time_text(time: datetime) -> str:
    """Return a time as RFC 3339 text."""
    return to_rfc3339(to_micros("time", time))


def record(found: StateRecord) -> Shape:
    """Return a value and where it stands in the log."""
    return {
        "value": found.value,
        "version": found.version,
        "commit_ts": found.commit_ts,
        "committed_at": found.committed_at and time_text(found.committed_at),
    }


def entry(found: StateEntry) -> Shape:
    """Return a record with its key."""
    return {"key": found.key, **record(found)}


def version(step: StateVersion) -> Shape:
    """Return one step of a key's history."""
    return {
        "version": step.version,
        "value": step.value,
        "because": references(step.because),
        "commit_ts": step.commit_ts,
        "committed_at": time_text(step.committed_at),
        "txn_id": step.txn_id,
        "actor": step.actor,
    }


def change(found: StateChange) -> Shape:
    """Return how a key differs between two moments."""
    return {
        "key": found.key,
        "kind": found.kind,
        "before": None if found.before is None else record(found.before),
        "after": None if found.after is None else record(found.after),
    }


def event(found: ReplayEvent) -> Shape:
    """Return a replayed transaction; only what is signed, or sums up, says so."""
    shape: Shape = {
        "commit_ts": found.commit_ts,
        "committed_at": found.timestamp,
        "txn_id": found.txn_id,
        "actor": found.actor,
        "token": found.token,
        "operations": [operation(each) for each in found.operations],
    }
    if found.unproven:
        shape["unproven"] = True
    if found.signature is not None:
        shape |= {"attest_level": found.attest_level, "signature": found.signature}
    return {**shape, "summary": True} if found.summary else shape


def operation(found: AnyOperation) -> Shape:
    """Return one operation; only a write that rests on something says `because`."""
    shape: Shape = {
        "type": found.type.value,
        "namespace": found.namespace,
        "agent_id": found.agent_id,
        "key": found.key,
        "value": found.value,
        "version": found.version,
    }
    if isinstance(found, Write) and found.because:
        shape["because"] = references(found.because)
    return shape


def references(refs: Iterable[Ref]) -> list[Shape]:
    """Return what a value rests on; the names of the members say what kind of thing it is."""
    return [msgspec.structs.asdict(ref) for ref in refs]


def report(found: msgspec.Struct) -> Shape:
    """Return the fields of a report, its times as text."""
    fields = msgspec.structs.asdict(found)
    return {
        name: time_text(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
    }
