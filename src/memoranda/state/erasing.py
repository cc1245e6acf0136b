"""Taking keys that were erased from the log out of the tables."""

from __future__ import annotations

from memoranda.log.views import Eraser, Rewritten
from memoranda.model.operations import Delete, Write
from memoranda.model.scope import Scope
from memoranda.storage.port import Writer


class StateEraser(Eraser):
    """Drops versions that are no longer in the log, and keys that have none left."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._keys: set[tuple[Scope, str]] = set()

    def take(self, rewritten: Rewritten, /) -> None:
        """Drop what the event has no value for any more."""
        for position, before, after in rewritten.changes():
            if isinstance(before, (Write, Delete)) and not isinstance(after, (Write, Delete)):
                self._keys.add((before.scope, before.key))
                self._writer.run(
                    "state_version_remove",
                    agent_id=before.agent_id,
                    namespace=before.namespace,
                    key=before.key,
                    commit_ts=rewritten.before.commit_ts,
                    position=position,
                )

    def finish(self) -> None:
        """Drop the keys of which nothing is left."""
        for scope, key in self._keys:
            self._writer.run(
                "state_remove", agent_id=scope.agent_id, namespace=scope.namespace, key=key
            )
