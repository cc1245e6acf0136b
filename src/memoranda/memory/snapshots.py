"""Snapshots: memories, and versions of memories, as of a commit.

The table `memory_state` has a row for each operation that changed a memory. Rows are never updated
by later commits, so the snapshot of a memory at commit N is its last row with `commit_ts <= N`:

    commit     3          7            9
    row        version 1  version 2    version 2, touched
    snapshot   [3, 7)     [7, 9)       [9, open)

A row holds the details and the content only if its operation changed them. Other rows name the row
that did (`details_in`, `content_in`), so counting an access does not copy a long text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from memoranda.log import blobs
from memoranda.log.compaction import horizon
from memoranda.model import codec
from memoranda.model.memory import Content, Details
from memoranda.model.refs import MemoryRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Row


class BlobLocation(msgspec.Struct, frozen=True):
    """The operation that a long content belongs to, by commit and position."""

    commit_ts: int
    position: int


class MemorySnapshot(msgspec.Struct, frozen=True, gc=False):
    """A memory as of a commit. Times are in microseconds, and None while it is only staged."""

    memory_id: str
    namespace: str
    agent_id: str
    private: bool
    kind: str
    tier: str
    title: str | None
    details: Details
    content: Content
    blob: BlobLocation | None = None
    created_at: int | None = None
    state_commit: int | None = None
    """The last commit that changed anything about the memory."""
    version: int = 1
    updated_at: int | None = None
    content_updated_at: int | None = None
    """When its content last changed; other fields may have changed since."""
    retracted: bool = False
    reason: str | None = None
    expires_at: int | None = None
    depth: int = 0
    access_count: int = 0
    last_accessed_at: int | None = None
    superseded_by: str | None = None
    unproven: bool = False
    """Whether an erasure left only a part of it, and no hash proves that part."""
    lifetime: int | None = None
    """Staged lifetime. It becomes `expires_at` at commit, when the commit's time is known."""

    @property
    def scope(self) -> Scope:
        """The owner's scope."""
        return Scope(self.namespace, self.agent_id)

    def visible_to(self, agent_id: str | None) -> bool:
        """Say whether an agent may see it; None stands for the engine, which sees everything."""
        return not self.private or agent_id is None or agent_id == self.agent_id

    @property
    def has_expiry(self) -> bool:
        """Whether it expires, at a known time or a lifetime after the commit."""
        return self.expires_at is not None or self.lifetime is not None

    @property
    def forgotten(self) -> bool:
        """Whether it was erased: only its id and its owner remain."""
        return not self.kind

    def hidden(self, now: int) -> bool:
        """Say whether reads skip it by default: it is forgotten, retracted or expired."""
        return self.forgotten or self.retracted or self.expired(now)

    def expired(self, now: int) -> bool:
        """Say whether its lifetime has ended."""
        return self.expires_at is not None and self.expires_at <= now


def find(
    reader: Reader,
    memory_ids: Iterable[str],
    at: int,
    *,
    viewer: str | None = None,
    content: bool = True,
    within: Collection[str] | None = None,
) -> dict[str, MemorySnapshot]:
    """Return the memories that existed at a commit and that the viewer may see, by their ids.

    `within` limits the result to these namespaces; the horizons of others are not checked.
    """
    rows = _rows(reader, list(memory_ids), at, viewer, content=content, within=within)
    return {row[1]: snapshot for row in rows if (snapshot := _snapshot(row)).visible_to(viewer)}


def find_one(
    reader: Reader, memory_id: str, at: int, *, viewer: str | None = None
) -> MemorySnapshot | None:
    """Return a memory as of a commit; None if the viewer may not see it."""
    return find(reader, (memory_id,), at, viewer=viewer).get(memory_id)


def load(
    reader: Reader,
    states: Sequence[int],
    at: int,
    *,
    viewer: str | None = None,
    content: bool = True,
) -> list[MemorySnapshot]:
    """Return the snapshots of state rows, in the order of the row ids.

    Without `content` the texts are not read. Raises `Compacted` if `at` is before the horizon of a
    row's namespace.
    """
    rows = _rows(reader, list(states), at, viewer, content=content)
    order = {state: index for index, state in enumerate(states)}
    indexed = [(order[row[0]], _snapshot(row)) for row in rows]
    return [
        snapshot
        for _, snapshot in sorted(indexed, key=lambda pair: pair[0])
        if snapshot.visible_to(viewer)
    ]


