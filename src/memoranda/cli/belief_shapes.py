"""What the store answers about memories, as the JSON a program reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memoranda.cli.shapes import time_text

if TYPE_CHECKING:
    from memoranda.audit.events import AuditEvent
    from memoranda.memory.records import Invalidation, Link, Memory, Origin
    from memoranda.sdk.transcript import Transcript

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


class Mention(NamedTuple):
    """One place in a tree of origins."""

    origin: Origin
    parent: str | None
    """The memory that rests on this one; None at the root."""
    depth: int


def mentions(root: Origin) -> Iterator[Mention]:
    """Yield a tree from its root on, each memory before what it rests on, however deep it is."""
    waiting = [Mention(root, None, 0)]
    while waiting:
        mention = waiting.pop()
        yield mention
        above, depth = mention.origin.memory.id, mention.depth + 1
        waiting.extend(Mention(each, above, depth) for each in reversed(mention.origin.origins))


def origin(mention: Mention) -> Shape:
    """Return one memory of a tree; nested, a deep tree would be more than programs can read."""
    found = mention.origin
    return {
        "memory": memory(found.memory),
        "parent": mention.parent,
        "depth": mention.depth,
        "relation": found.relation,
        "expired": found.expired,
        "repeated": found.repeated,
        "sources": [_plain(source) for source in found.sources],
    }


def _plain(record: msgspec.Struct) -> Shape:
    return {
        name: time_text(value) if isinstance(value, datetime) else value
        for name, value in msgspec.structs.asdict(record).items()
    }
