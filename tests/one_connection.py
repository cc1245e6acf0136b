"""A check that no thread takes a connection to PostgreSQL while it holds another in a transaction.

Behind a pooler a transaction holds one of few connections to the server. Threads that each hold one
and wait for another keep all of them waiting for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from memoranda.storage.postgres import engine
from memoranda.storage.postgres.connection import Connection


def watch_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thread fail that takes a connection while it holds another in a transaction."""
    held = threading.local()
    enter, leave = engine._Lease.__enter__, engine._Lease.__exit__
    transact = engine.PostgresEngine._transact

    def check() -> None:
        assert not getattr(held, "is_held", False), "a thread needs two connections at a time"

    def watched_enter(lease: Any) -> Connection:
        check()
        reader = enter(lease)
        held.is_held = lease._snapshot
        return reader

    def watched_exit(lease: Any, *error: Any) -> None:
        held.is_held = False
        leave(lease, *error)

    def watched_transact(store: Any, work: Callable[[Any], Any], *rest: Any, **named: Any) -> Any:
        def watched_work(writer: Any) -> Any:
            held.is_held = True
            try:
                return work(writer)
            finally:
                held.is_held = False

        check()
        return transact(store, watched_work, *rest, **named)

    monkeypatch.setattr(engine._Lease, "__enter__", watched_enter)
    monkeypatch.setattr(engine._Lease, "__exit__", watched_exit)
    monkeypatch.setattr(engine.PostgresEngine, "_transact", watched_transact)
