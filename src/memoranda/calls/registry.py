"""Every call, with its handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoranda.calls import (
    audit,
    directory,
    erasure,
    facts,
    graph,
    keys,
    links,
    log,
    maintenance,
    memories,
    recall,
    transcripts,
    why,
)
from memoranda.calls.call import Call, Handlers, call_name

HANDLERS: Handlers = {
    **audit.HANDLERS,
    **directory.HANDLERS,
    **erasure.HANDLERS,
    **facts.HANDLERS,
    **graph.HANDLERS,
    **keys.HANDLERS,
    **links.HANDLERS,
    **log.HANDLERS,
    **maintenance.HANDLERS,
    **memories.HANDLERS,
    **recall.HANDLERS,
    **transcripts.HANDLERS,
    **why.HANDLERS,
}
CALLS: Mapping[str, type[Call[Any]]] = {call_name(kind): kind for kind in HANDLERS}
"""Every kind of call by its name."""
