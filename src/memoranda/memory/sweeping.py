"""Sweeping: which memories and transcripts nothing needs any more.

A memory's time is long over. Nothing that stays rests on it, by links that lead to it through
whatever else may go: evidence goes no sooner than what was made of it. A transcript goes when
nothing that stays cites it and its own time is over, which is at least as long as its namespace
kept transcripts when it was stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import msgspec

from memoranda.memory.queries import BEYOND_NAMES
from memoranda.memory.standing import STILL
from memoranda.model.erasure import MEMORY, TRANSCRIPT, Target
from memoranda.storage.port import Reader


def overdue(reader: Reader, sweep: Target, spared: Set[str]) -> list[Target]:
    """Return what may go of a namespace and those below it."""
    assert sweep.due is not None, "a sweep says what is due"
    where: dict[str, Any] = {
        "namespace": sweep.name,
        "children": f"{sweep.name}/" if sweep.name else "",
        "beyond": f"{sweep.name}0" if sweep.name else BEYOND_NAMES,
        "spared": _listed(spared),
    }
    due = sweep.due
    rows = reader.rows("sweep_memories", **where, before=due.before, still=STILL)
    memories = [memory_id for (memory_id,) in rows]
    going = _listed(memories)
    return [
        *(Target(MEMORY, memory_id) for memory_id in memories),
        *(
            Target(TRANSCRIPT, transcript_id)
            for (transcript_id,) in reader.rows(
                "sweep_transcripts", **where, going=going, now=due.now
            )
        ),
    ]


def _listed(ids: Iterable[str]) -> str:
    return msgspec.json.encode(sorted(ids)).decode()
