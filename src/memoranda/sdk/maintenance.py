"""Figures about a store."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoranda.audit import stored
from memoranda.log import chain, horizons, pages
from memoranda.log.horizons import Horizon
from memoranda.log.purging import first_pending
from memoranda.log.verification import clock_warnings
from memoranda.model.event import Head
from memoranda.model.instant import to_datetime
from memoranda.sdk.core import Core
from memoranda.search import filling


class Stats(msgspec.Struct, frozen=True):
    """How much a store holds, and what deserves a look.

    `memories` are those that are neither retracted nor expired, private ones among them, and
    `open_notices` those that nobody has decided about. `facts` are those that hold or held, and
    `entities` whatever they are about. The last checkpoint is of `checkpoint_size` commits, the
    last of which was made at `checkpoint_at`; `signing` is who signs more of them while the store
    is open, and None if that is off for want of a signer.
    """

    log_id: str
    epoch: int
    commits: int
    last_committed_at: datetime | None
    agents: int
    namespaces: int
    keys: int
    memories: int
    transcripts: int
    open_notices: int
    facts: int
    entities: int
    data_bytes: int
    journal_bytes: int
    warnings: tuple[str, ...] = ()
    pending_purge: bool = False
    """Whether bytes of something that was erased may still be in the files."""
    checkpoint_size: int = 0
    checkpoint_at: datetime | None = None
    signing: str | None = None
    index_backlog: int = 0
    """How many commits are not in the index of words yet; a search looks through these too."""
    embedder: str | None = None
    """The model that the vectors in the store are of."""
    vectors: int = 0
    vector_backlog: int = 0
    """About how many passages have no vector yet, also of those that wait to be indexed: a search
    embeds the newest of them itself."""


def gather(core: Core) -> Stats:
    """Return the figures."""
    with core.engine.reading() as reader:
        head = pages.head(reader, chain.genesis(core.log_id))
        epoch = reader.row("meta_get", name="epoch")
        agents, namespaces = reader.row("scope_counts") or (0, 0)
        (keys,) = reader.row("state_count") or (0,)
        facts, entities = reader.row("graph_counts") or (0, 0)
        backlog = filling.backlog(reader)
        vectors = core.vectors.figures(reader)
        pending = first_pending(reader)
        kept = stored.last(reader)
        covered = reader.row("event_time", commit_ts=kept[0]) if kept else None
        believed = reader.row("memory_counts", now=core.clock.now()) or (0, 0, 0)
        unfinished = horizons.unfinished(reader)
    footprint = core.engine.footprint()
    return Stats(
        log_id=core.log_id,
        epoch=int(epoch[0]) if epoch else 0,
        commits=head.commit_ts,
        last_committed_at=to_datetime(head.committed_at) if head.commit_ts else None,
        agents=agents,
        namespaces=namespaces,
        keys=keys,
        memories=believed[0],
        transcripts=believed[1],
        open_notices=believed[2],
        facts=facts,
        entities=entities,
        data_bytes=footprint.data,
        journal_bytes=footprint.journal,
        pending_purge=pending is not None,
        warnings=(
            *_clock(core, head),
            *_signing(core),
            *_indexing(core),
            *vectors.warnings,
            *map(_compacting, unfinished),
        ),
        checkpoint_size=kept[0] if kept else 0,
        checkpoint_at=to_datetime(covered[0]) if covered else None,
        signing=core.checkpointer.log_signer.signer.public.text if core.checkpointer else None,
        index_backlog=backlog,
        embedder=vectors.model,
        vectors=vectors.made,
        vector_backlog=vectors.backlog,
    )


def _clock(core: Core, head: Head) -> tuple[str, ...]:
    return clock_warnings(head.committed_at, core.clock) if head.commit_ts else ()


def _signing(core: Core) -> tuple[str, ...]:
    if core.checkpointer is None or core.checkpointer.failure is None:
        return ()
    return (f"the log is not being signed: {core.checkpointer.failure}",)


def _compacting(horizon: Horizon) -> str:
    told = f"namespace {horizon.namespace!r} is not compacted to the end up to commit"
    return f"{told} {horizon.commit_ts}: compact it again, unless that is under way"


def _indexing(core: Core) -> tuple[str, ...]:
    if core.filler.failure is None:
        return ()
    return (f"the index of words is not being filled: {core.filler.failure}",)
