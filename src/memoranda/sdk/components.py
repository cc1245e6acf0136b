"""The core: the parts of one open store, shared by every handle and transaction on it."""

from __future__ import annotations

import os

import msgspec

from memoranda.audit.automatic import Checkpointer
from memoranda.errors import InvalidInput
from memoranda.graph.effects import Effects
from memoranda.log import pages, retries
from memoranda.log.committer import Committer
from memoranda.log.moments import Moment, commit_at
from memoranda.log.signal import Signal
from memoranda.log.signing import Signing
from memoranda.log.transaction import Draft, Request
from memoranda.log.turns import Turns
from memoranda.log.views import Views
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, check_seconds, check_text, shown
from memoranda.model.scope import DEFAULT_NAMESPACE, NOBODY, Scope, checked_scope
from memoranda.search.filler import Filler
from memoranda.search.vectors import Vectors
from memoranda.state import queries
from memoranda.state.records import StateRecord
from memoranda.storage.port import Engine

TIMEOUT = 30.0
"""Seconds a transaction has, unless it is given another number."""
_MOST_VERSION = 2**63 - 1


class Defaults(msgspec.Struct, frozen=True):
    """What a handle is bound to: used where a call names no agent or namespace."""

    agent_id: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    signing: Signing | None = None
    """Who signs what is done through the handle."""

    @property
    def actor(self) -> str:
        """Who acts through this handle."""
        return NOBODY if self.agent_id is None else self.agent_id

    def acting(self, agent_id: str | None) -> str:
        """Return whose eyes count in a call: the bound agent's, else those of the one it names."""
        return self.actor if agent_id is None or self.agent_id is not None else agent_id

    def agent(self, agent_id: str | None) -> str:
        """Return the agent a call is about."""
        chosen = self.agent_id if agent_id is None else agent_id
        if chosen is None:
            raise InvalidInput("agent_id", "is missing: give one, or use store.bind(agent_id=…)")
        return chosen

    def scope(
        self, agent_id: str | None, namespace: str | None, limits: Limits, *, writing: bool = False
    ) -> Scope:
        """Return the scope a call is about. Anybody may look at the engine's, none write in it."""
        chosen = self.namespace if namespace is None else namespace
        return checked_scope(chosen, self.agent(agent_id), limits, engine=not writing)


class Core(msgspec.Struct, frozen=True):
    """An open store without a face."""

    engine: Engine
    views: Views
    committer: Committer
    log_id: str
    clock: Clock
    ids: IdSource
    limits: Limits
    signal: Signal
    effects: Effects
    filler: Filler
    vectors: Vectors
    turns: Turns = msgspec.field(default_factory=Turns)
    checkpointer: Checkpointer | None = None
    """Who signs the log behind the commits; off, if there is nobody."""
    owner: int = msgspec.field(default_factory=os.getpid)
    """The process that opened it."""

    def close(self) -> None:
        """Write what was taken, sign it if there is a signer, then let go of the storage.

        A process that was forked leaves all of that to its parent, whose threads it has not got.
        """
        if self.owner != os.getpid():
            return
        try:
            if self.checkpointer is not None:
                self.checkpointer.close(self.committer.write_queued)
        finally:
            self.committer.close()
            self.filler.close()
            self.vectors.close()
            self.engine.close()

    def head(self) -> int:
        """Return the number of the last commit."""
        with self.engine.reading() as reader:
            return pages.head_commit(reader)

    def commit_at(self, field: str, moment: Moment | None) -> int:
        """Return the commit a moment means; no moment means now."""
        with self.engine.reading() as reader:
            if moment is None:
                return pages.head_commit(reader)
            return commit_at(reader, field, moment)

    def draft(
        self, actor: str, timeout: float, txn_id: str | None, signing: Signing | None = None
    ) -> Draft:
        """Begin a transaction: what it reads is as of now."""
        check_timeout(timeout)
        with self.engine.reading() as reader:
            since, era = pages.head_commit(reader), 0
            if txn_id is not None:
                era = retries.era(reader, self._txn_id(txn_id), actor, since)
        return Draft(
            txn_id=self._txn_id(txn_id),
            named=txn_id is not None,
            actor=actor,
            since=since,
            timeout=timeout,
            clock=self.clock,
            limits=self.limits,
            signing=signing,
            era=era,
        )

    def request(
        self, actor: str, staged: msgspec.Struct, txn_id: str | None, signing: Signing | None = None
    ) -> Request:
        """Return a transaction of one request, which reads nothing, ready to be committed."""
        return Request.of_one(
            staged,
            txn_id=self._txn_id(txn_id),
            named=txn_id is not None,
            actor=actor,
            deadline=self.clock.monotonic() + TIMEOUT,
            limits=self.limits,
            signing=signing,
        )

    def _txn_id(self, given: str | None) -> str:
        if given is None:
            return self.ids.unique()
        return check_text("txn_id", given, most_bytes=self.limits.txn_id_bytes)

    def get_state(
        self, scope: Scope, key: str, version: int | None, at: Moment | None
    ) -> StateRecord | None:
        """Return a key's value: now, at a version, or at a moment."""
        if version is None and at is None:
            with self.engine.reading() as reader:
                return queries.get(reader, scope, key)
        with self.engine.snapshot() as reader:
            through = pages.head_commit(reader) if at is None else commit_at(reader, "at", at)
            return queries.get_at(reader, scope, key, through, version)

    def backoff(self, attempt: int) -> float:
        """Return how long to wait before trying again: longer each time, and not in step."""
        return float(min(0.001 * 2 ** min(attempt, 10), 0.25) * self.jitter())

    def jitter(self) -> float:
        """Return a factor around 1 that keeps those who wait as long from being in step."""
        return 0.5 + int.from_bytes(self.ids.entropy(2), "big") / 0xFFFF


def check_version(field: str, version: object, *, least: int) -> int | None:
    """Return `version` if it can be one; None stands for no version in particular."""
    if version is None:
        return None
    if not isinstance(version, int) or isinstance(version, bool):
        raise InvalidInput(field, f"{shown(version)} is {type(version).__name__}, not a number")
    if not least <= version <= _MOST_VERSION:
        raise InvalidInput(field, f"{shown(version)} is not from {least} to {_MOST_VERSION}")
    return int(version)


def check_timeout(timeout: object) -> None:
    """Refuse what is no length of time to wait."""
    if not check_seconds("timeout", timeout):
        raise InvalidInput("timeout", "is 0: give a positive number of seconds")
