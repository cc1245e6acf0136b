"""The doctor: health checks of a store, with remedies.

It changes nothing, so it can check a store that is damaged or in use.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memoranda.audit.agent_signatures import AgentSignatureVerifier
from memoranda.audit.checkpoint_comparison import CheckpointVerifier
from memoranda.calls.core import all_views
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreFull,
    StoreReadOnly,
    ViewsDiffer,
)
from memoranda.log import chain, pages
from memoranda.log.compaction import horizon as compaction_horizon
from memoranda.log.erasure.purge import first_pending
from memoranda.log.lineage import stored_log_id
from memoranda.log.verify.compare_views import compare_views
from memoranda.log.verify.verifier import clock_warnings, verify
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import check_callable, check_type
from memoranda.sdk.open import open_engine, open_engine_to_read
from memoranda.search.index import check as index_check
from memoranda.search.index import indexer
from memoranda.search.index.background_indexer import SEARCH_WAKE_THRESHOLD
from memoranda.search.text import language as index_language
from memoranda.search.text.stemmer import ENGLISH
from memoranda.search.vectors import store as vectors_store
from memoranda.search.vectors.embedder import Embedder, EmbedderSpec, resolve_embedder
from memoranda.storage.files import leftovers, path_exists
from memoranda.storage.port import Check, Engine, Finding, Progress, fine, problem, warning
from memoranda.storage.postgres.database_url import is_database_url
from memoranda.storage.sqlite.health import check_journal, check_place, check_version
from memoranda.storage.store_url import Url, file_of

_MIB = 1024 * 1024
_LEAST_FREE = 64 * _MIB
"""Free bytes below which a commit may soon fail."""
_COMFORTABLY_FREE = 1024 * _MIB
"""Free bytes, beside the size of the store, below which a backup may not fit."""


def diagnose(
    url: Url,
    *,
    quick: bool = False,
    deep: bool = False,
    clock: Clock | None = None,
    progress: Progress | None = None,
    embedder: EmbedderSpec = None,
) -> Iterator[Finding]:
    """Yield the finding of each check of a store, as soon as it is done.

    `quick` leaves out the checks that read the whole store: its pages and its chain. `deep` also
    rebuilds the views in a temporary database and compares. With an `embedder`, check that the
    vectors in the store are of its model.
    """
    check_callable("progress", progress)
    check_type("clock", clock, Clock)
    embedding = resolve_embedder(embedder)
    path = None if is_database_url(url) else file_of("url", url)
    yield fine("python", f"Python {platform.python_version()} on {platform.platform(terse=True)}")
    yield check_version()
    if path is not None:
        file_finding = _run_check("file", lambda: _check_file(path))
        yield file_finding
        if file_finding.status == "problem" and (
            file_finding.error == "Unavailable" or not path.is_file()
        ):
            return
        yield check_place(path)
        yield _check_space(path)
        yield _run_check("journal", lambda: check_journal(path))
    try:
        engine = (
            open_engine(url, create=False, read_only=True)
            if path is None
            else open_engine_to_read(path)
        )
    except MemorandaError as error:
        yield _problem("store", error)
        return
    checks = [
        *engine.diagnose(quick=quick),
        ("clock", lambda: _check_clock(engine, clock or SystemClock())),
        ("index", lambda: _check_index(engine)),
    ]
    if not quick:
        checks += [("chain", lambda: _check_chain(engine, progress))]
    if deep:
        checks += [("views", lambda: _check_views(engine, progress))]
    with closing(engine):
        for name, check in checks:
            yield _run_check(name, check)
        yield from _check_vectors(engine, embedding)
        yield from _check_erased(engine)
        if path is not None:
            yield from _check_copies(engine, path)
        yield from _check_compactions(engine)
        yield from _check_owner(engine)


def _run_check(name: str, check: Check) -> Finding:
    """Return the finding of a check; an error is a finding, too."""
    try:
        return check()
    except MemorandaError as error:
        return _problem(name, error)


def _problem(check: str, error: MemorandaError) -> Finding:
    message = error.problem if isinstance(error, InvalidInput) else str(error)
    return problem(check, message, None, type(error).__name__)


def _check_file(path: Path) -> Finding:
    """Check that the file exists, and its permissions."""
    if not path_exists(path):
        return problem(
            "file",
            f"there is no store at {path}",
            "a first write creates one; or name another store",
            NotFound.__name__,
        )
    if not path.is_file():
        return problem("file", f"{path} is not a file", "name a file", InvalidInput.__name__)
    if not os.access(path, os.R_OK):
        remedy = "check the permissions of the file"
        return problem("file", f"{path} cannot be read", remedy, StoreReadOnly.__name__)
    missing = [] if os.access(path, os.W_OK) else [f"{path} cannot be written"]
    if not os.access(path.parent, os.W_OK | os.X_OK):
        missing.append(f"nothing can be written beside it in {path.parent.absolute()}")
    if missing:
        return warning(
            "file",
            f"{', and '.join(missing)}: it can be read",
            "to read it is enough to open it with read_only=True, as commands that only read do; "
            "to write, check the permissions of the file and of its folder",
        )
    return fine("file", f"{path} can be read and written, and has {path.stat().st_size:,} bytes")


def _check_space(path: Path) -> Finding:
    free = shutil.disk_usage(path).free
    message = f"{free:,} bytes are free there"
    if free < _LEAST_FREE:
        return problem("space", message, "free some before commits fail", StoreFull.__name__)
    if free < path.stat().st_size + _COMFORTABLY_FREE:
        return warning("space", message, "free some: a backup beside the store may not fit")
    return fine("space", message)


def _check_vectors(engine: Engine, embedder: Embedder | None) -> Iterator[Finding]:
    """Report the model of the vectors, if there are any."""
    with engine.reading() as reader:
        has_table = reader.has("vector")
        vectors = vectors_store.read(reader) if has_table else None
        count, backlog = vectors_store.count_vectors(reader, vectors) if vectors else (0, 0)
    if vectors is None:
        return
    if embedder is not None and not vectors.matches(embedder):
        message = f"they are of model {vectors.model!r}, and the embedder is {embedder.name!r}"
        yield warning("vectors", message, "make them anew: `memoranda reindex`")
        return
    yield fine("vectors", f"{count:,} of model {vectors.model!r}, and {backlog:,} are to come")


def _check_owner(engine: Engine) -> Iterator[Finding]:
    """Say which server owns the store, if one does."""
    owner = engine.owner()
    if owner is not None:
        yield fine("owner", f"{owner} serves it: programs that open it themselves slow both down")


def _check_erased(engine: Engine) -> Iterator[Finding]:
    """Warn if erased bytes may still be in the files."""
    with engine.reading() as reader:
        pending = first_pending(reader)
    if pending is not None:
        yield warning(
            "erased",
            f"what commit {pending} erased, or a later one, may still be in the files",
            "let it go: `memoranda purge`",
        )


def _check_copies(engine: Engine, path: Path) -> Iterator[Finding]:
    """Warn of files that a killed process left while it copied or verified the store."""
    copies = [copy for copy in leftovers(path, _log_id(engine)) if not copy.in_use]
    if copies:
        size = sum(copy.bytes for copy in copies)
        names = " ".join(shlex.quote(copy.path) for copy in copies)
        yield warning(
            "copies",
            f"a process that was killed left {size:,} bytes of unfinished copies, which may hold "
            "what was erased since",
            f"nobody needs them: rm -r {names}",
        )


def _check_compactions(engine: Engine) -> Iterator[Finding]:
    """Warn of compactions that were interrupted or are running."""
    with engine.reading() as reader:
        if not reader.has("horizon", "unfinished"):
            return
        unfinished = compaction_horizon.unfinished(reader)
    for horizon in unfinished:
        message = f"namespace {horizon.namespace!r} is not compacted to the end up to commit"
        yield warning(
            "compaction",
            f"{message} {horizon.commit_ts}",
            f"unless that is under way: `memoranda compact --namespace {horizon.namespace} "
            f"--before {horizon.commit_ts} --yes` goes on with it",
        )


def _check_index(engine: Engine) -> Finding:
    """Report how many commits the full-text index lacks."""
    with engine.reading() as reader:
        if not reader.has("to_index"):
            return fine("index", "an older version wrote the store: it is indexed when opened")
        commits, passages = indexer.backlog_commits(reader), indexer.backlog_documents(reader)
        mixture = index_language.describe_mixture(reader)
        language = index_language.read(reader)
    message = f"the index of words lacks {commits:,} commit{'' if commits == 1 else 's'}"
    if mixture is not None:
        return warning("index", mixture, index_language.REMEDY)
    if passages > SEARCH_WAKE_THRESHOLD:
        remedy = "nothing is missed by a search; the next one, or the next writes, index them"
        return warning("index", message, remedy)
    message = message if commits else "the index of words has every commit"
    names = index_language.names(language)
    return fine("index", message if names == ENGLISH else f"{message}, in {names}")


def _check_clock(engine: Engine, clock: Clock) -> Finding:
    with engine.reading() as reader:
        head = pages.head(reader, chain.genesis(""))
    for message in clock_warnings(head.committed_at, clock):
        return warning("clock", message, "set the clock, and keep it set")
    return fine("clock", "the last commit is not ahead of this machine's clock")


def _check_chain(engine: Engine, progress: Progress | None) -> Finding:
    log_id = _log_id(engine)
    check_signatures = AgentSignatureVerifier(log_id).check_event
    with engine.reading() as reader:
        signed = reader.has("checkpoint")
    checkpoint_verifier = CheckpointVerifier(engine, log_id) if signed else None
    follow = (
        None
        if checkpoint_verifier is None or checkpoint_verifier.idle
        else checkpoint_verifier.add_events
    )
    verification = verify(engine, log_id, SystemClock(), progress, follow, check_signatures)
    compared = 0 if checkpoint_verifier is None else checkpoint_verifier.finish()
    checkpoint_text = f", and {compared} checkpoints fit it" if compared else ""
    return fine("chain", f"it holds, up to commit {verification.commits}{checkpoint_text}")


def _check_views(engine: Engine, progress: Progress | None) -> Finding:
    """Rebuild the views in a temporary database, and compare them."""
    with engine.reading() as reader:
        if all_views().outdated(reader).all:
            return fine("views", "another version wrote them: they are rebuilt when opened")
    try:
        rows = compare_views(engine, _log_id(engine), all_views(), progress)
        index_check.check_index(engine, progress)
    except ViewsDiffer as error:
        message = (
            f"rows are not what the log says in: {error.view} ({error.table}: {error.problem})"
        )
        remedy = "`memoranda rebuild` repairs them"
        return problem("views", message, remedy, ViewsDiffer.__name__)
    return fine("views", f"{rows:,} rows are what the log says")


def _log_id(engine: Engine) -> str:
    with engine.reading() as reader:
        return stored_log_id(reader) or ""
