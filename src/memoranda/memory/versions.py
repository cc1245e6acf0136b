"""Versions of memories that something rests on, many at a time, and what became of the memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memoranda.memory import standing
from memoranda.memory.standing import Standing
from memoranda.model.refs import MemoryRef
from memoranda.storage.port import Reader


class VersionStanding(msgspec.Struct, frozen=True):
    """One version of a memory, and the memory as it was at the moment asked about."""

    asked: MemoryRef
    """The reference as it was given."""
    commit_ts: int
    """The commit that made the version."""
    found: Standing | None
    """None: it is there, but not for whoever asks."""
    current: Standing | None


class Grounding(msgspec.Struct, frozen=True):
    """That a memory reflects on another one, or derives from it, as that was then."""

    source: str
    relation: str
    target: MemoryRef


def find_versions(
    reader: Reader, refs: Sequence[MemoryRef], at: int, viewer: str
) -> Iterator[VersionStanding]:
    """Yield those of the versions that there were at a commit; none given: the newest then."""
    listed = [(ref.memory_id, ref.version) for ref in refs]
    rows = reader.rows(
        "memory_states_of_versions", wanted=msgspec.json.encode(listed).decode(), at=at
    )
    states = list(dict.fromkeys(row[1] for row in rows))
    loaded = standing.load(reader, states, at, viewer=viewer)
    found = {(each.memory_id, each.version): each for each in loaded}
    known = {each.memory_id for each in loaded}
    current = standing.find(reader, known, at, viewer=viewer, content=False)
    for number, _, version, commit_ts in rows:
        asked = refs[number]
        yield VersionStanding(
            asked,
            commit_ts,
            found.get((asked.memory_id, version)),
            current.get(asked.memory_id),
        )


def groundings(reader: Reader, memory_ids: Iterable[str], at: int) -> Iterator[Grounding]:
    """Yield what these memories rest on at a commit, each as it was when that was said."""
    listed = msgspec.json.encode(list(memory_ids)).decode()
    for source, relation, target, version in reader.rows(
        "links_relied_on", memory_ids=listed, at=at
    ):
        yield Grounding(source, relation, MemoryRef(target, version))
