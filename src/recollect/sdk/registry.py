"""The views of a store: all there are, put together in one place."""

from __future__ import annotations

from recollect.audit.trust import KeysView
from recollect.graph.effects import Effects
from recollect.graph.view import GraphView
from recollect.log.index import LogIndex
from recollect.log.scopes import Scopes
from recollect.log.views import Views
from recollect.memory.view import MemoryView
from recollect.search.view import SearchView
from recollect.state.view import StateView


def all_views(effects: Effects | None = None, search: SearchView | None = None) -> Views:
    """Return every view, new. A set serves one database: the views remember rows of its tables.

    What is searched is derived from the other views, so its own comes behind them.
    """
    scopes = Scopes()
    graph = GraphView(scopes, effects or Effects())
    views = (LogIndex(scopes), StateView(scopes), MemoryView(), graph, KeysView())
    return Views((*views, search or SearchView()))
