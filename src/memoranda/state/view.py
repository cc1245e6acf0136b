"""The state view: applying writes and deletes to the tables."""

from __future__ import annotations

from memoranda.log.retaining import Retained
from memoranda.log.scopes import Scopes
from memoranda.log.views import Commit, LookUp, View
from memoranda.model.erasure import KEY, Place, Target
from memoranda.model.ids import IdSource
from memoranda.model.operations import Delete, Write
from memoranda.model.refs import KeyRef
from memoranda.state.erasing import StateEraser
from memoranda.state.heads import KeyHead, KeyHeads
from memoranda.state.keeping import StateKeeper
from memoranda.state.prefix import beyond
from memoranda.state.requests import DeleteKey, KeyRead, PrefixRead, WriteKey
from memoranda.state.rules import StateRules
from memoranda.storage.port import Reader, Writer


class StateView(View):
    """Current values and the places of all versions."""

    name = "state"
    version = 1
    staged = (WriteKey, DeleteKey)
    referred = (KeyRef,)
    applied = frozenset((Write, Delete))
    tracked = (KeyRead, PrefixRead)
    clear = ("state_clear", "state_version_clear")
    rows = ("state_rows", "state_version_rows")

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._heads = KeyHeads()

    def rules(self, reader: Reader, look_up: LookUp, /) -> StateRules:
        """Return the rules for one transaction."""
        return StateRules(reader, self._heads, look_up)

    def changed(self, reader: Reader, read: KeyRead | PrefixRead, since: int, /) -> bool:
        """Say whether the key, or any key under the prefix, has a version made since."""
        scope = {"agent_id": read.scope.agent_id, "namespace": read.scope.namespace}
        if isinstance(read, KeyRead):
            row = reader.row("state_head", **scope, key=read.key)
            return row is not None and row[2] > since
        end = beyond(read.prefix)
        row = reader.row(
            "state_changed_in_range", **scope, first=read.prefix, beyond=end, since=since
        )
        return row is not None

    def keeper(self, notes: Retained, _: IdSource, /) -> StateKeeper:
        """Return who says what stays when a namespace is summed up."""
        return StateKeeper(notes)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Give each key its new version."""
        commit_ts = commit.commit_ts
        for position, operation in enumerate(commit.operations):
            if not isinstance(operation, (Write, Delete)):
                continue
            value = operation.encoded if isinstance(operation, Write) else None
            live, version = value is not None, operation.version
            namespace, agent_id, key = operation.namespace, operation.agent_id, operation.key
            place = (namespace, agent_id, key)
            key_id = self._heads.get(writer, place).key_id
            if key_id is None:
                scope_id = self._scopes.id_of(writer, agent_id, namespace)
                key_id = writer.add("state_add", scope_id, key, version, commit_ts, value)
            else:
                writer.put("state_set", version, commit_ts, value, key_id)
            writer.put("state_version_add", key_id, commit_ts, version, position, int(live))
            self._heads.put(place, KeyHead(key_id, version, live))

    def places(self, reader: Reader, target: Target, _: str | None, /) -> list[Place]:
        """Return where the versions of a key stand."""
        if target.kind != KEY or target.scope is None:
            return []
        scope = target.scope
        rows = reader.rows(
            "state_key_places",
            agent_id=scope.agent_id,
            namespace=scope.namespace,
            key=target.name,
        )
        return [(commit_ts, position) for commit_ts, position in rows]

    def eraser(self, writer: Writer, /) -> StateEraser:
        """Return what takes erased versions out of the tables."""
        return StateEraser(writer)

    def forget(self) -> None:
        """Drop what is remembered of keys and scopes."""
        self._heads.forget()
        self._scopes.forget()
