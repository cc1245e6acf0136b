"""Handles: what every group of calls on a store stands on.

`Store` is put together from one such group for each kind of thing, each in a file of its own. They
share nothing but this: the open store, who is bound to the handle, and transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memoranda.errors import InvalidInput, MemorandaError, TransactionConflict
from memoranda.log.moments import Asked, Moment, asked_at
from memoranda.log.turns import TURN_SECONDS, OutOfTurn, Turn
from memoranda.memory.committed import Committed
from memoranda.model.erasure import Forget
from memoranda.model.limits import shown
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces, Scope
from memoranda.sdk.calls import Calls
from memoranda.sdk.core import TIMEOUT, Core, Defaults
from memoranda.sdk.transaction import Transaction
from memoranda.state.requests import KeyRequest

Result = TypeVar("Result")
_RETRIES = 10


class Handle:
    """A way to an open store, with defaults of its own."""

    def __init__(self, core: Core, defaults: Defaults, calls: Calls | None = None) -> None:
        self._core = core
        self._calls = calls or Calls(core.clock)
        self._defaults = defaults

    def begin_transaction(
        self, *, timeout: float = TIMEOUT, txn_id: str | None = None
    ) -> Transaction:
        """Begin a transaction. A `txn_id` of your own makes it happen once, however often tried."""
        return self._begin(timeout, txn_id, None)

    def transact(
        self,
        work: Callable[[Transaction], Result],
        *,
        retries: int = _RETRIES,
        timeout: float = TIMEOUT,
        txn_id: str | None = None,
    ) -> Result:
        """Run `work` in a transaction and commit it; on a conflict, run it again with a new one.

        Those of this process that are in conflict are run one after another, first come, first
        served, and nobody else waits for them.
        """
        if not callable(work):
            raise InvalidInput("work", f"{shown(work)} is not a function")
        turn = Turn(self._core.turns)
        attempt = 0
        try:
            while True:
                try:
                    with self._begin(timeout, txn_id, turn if retries else None) as transaction:
                        return self._calls.perform(work, transaction)
                except MemorandaError as error:
                    attempt = self._before_retry(error, attempt, retries, turn)
        finally:
            turn.end()

    def _begin(self, timeout: float, txn_id: str | None, turn: Turn | None) -> Transaction:
        by = self._defaults
        draft = self._core.draft(by.actor, timeout, txn_id, by.signing)
        return Transaction(self._core, self._calls, self._defaults, draft, turn)

    def _commit(
        self, work: Callable[[Transaction], Result], txn_id: str | None
    ) -> tuple[Transaction, Result]:
        """Run `work` in a transaction of its own, and return both once it is committed."""

        def stage(transaction: Transaction) -> tuple[Transaction, Result]:
            return transaction, work(transaction)

        return self.transact(stage, txn_id=txn_id)

    def _committed(self, work: Callable[[Transaction], object], txn_id: str | None) -> int:
        """Run `work` in a transaction of its own, and return the commit."""
        transaction, _ = self._commit(work, txn_id)
        return self._outcome(transaction, self._defaults.actor).commit

    def _outcome(self, transaction: Transaction, viewer: str) -> Committed:
        """Return what became of a transaction that was committed, for somebody who is told."""
        assert transaction.commit_ts is not None, "it is committed by now"
        return Committed(transaction.commit_ts, transaction.txn_id, self._defaults.actor, viewer)

    def _commit_alone(self, staged: KeyRequest | Forget, txn_id: str | None) -> int:
        """Commit what reads nothing and is asked for on its own, with no transaction around it."""
        core, by, attempt = self._core, self._defaults, 0
        while True:
            request = core.request(by.actor, staged, txn_id, by.signing)
            try:
                return self._calls.commit(core.committer, request)
            except MemorandaError as error:
                attempt = self._before_retry(error, attempt, _RETRIES)

    def _before_retry(
        self, error: MemorandaError, attempt: int, retries: int, turn: Turn | None = None
    ) -> int:
        """Wait until it is worth trying again, and return how often it was tried; else raise.

        Who was only kept from overtaking others has not lost an attempt.
        """
        kept_back = isinstance(error, OutOfTurn)
        if not error.retryable or (attempt >= retries and not kept_back):
            raise error
        if turn is not None and isinstance(error, TransactionConflict) and error.reads:
            turn.join(error.reads, overtaken=not kept_back)
            self._wait_for(turn)
        else:
            self._calls.sleep(self._core.backoff(attempt))
        return attempt if kept_back else attempt + 1

    def _wait_for(self, turn: Turn) -> None:
        """Wait until those are done who came before."""
        seen = turn.signal.count
        while not turn.is_due():
            self._calls.wait(turn.signal, seen, TURN_SECONDS)
            seen = turn.signal.count
        if pause := turn.pause():
            self._calls.rest(pause * self._core.jitter())

    def _asked(self, at: Moment | None, field: str = "at") -> Asked:
        """Return the moment a read is about."""
        with self._core.engine.reading() as reader:
            return asked_at(reader, self._core.clock, at, field)

    def _viewer(self, agent_id: str | AllAgents | None) -> str:
        """Return whose eyes count in a call."""
        named = None if agent_id is ALL_AGENTS else agent_id
        return self._scope(self._defaults.acting(named), None).agent_id

    def _agent(self, agent_id: str | AllAgents | None) -> str | None:
        """Return the one agent a call asks for, if it is not about all."""
        if agent_id is None or agent_id is ALL_AGENTS:
            return None
        return self._scope(agent_id, None).agent_id

    def _namespace(self, namespace: str | AllNamespaces | None) -> str | None:
        """Return the one namespace a call asks for, if it is not about all."""
        if namespace is ALL_NAMESPACES:
            return None
        return self._scope(self._defaults.actor, namespace).namespace

    def _scope(self, agent_id: str, namespace: str | None) -> Scope:
        return self._defaults.scope(agent_id, namespace, self._core.limits)
