"""The log's own view: which commits touched a scope, and which commit a transaction became."""

from __future__ import annotations

from recollect.log.scopes import Scopes
from recollect.log.views import Commit, View
from recollect.model.operations import Epoch
from recollect.storage.port import Writer


class LogIndex(View):
    """What replay and exactly-once look up."""

    name = "log"
    version = 1
    clear = ("event_scope_clear", "txn_clear")
    rows = ("event_scope_rows", "txn_rows")

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Index the commit under its transaction and under every scope it touched."""
        envelope, commit_ts = commit.envelope, commit.commit_ts
        writer.put("txn_add", envelope.txn_id, envelope.actor, commit_ts)
        touched = set()
        for operation in commit.operations:
            touched.add((operation.agent_id, operation.namespace))
            if isinstance(operation, Epoch):
                writer.run("meta_set", name="epoch", value=str(operation.version))
        for agent_id, namespace in touched:
            scope_id = self._scopes.id_of(writer, agent_id, namespace)
            writer.put("event_scope_add", scope_id, commit_ts)

    def forget(self) -> None:
        """Drop the remembered ids."""
        self._scopes.forget()
