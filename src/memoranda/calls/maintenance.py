"""Calls that serve the store as a whole: verifying, rebuilding, indexing and measuring it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from memoranda.audit import checkpoints, merkle_store
from memoranda.audit import keys as public_keys
from memoranda.audit.agent_signatures import AgentSignatureVerifier
from memoranda.audit.checkpoint_comparison import CheckpointVerifier
from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.keys import PublicKey
from memoranda.calls.arguments import check_namespace
from memoranda.calls.call import Call, Handlers
from memoranda.calls.core import Core, all_views
from memoranda.calls.grant import Grant
from memoranda.calls.job_status import JobStatus
from memoranda.errors import ChainBroken, InvalidInput
from memoranda.log import chain, pages
from memoranda.log.compaction import horizon
from memoranda.log.compaction.horizon import Horizon
from memoranda.log.erasure.purge import first_pending
from memoranda.log.pages import Pages
from memoranda.log.rebuild import Rebuild, rebuild
from memoranda.log.verify.compare_views import verify_deep
from memoranda.log.verify.verifier import Verification, clock_warnings, verify
from memoranda.model.clock import to_datetime
from memoranda.model.event import Head
from memoranda.model.limits import plain_text, short_repr
from memoranda.search.index import check, indexer
from memoranda.search.index.background_indexer import Reindexed, reindex
from memoranda.search.index.indexer import Indexer
from memoranda.search.text import language as index_language
from memoranda.search.text.stemmer import ENGLISH, check_language
from memoranda.search.vectors.vector_index import VectorIndex
from memoranda.storage.port import Engine, Progress, SqlView

# Verification.

TrustedKeys = Iterable[PublicKey | str] | None
"""Public keys, as objects or as their text; None: those that the log trusts."""


def verify_store(
    core: Core,
    checkpoint: str | SignedCheckpoint | None,
    keys: TrustedKeys,
    progress: Progress | None,
    deep: bool,  # noqa: FBT001
) -> Verification:
    """Verify the chain, the checkpoints in the store, the given checkpoint, and all signatures.

    Only `keys` are trusted, if they are given; otherwise those that the log trusts. `deep` compares
    the views, too.
    """
    note = checkpoint.note if isinstance(checkpoint, SignedCheckpoint) else checkpoint
    checkpoint_verifier = CheckpointVerifier(
        core.engine,
        core.log_id,
        checkpoint=None if note is None else plain_text("checkpoint", note),
        keys=None if keys is None else [_key(key) for key in _listed(keys)],
    )
    signature_verifier = AgentSignatureVerifier(core.log_id)
    follow = None if checkpoint_verifier.idle else checkpoint_verifier.add_events
    log = (core.engine, core.log_id, core.clock)
    try:
        if deep:
            verification = verify_deep(
                *log, all_views(), progress, follow, signature_verifier.check_event
            )
            check.check_index(core.engine, progress)
        else:
            verification = verify(*log, progress, follow, signature_verifier.check_event)
    except ChainBroken as error:
        raise checkpoint_verifier.with_last_checkpoint(error) from error
    compared = checkpoint_verifier.finish()
    return msgspec.structs.replace(
        verification,
        checkpoints=compared,
        last_checkpoint=checkpoint_verifier.last_valid_size,
        signed=signature_verifier.signed_count,
        request_signed=signature_verifier.request_signed_count,
        warnings=(*verification.warnings, *_erased_behind(core, checkpoint_verifier.external_size)),
    )


def _erased_behind(core: Core, size: int | None) -> tuple[str, ...]:
    """Return a warning if commits that an external checkpoint covers were erased after it.

    The remaining fields open the commitments that the checkpoint covers. Only later commits attest
    that the other fields were erased on request.
    """
    if size is None:
        return ()
    with core.engine.reading() as reader:
        (count,) = reader.row("erased_behind", size=size) or (0,)
    if not count:
        return ()
    return (
        f"of the {size} commits of your checkpoint, {count} places were erased behind it: that "
        "somebody asked for it is vouched for by later commits alone; `memoranda certificate` "
        "lists them",
    )


def rebuild_store(core: Core, progress: Progress | None) -> Rebuild:
    """Rebuild every view and the Merkle tree from the log; report which ones had differed."""
    result = rebuild(core.engine, core.log_id, core.views, progress)
    if merkle_store.rebuild(core.engine, progress):
        return result
    return msgspec.structs.replace(result, differing=(*result.differing, "tree"))


def _listed(keys: object) -> Iterable[PublicKey | str]:
    if isinstance(keys, (str, bytes, PublicKey)) or not isinstance(keys, Iterable):
        raise InvalidInput("keys", f"{short_repr(keys)} is not a list of public keys: give a list")
    return keys


def plain_keys(keys: TrustedKeys) -> tuple[str, ...] | None:
    """Return public keys as plain data."""
    if keys is None:
        return None
    return tuple(key.text if isinstance(key, PublicKey) else key for key in _listed(keys))


def _key(key: PublicKey | str) -> PublicKey:
    if isinstance(key, PublicKey):
        return key
    return public_keys.parse(plain_text("keys", key))


# Reindexing.


def reindex_both(
    engine: Engine,
    indexer: Indexer,
    vectors: VectorIndex,
    *,
    text: bool,
    embedding: bool,
    language: str | None,
    namespace: str | None,
    progress: Progress | None,
) -> Reindexed:
    """Fill the full-text index, in a new language if one is given, then the vectors."""
    indexing = None if progress is None else _DocumentProgress(engine, progress)
    if language is not None:
        engine.write(partial(index_language.change, language=language, namespace=namespace))
    text_result = reindex(indexer, vectors, of_text=text, of_vectors=False, progress=indexing)
    rewritten = indexer.restem(progress=progress) if text else 0
    vector_result = reindex(
        indexer, vectors, of_text=False, of_vectors=embedding, progress=progress
    )
    return replace(
        vector_result, commits=text_result.commits, language=indexer.language, rewritten=rewritten
    )


class _DocumentProgress:
    """Reports progress in documents while commits are indexed: a commit may have thousands."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        self._progress = progress
        self._indexed_before, self._total = self._count()

    def __call__(self, _commits: int, _all_commits: int) -> None:
        """Report how many documents are indexed; the total grows where the backlog was estimated.

        The backlog is an estimate, so progress is the larger of what was added to the index and
        what left the backlog.
        """
        indexed, backlog = self._count()
        number = max(0, indexed - self._indexed_before, self._total - backlog)
        self._progress(number, self._total if number <= self._total else number + backlog)

    def _count(self) -> tuple[int, int]:
        """Return how many documents are indexed, and about how many are not."""
        with self._engine.reading() as reader:
            (indexed, _) = reader.row("partition_totals") or (0, 0)
            return indexed, indexer.backlog_documents(reader)


