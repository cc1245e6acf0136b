"""The log's own view: which commits touched a scope, and which commit a transaction became."""

from __future__ import annotations

from recollect.log.views import Commit, View
from recollect.model.operations import Epoch
from recollect.storage.port import Writer


class LogIndex(View):
    """What replay and exactly-once look up."""

    name = "log"
    version = 1
    clear = ("event_scope_clear", "txn_clear")
    rows = ("event_scope_rows", "txn_rows")

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Index the commit under its transaction and under every scope it touched."""
        envelope = commit.envelope
        writer.run(
            "txn_add",
            txn_id=envelope.txn_id,
            actor=envelope.actor,
            commit_ts=commit.commit_ts,
        )
        for agent_id, namespace in {(op.agent_id, op.namespace) for op in commit.operations}:
            writer.run("scope_add", agent_id=agent_id, namespace=namespace)
            writer.run(
                "event_scope_add",
                agent_id=agent_id,
                namespace=namespace,
                commit_ts=commit.commit_ts,
            )
        for operation in commit.operations:
            if isinstance(operation, Epoch):
                writer.run("meta_set", name="epoch", value=str(operation.version))
