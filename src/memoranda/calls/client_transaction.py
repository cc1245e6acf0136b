"""Transactions of a client: staged here with the store's own checks, and sent with the commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.core import check_timeout
from memoranda.calls.grant import Grant
from memoranda.calls.keys import ListKeys, ScanPrefix
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.transactions import (
    AskWithin,
    Begin,
    Commit,
    ListWithin,
    check_read,
    plain_reads,
)
from memoranda.calls.transcripts import GetTranscript, LoadTranscript
from memoranda.calls.within import FindEventTime, FindTitle
from memoranda.errors import NotFound
from memoranda.log.commit.staged_transaction import Beginning, Draft
from memoranda.memory.requests import TitleKey
from memoranda.memory.transcripts import rendered
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, check_text
from memoranda.model.refs import MemoryRef
from memoranda.model.scope import Scope
from memoranda.state.requests import PrefixRead

Answer = TypeVar("Answer")
Ask = Callable[[Call[Any]], Any]
"""Sends a call to the store, and returns its answer."""


class ClientTransaction(OpenTransaction):
    """A transaction that is staged in another process than its store.

    It derives its ids from its `txn_id`, as the store does when it stages the calls again. It asks
    the store where it begins, and for everything that staging has to look up.
    """

    def __init__(
        self,
        ask: Ask,
        grant: Grant,
        limits: Limits,
        *,
        txn_id: str | None,
        timeout: float,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        check_timeout(timeout)
        name = ids.unique()
        if txn_id is not None:
            name = check_text("txn_id", txn_id, max_bytes=limits.txn_id_bytes)
        draft = Draft(
            txn_id=name,
            idempotent=True,
            actor=grant.acting(None),
            begin=self._begin,
            timeout=timeout,
            clock=clock,
            limits=limits,
            records_no_change=txn_id is not None,
        )
        super().__init__(draft, grant, limits, ids, ClientLookups(self, ask))
        self._ask = ask
        self._calls: list[WriteCall[Any]] = []

    def _begin(self) -> Beginning:
        begun = self._ask(Begin(self.draft.txn_id))
        return Beginning(begun.since, begun.era)

    def note_staged(self, call: WriteCall[Any]) -> None:
        """Keep a call for the commit."""
        self._calls.append(call)

    def ask_within(self, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside the transaction, and track the read."""
        self.draft.check()
        within = self._ask(AskWithin(*self._so_far(), call, self.draft.records_no_change))
        for read in within.reads:
            self.draft.track(check_read(read))
        answer: Answer = within.answer
        return answer

    def list_within(self, call: Call[Any]) -> ListWithin:
        """Return the call that lists inside the transaction, and track its prefix."""
        if isinstance(call, (ListKeys, ScanPrefix)):
            scope = self.grant.scope(call.namespace, call.agent_id, self.limits)
            self.draft.track(PrefixRead(scope, call.prefix))
        return ListWithin(*self._so_far(), call, self.draft.records_no_change)

    def _so_far(self) -> tuple[str, int, int, tuple[WriteCall[Any], ...]]:
        """Return the transaction's id, its beginning and its staged calls."""
        draft = self.draft
        return draft.txn_id, draft.base_commit, draft.beginning.era, tuple(self._calls)

    def commit_call(self) -> Commit:
        """Return the call that commits it."""
        self.draft.check()
        txn_id, since, era, calls = self._so_far()
        return Commit(
            calls,
            since,
            era,
            self.draft.records_no_change,
            plain_reads(self),
            self.draft.seconds_left,
            txn_id=txn_id,
        )


class ClientLookups:
    """Asks the store for the data that staging needs."""

    def __init__(self, transaction: ClientTransaction, ask: Ask) -> None:
        self._transaction = transaction
        self._ask = ask

    def find_title(self, key: TitleKey) -> str | None:
        """Return the id of the memory that has a title, as the transaction sees it."""
        return self._transaction.ask_within(FindTitle(key.namespace, key.owner, key.title))

    def load_text(self, transcript_id: str) -> bytes:
        """Return the text of a committed transcript, or raise `NotFound`."""
        info = self._ask(GetTranscript(transcript_id))
        if info is None:
            raise NotFound(f"there is no transcript {transcript_id!r}", field="transcript_id")
        content: bytes = self._ask(LoadTranscript(transcript_id))
        rendering = rendered(info, content)
        return content if rendering is None else rendering.text

    def has_transcript(self, transcript_id: str) -> bool:
        """Say whether there is a transcript with this id."""
        return self._ask(GetTranscript(transcript_id)) is not None

    def event_time(self, memory: MemoryRef, asker: Scope) -> int | None:
        """Return when the event of a memory took place; the commit refuses an unknown memory."""
        call = FindEventTime(memory, asker.agent_id, asker.namespace)
        return self._transaction.ask_within(call)
