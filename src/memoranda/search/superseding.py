"""Superseding: what replaced a memory, as far as a question is concerned.

Only what could be an answer itself replaces an answer: it has to be in a namespace that is asked,
be seen by who asks, and be there by the instant asked about. So nobody who writes elsewhere can
hide anything here, and nothing that is told of it comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from memoranda.memory import standing
from memoranda.memory.standing import Standing
from memoranda.search.questions import Question
from memoranda.storage.port import Reader


def superseders(
    reader: Reader, question: Question, memory_ids: Collection[str], *, content: bool = False
) -> dict[str, Standing]:
    """Return what replaced memories, by the ids of these; the last, where several did."""
    if not memory_ids:
        return {}
    viewer, commit = question.asked.viewer, question.commit
    rows = reader.rows(
        "memory_superseders",
        memory_ids=msgspec.json.encode(list(memory_ids)).decode(),
        at=commit,
        viewer=viewer,
    )
    pairs = [(old, new) for old, new, namespace in rows if namespace in question.namespaces]
    ids = {new for _, new in pairs}
    known = standing.find(reader, ids, commit, viewer=viewer, content=content)
    return {
        old: known[new] for old, new in pairs if new in known and _by_then(known[new], question)
    }


def dated(found: Standing) -> int:
    """Return when what a memory says happened, or else when it came up."""
    time = found.details.event_time
    time = found.created_at if time is None else time
    assert time is not None, "it is committed"
    return time


def _by_then(newer: Standing, question: Question) -> bool:
    return question.asked.valid is None or dated(newer) <= question.asked.valid
