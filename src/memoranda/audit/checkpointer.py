"""Signing checkpoints, on request and periodically.

A checkpoint covers durable commits only, and always extends the history that the signer has
signed before. A crash is safe at any point because of the order: the note is written to the
signer's ledger beside its key, then to the store, then returned. If a crash leaves a note in the
ledger only, the next signing adds it to the store.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial

from memoranda.audit import checkpoints, merkle_store, trusted_keys
from memoranda.audit.checkpoints import Checkpoint, SignedCheckpoint, origin_of
from memoranda.audit.keys import PublicKey
from memoranda.audit.merkle import Tree
from memoranda.audit.signers import Ledger, Signer
from memoranda.audit.trusted_keys import TrustRequest
from memoranda.errors import InvalidInput, MemorandaError, NotProven
from memoranda.log import pages
from memoranda.log.commit.failpoints import Failpoint, no_failpoint
from memoranda.model.clock import Clock
from memoranda.model.limits import check_integer, check_seconds
from memoranda.storage.port import Engine, Reader, Writer

Commit = Callable[[TrustRequest], int]
"""Commit a request, and return its commit number once it is durable."""


class LogSigner:
    """Signs checkpoints of one log with one key."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        signer: Signer,
        commit: Commit,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self.signer = signer
        self._engine = engine
        self._origin = origin_of(log_id)
        self._ledger = Ledger(signer, self._origin)
        self._commit = commit
        self._failpoint = failpoint

    def check(self) -> None:
        """Raise if the signer cannot sign this log in its present state."""
        with self._engine.snapshot() as reader:
            self._is_trusted(reader)
        with self._ledger.lock():
            self._check_history(self._fill_tree())

    def sign(self) -> SignedCheckpoint:
        """Return a checkpoint of the log's head; signing the same head again returns the same."""
        # The order matters: (1) sync, so that only durable commits are signed; (2) compare with
        # the ledger and the store, so that the log extends what was signed; (3) the ledger before
        # the store, so that a rolled-back store cannot make the signer forget a note.
        self._ensure_trusted()
        with self._ledger.lock():
            self._engine.sync()
            size = self._fill_tree()
            note = self._check_history(size)
            if note is None:
                note = self._sign(size)
                self._failpoint("signed")
                self._ledger.remember(note)
                self._failpoint("remembered")
            self._engine.write(partial(_store_note, size=size, note=note))
            self._failpoint("kept")
        with self._engine.reading() as reader:
            return checkpoints.describe(reader, note)

    def _ensure_trusted(self) -> None:
        """Make the first signer of a log trusted; raise if another signer is not trusted yet."""
        with self._engine.snapshot() as reader:
            trusted = self._is_trusted(reader)
        if not trusted:
            public = self.signer.public
            self._commit(TrustRequest(public.name, public.key, first=True))

    def _is_trusted(self, reader: Reader) -> bool:
        """Return True if the log trusts the signer, False if it trusts no key yet; else raise."""
        keys, public = trusted_keys.log_keys(reader), self.signer.public
        key = _find_key(keys, public)
        if key is None:
            if keys:
                raise trusted_keys.not_trusted(public)
            return False
        if key.valid_until_commit is not None:
            raise InvalidInput(
                "signer",
                f"{public.text} was retired at commit {key.valid_until_commit + 1}: "
                "use the signer that took its place",
            )
        return True

    def _fill_tree(self) -> int:
        """Extend the stored Merkle tree to the log's head, and return the head's commit number."""
        with self._engine.reading() as reader:
            size = pages.head_commit(reader)
        merkle_store.grow(self._engine, size)
        return size

    def _check_history(self, size: int) -> str | None:
        """Raise if the log does not extend what was signed; return an existing note of `size`."""
        ledger_entry = self._ledger.last()
        with self._engine.snapshot() as reader:
            tree, latest = merkle_store.load_tree(reader), checkpoints.latest(reader)
            if latest is not None:
                last = checkpoints.verify_for_log(
                    latest[1], trusted_keys.log_keys(reader), self._origin
                )
                _check_extends(tree, last, "another signer, or this one,")
            if ledger_entry is None:
                return None
            note, last = ledger_entry
            _check_extends(tree, last, self.signer.public.text)
        if last.size == size:
            return note
        if latest is None or latest[0] < last.size:  # a crash came between ledger and store
            self._engine.write(partial(_store_note, size=last.size, note=note))
        return None

    def _sign(self, size: int) -> str:
        with self._engine.snapshot() as reader:
            key = _find_key(trusted_keys.log_keys(reader), self.signer.public)
            root = merkle_store.load_tree(reader).root(size)
        if key is None or not key.may_sign(size):
            raise NotProven(
                f"{self.signer.public.text} may not sign a checkpoint of {size} commits: "
                "it was retired in the meantime"
            )
        return checkpoints.sign(Checkpoint(self._origin, size, root), [self.signer])


