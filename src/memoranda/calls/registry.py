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
from memoranda.calls.call import Answer, Call, Handlers, call_name
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.errors import PermissionDenied
from memoranda.storage.port import Progress

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


def handle(
    core: Core, grant: Grant, call: Call[Answer], progress: Progress | None = None
) -> Answer:
    """Return what the handler of a call answers, or the pages of a long answer.

    A call that the grant does not allow raises `PermissionDenied`: which calls there are is no
    secret, unlike what they would find.
    """
    if call.verb not in grant.verbs:
        raise PermissionDenied(
            f"the grant of this caller has no verb {call.verb!r}: ask for one that has it"
        )
    if not (call.obeys_grants or grant.covers_everything):
        name = call_name(type(call))
        raise PermissionDenied(f"{name} needs a grant that covers every agent and namespace")
    answer: Answer
    if progress is None:
        answer = HANDLERS[type(call)](core, grant, call)
    else:
        answer = HANDLERS[type(call)](core, grant, call, progress)
    return answer
