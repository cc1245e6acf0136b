"""Reading links between memories."""

from __future__ import annotations

import msgspec

from memoranda.errors import NotFound
from memoranda.log import horizons
from memoranda.memory import standing
from memoranda.memory.committed import Committed, operations_of
from memoranda.memory.records import Link, time_of
from memoranda.model.instant import to_datetime
from memoranda.model.operations import Notify
from memoranda.storage.port import Reader, Row


def links_of(
    reader: Reader, memory_id: str, at: int, viewer: str, *, relation: str | None, closed: bool
) -> list[Link]:
    """Return the links of a memory, as far as an agent may see both ends, oldest first."""
    if standing.find_one(reader, memory_id, at, viewer=viewer) is None:
        return []
    rows = reader.rows("links_of", memory_id=memory_id, at=at, viewer=viewer, closed=int(closed))
    return [_link(row) for row in rows if relation in (None, row[2])]


def link_written(reader: Reader, edge: tuple[str, str, str], committed: Committed) -> Link:
    """Return a link as a transaction left it, and those who were told because of it."""
    source, relation, target = edge
    row = reader.row(
        "link_find", source=source, relation=relation, target=target, at=committed.commit
    )
    if row is None:  # it is a retry, and comes behind a compaction
        raise NotFound(f"link {relation} from {source!r} to {target!r} is no longer in the log")
    link = _link(row)
    if not committed.is_own(reader):
        return link
    notified = _notified(reader, committed.commit, link, committed.viewer)
    return msgspec.structs.replace(link, notified=notified)


def _notified(reader: Reader, commit: int, link: Link, viewer: str) -> tuple[str, ...]:
    """Return who was told because of a link, whichever of the two sides it is that came last."""
    told = dict.fromkeys(
        operation.dependent_id
        for operation in operations_of(reader, commit)
        if isinstance(operation, Notify)
        and operation.invalidated_id == link.target
        and link.source in (operation.invalidating_id, operation.dependent_id)
    )
    at = horizons.known_from(reader, commit)
    seen = standing.find(reader, told, at, viewer=viewer)
    return tuple(memory_id for memory_id in told if memory_id in seen)


def _link(row: Row) -> Link:
    return Link(row[0], row[1], row[2], to_datetime(row[3]), time_of(row[4]))