def _store_note(writer: Writer, size: int, note: str) -> None:
    writer.run("checkpoint_add", size=size, note=note)


def _find_key(keys: list[PublicKey], key: PublicKey) -> PublicKey | None:
    return next(
        (candidate for candidate in keys if (candidate.name, candidate.key) == (key.name, key.key)),
        None,
    )


def _check_extends(tree: Tree, last: Checkpoint, signer: str) -> None:
    """Raise `NotProven` if the log does not begin with the history that was signed."""
    if tree.size < last.size:
        raise NotProven(
            f"nothing is signed: {signer} has signed {last.size} commits, and the store has "
            f"{tree.size}. It was rolled back, perhaps to a backup: restore the newer state, or "
            "fork the store; a fork is a new log that can be signed"
        )
    if tree.root(last.size) != last.root:
        raise NotProven(
            f"nothing is signed: the first {last.size} commits are not those that {signer} has "
            "signed. This is another history with the same log id: restore the signed log, or "
            "fork the store; a fork is a new log that can be signed"
        )


# Periodic signing: after a number of commits, or after a number of seconds with unsigned commits.
#
# A background thread polls the log's head, so a commit neither waits for it nor wakes it. Several
# processes may run one on the same store: a checkpoint signed by one counts for all. A failure is
# reported as a warning of `stats`, retried at the next poll, and raised when the store is closed.

DEFAULT_COMMITS = 1_000
"""Unsigned commits that make a checkpoint due."""
DEFAULT_SECONDS = 60.0
"""Seconds after the first unsigned commit until a checkpoint is due."""
POLL_SECONDS = 0.2
"""Interval between polls of the log's head, in seconds: well below any useful signing interval,
and each poll costs two indexed reads."""


class Checkpointer:
    """Signs checkpoints of an open store in a background thread, until the store is closed."""

    def __init__(
        self,
        engine: Engine,
        log_signer: LogSigner,
        clock: Clock,
        *,
        every: int = DEFAULT_COMMITS,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self._seconds = check_seconds("checkpoint_seconds", seconds)
        self._commits = check_integer(
            "checkpoint_every", every, minimum=1, noun="a number of commits"
        )
        self._engine = engine
        self._clock = clock
        self.log_signer = log_signer
        self.failure: MemorandaError | None = None
        """The error of the last attempt; None if it succeeded."""
        self._unsigned_since: float | None = None
        self._owner_pid = os.getpid()
        self._stop_requested = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Raise if the log cannot be signed; otherwise start the background thread."""
        self.log_signer.check()
        self._thread = threading.Thread(
            target=self._run, name="memoranda-checkpointer", daemon=True
        )
        self._thread.start()

    def close(self, drain: Callable[[], None]) -> None:
        """Stop the thread, call `drain` to write queued transactions, and sign them too, or raise.

        Does nothing in a forked child, which has no such thread.
        """
        if self._stop_requested.is_set() or self._owner_pid != os.getpid():
            return
        self._stop_requested.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
        drain()
        if self._unsigned_commits():
            self.log_signer.sign()

    def _run(self) -> None:
        while not self._stop_requested.wait(POLL_SECONDS):
            try:
                if self._due():
                    self.log_signer.sign()
                    self._unsigned_since = None
                self.failure = None
            except MemorandaError as error:  # reported by `stats`, retried, raised by `close`
                self.failure = error

    def _due(self) -> bool:
        unsigned = self._unsigned_commits()
        if not unsigned:
            self._unsigned_since = None
            return False
        now = self._clock.monotonic()
        if self._unsigned_since is None:
            self._unsigned_since = now
        return unsigned >= self._commits or now - self._unsigned_since >= self._seconds

    def _unsigned_commits(self) -> int:
        """Return the number of commits behind the last checkpoint of the store."""
        with self._engine.reading() as reader:
            latest = checkpoints.latest(reader)
            return pages.head_commit(reader) - (0 if latest is None else latest[0])
