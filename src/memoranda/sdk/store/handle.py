"""Handles: the common base of the groups of calls that `Store` is composed of.

Each group has a file of its own. They share the carrier of calls, the handle's defaults, and the
retry loop of commits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memoranda.calls.call import WriteCall
from memoranda.calls.core import TIMEOUT
from memoranda.calls.defaults import Defaults
from memoranda.errors import InvalidInput, MemorandaError, TransactionConflict
from memoranda.log.commit.conflict_queue import TURN_SECONDS, OutOfTurn, QueueTicket
from memoranda.model.limits import check_integer, short_repr
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces
from memoranda.sdk.calls import Calls, open_transaction
from memoranda.sdk.transaction.transaction import Transaction

Result = TypeVar("Result")
_RETRIES = 10
"""Attempts after the first one, until an error is passed to the caller."""


class Handle:
    """An open store, with default values for agent, namespace and signer."""

    def __init__(self, calls: Calls, defaults: Defaults) -> None:
        self._calls = calls.bound_to(defaults.grant, defaults.signing).seeing(defaults.min_commit)
        self._defaults = defaults

    def __repr__(self) -> str:
        place = self._defaults.describe(self._calls.place, is_closed=self._calls.is_closed)
        return f"<{type(self).__name__} {place}>"

    def begin_transaction(
        self, *, timeout: float = TIMEOUT, txn_id: str | None = None
    ) -> Transaction:
        """Begin a transaction; `txn_id` is an idempotency key for safe retries."""
        return self._begin(timeout, txn_id, None)

    def transact(
        self,
        work: Callable[[Transaction], Result],
        *,
        retries: int = _RETRIES,
        timeout: float = TIMEOUT,
        txn_id: str | None = None,
    ) -> Result:
        """Run `work` in a transaction and commit it; after a conflict, retry in a new transaction.

        Transactions of this process that conflict with each other are retried one at a time, in the
        order of their first conflict; other transactions do not wait for them.
        """
        if not callable(work):
            raise InvalidInput("work", f"{short_repr(work)} is not a function")
        retries = check_integer("retries", retries, minimum=0, noun="a number of retries")
        ticket = QueueTicket(self._calls.turns) if retries else None

        def run() -> Result:
            with self._begin(timeout, txn_id, ticket) as transaction:
                return self._calls.perform(work, transaction)

        return self._retry(run, retries, ticket)

    def _begin(self, timeout: float, txn_id: str | None, ticket: QueueTicket | None) -> Transaction:
        transaction = open_transaction(self._calls, timeout, txn_id)
        return Transaction(self._calls, self._defaults, transaction, ticket)

    def _write(self, call: WriteCall[Result]) -> Result:
        """Commit a call in a transaction of its own, and return its answer; retry a conflict."""
        ticket = QueueTicket(self._calls.turns) if call.looks_up else None

        def run() -> Result:
            return self._calls.write(call, ticket)

        return self._retry(run, _RETRIES, ticket)

    def _commit(
        self, work: Callable[[Transaction], Result], txn_id: str | None
    ) -> tuple[Transaction, Result]:
        """Run `work` in a transaction, and return the committed transaction and the result."""

        def stage(transaction: Transaction) -> tuple[Transaction, Result]:
            return transaction, work(transaction)

        return self.transact(stage, txn_id=txn_id)

    def _retry(
        self, work: Callable[[], Result], retries: int, ticket: QueueTicket | None = None
    ) -> Result:
        """Call `work` again after each retryable error, `retries` times at most."""
        attempt = 0
        try:
            while True:
                try:
                    return work()
                except MemorandaError as error:
                    attempt = self._before_retry(error, attempt, retries, ticket)
        finally:
            if ticket is not None:
                ticket.end()

    def _before_retry(
        self, error: MemorandaError, attempt: int, retries: int, ticket: QueueTicket | None
    ) -> int:
        """Wait until a retry may succeed, and return the number of attempts; else raise the error.

        An attempt that only waited its turn in the conflict queue does not count.
        """
        out_of_turn = isinstance(error, OutOfTurn)
        is_spent = error.gave_up or (attempt >= retries and not out_of_turn)
        if not error.retryable or is_spent:
            raise error
        if ticket is not None and isinstance(error, TransactionConflict) and error.reads:
            ticket.join(error.reads, overtaken=not out_of_turn)
            self._wait_for(ticket)
        else:
            self._calls.back_off(attempt)
        return attempt if out_of_turn else attempt + 1

    def _wait_for(self, ticket: QueueTicket) -> None:
        """Wait until the transactions ahead in the conflict queue are done."""
        count = ticket.signal.count
        while not ticket.is_due():
            self._calls.wait(ticket.signal, count, TURN_SECONDS)
            count = ticket.signal.count
        if pause := ticket.pause():
            self._calls.rest_about(pause)

    def _selected(
        self, agent_id: str | AllAgents | None, namespace: str | AllNamespaces | None
    ) -> tuple[str | None, str | None]:
        """Return the agent and the namespace that a call selects; None: all of them."""
        agent = None if agent_id is ALL_AGENTS else self._defaults.agent(agent_id)
        return agent, self._selected_namespace(namespace)

    def _selected_namespace(self, namespace: str | AllNamespaces | None) -> str | None:
        if namespace is ALL_NAMESPACES:
            return None
        return self._defaults.namespace if namespace is None else namespace
