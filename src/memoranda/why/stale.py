"""Stale keys: values that rest on evidence that is no longer believed."""

from __future__ import annotations

from memoranda.graph.fact_explanation import TimelineCache
from memoranda.log import pages
from memoranda.log.pages import Position, ResumablePages, SplitEventCache
from memoranda.log.read.as_of import AsOf
from memoranda.model.refs import KeyRef
from memoranda.model.scope import Scope
from memoranda.state.reads import Keys
from memoranda.storage.port import Engine, Reader
from memoranda.why.explain import EvidenceGraph, ExplainContext
from memoranda.why.reason import Reason

_BATCH_KEYS = 32
"""Keys to explain in one snapshot: each may have a large tree, and a snapshot should be short."""
_MAX_CACHED_NODES = 50_000
"""Nodes of the graph that is kept between batches. A larger graph is dropped and built again."""


class StaleKeys(ResumablePages[Reason]):
    """Reads the keys of a scope that rest on stale evidence, in the order of the keys.

    Many keys rest on the same evidence, so the graph is kept from batch to batch. All of it is as
    of one commit: it stays correct until an erasure, which is detected by the log's head.
    """

    rows = _BATCH_KEYS

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        *,
        prefix: str,
        as_of: AsOf,
        viewer: str,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._as_of = as_of
        self._viewer = viewer
        self._keys = Keys(engine, scope, prefix=prefix, at=as_of.commit)
        self._queue: list[str] = []
        self._after = ""
        self._events = SplitEventCache()
        self._timelines = TimelineCache()
        self._graph: EvidenceGraph | None = None
        self._max_nodes = _MAX_CACHED_NODES
        self._graph_head = 0
        """The log's head when the graph was begun: a later erasure invalidates the graph."""

    @property
    def position(self) -> Position:
        """The moment, and the last key that was looked at."""
        return [self._as_of.commit, self._as_of.now, self._after]

    @position.setter
    def position(self, position: Position) -> None:
        commit, now, self._after = position
        self._as_of = AsOf(commit, now)
        self._keys.position = [commit, self._after]

    def next_page(self) -> list[Reason]:
        """Return the next stale keys with their trees; an empty page ends the list."""
        page: list[Reason] = []
        while not page:
            self._queue = self._queue or self._keys.next_page()
            if not self._queue:
                break
            batch, self._queue = self._queue[: self.rows], self._queue[self.rows :]
            self._after = batch[-1]
            page = self._stale(batch)
        return page

    def _stale(self, keys: list[str]) -> list[Reason]:
        scope = self._scope
        refs = [KeyRef(key, None, scope.agent_id, scope.namespace) for key in keys]
        with self._engine.snapshot() as reader:
            graph = self._extend_graph(reader, refs)
            return [graph.tree(ref) for ref in refs if graph.is_stale(ref)]

    def _extend_graph(self, reader: Reader, refs: list[KeyRef]) -> EvidenceGraph:
        """Add keys to the graph, or begin a new one if it is too large or out of date."""
        self._events.refresh(reader)
        graph = self._graph
        if graph is None or len(graph) > self._max_nodes or self._has_erasure(reader):
            graph, self._timelines = None, TimelineCache()
            self._graph_head = pages.head_commit(reader)
        context = ExplainContext(reader, self._as_of, self._viewer, self._events, self._timelines)
        if graph is None:
            graph = EvidenceGraph(context, refs)
            # A batch may need more nodes than the limit. Without this every batch would start anew.
            self._max_nodes = max(_MAX_CACHED_NODES, 2 * len(graph))
        else:
            graph.add(context, refs)
        self._graph = graph
        return graph

    def _has_erasure(self, reader: Reader) -> bool:
        return reader.row("erased_since", after=self._graph_head) is not None
