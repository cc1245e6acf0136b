"""The views of a store: all there are, put together in one place."""

from __future__ import annotations

from memoranda.audit.trust import KeysView
from memoranda.graph.effects import Effects
from memoranda.graph.view import GraphView
from memoranda.log.index import LogIndex
from memoranda.log.scopes import Scopes
from memoranda.log.views import Views
from memoranda.memory.view import MemoryView
from memoranda.search.view import SearchView
from memoranda.state.view import StateView


def all_views(effects: Effects | None = None, search: SearchView | None = None) -> Views:
    """Return every view, new. A set serves one database: the views remember rows of its tables.

    What is searched is derived from the other views, so its own comes behind them.
    """
    scopes = Scopes()
    graph = GraphView(scopes, effects or Effects())
    views = (LogIndex(scopes), StateView(scopes), MemoryView(), graph, KeysView())
    return Views((*views, search or SearchView()))