# Statistics.


class Stats(msgspec.Struct, frozen=True):
    """The size of a store, and warnings about it.

    `memories` counts memories that are neither retracted nor expired, private ones included, and
    `open_notices` notices without a decision. `facts` counts facts that hold or held, and
    `entities` the names they are about. The last checkpoint covers `checkpoint_size` commits, up to
    the time `checkpoint_at`. `signing` is the signer of further checkpoints while the store is
    open; None: there is no signer.
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
    """Whether erased bytes may still be in the files."""
    checkpoint_size: int = 0
    checkpoint_at: datetime | None = None
    signing: str | None = None
    index_backlog: int = 0
    """The number of commits that are not in the full-text index yet; a search scans them."""
    language: str = ENGLISH
    """The language of the full-text index's stemmer."""
    languages: Mapping[str, str] = {}
    """The languages of namespaces that have their own."""
    embedder: str | None = None
    """The model that made the stored vectors."""
    vectors: int = 0
    vector_backlog: int = 0
    """The approximate number of documents without a vector, unindexed ones included; a search
    embeds the newest of them itself."""
    cache_bytes: int = 0
    """The approximate size of this process's caches, of all stores that share the memory budget."""
    cache_limit: int = 0
    """The memory budget: the upper bound of that size."""
    cache_evictions: int = 0
    """The number of cached entries that were dropped to make room."""
    jobs: tuple[JobStatus, ...] = ()
    """The scheduled jobs of the server that has the store open, with their last and next runs."""


def gather(core: Core) -> Stats:
    """Return the statistics of an open store, of one moment."""
    with core.engine.snapshot() as reader:
        head = pages.head(reader, chain.genesis(core.log_id))
        epoch = reader.row("meta_get", name="epoch")
        agents, namespaces = reader.row("scope_counts") or (0, 0)
        (keys,) = reader.row("state_count") or (0,)
        facts, entities = reader.row("graph_counts") or (0, 0)
        backlog = indexer.backlog_commits(reader)
        vectors = core.vectors.stats(reader)
        language = index_language.read(reader)
        mixture = index_language.describe_mixture(reader)
        pending = first_pending(reader)
        checkpoint = checkpoints.latest(reader)
        covered = reader.row("event_time", commit_ts=checkpoint[0]) if checkpoint else None
        believed = reader.row("memory_counts", now=core.clock.now()) or (0, 0, 0)
        unfinished = horizon.unfinished(reader)
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
            *([f"{mixture}: {index_language.REMEDY}"] if mixture else []),
            *vectors.warnings,
            *map(_compacting, unfinished),
            *_owned_elsewhere(core),
            *_failing(core),
        ),
        checkpoint_size=checkpoint[0] if checkpoint else 0,
        checkpoint_at=to_datetime(covered[0]) if covered else None,
        signing=core.checkpointer.log_signer.signer.public.text if core.checkpointer else None,
        index_backlog=backlog,
        language=language.language,
        languages=language.namespaces,
        embedder=vectors.model,
        vectors=vectors.count,
        vector_backlog=vectors.backlog,
        cache_bytes=core.budget.used,
        cache_limit=core.budget.limit,
        cache_evictions=core.budget.evictions,
        jobs=tuple(core.jobs()),
    )


