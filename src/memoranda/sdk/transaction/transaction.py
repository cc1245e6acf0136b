"""The `Transaction` class: staged requests that commit as one event, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.calls.requests import check_refs, delete_key, write_key
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.staged_reads import FactOverlay
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.staged_transaction import Draft
from memoranda.log.pages import MappedPages
from memoranda.memory.staged_reads import PendingMemories
from memoranda.model.document import Document
from memoranda.model.limits import check_text, plain_text
from memoranda.model.refs import RefLike, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.sdk.calls import Calls, paged
from memoranda.sdk.transaction.facts import FactStaging
from memoranda.sdk.transaction.links import LinkStaging
from memoranda.sdk.transaction.memories import MemoryStaging
from memoranda.state.reads import PendingScan, PendingState, StateRecord
from memoranda.state.requests import KeyRead, PrefixRead


class Transaction(MemoryStaging, LinkStaging, FactStaging):
    """Requests that are committed together, and the reads they depend on.

    Requests are staged in memory. Reads see the state as of the beginning of the transaction with
    its own writes on top, and are tracked: if a result has changed at the commit, the commit raises
    `TransactionConflict`. As a context manager it commits on success and aborts on an exception.
    """

    def __init__(
        self,
        core: Core,
        calls: Calls,
        defaults: Defaults,
        draft: Draft,
        turn: QueueTicket | None = None,
    ) -> None:
        self._core = core
        self._turn = turn
        self._calls = calls
        self._defaults = defaults
        self._draft = draft
        self._pending = PendingState()
        self._memories = PendingMemories(draft.base_commit)
        self._transcripts = {}
        self._facts = FactOverlay(draft.base_commit)
        self.commit_result: CommitResult | None = None
        """Its commit, from which the store answers one-call forms; None until it is committed."""

    def __repr__(self) -> str:
        status = "open" if self._draft.is_open else "aborted"
        if self.commit_result is not None:
            status = f"committed in {self.commit_result.commit_ts}"
        place = self._defaults.describe(self._core)
        return f"<{type(self).__name__} {place} txn_id={self.txn_id!r}, {status}>"

    @property
    def commit_ts(self) -> int | None:
        """The number of its commit; None until it is committed."""
        return None if self.commit_result is None else self.commit_result.commit_ts

    @property
    def txn_id(self) -> str:
        """The id of the transaction in the log."""
        return self._draft.txn_id

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
        self._draft.check()
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits, writing=True)
        refs = check_refs("because", because, scope, limits)
        grounds = tuple(
            self._check_quotation(ref, field=f"because[{index}].spans")
            if isinstance(ref, TranscriptRef)
            else ref
            for index, ref in enumerate(refs)
        )
        request = write_key(limits, scope, key, value, expect_version, grounds)
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
        """Stage a deletion, which is a version of its own, also where there is no value."""
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
        key = check_text("key", key, max_bytes=self._core.limits.key_bytes)
        self._draft.track(KeyRead(scope, key))
        return self._calls.run(self._read, scope, key)

    def list_keys(
        self, *, prefix: str = "", agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[str]:
        """Yield the keys under a prefix as this transaction sees them, in order."""
        entries = self._scan(prefix, agent_id, namespace)
        return paged(self._calls, MappedPages(entries, lambda entry: entry.key))

    def scan_prefix(
        self, *, prefix: str, agent_id: str | None = None, namespace: str | None = None
    ) -> Iterator[StateRecord]:
        """Yield the keys under a prefix and their values as this transaction sees them."""
        return paged(self._calls, self._scan(prefix, agent_id, namespace))

    def commit(self) -> int:
        """Commit everything staged as one event, and return its `commit_ts` when it is durable."""
        request = self._draft.request()
        try:
            if self._turn is not None:
                self._turn.check(request.reads)
            if request.is_empty:
                self.commit_result = CommitResult(self._calls.run(self._core.head))
            else:
                self.commit_result = self._calls.commit(self._core.committer, request)
        except (InvalidInput, NotFound) as error:
            raise self._draft.named_by_caller(error) from error
        finally:
            self._draft.close(committed=self.commit_result is not None)
        commit_ts = self.commit_result.commit_ts
        for seconds in self._core.background_indexer.pauses(commit_ts):
            self._calls.rest(seconds)
        return commit_ts

    def abort(self) -> None:
        """Discard everything staged. A second call has no effect; raise if it was committed."""
        if self.commit_result is not None:
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
            return self._pending.get(reader, scope, key, self._draft.base_commit)

    def _scan(self, prefix: str, agent_id: str | None, namespace: str | None) -> PendingScan:
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        prefix = plain_text("prefix", prefix)
        self._draft.track(PrefixRead(scope, prefix))
        return PendingScan(
            self._core.engine, self._pending, scope, prefix=prefix, at=self._draft.base_commit
        )
