"""The state view: applying writes and deletes, erasing keys, and retention in a compaction."""

from __future__ import annotations

from collections.abc import Set

from memoranda.log.compaction.retention import RetainedRefs, RetentionPolicy
from memoranda.log.read.scope_index import ScopeIds
from memoranda.log.views import CitedNames, Commit, Eraser, LookUp, RewrittenEvent, View
from memoranda.model.erasure import KEY, LogPosition, Target
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, Delete, Write
from memoranda.model.refs import KeyRef, Ref
from memoranda.state import evidence
from memoranda.state.evidence import add_evidence, add_references, cited_in, remove_references
from memoranda.state.key_cache import KeyHead, KeyHeadCache
from memoranda.state.reads import prefix_end
from memoranda.state.requests import DeleteKey, KeyRead, PrefixRead, WriteKey
from memoranda.state.rules import StateRules
from memoranda.storage.port import Reader, WriteBuffer, Writer

# Erasure: removing erased keys from the tables.


class StateEraser(Eraser):
    """Deletes the versions that were erased from the log, and keys without versions.

    Where only references of a value were erased, it brings those of the current value to the log.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._rows = WriteBuffer(writer)
        self._keys: set[tuple[str, str, str]] = set()
        """Keys with erased versions: the key, its agent and its namespace."""

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Delete the versions and the references that an event no longer has."""
        before_names = cited_in(rewritten.before.operations)
        if before_names:
            names = before_names - cited_in(rewritten.after.operations)
            remove_references(self._writer, rewritten.before.commit_ts, names)
        for position, before, after in rewritten.changes():
            if not isinstance(before, (Write, Delete)):
                continue
            refs = before.because if isinstance(before, Write) else ()
            if not isinstance(after, (Write, Delete)):
                address = (before.key, before.agent_id, before.namespace)
                self._keys.add(address)
                if refs:
                    self._put_evidence(before, ())
                self._rows.add(
                    "state_version_remove", rewritten.before.commit_ts, position, *address
                )
            elif refs and isinstance(after, Write):
                self._put_evidence(before, after.because)
        self._rows.flush()

    def _put_evidence(self, before: Write | Delete, because: tuple[Ref, ...]) -> None:
        """Set what a key's value rests on, if it is still the current one.

        The scope is the one before the erasure: its rows are renamed when everything is rewritten.
        """
        scope = before.scope
        row = self._rows.flush().row(
            "state_head", agent_id=scope.agent_id, namespace=scope.namespace, key=before.key
        )
        if row is not None and row[1] == before.version:
            self._writer.put("state_because_drop", row[0])
            add_evidence(self._writer, KeyHeadCache(), row[0], because)

    def finish(self) -> None:
        """Delete the keys without versions."""
        self._writer.put_all("state_remove", sorted(self._keys))


# Retention: the versions that a compaction leaves.


