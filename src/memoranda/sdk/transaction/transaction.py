"""The `Transaction` class: staged requests that commit as one event, or not at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Self

from memoranda.calls.defaults import Defaults
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.keys import GetState, ListKeys, ScanPrefix
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.plain import plain_refs
from memoranda.calls.transactions import CommittedTransaction
from memoranda.extract.protocol import Extraction, Skipped
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.model.document import Document
from memoranda.model.refs import RefLike
from memoranda.sdk.calls import Calls, Opened, listed_within, stage_call
from memoranda.sdk.extraction import Part
from memoranda.sdk.transaction.facts import FactStaging
from memoranda.sdk.transaction.links import LinkStaging
from memoranda.sdk.transaction.memories import MemoryStaging
from memoranda.state.reads import StateRecord


class Transaction(MemoryStaging, LinkStaging, FactStaging, Opened):
    """Requests that are committed together, and the reads they depend on.

    Requests are staged in memory. Reads see the state as of the beginning of the transaction with
    its own writes on top, and are tracked: if a result has changed at the commit, the commit raises
    `TransactionConflict`. As a context manager it commits on success and aborts on an exception.
    """

    def __init__(
        self,
        calls: Calls,
        defaults: Defaults,
        transaction: OpenTransaction,
        turn: QueueTicket | None = None,
    ) -> None:
        self._defaults = defaults
        self._transaction = transaction
        self._turn = turn
        self.committed: CommittedTransaction | None = None
        """Its commit; None until it is committed."""
        super().__init__(calls, self._open)

    def __repr__(self) -> str:
        status = "open" if self._transaction.draft.is_open else "aborted"
        if self.committed is not None:
            status = f"committed in {self.committed.commit_ts}"
        place = self._defaults.describe(self._calls.place, is_closed=self._calls.is_closed)
        return f"<{type(self).__name__} {place} txn_id={self.txn_id!r}, {status}>"

    @property
    def commit_ts(self) -> int | None:
        """The number of its commit; None until it is committed."""
        return None if self.committed is None else self.committed.commit_ts

    @property
    def txn_id(self) -> str:
        """The id of the transaction in the log."""
        return self._transaction.draft.txn_id

    def write(
        self,
        *,
        key: str,
        value: Document,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        because: Iterable[RefLike] | RefLike = (),
    ) -> None:
        """Stage a write. `expect_version` makes it a compare-and-set; 0 expects no value.

        `because` is what the value rests on: whatever reads and writes return, such as hits,
        memories, facts, keys and transcripts, or references to them; a list, or a single one. A
        reference without a version means the version at the commit.
        """
        place = self._defaults.place(agent_id, namespace)
        return stage_call(
            self._calls,
            self._transaction,
            Write(*place, key, value, expect_version, plain_refs(because)),
        )

    def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
    ) -> None:
        """Stage a deletion, which is a version of its own, also where there is no value."""
        return stage_call(
            self._calls,
            self._transaction,
            Delete(*self._defaults.place(agent_id, namespace), key, expect_version),
        )

    def get_state(
        self, *, key: str, agent_id: str | None = None, namespace: str | None = None
    ) -> StateRecord | None:
        """Return the key's value as this transaction sees it."""
        call = GetState(*self._defaults.place(agent_id, namespace), key)
        return self._calls.ask_within(self._transaction, call)

    def list_keys(
        self, *, prefix: str = "", agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[str]:
        """Yield the keys under a prefix as this transaction sees them, in order."""
        call = ListKeys(*self._defaults.place(agent_id, namespace), prefix)
        return listed_within(self._calls, self._transaction, call)

    def scan_prefix(
        self, *, prefix: str, agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[StateRecord]:
        """Yield the keys under a prefix and their values as this transaction sees them."""
        call = ScanPrefix(*self._defaults.place(agent_id, namespace), prefix)
        return listed_within(self._calls, self._transaction, call)

    def commit(self) -> int:
        """Commit everything staged as one event, and return its `commit_ts` when it is durable."""
        draft = self._transaction.draft
        draft.check()
        try:
            self.committed = self._calls.commit(self._transaction, self._turn)
        finally:
            draft.close(committed=self.committed is not None)
        commit_ts = self.committed.commit_ts
        self._calls.give_way(commit_ts)
        return commit_ts

    def abort(self) -> None:
        """Discard everything staged. A second call has no effect; raise if it was committed."""
        if self.committed is not None:
            self._transaction.draft.check()
        self._transaction.draft.close(committed=False)

    def __enter__(self) -> Self:
        self._transaction.draft.check()
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._transaction.draft.is_open:
            return
        if kind is None:
            self.commit()
        else:
            self.abort()

    def _stage_part(
        self, part: Part, extraction: Extraction, single: Collection[str]
    ) -> list[Skipped]:
        """Stage what was extracted from a part of a transcript, and return what was invalid."""
        work = partial(part.stage, extraction, single)
        return self._calls.run_staging(self._transaction, work)

    def _open(self) -> None:
        self._calls.begin(self._transaction)
