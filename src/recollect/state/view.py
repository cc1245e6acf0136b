"""The state view: applying writes and deletes to the tables."""

from __future__ import annotations

from recollect.log.views import Commit, View
from recollect.model.operations import Delete, Write
from recollect.state.prefix import beyond
from recollect.state.requests import DeleteKey, KeyRead, PrefixRead, WriteKey
from recollect.state.rules import StateRules
from recollect.storage.port import Reader, Writer


class StateView(View):
    """Current values and the places of all versions."""

    name = "state"
    version = 1
    staged = (WriteKey, DeleteKey)
    tracked = (KeyRead, PrefixRead)
    clear = ("state_clear", "state_version_clear")
    rows = ("state_rows", "state_version_rows")

    def rules(self, reader: Reader, /) -> StateRules:
        """Return the rules for one transaction."""
        return StateRules(reader)

    def changed(self, reader: Reader, read: KeyRead | PrefixRead, since: int, /) -> bool:
        """Say whether the key, or any key under the prefix, has a version made since."""
        scope = read.scope
        if isinstance(read, KeyRead):
            row = reader.row(
                "state_version_now",
                agent_id=scope.agent_id,
                namespace=scope.namespace,
                key=read.key,
            )
            return row is not None and row[1] > since
        return (
            reader.row(
                "state_changed_in_range",
                agent_id=scope.agent_id,
                namespace=scope.namespace,
                first=read.prefix,
                beyond=beyond(read.prefix),
                since=since,
            )
            is not None
        )

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Give each key its new version."""
        for position, operation in enumerate(commit.operations):
            if not isinstance(operation, (Write, Delete)):
                continue
            address = {
                "agent_id": operation.agent_id,
                "namespace": operation.namespace,
                "key": operation.key,
                "version": operation.version,
                "commit_ts": commit.commit_ts,
            }
            value = operation.encoded if isinstance(operation, Write) else None
            live = int(value is not None)
            writer.run("state_put", **address, value=value)
            writer.run("state_version_add", **address, position=position, live=live)
