"""Transactions: what is staged in one lands as one event, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from memoranda.graph.pending import PendingFacts
from memoranda.log.pages import Mapped
from memoranda.log.transaction import Draft
from memoranda.log.turns import Turn
from memoranda.memory.pending import PendingMemories
from memoranda.model.document import Document
from memoranda.model.limits import check_text, plain_text
from memoranda.model.refs import Ground
from memoranda.model.scope import Scope
from memoranda.sdk.calls import Calls, paged
from memoranda.sdk.core import Core, Defaults
from memoranda.sdk.fact_staging import FactStaging
from memoranda.sdk.key_requests import delete_key, write_key
from memoranda.sdk.link_staging import LinkStaging
from memoranda.sdk.memory_staging import MemoryStaging
from memoranda.state.pending import PendingScan, PendingState
from memoranda.state.records import StateEntry, StateRecord
from memoranda.state.requests import KeyRead, PrefixRead


class Transaction(MemoryStaging, LinkStaging, FactStaging):
    """Operations that are committed together, and reads they depend on.

    Staging is done in memory. Reads see the state as of the transaction's beginning under its own
    writes, and are tracked: if something it read has changed by the time it commits, it raises
    `TransactionConflict`. As a context manager it commits on success and aborts on an exception.
    """

    def __init__(
        self,
        core: Core,
        calls: Calls,
        defaults: Defaults,
        draft: Draft,
        turn: Turn | None = None,
    ) -> None:
        self._core = core
        self._turn = turn
        self._calls = calls
        self._defaults = defaults
        self._draft = draft
        self._pending = PendingState()
        self._memories = PendingMemories(draft.since)
        self._transcripts = {}
        self._facts = PendingFacts(draft.since)
        self.commit_ts: int | None = None
        """The commit this transaction became, once it is committed."""

    @property
    def txn_id(self) -> str:
        """The transaction's name in the log."""
        return self._draft.txn_id

    def write(
        self,
        *,
        key: str,
        value: Document,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
        because: Iterable[Ground] = (),
    ) -> None:
        """Stage a write. `expect_version` makes it a compare-and-set; 0 expects no value.

        `because` names what the value rests on: keys, memories and facts, or records of them. A
        version that is not said is the one there is when the write is committed.
        """
        self._draft.check()
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = write_key(limits, scope, key, value, expect_version, because)
        self._draft.stage(request)
        self._pending.add(request)

    def delete(
        self,
        *,
        key: str,
        agent_id: str | None = None,
        namespace: str | None = None,
        expect_version: int | None = None,
    ) -> None:
        """Stage a deletion. It takes the key's next version, also when there is no value."""
        self._draft.check()
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        request = delete_key(limits, scope, key, expect_version)
        self._draft.stage(request)
        self._pending.add(request)

    def get_state(
        self, *, key: str, agent_id: str | None = None, namespace: str | None = None
    ) -> StateRecord | None:
        """Return the key's value as this transaction sees it."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        key = check_text("key", key, most_bytes=self._core.limits.key_bytes)
        self._draft.track(KeyRead(scope, key))
        return self._calls.run(self._read, scope, key)

    def list_keys(
        self, *, prefix: str = "", agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[str]:
        """Yield the keys under a prefix as this transaction sees them, in order."""
        entries = self._scan(prefix, agent_id, namespace)
        return paged(self._calls, Mapped(entries, lambda entry: entry.key))

    def scan_prefix(
        self, *, prefix: str, agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[StateEntry]:
        """Yield the keys under a prefix and their values as this transaction sees them."""
        return paged(self._calls, self._scan(prefix, agent_id, namespace))

    def commit(self) -> int:
        """Make everything staged durable at once and return its `commit_ts`."""
        request = self._draft.request()
        try:
            if self._turn is not None:
                self._turn.check(request.reads)
            if request.is_empty:
                self.commit_ts = self._calls.run(self._core.head)
            else:
                self.commit_ts = self._calls.commit(self._core.committer, request)
        finally:
            self._draft.close(committed=self.commit_ts is not None)
        return self.commit_ts

    def abort(self) -> None:
        """Discard everything staged. Aborting twice is fine; aborting a commit is not."""
        if self.commit_ts is not None:
            self._draft.check()
        self._draft.close(committed=False)

    def __enter__(self) -> Self:
        self._draft.check()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._draft.is_open:
            return
        if kind is None:
            self.commit()
        else:
            self.abort()

    def _read(self, scope: Scope, key: str) -> StateRecord | None:
        with self._core.engine.snapshot() as reader:
            return self._pending.get(reader, scope, key, self._draft.since)

    def _scan(self, prefix: str, agent_id: str | None, namespace: str | None) -> PendingScan:
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        self._draft.track(PrefixRead(scope, prefix))
        return PendingScan(
            self._core.engine, self._pending, scope, prefix=prefix, at=self._draft.since
        )
