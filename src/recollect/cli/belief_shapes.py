"""What the store answers about memories, as the JSON a program reads."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.cli.shapes import time_text

if TYPE_CHECKING:
    from recollect.audit.events import AuditEvent
    from recollect.memory.records import Invalidation, Link, Memory, Origin
    from recollect.sdk.transcript import Transcript

Shape = dict[str, Any]


def memory(found: Memory) -> Shape:
    """Return a memory; its outcome only where a call had one."""
    shape = _plain(found)
    if found.outcome is None:
        del shape["outcome"]
    return shape


def link(found: Link) -> Shape:
    """Return a link, and who was told because of it."""
    return _plain(found)


def notice(found: Invalidation) -> Shape:
    """Return a notice."""
    return {"status": found.status, **_plain(found)}


def audit_event(found: AuditEvent) -> Shape:
    """Return something that was done."""
    return _plain(found)


def transcript(found: Transcript) -> Shape:
    """Return what is known of a transcript."""
    return {
        "id": found.id,
        "namespace": found.namespace,
        "agent_id": found.agent_id,
        "created_at": time_text(found.created_at),
        "occurred_at": found.occurred_at and time_text(found.occurred_at),
        "expires_at": found.expires_at and time_text(found.expires_at),
        "original_size": found.original_size,
        "compressed_size": found.compressed_size,
    }


def origin(found: Origin) -> Shape:
    """Return a tree of what a memory rests on."""
    return {
        "memory": memory(found.memory),
        "relation": found.relation,
        "expired": found.expired,
        "repeated": found.repeated,
        "sources": [_plain(source) for source in found.sources],
        "origins": [origin(each) for each in found.origins],
    }


def _plain(record: msgspec.Struct) -> Shape:
    return {
        name: time_text(value) if isinstance(value, datetime) else value
        for name, value in msgspec.structs.asdict(record).items()
    }
