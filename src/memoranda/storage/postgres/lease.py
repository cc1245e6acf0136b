"""The owner's lease: at most one server process has a store of a database open for others.

It is a row with a time at which it ends, by the clock of the database. The owner extends it, in a
thread, long before. No session and no lock of PostgreSQL is held, so that a pooler which gives each
transaction another connection does no harm. After the death of its holder a lease lasts for some
seconds.

A lease keeps servers from working against each other; commits are right without it. A holder that
could not extend its lease in time goes on if nobody else has taken it, and else knows that it is
lost. A store that is moved to another database has no owner in the old one: its lease is not
extended.
"""

from __future__ import annotations

import threading
from contextlib import closing

import msgspec

from memoranda.errors import MemorandaError, NotFound, StoreBusy
from memoranda.model.ids import SystemIds
from memoranda.storage.owner_lock import Owner, this_process
from memoranda.storage.postgres.head import check_head
from memoranda.storage.postgres.session import Session, open_session

LEASE_SECONDS = 15.0
"""How long a lease lasts after it was extended last: others wait so long for a dead server."""
_RENEWALS = 3
"""How often a lease is extended in that time."""
_MICROSECONDS = 1_000_000
"""Microseconds of a second."""


class Lease:
    """The ownership of a store, from `LeaseKeeper.acquire` to `release`."""

    def __init__(self, keeper: LeaseKeeper, store_id: int) -> None:
        self._keeper = keeper
        self.store_id = store_id
        self.is_lost = False
        """Whether another process has become the owner."""

    @property
    def holder(self) -> str:
        """What the leases of this process are known by."""
        return self._keeper.holder

    def is_held(self, session: Session) -> bool:
        """Say whether nobody has taken it; until the session's transaction ends, nobody can."""
        return session.find("owner_hold", self.holder, store_id=self.store_id) is not None

    def end(self, session: Session) -> bool:
        """Let others own the store, in a transaction; say whether nobody had taken it before.

        A statement that needs the lease has ended by then, or it has no effect, however late.
        """
        return session.find("owner_release", self.holder, store_id=self.store_id) is not None

    def release(self) -> None:
        """Let others own the store."""
        self._keeper.release(self)


class LeaseKeeper:
    """The leases that one process holds in a database, and the thread that extends them."""

    def __init__(self, conninfo: str, *, seconds: float = LEASE_SECONDS) -> None:
        self._conninfo = conninfo
        self._seconds = seconds
        self._holder = SystemIds().unique()
        self._lock = threading.Lock()
        """Protects `_leases` and `_thread`."""
        self._leases: dict[int, Lease] = {}
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    @property
    def holder(self) -> str:
        """What the leases of this process are known by."""
        return self._holder

    def acquire(self, session: Session, store_id: int, name: str, address: str) -> Lease:
        """Become the owner of a store; raise `StoreBusy` with the present owner if there is one.

        A store that takes no writes here, since it is being moved, gets no owner.
        """
        with session.transaction():
            row = session.find("store_lock", store_id=store_id)
            if row is None:
                raise NotFound(f"{name} was removed from its database")
            _, number, frozen = row
            check_head(number, frozen)
            return self._acquire(session, store_id, name, address)

    def acquire_move(self, session: Session, store_id: int, name: str, address: str) -> Lease:
        """Become the only one who moves a store; raise `StoreBusy` if another process does."""
        return self._acquire(session, -store_id, f"the move of {name}", address)

    def _acquire(self, session: Session, store_id: int, name: str, address: str) -> Lease:
        now = session.server_time()
        process = msgspec.json.encode(this_process(address)).decode()
        until = now + int(self._seconds * _MICROSECONDS)
        values = (self._holder, process, until, now)
        if session.find("owner_take", *values, store_id=store_id) is None:
            raise _busy(session, store_id, name)
        lease = Lease(self, store_id)
        with self._lock:
            self._leases[store_id] = lease
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._extend_all, name="memoranda-leases", daemon=True
                )
                self._thread.start()
        return lease

    def release(self, lease: Lease) -> None:
        """Let others own a store; if the database is away, its lease ends by itself."""
        with self._lock:
            if self._leases.get(lease.store_id) is not lease:
                return  # it was lost, and this process may be the owner again by another one
            del self._leases[lease.store_id]
        try:
            with closing(open_session(self._conninfo)) as session:
                session.find("owner_release", self._holder, store_id=lease.store_id)
        except MemorandaError:
            return

    def close(self) -> None:
        """Extend no lease any more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _extend_all(self) -> None:
        while not self._stopping.wait(self._seconds / _RENEWALS):
            with self._lock:
                leases = [*self._leases.values()]
            if not leases:
                continue
            try:
                with closing(open_session(self._conninfo)) as session:
                    for lease in leases:
                        self._extend(session, lease)
            except MemorandaError:  # tried again soon; a lease that ends meanwhile may be lost
                continue

    def _extend(self, session: Session, lease: Lease) -> None:
        until = session.server_time() + int(self._seconds * _MICROSECONDS)
        row = session.find("owner_renew", until, self._holder, store_id=lease.store_id)
        lease.is_lost = row is None


def read_owner(session: Session, store_id: int) -> tuple[Owner, float] | None:
    """Return the process that owns a store, and the seconds until its lease ends."""
    now = session.server_time()
    row = session.find("owner_read", now, store_id=store_id)
    if row is None:
        return None
    process, expires_at = row
    return msgspec.json.decode(process, type=Owner), (expires_at - now) / _MICROSECONDS


def _busy(session: Session, store_id: int, name: str) -> StoreBusy:
    entry = read_owner(session, store_id)
    if entry is None:
        return StoreBusy(f"{name} was owned by another process: try again")
    owner, seconds = entry
    return StoreBusy(
        f"{name} is owned by {owner}: use it through that server, or stop it and try again; if it "
        f"is dead, its lease ends in {max(seconds, 0):.0f} seconds"
    )
