"""The last runs of jobs, kept in the control store so that a restart does not forget them."""

from __future__ import annotations

import msgspec

from memoranda.model.clock import to_datetime
from memoranda.sdk.store.store import Store
from memoranda.server.jobs.schedule import DAY, Record

NAMESPACE = "jobs"
"""The namespace in the control store: the agent is the job's name, the key the store's name."""
_RETENTION = 30 * DAY
"""How long earlier runs can be looked up in the log of the control store."""


class JobHistory:
    """Reads and writes the records of jobs; called in threads."""

    def __init__(self, store: Store) -> None:
        self._store = store.bind(namespace=NAMESPACE)
        self._compacted_at = 0

    def load(self, job: str) -> dict[str, Record]:
        """Return the records of a job, by the names of the stores."""
        rows = self._store.scan_prefix(agent_id=job, prefix="")
        return {row.key: msgspec.convert(row.value, Record) for row in rows}

    def save(self, job: str, store: str, record: Record) -> None:
        """Store a run; now and then, compact the log of old ones."""
        self._store.write(agent_id=job, key=store, value=msgspec.to_builtins(record))
        now = record.seen_at if record.last is None else record.last.finished_at
        if now - self._compacted_at >= DAY:
            self._compacted_at = now
            self._store.compact(before=to_datetime(now - _RETENTION), confirm=True)

    def forget(self, job: str, store: str) -> None:
        """Delete the record of a removed store."""
        self._store.delete(agent_id=job, key=store)
