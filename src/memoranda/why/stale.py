"""Stale keys: values that rest on something which is no longer believed."""

from __future__ import annotations

from memoranda.log.moments import Asked
from memoranda.log.parts import SplitEvents
from memoranda.model.refs import KeyRef
from memoranda.model.scope import Scope
from memoranda.state.queries import Keys
from memoranda.storage.port import Engine
from memoranda.why.explain import Grounds
from memoranda.why.inquiry import Inquiry
from memoranda.why.reason import Reason

_KEYS = 32
"""How many keys are looked into at a time: each may have a tree of its own."""


class StaleKeys:
    """The keys of a scope whose value rests on something stale, in the order of the keys."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        *,
        prefix: str,
        asked: Asked,
        viewer: str,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._asked = asked
        self._viewer = viewer
        self._keys = Keys(engine, scope, prefix=prefix, at=asked.commit)
        self._waiting: list[str] = []
        self._events = SplitEvents()

    def next_page(self) -> list[Reason]:
        """Return the next reasons; keys that rest on nothing stale are passed over."""
        page: list[Reason] = []
        while not page:
            self._waiting = self._waiting or self._keys.next_page()
            if not self._waiting:
                break
            part, self._waiting = self._waiting[:_KEYS], self._waiting[_KEYS:]
            page = self._stale(part)
        return page

    def _stale(self, keys: list[str]) -> list[Reason]:
        scope = self._scope
        refs = [KeyRef(key, None, scope.agent_id, scope.namespace) for key in keys]
        with self._engine.snapshot() as reader:
            self._events.refresh(reader)
            inquiry = Inquiry(reader, self._asked, self._viewer, self._events)
            grounds = Grounds(inquiry, refs)
            return [grounds.tree(ref) for ref in refs if grounds.is_stale(ref)]