class StateRetention(RetentionPolicy):
    """Retains each key's version at the horizon, and the versions that retained values cite.

    A value can only cite earlier versions. The log is read from its end, so that every value that
    could cite a version has been read before the version itself.
    """

    kinds = (Write, Delete)

    def __init__(self, notes: RetainedRefs) -> None:
        self._notes = notes

    def mark(self, reader: Reader, place: LogPosition, operation: AnyOperation, /) -> None:
        """Note the references of a value that is retained."""
        if not isinstance(operation, Write) or not operation.because:
            return
        if not self._notes.covers(place, operation) or self._stays(reader, place, operation):
            for ref in operation.because:
                self._notes.retain(ref)

    def residue_of(
        self, reader: Reader, place: LogPosition, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return the operation if it is retained, or None."""
        assert isinstance(operation, (Write, Delete)), "only state operations reach this policy"
        return operation if self._stays(reader, place, operation) else None

    def _stays(self, reader: Reader, place: LogPosition, operation: Write | Delete) -> bool:
        notes, scope = self._notes, operation.scope
        ref = KeyRef(operation.key, operation.version, scope.agent_id, scope.namespace)
        if notes.is_retained(ref):
            return True
        last = reader.row(
            "state_place_at",
            agent_id=scope.agent_id,
            namespace=scope.namespace,
            key=operation.key,
            at=notes.horizon,
        )
        return last is None or (last[0], last[2]) == place


# The view: applying operations to the tables.


class StateView(View):
    """The current values of keys, the log positions of all versions, and what they cite."""

    name = "state"
    version = 4
    request_types = (WriteKey, DeleteKey)
    reference_types = (KeyRef,)
    applied_types = frozenset((Write, Delete))
    tracked_reads = (KeyRead, PrefixRead)
    tables = ("state", "state_version", "state_because", "state_reference")
    clear_queries = (
        "state_clear",
        "state_version_clear",
        "state_because_clear",
        "state_reference_clear",
    )
    row_queries = ("state_rows", "state_version_rows", "state_because_rows", "state_reference_rows")

    def __init__(self, scopes: ScopeIds, heads: KeyHeadCache) -> None:
        self._scopes = scopes
        self._heads = heads

    def rules(self, reader: Reader, look_up: LookUp, /) -> StateRules:
        """Return the rules for one transaction."""
        return StateRules(reader, self._heads, look_up)

    def needed(self, reader: Reader, names: Set[str], /) -> Set[str]:
        """Return the memories and transcripts that a current value rests on."""
        return evidence.needed(reader, names)

    def has_changed(self, reader: Reader, read: KeyRead | PrefixRead, since: int, /) -> bool:
        """Say whether the key, or any key with the prefix, has changed after a commit."""
        scope = {"agent_id": read.scope.agent_id, "namespace": read.scope.namespace}
        if isinstance(read, KeyRead):
            row = reader.row("state_head", **scope, key=read.key)
            return row is not None and row[2] > since
        end = prefix_end(read.prefix)
        row = reader.row("state_changed_in_range", **scope, first=read.prefix, end=end, since=since)
        return row is not None

    def retention_policy(self, notes: RetainedRefs, _: IdSource, /) -> StateRetention:
        """Return the retention policy of a compaction."""
        return StateRetention(notes)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Apply the writes and deletes of a commit."""
        commit_ts = commit.commit_ts
        for position, operation in enumerate(commit.operations):
            if not isinstance(operation, (Write, Delete)):
                continue
            value = operation.encoded if isinstance(operation, Write) else None
            live, version = value is not None, operation.version
            namespace, agent_id, key = operation.namespace, operation.agent_id, operation.key
            address = (namespace, agent_id, key)
            head = self._heads.get(writer, address)
            key_id = head.key_id
            if key_id is None:
                scope_id = self._scopes.id_of(writer, agent_id, namespace)
                key_id = self._heads.next_id(writer)
                writer.put("state_add", key_id, scope_id, key, version, commit_ts, value)
            else:
                writer.put("state_set", version, commit_ts, value, key_id)
            writer.put("state_version_add", key_id, commit_ts, version, position, int(live))
            if head.has_evidence:
                writer.put("state_because_drop", key_id)
            because = operation.because if isinstance(operation, Write) else ()
            new = KeyHead(key_id, version, live, bool(because), head.is_cited, head.live)
            self._heads.put(address, new)
            if because:
                add_evidence(writer, self._heads, key_id, because)
                add_references(writer, self._scopes, commit_ts, because)

    def commits_citing(self, reader: Reader, cited: CitedNames, /) -> list[int]:
        """Return the commits in which a value cites a key or an assertion."""
        return evidence.commits_citing(reader, cited)

    def places(self, reader: Reader, target: Target, _: str | None, /) -> list[LogPosition]:
        """Return the log positions of a key's versions."""
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
        """Return the eraser of the tables."""
        return StateEraser(writer)

    def drop_caches(self) -> None:
        """Drop the cached heads and scope ids."""
        self._heads.forget()
        self._scopes.drop_caches()
