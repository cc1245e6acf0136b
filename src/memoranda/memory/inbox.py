"""The inbox: notices that there is something to decide."""

from __future__ import annotations

from typing import Any

from memoranda.log import horizons, pages
from memoranda.memory.records import Invalidation, time_of
from memoranda.model.instant import to_datetime
from memoranda.storage.port import Engine, Row


class Inbox:
    """Notices as of a commit, oldest first."""

    def __init__(
        self,
        engine: Engine,
        *,
        at: int,
        agent_id: str | None,
        viewer: str,
        is_open: bool | None,
    ) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "at": at,
            "agent_id": agent_id,
            "viewer": viewer,
            "is_open": None if is_open is None else int(is_open),
            "most": pages.PAGE_ROWS,
        }
        self._after = 0

    def next_page(self) -> list[Invalidation]:
        """Return the next notices."""
        with self._engine.snapshot() as reader:
            rows = reader.rows("notice_page", **self._range, after=self._after)
            horizons.check(reader, (row[2] for row in rows), self._range["at"])
        if rows:
            self._after = rows[-1][0]
        return [_invalidation(row[1:]) for row in rows]


def _invalidation(row: Row) -> Invalidation:
    return Invalidation(
        id=row[0],
        namespace=row[1],
        agent_id=row[2],
        dependent_id=row[3],
        invalidated_id=row[4],
        invalidating_id=row[5],
        by=row[6],
        created_at=to_datetime(row[7]),
        decision=row[8],
        note=row[9],
        replacement=row[10],
        resolved_at=time_of(row[11]),
        resolved_by=row[12],
    )