def _clock(core: Core, head: Head) -> tuple[str, ...]:
    return clock_warnings(head.committed_at, core.clock) if head.commit_ts else ()


def _owned_elsewhere(core: Core) -> tuple[str, ...]:
    owner = core.engine.owner()
    if owner is None or owner.is_process(core.owner):
        return ()
    return (f"{owner} serves this store: writes from here and from there wait for each other",)


def _signing(core: Core) -> tuple[str, ...]:
    failure = None if core.checkpointer is None else core.checkpointer.failure
    return () if failure is None else (f"the log is not being signed: {failure}",)


def _failing(core: Core) -> tuple[str, ...]:
    return tuple(
        f"the job {job.name} fails: {job.last_detail}" for job in core.jobs() if job.failures
    )


def _compacting(horizon: Horizon) -> str:
    message = f"namespace {horizon.namespace!r} is not compacted to the end up to commit"
    return f"{message} {horizon.commit_ts}: compact it again, unless that is under way"


def _indexing(core: Core) -> tuple[str, ...]:
    failure = core.background_indexer.failure
    return () if failure is None else (f"the index of words is not being filled: {failure}",)


# The calls.


class Verify(Call[Verification], frozen=True):
    """Verify the hash chain, every checkpoint and every signature; `deep`, the views as well."""

    verb = "admin"
    reach = "store"
    lane = "long"

    checkpoint: str | None = None
    """The note of a checkpoint that was kept elsewhere."""
    keys: tuple[str, ...] | None = None
    """The public keys to trust, as text; None: those that the log trusts."""
    deep: bool = False


class RebuildViews(Call[Rebuild], frozen=True):
    """Rebuild every view from the log, and report which ones had differed."""

    verb = "admin"
    reach = "store"
    lane = "long"


class Reindex(Call[Reindexed], frozen=True):
    """Bring the full-text index and the vectors up to date, and set the language of the index."""

    verb = "admin"
    reach = "store"
    lane = "long"

    text: bool = True
    vectors: bool = True
    language: str | None = None
    namespace: str | None = None


class GetStats(Call[Stats], frozen=True):
    """Read figures and warnings about the store."""

    verb = "admin"
    reach = "store"
    lane = "search"


class SqlViews(Call[list[SqlView]], frozen=True):
    """List the views that `Sql` can read, with their columns."""

    verb = "admin"
    reach = "store"


SqlValue: TypeAlias = str | int | float | bytes | None
"""A value of a row, or of a placeholder."""


class Sql(Call[dict[str, SqlValue]], frozen=True):
    """List the rows of a SELECT over the documented views."""

    verb = "admin"
    reach = "store"
    shape = "pages"
    lane = "search"

    query: str
    parameters: tuple[SqlValue, ...] | dict[str, SqlValue] = ()
    """Values of its placeholders, by position or by name."""


def verify_log(
    core: Core, _: Grant, call: Verify, progress: Progress | None = None
) -> Verification:
    """Return what was verified."""
    return verify_store(core, call.checkpoint, call.keys, progress, call.deep)


def rebuild_views(
    core: Core, _: Grant, __: RebuildViews, progress: Progress | None = None
) -> Rebuild:
    """Return what was rebuilt."""
    return rebuild_store(core, progress)


def reindex_store(
    core: Core, _: Grant, call: Reindex, progress: Progress | None = None
) -> Reindexed:
    """Return what was indexed."""
    if call.language is not None:
        check_language(call.language)
    if call.namespace is not None and call.language is None:
        raise InvalidInput("namespace", "is given without a language: give both or neither")
    return reindex_both(
        core.engine,
        core.background_indexer.indexer,
        core.vectors,
        text=call.text,
        embedding=call.vectors,
        language=call.language,
        namespace=check_namespace(core, call.namespace),
        progress=progress,
    )


def get_stats(core: Core, _: Grant, __: GetStats) -> Stats:
    """Return the figures of one moment."""
    return gather(core)


def sql_views(core: Core, _: Grant, __: SqlViews) -> list[SqlView]:
    """Return the views."""
    return core.engine.documented_views()


def sql(core: Core, _: Grant, call: Sql) -> Pages[dict[str, Any]]:
    """Return the rows, from one snapshot that stays open until the last one is read."""
    return core.engine.query(plain_text("query", call.query), call.parameters)


HANDLERS: Handlers = {
    Verify: verify_log,
    RebuildViews: rebuild_views,
    Reindex: reindex_store,
    GetStats: get_stats,
    SqlViews: sql_views,
    Sql: sql,
}