def _rows(
    reader: Reader,
    items: list[str] | list[int],
    at: int,
    viewer: str | None,
    *,
    content: bool,
    within: Collection[str] | None = None,
) -> list[Row]:
    """Return the rows of states, or of the states of memories at a commit."""
    rows = reader.rows("memory_states", items=items, at=at, viewer=viewer, content=int(content))
    if within is not None:
        rows = [row for row in rows if row[2] in within]
    horizon.check(reader, (row[2] for row in rows), at)
    return rows


def text_of(reader: Reader, snapshot: MemorySnapshot) -> str:
    """Return a memory's content, from the row or from the blob."""
    content = snapshot.content
    if content.digest is None:
        return content.text or ""
    blob = snapshot.blob
    assert blob is not None, "long content is read only after its commit"
    encoded = blobs.load(
        reader, blob.commit_ts, blob.position, size=content.size, digest=content.digest
    )
    return encoded.decode()


def _snapshot(row: Row) -> MemorySnapshot:
    """Return the snapshot of a row; by position, which takes half as long as by name."""
    (_, memory_id, namespace, agent_id, private, created_at, state_commit, version) = row[:8]
    (updated_at, kind, tier, title, retracted, reason, expires_at, depth) = row[8:16]
    (access_count, last_accessed_at, superseded_by, details, commit_ts, position) = row[16:22]
    (digest, size, text, content_updated_at, unproven) = row[22:]
    return MemorySnapshot(
        memory_id,
        namespace,
        agent_id,
        private == 1,
        kind,
        tier,
        title,
        codec.decode_details(details),
        Content(text, digest, size or 0),
        BlobLocation(commit_ts, position) if digest else None,
        created_at,
        state_commit,
        version,
        updated_at,
        content_updated_at,
        retracted == 1,
        reason,
        expires_at,
        depth,
        access_count,
        last_accessed_at,
        superseded_by,
        unproven == 1,
    )


# Versions of memories, read in bulk, with the current state of each memory.


class VersionSnapshot(msgspec.Struct, frozen=True):
    """A version of a memory, and the memory's state at the commit of the read."""

    ref: MemoryRef
    """The reference as the caller gave it."""
    commit_ts: int
    """The commit that wrote the version."""
    snapshot: MemorySnapshot | None
    """None if the version exists, but the viewer may not see it."""
    current: MemorySnapshot | None
    """The newest version at the commit of the read, without its content."""


class EvidenceLink(msgspec.Struct, frozen=True):
    """A reflects_on or derived_from link, to the target's version when the link was made."""

    source: str
    relation: str
    target: MemoryRef


def find_versions(
    reader: Reader, refs: Sequence[MemoryRef], at: int, viewer: str
) -> Iterator[VersionSnapshot]:
    """Yield the versions that existed at a commit; a reference without version is the newest."""
    pairs = [(ref.memory_id, ref.version) for ref in refs]
    rows = reader.rows("memory_states_of_versions", requested=pairs, at=at)
    states = list(dict.fromkeys(row[1] for row in rows))
    snapshots = load(reader, states, at, viewer=viewer)
    by_version = {(snapshot.memory_id, snapshot.version): snapshot for snapshot in snapshots}
    visible_ids = {snapshot.memory_id for snapshot in snapshots}
    current = find(reader, visible_ids, at, viewer=viewer, content=False)
    for number, _, version, commit_ts in rows:
        memory_id = refs[number].memory_id
        yield VersionSnapshot(
            refs[number],
            commit_ts,
            by_version.get((memory_id, version)),
            current.get(memory_id),
        )


def evidence_links(reader: Reader, memory_ids: Iterable[str], at: int) -> Iterator[EvidenceLink]:
    """Yield the open reflects_on and derived_from links of memories as of a commit."""
    if not reader.cached(_is_any_linked):
        return
    for source, relation, target, version in reader.rows(
        "links_relied_on", memory_ids=list(memory_ids), at=at
    ):
        yield EvidenceLink(source, relation, MemoryRef(target, version))


def _is_any_linked(reader: Reader) -> bool:
    return reader.row("link_any") is not None
