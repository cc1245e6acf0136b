"""The doctor: whether a store is well, and what to do if it is not.

It changes nothing, so it can be asked about a store that is damaged or in use.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from memoranda.audit.attestation import Attestations
from memoranda.audit.witness import Witness
from memoranda.errors import (
    InvalidInput,
    NotFound,
    MemorandaError,
    StoreFull,
    StoreReadOnly,
    ViewsDiffer,
)
from memoranda.log import chain, horizons, pages
from memoranda.log.comparison import compare_views
from memoranda.log.epochs import known_log_id
from memoranda.log.purging import first_pending
from memoranda.log.verification import clock_warnings, verify
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.finding import Finding, fine, problem, warning
from memoranda.model.limits import check_callable, check_kind
from memoranda.sdk.open import (
    check_format,
    check_journal,
    check_pages,
    check_place,
    check_version,
    open_engine,
)
from memoranda.sdk.registry import all_views
from memoranda.sdk.urls import Url, file_of
from memoranda.search import checking, filling
from memoranda.search import kept as vectors_kept
from memoranda.search.embedding import Embedder, Given, embedder_of
from memoranda.storage.newfiles import is_there
from memoranda.storage.port import Engine, Progress
from memoranda.storage.workfolders import leftovers

_MIB = 1024 * 1024
_LEAST_FREE = 64 * _MIB
"""With less, a commit may soon find no room."""
_COMFORTABLY_FREE = 1024 * _MIB
_DEEDS = (("read", os.R_OK), ("written", os.W_OK))

Check = Callable[[], Finding]


def diagnose(
    url: Url,
    *,
    quick: bool = False,
    deep: bool = False,
    clock: Clock | None = None,
    progress: Progress | None = None,
    embedder: Given = None,
) -> Iterator[Finding]:
    """Yield what each check of a store comes to, as it is done.

    `quick` leaves out what reads the whole store: its pages and its chain. `deep` also builds the
    views again, beside the store, and compares. With an `embedder` it says whether the store's
    vectors are of that.
    """
    check_callable("progress", progress)
    check_kind("clock", clock, Clock)
    embedding = embedder_of(embedder)
    path = file_of("url", url)
    yield fine("python", f"Python {platform.python_version()} on {platform.platform(terse=True)}")
    yield check_version()
    found = _told("file", lambda: _check_file(path))
    yield found
    if found.status == "problem" and (found.error == "Unavailable" or not path.is_file()):
        return
    yield check_place(path)
    yield _check_space(path)
    yield _told("journal", lambda: check_journal(path))
    try:
        engine = open_engine(path, create=False, allow_network_file_system=True, migrate=False)
    except MemorandaError as error:
        yield _problem("store", error)
        return
    checks: list[tuple[str, Check]] = [
        ("store", lambda: check_format(path)),
        ("clock", lambda: _check_clock(engine, clock or SystemClock())),
        ("index", lambda: _check_index(engine)),
    ]
    if not quick:
        checks += [
            ("pages", lambda: check_pages(path)),
            ("chain", lambda: _check_chain(engine, progress)),
        ]
    if deep:
        checks += [("views", lambda: _check_views(engine, progress))]
    with closing(engine):
        for name, check in checks:
            yield _told(name, check)
        yield from _check_vectors(engine, embedding)
        yield from _check_erased(engine)
        yield from _check_copies(engine, path)
        yield from _check_compactions(engine)


def _told(name: str, check: Check) -> Finding:
    """Return what a check finds; an error is a finding too."""
    try:
        return check()
    except MemorandaError as error:
        return _problem(name, error)


def _problem(check: str, error: MemorandaError) -> Finding:
    told = error.problem if isinstance(error, InvalidInput) else str(error)
    return problem(check, told, None, type(error).__name__)


def _check_file(path: Path) -> Finding:
    """Say whether the file is there, and what may be done with it."""
    if not is_there(path):
        return problem(
            "file",
            f"there is no store at {path}",
            "a first write creates one; or name another store",
            NotFound.__name__,
        )
    if not path.is_file():
        return problem("file", f"{path} is not a file", "name a file", InvalidInput.__name__)
    missing = [f"{path} cannot be {deed}" for deed, mode in _DEEDS if not os.access(path, mode)]
    if not os.access(path.parent, os.W_OK | os.X_OK):
        missing.append(f"nothing can be written beside it in {path.parent.absolute()}")
    if missing:
        remedy = "check the permissions of the file and of its folder"
        return problem("file", ", and ".join(missing), remedy, StoreReadOnly.__name__)
    return fine("file", f"{path} can be read and written, and has {path.stat().st_size:,} bytes")


def _check_space(path: Path) -> Finding:
    free = shutil.disk_usage(path).free
    told = f"{free:,} bytes are free there"
    if free < _LEAST_FREE:
        return problem("space", told, "free some before commits fail", StoreFull.__name__)
    if free < path.stat().st_size + _COMFORTABLY_FREE:
        return warning("space", told, "free some: a backup beside the store may not fit")
    return fine("space", told)


def _check_vectors(engine: Engine, embedder: Embedder | None) -> Iterator[Finding]:
    """Say of which model the store's vectors are, if there are any."""
    with engine.reading() as reader:
        there = reader.row("table_there", name="vector") is not None
        kept = vectors_kept.read(reader) if there else None
        made, backlog = vectors_kept.counted(reader, kept) if kept else (0, 0)
    if kept is None:
        return
    if embedder is not None and not kept.are_of(embedder):
        told = f"they are of model {kept.model!r}, and the embedder is {embedder.name!r}"
        yield warning("vectors", told, "make them anew: `memoranda reindex`")
        return
    yield fine("vectors", f"{made:,} of model {kept.model!r}, and {backlog:,} are to come")


