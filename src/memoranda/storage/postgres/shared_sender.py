"""One statement for commits of several logs: stores of a process send their batches together.

A statement that commits one log costs the server about as much as one for many. So the stores of a
process that are in one database share a sender, with a connection of its own. Whoever has a batch
to commit queues it. One thread leads: it takes what is queued, sends it as one statement, and wakes
the others, one after the other, so that they do not compete for the interpreter. While it waits for
the server, the next batches gather, so a log waits for others by one statement at most. A store
that is alone in its database sends its batches itself.

The statement swaps the stamp of each store. One whose stamp has changed, or whose row another
process has locked, is left out, and nothing of it is written: its batch is decided again under the
lock. The others do not notice. An error of the statement undoes all of it, so then every batch is
decided again, each alone. If the connection is lost, each store finds out by its own row.

Leadership is taken under the mutex and given up by an assignment, at the start of `finally`, so
that no interrupt leaves the others without a leader; a wake-up is a hint (see `group_commit.py`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence

import psycopg

from memoranda.errors import MemorandaError, Unavailable
from memoranda.storage.port import Row
from memoranda.storage.postgres.commit_statement import LogCommit, compose_several
from memoranda.storage.postgres.error_translation import translate_errors
from memoranda.storage.postgres.statements import query_text
from memoranda.storage.thread_locks import ChainedWakeup, Wakeup, link_waiters, new_lock

_MOST_LOGS = 64
"""Logs in one statement: enough to spread its cost, and none waits long for the others."""
_PEER_WAIT_SECONDS = 0.0005
"""Seconds within which one more batch must arrive for a leader to go on waiting for others."""
_RECHECK_SECONDS = 0.5
"""Seconds after which a waiting thread looks for itself, in case a wake-up was lost."""


class _Pending:
    """A commit that is queued or being sent."""

    __slots__ = ("commit", "error", "is_written", "wakeup")

    def __init__(self, commit: LogCommit) -> None:
        self.commit = commit
        self.wakeup = ChainedWakeup()
        self.is_written: bool | None = None
        """None: it is not known yet."""
        self.error: Unavailable | None = None
        """The connection was lost, and the outcome with it."""

    @property
    def is_settled(self) -> bool:
        return self.is_written is not None or self.error is not None


class SharedSender:
    """Sends the commits of the stores of one database, with one durability."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Row]], *, relaxed: bool) -> None:
        self._connect = connect
        self._relaxed = relaxed
        self._mutex = new_lock()
        """Protects the queue, leadership and the number of stores, for a few assignments."""
        self._queue: deque[_Pending] = deque()
        self._leader: _Pending | None = None
        self._stores = 0
        self._last_size = 1
        """Logs in the last statement: an estimate of how many commit at the same time."""
        self._gathered = Wakeup()
        """Set when as many logs are queued as the last statement had."""
        self._database: psycopg.Connection[Row] | None = None
        self._is_distributed = False
        """Whether stores may be on several nodes, as with Citus: known from the first use on."""

    @property
    def is_shared(self) -> bool:
        """Whether several stores use it, and one statement can reach all of them."""
        return self._stores > 1 and not self._is_distributed

    def join(self) -> None:
        """Count a store."""
        with self._mutex:
            self._stores += 1

    def leave(self) -> bool:
        """Count a store less; close the connection behind the last, and return whether it was."""
        with self._mutex:
            self._stores -= 1
            is_last = not self._stores
        if is_last:
            self._disconnect()
        return is_last

    def commit(self, commit: LogCommit) -> bool:
        """Commit a batch; return False if nothing of it was written.

        Raises `Unavailable` if the connection is lost: the store's row has the outcome.
        """
        pending = _Pending(commit)
        try:
            with self._mutex:
                self._queue.append(pending)
                if len(self._queue) == self._last_size > 1:
                    self._gathered.set()
            while not pending.is_settled:
                if self._try_lead(pending):
                    self._send_batch(pending)
                else:
                    pending.wakeup.wait(_RECHECK_SECONDS)
        finally:
            if self._leader is pending:
                self._leader = None
            pending.wakeup.wake_next()
            if not pending.is_settled:
                self._withdraw(pending)
            self._wake_next()
        if pending.error is not None:  # an error object of its own: each raises in its thread
            raise Unavailable(str(pending.error)) from pending.error
        return bool(pending.is_written)

    def _try_lead(self, pending: _Pending) -> bool:
        with self._mutex:
            if self._leader is None:
                self._leader = pending
            return self._leader is pending

    def _withdraw(self, pending: _Pending) -> None:
        """Remove a commit whose caller was interrupted before it was sent."""
        with self._mutex:
            if pending in self._queue:
                self._queue.remove(pending)

    def _wake_next(self) -> None:
        """Wake the first caller of the queue, which may now lead."""
        with self._mutex:
            first = self._queue[0] if self._queue and self._leader is None else None
        if first is not None:
            first.wakeup.set()

    def _send_batch(self, own: _Pending) -> None:
        """Send a batch, and wake those whose commits were in it; the leader is awake already."""
        batch: list[_Pending] = []
        first: ChainedWakeup | None = None
        try:
            if len(self._queue) < self._last_size:
                self._wait_for_peers()
            self._take_batch(batch)
            first = link_waiters([pending.wakeup for pending in batch if pending is not own])
            written = self._send([pending.commit for pending in batch])
            for pending in batch:
                pending.is_written = pending.commit.store_id in written
        except Unavailable as error:
            for pending in batch:
                pending.error = error
        finally:
            self._settle_interrupted(batch)
            if first is not None:
                first.set()

    def _settle_interrupted(self, batch: Sequence[_Pending]) -> None:
        """Let the stores whose commits this thread took, and did not send to the end, find out.

        What is still queued was not sent: the next leader takes it.
        """
        if all(pending.is_settled for pending in batch):
            return
        with self._mutex:
            queued = [*self._queue]
        self._disconnect()
        for pending in batch:
            if not pending.is_settled and pending not in queued:
                pending.error = Unavailable("the commit was interrupted")

    def _take_batch(self, batch: list[_Pending]) -> None:
        """Take commits out of the queue, one of each store: of two, only one can swap its stamp.

        Each is in the batch before it leaves the queue: an interrupt between the two loses none.
        """
        with self._mutex:
            stores: set[int] = set()
            for pending in self._queue:
                if pending.commit.store_id not in stores:
                    stores.add(pending.commit.store_id)
                    batch.append(pending)
                if len(batch) == _MOST_LOGS:
                    break
            for pending in batch:
                self._queue.remove(pending)
            self._last_size = len(batch)

    def _wait_for_peers(self) -> None:
        """Wait until as many logs are queued as the last statement had, or no more arrive."""
        self._gathered.clear()
        previous = 0
        while previous < len(self._queue) < self._last_size:
            previous = len(self._queue)
            self._gathered.wait(_PEER_WAIT_SECONDS)

    def _send(self, commits: Sequence[LogCommit]) -> set[int]:
        """Send commits as one statement; return the stores of those that were written."""
        try:
            database = self._ready()
        except MemorandaError:  # nothing was sent: each store tries on its own connection
            self._disconnect()
            return set()
        if self._is_distributed:
            return set()
        statement, values = compose_several(commits, relaxed=self._relaxed)
        try:
            cursor = database.cursor(binary=True)
            cursor.execute(statement.text, [values[name] for name in statement.names])
            return {row[0] for row in cursor}
        except psycopg.Error as error:
            if not database.closed:  # the statement failed, and is undone
                return set()
            self._disconnect()
            raise Unavailable(f"the connection to PostgreSQL was lost: {error}") from error

    def _ready(self) -> psycopg.Connection[Row]:
        if self._database is None or self._database.closed:
            with translate_errors():
                self._database = self._connect()
                row = self._database.execute(query_text("is_distributed")).fetchone()
                self._is_distributed = row is not None
        return self._database

    def _disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()


class Senders:
    """The senders of a process, by the database, the durability and the process."""

    def __init__(self) -> None:
        self._mutex = new_lock()
        self._senders: dict[tuple[str, bool, int], SharedSender] = {}

    def join(
        self, conninfo: str, connect: Callable[[], psycopg.Connection[Row]], *, relaxed: bool
    ) -> SharedSender:
        """Return the sender for a store of a database, which shares it until it leaves."""
        key = (conninfo, relaxed, os.getpid())
        with self._mutex:
            sender = self._senders.get(key)
            if sender is None:
                sender = self._senders[key] = SharedSender(connect, relaxed=relaxed)
            sender.join()
            return sender

    def leave(self, sender: SharedSender) -> None:
        """Let a store leave its sender; one without stores is forgotten."""
        with self._mutex:
            if sender.leave():
                self._senders = {
                    key: other for key, other in self._senders.items() if other is not sender
                }


SENDERS = Senders()
"""All stores of the process, however they were opened, share their senders."""
