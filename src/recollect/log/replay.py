"""Replay: what an agent did, in order, as far as the log went when it was asked."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter

import msgspec

from recollect.errors import InvalidInput
from recollect.log import moments, pages
from recollect.model import codec
from recollect.model.event import ReplayEvent
from recollect.model.instant import Instant, to_micros
from recollect.model.operations import AnyOperation, OperationType
from recollect.model.scope import ALL_NAMESPACES, AllNamespaces
from recollect.storage.port import Engine, Reader

Kinds = Iterable[OperationType | str] | None

_Sized = tuple[int, int, ReplayEvent]
"""A commit's number, how many bytes it took to store, and the event."""
_commit = itemgetter(0)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the log is asked for, as the caller says it."""

    from_timestamp: Instant | None = None
    to_timestamp: Instant | None = None
    after_commit: int | str | None = None
    through_commit: int | None = None

    def resolve(self, reader: Reader, log_id: str) -> tuple[int, int]:
        """Return the commits as (after, through]; what is committed later is never part of it."""
        after, through = 0, pages.head_commit(reader)
        if self.after_commit is not None:
            after = moments.commit_of_token(reader, "after_commit", log_id, self.after_commit)
        if self.through_commit is not None:
            through = min(through, moments.check_commit("through_commit", self.through_commit))
        if self.from_timestamp is not None:
            first = to_micros("from_timestamp", self.from_timestamp)
            after = max(after, moments.commit_at_time(reader, first - 1))
        if self.to_timestamp is not None:
            end = to_micros("to_timestamp", self.to_timestamp)
            through = min(through, moments.commit_at_time(reader, end - 1))
        return after, through


class Replay:
    """The pages of one agent's replay. Its bounds are fixed when it is made."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        *,
        agent_id: str,
        namespace: str | AllNamespaces,
        bounds: Bounds,
        kinds: Kinds = None,
    ) -> None:
        self._engine = engine
        self._log_id = log_id
        self._agent_id = agent_id
        self._kinds = _check_kinds(kinds)
        with engine.reading() as reader:
            after, through = bounds.resolve(reader, log_id)
            scopes = reader.rows("scopes_of_agent", agent_id=agent_id)
        self.after, self.through = after, through
        self._scopes = {
            scope_id: name for scope_id, name in scopes if namespace in (ALL_NAMESPACES, name)
        }
        self._names = frozenset(self._scopes.values())
        self._events = self._merge()

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events."""
        page: list[ReplayEvent] = []
        budget = pages.PAGE_BYTES
        for _, size, event in islice(self._events, pages.PAGE_ROWS):
            page.append(event)
            budget -= size
            if budget <= 0:
                break
        return page

    def _merge(self) -> Iterator[_Sized]:
        """Yield each event once, though several of the agent's scopes may be in it."""
        streams = [self._events_of(scope_id) for scope_id in self._scopes]
        for _, same in groupby(heapq.merge(*streams, key=_commit), key=_commit):
            commit_ts, size, event = next(same)
            if mine := tuple(filter(self._is_asked_for, event.operations)):
                whole = len(mine) == len(event.operations)
                yield commit_ts, size, event if whole else event.only(mine)

    def _events_of(self, scope_id: int) -> Iterator[_Sized]:
        """Yield one scope's events; a share of the page's budget each keeps the memory constant."""
        share = len(self._scopes)
        after = self.after
        while after < self.through:
            with self._engine.reading() as reader:
                rows = reader.rows(
                    "event_page_of_scope",
                    scope_id=scope_id,
                    after=after,
                    through=self.through,
                    most=max(1, pages.PAGE_ROWS // share),
                    budget=pages.PAGE_BYTES // share,
                )
            if not rows:
                return
            for commit_ts, committed_at, event_hash, envelope, operations in rows:
                sender = codec.decode_envelope(envelope)
                event = ReplayEvent(
                    commit_ts,
                    committed_at,
                    sender.txn_id,
                    sender.actor,
                    codec.decode_operations(operations),
                    event_hash,
                    self._log_id,
                )
                yield commit_ts, len(operations), event
            after = rows[-1][0]

    def _is_asked_for(self, operation: AnyOperation) -> bool:
        return (
            operation.agent_id == self._agent_id
            and operation.namespace in self._names
            and (self._kinds is None or operation.type in self._kinds)
        )


def _check_kinds(kinds: object) -> frozenset[OperationType] | None:
    if kinds is None:
        return None
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        kinds = (kinds,)
    return frozenset(_check_kind(kind) for kind in kinds)


def _check_kind(kind: object) -> OperationType:
    if isinstance(kind, OperationType):
        return kind
    if isinstance(kind, str) and kind.upper() in OperationType.__members__:
        return OperationType[kind.upper()]
    known = ", ".join(sorted(OperationType.__members__))
    raise InvalidInput("kinds", f"{kind!r} is not one of {known}")
