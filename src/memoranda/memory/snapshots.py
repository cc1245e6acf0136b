"""Standings: what is known of a memory at a commit, as the tables keep it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from memoranda.log import blobs, horizons
from memoranda.model import codec
from memoranda.model.memory import Content, Details
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Row

NEWEST = 2**63 - 2
"""Given as a commit: whatever is there."""
STILL = 2**63 - 1
"""Given as the commit at which something ended: it has not."""


class Place(msgspec.Struct, frozen=True):
    """Where a long content's operation stands in the log."""

    commit_ts: int
    position: int


class Standing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory at a commit. Times are None for what is only staged."""

    memory_id: str
    namespace: str
    agent_id: str
    private: bool
    created_at: int | None = None
    state_commit: int | None = None
    """The last commit that changed anything about it."""
    version: int = 1
    updated_at: int | None = None
    said_at: int | None = None
    """When its content came up as it is: other details may have changed since."""
    kind: str
    tier: str
    title: str | None
    retracted: bool = False
    reason: str | None = None
    expires_at: int | None = None
    lifetime: int | None = None
    """How long it lasts from the commit on, where that is only staged; its end is not known yet."""
    depth: int = 0
    access_count: int = 0
    last_accessed_at: int | None = None
    superseded_by: str | None = None
    details: Details
    content: Content
    place: Place | None = None

    @property
    def scope(self) -> Scope:
        """Whose it is."""
        return Scope(self.namespace, self.agent_id)

    def seen_by(self, agent_id: str | None) -> bool:
        """Say whether an agent may see it; nobody in particular is the engine, which sees all."""
        return not self.private or agent_id is None or agent_id == self.agent_id

    @property
    def ends(self) -> bool:
        """Whether it does not last for ever."""
        return self.expires_at is not None or self.lifetime is not None

    @property
    def forgotten(self) -> bool:
        """Whether nothing is left of it but that there was one."""
        return not self.kind

    def hidden(self, now: int) -> bool:
        """Say whether it is gone, retracted, or its time is over: then it is not shown unasked."""
        return self.forgotten or self.retracted or self.expired(now)

    def expired(self, now: int) -> bool:
        """Say whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


def find(
    reader: Reader,
    memory_ids: Iterable[str],
    at: int,
    *,
    viewer: str | None = None,
    content: bool = True,
    within: Collection[str] | None = None,
) -> dict[str, Standing]:
    """Return the memories there were at a commit that an agent may see, by their ids.

    `within`: only those of these namespaces, whatever is still known of others.
    """
    wanted = _listed(memory_ids)
    states = [row[0] for row in reader.rows("memory_states_at", memory_ids=wanted, at=at)]
    found = load(reader, states, at, viewer=viewer, content=content, within=within)
    return {standing.memory_id: standing for standing in found}


def find_one(
    reader: Reader, memory_id: str, at: int, *, viewer: str | None = None
) -> Standing | None:
    """Return a memory as it was at a commit, if an agent may see it."""
    return find(reader, (memory_id,), at, viewer=viewer).get(memory_id)


def load(
    reader: Reader,
    states: Sequence[int],
    at: int,
    *,
    viewer: str | None = None,
    content: bool = True,
    within: Collection[str] | None = None,
) -> list[Standing]:
    """Return what these rows say, in the order of the rows; content only when asked for."""
    rows = reader.rows(
        "memory_states", states=_numbered(states), at=at, viewer=viewer, content=int(content)
    )
    if within is not None:
        rows = [row for row in rows if row[2] in within]
    horizons.check(reader, (row[2] for row in rows), at)
    order = {state: index for index, state in enumerate(states)}
    found = [(order[row[0]], _standing(row)) for row in rows]
    return [
        standing
        for _, standing in sorted(found, key=lambda each: each[0])
        if standing.seen_by(viewer)
    ]


def text_of(reader: Reader, standing: Standing) -> str:
    """Return a memory's content, wherever it is kept."""
    content = standing.content
    if content.digest is None:
        return content.text or ""
    assert standing.place is not None, "only what is committed is asked for"
    place = standing.place
    stored = blobs.load(
        reader, place.commit_ts, place.position, size=content.size, digest=content.digest
    )
    return stored.decode()


def _standing(row: Row) -> Standing:
    digest, size, text = row[22], row[23], row[24]
    return Standing(
        memory_id=row[1],
        namespace=row[2],
        agent_id=row[3],
        private=bool(row[4]),
        created_at=row[5],
        state_commit=row[6],
        version=row[7],
        updated_at=row[8],
        said_at=row[25],
        kind=row[9],
        tier=row[10],
        title=row[11],
        retracted=bool(row[12]),
        reason=row[13],
        expires_at=row[14],
        depth=row[15],
        access_count=row[16],
        last_accessed_at=row[17],
        superseded_by=row[18],
        details=codec.decode_details(row[19]),
        content=Content(text, digest, size or 0),
        place=Place(row[20], row[21]) if digest else None,
    )


def _listed(texts: Iterable[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()


def _numbered(numbers: Iterable[int]) -> str:
    return msgspec.json.encode(list(numbers)).decode()
