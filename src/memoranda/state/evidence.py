"""Evidence: what the current values of keys rest on, for notices and for the sweep.

`state_because` has a row for each reference of a current value. Those of older versions are only in
the log.
"""

from __future__ import annotations

from collections.abc import Set

from msgspec.structs import replace

from memoranda.log.pages import SplitEventCache
from memoranda.model.intervals import NEWEST
from memoranda.model.operations.redacted import ERASED_REFERENT
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.state.key_cache import KeyHeadCache, address_of
from memoranda.state.reads import find_versions
from memoranda.storage.port import Reader, Row, Writer

KEY_EVIDENCE, MEMORY_EVIDENCE, FACT_EVIDENCE, TRANSCRIPT_EVIDENCE = 1, 2, 3, 4
"""The kinds of evidence in `state_because`."""


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
    seen: set[KeyRef] = set()
    refs = [
        KeyRef(key, version, agent_id, namespace)
        for key, version, agent_id, namespace in reader.rows("state_because_of_old_versions")
    ]
    while refs:
        seen.update(refs)
        following: set[KeyRef] = set()
        for version in find_versions(reader, refs, NEWEST, events):
            for ref in version.version.because:
                if isinstance(ref, KeyRef):
                    following.add(ref)
                elif isinstance(ref, MemoryRef):
                    result.add(ref.memory_id)
                elif isinstance(ref, TranscriptRef):
                    result.add(ref.transcript_id)
        refs = [*(following - seen)]
    return result & names
