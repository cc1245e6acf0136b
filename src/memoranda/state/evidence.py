"""Evidence: what the values of keys rest on, for notices, for the sweep and for erasures.

`state_because` has a row for each reference of a current value. `state_reference` has the commits
in which any value, also one that was replaced since, cites something by a name that an erasure has
to blank: a key, or an assertion whose id is derived from its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from msgspec.structs import replace

from memoranda.log.pages import SplitEventCache
from memoranda.log.read.scope_index import ScopeIds
from memoranda.log.views import CitedNames
from memoranda.model.ids import is_derived_id
from memoranda.model.intervals import NEWEST
from memoranda.model.operations import AnyOperation, Write
from memoranda.model.operations.redacted import ERASED_REFERENT
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.state.key_cache import KeyHeadCache, address_of
from memoranda.state.reads import find_versions
from memoranda.storage.port import Reader, Row, Writer

KEY_EVIDENCE, MEMORY_EVIDENCE, FACT_EVIDENCE, TRANSCRIPT_EVIDENCE = 1, 2, 3, 4
"""The kinds of evidence in `state_because`."""
NO_SCOPE = 0
"""The scope of assertions in `state_reference`; no scope has this id."""

CitedName = tuple[str, str, str]
"""Agent, namespace and key; of an assertion, two empty names and its id."""


def add_evidence(
    writer: Writer, heads: KeyHeadCache, key_id: int, because: tuple[Ref, ...]
) -> None:
    """Add what a key's new value rests on; erased evidence has no row."""
    for ref in because:
        if isinstance(ref, MemoryRef):
            row: Row = (MEMORY_EVIDENCE, ref.memory_id, ref.version, key_id, None, None)
        elif isinstance(ref, FactRef):
            if ref.assertion_id == ERASED_REFERENT:
                continue
            heads.note_fact()
            row = (FACT_EVIDENCE, ref.assertion_id, 0, key_id, None, None)
        elif isinstance(ref, TranscriptRef):
            row = (TRANSCRIPT_EVIDENCE, ref.transcript_id, 0, key_id, None, None)
        else:
            address = address_of(ref)
            head = heads.get(writer, address)
            place = writer.find("state_version_place", ref.version, head.key_id)
            if ref.key == ERASED_REFERENT or place is None:
                continue
            heads.put(address, replace(head, is_cited=True))
            row = (KEY_EVIDENCE, str(head.key_id), ref.version, key_id, *place)
        writer.put("state_because_add", *row)


def needed(reader: Reader, names: Set[str]) -> Set[str]:
    """Return those of some memories and transcripts that a current value rests on.

    A value may cite a version of a key that is no longer current. What that version rests on is
    read from the log, at any depth.
    """
    result = {name for (name,) in reader.rows("state_because_cited", names=[*names])}
    events = SplitEventCache()
    visited: set[KeyRef] = set()
    refs = [
        KeyRef(key, version, agent_id, namespace)
        for key, version, agent_id, namespace in reader.rows("state_because_of_old_versions")
    ]
    while refs:
        visited.update(refs)
        following: set[KeyRef] = set()
        for version in find_versions(reader, refs, NEWEST, events):
            for ref in version.version.because:
                if isinstance(ref, KeyRef):
                    following.add(ref)
                elif isinstance(ref, MemoryRef):
                    result.add(ref.memory_id)
                elif isinstance(ref, TranscriptRef):
                    result.add(ref.transcript_id)
        refs = [*(following - visited)]
    return result & names


# References by name: in which commits an erasure has to blank them.


def cited_names(because: Iterable[Ref]) -> Iterator[CitedName]:
    """Yield what references name: keys, and assertions with an id that is derived from content."""
    for ref in because:
        if isinstance(ref, KeyRef) and ref.key != ERASED_REFERENT:
            yield ref.agent_id or "", ref.namespace or "", ref.key
        elif isinstance(ref, FactRef) and is_derived_id(ref.assertion_id):
            yield "", "", ref.assertion_id


def cited_in(operations: Iterable[AnyOperation]) -> set[CitedName]:
    """Return what the values of an event name as their evidence."""
    return {
        name
        for operation in operations
        if isinstance(operation, Write) and operation.because
        for name in cited_names(operation.because)
    }


def add_references(
    writer: Writer, scopes: ScopeIds, commit_ts: int, because: tuple[Ref, ...]
) -> None:
    """Add the names that a value of a commit cites."""
    for agent_id, namespace, name in cited_names(because):
        scope_id = scopes.id_of(writer, agent_id, namespace) if agent_id else NO_SCOPE
        writer.put("state_reference_add", scope_id, name, commit_ts)


def remove_references(writer: Writer, commit_ts: int, names: Iterable[CitedName]) -> None:
    """Remove names that no value of a commit cites any more."""
    for agent_id, namespace, name in names:
        scope_id = _stored_scope_id(writer, agent_id, namespace) if agent_id else NO_SCOPE
        writer.put("state_reference_remove", scope_id, name, commit_ts)


def commits_citing(reader: Reader, cited: CitedNames) -> list[int]:
    """Return the commits in which a value, also one that was replaced since, cites a name."""
    rows: list[Row] = []
    if cited.scope_ids:
        rows += reader.rows("state_references_to_scopes", scope_ids=cited.scope_ids)
    if cited.key is not None:
        scope, key = cited.key
        scope_id = _stored_scope_id(reader, scope.agent_id, scope.namespace)
        rows += reader.rows("state_references_to_names", scope_id=scope_id, names=[key])
    if cited.assertion_ids:
        names = cited.assertion_ids
        rows += reader.rows("state_references_to_names", scope_id=NO_SCOPE, names=names)
    return [commit_ts for (commit_ts,) in rows]


def _stored_scope_id(reader: Reader, agent_id: str, namespace: str) -> int | None:
    """Return the id of a scope; None: it has none, and gets none by an erasure."""
    row = reader.row("scope_find", agent_id=agent_id, namespace=namespace)
    return None if row is None else row[0]