def _check_erased(engine: Engine) -> Iterator[Finding]:
    """Say so where something was erased and may still be in the files."""
    with engine.reading() as reader:
        pending = first_pending(reader)
    if pending is not None:
        yield warning(
            "erased",
            f"what commit {pending} erased, or a later one, may still be in the files",
            "let it go: `memoranda purge`",
        )


def _check_copies(engine: Engine, path: Path) -> Iterator[Finding]:
    """Name what a process left that was killed while it copied or verified the store."""
    copies = [each for each in leftovers(path, _log_id(engine)) if not each.in_use]
    if copies:
        size = sum(each.bytes for each in copies)
        names = " ".join(shlex.quote(each.path) for each in copies)
        yield warning(
            "copies",
            f"a process that was killed left {size:,} bytes of unfinished copies, which may hold "
            "what was erased since",
            f"nobody needs them: rm -r {names}",
        )


def _check_compactions(engine: Engine) -> Iterator[Finding]:
    """Say so where a compaction was interrupted, or is under way."""
    with engine.reading() as reader:
        if reader.row("column_there", table="horizon", name="unfinished") is None:
            return
        unfinished = horizons.unfinished(reader)
    for horizon in unfinished:
        told = f"namespace {horizon.namespace!r} is not compacted to the end up to commit"
        yield warning(
            "compaction",
            f"{told} {horizon.commit_ts}",
            f"unless that is under way: `memoranda compact --namespace {horizon.namespace} "
            f"--before {horizon.commit_ts} --yes` goes on with it",
        )


def _check_index(engine: Engine) -> Finding:
    """Say how far the index of words is behind."""
    with engine.reading() as reader:
        if reader.row("table_there", name="to_index") is None:
            return fine("index", "an older version wrote the store: it is indexed when opened")
        behind, passages = filling.backlog(reader), filling.work(reader)
    told = f"the index of words lacks {behind:,} commit{'' if behind == 1 else 's'}"
    if passages > filling.MUCH:
        remedy = "nothing is missed by a search; the next one, or the next writes, index them"
        return warning("index", told, remedy)
    return fine("index", told if behind else "the index of words has every commit")


def _check_clock(engine: Engine, clock: Clock) -> Finding:
    with engine.reading() as reader:
        head = pages.head(reader, chain.genesis(""))
    for told in clock_warnings(head.committed_at, clock):
        return warning("clock", told, "set the clock, and keep it set")
    return fine("clock", "the last commit is not ahead of this machine's clock")


def _check_chain(engine: Engine, progress: Progress | None) -> Finding:
    log_id = _log_id(engine)
    attend = Attestations(log_id).take
    with engine.reading() as reader:
        signed = reader.row("table_there", name="checkpoint") is not None
    witness = Witness(engine, log_id) if signed else None
    follow = None if witness is None or witness.idle else witness.follow
    found = verify(engine, log_id, SystemClock(), progress, follow, attend)
    compared = 0 if witness is None else witness.finish()
    held = f", and {compared} checkpoints fit it" if compared else ""
    return fine("chain", f"it holds, up to commit {found.commits}{held}")


def _check_views(engine: Engine, progress: Progress | None) -> Finding:
    """Build the views again where it disturbs nobody, and compare."""
    with engine.reading() as reader:
        if all_views().outdated(reader):
            return fine("views", "another version wrote them: they are rebuilt when opened")
    try:
        rows = compare_views(engine, _log_id(engine), all_views(), progress)
        checking.check_index(engine, progress)
    except ViewsDiffer as error:
        told = f"rows are not what the log says in: {error.view} ({error.table}: {error.problem})"
        remedy = "`memoranda rebuild` repairs them"
        return problem("views", told, remedy, ViewsDiffer.__name__)
    return fine("views", f"{rows:,} rows are what the log says")


def _log_id(engine: Engine) -> str:
    with engine.reading() as reader:
        return known_log_id(reader) or ""
