"""Answers as JSON values: as the command line writes them, except for pages and trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memoranda.calls.as_json import origin_nodes, reason_nodes, stale_key, to_json
from memoranda.calls.call import Call
from memoranda.calls.extraction import FindSameTranscript, GetHead, LogHead
from memoranda.calls.facts import IterSharedFacts
from memoranda.calls.log import Cursors
from memoranda.calls.transactions import AnsweredWithin, AskWithin, ListWithin
from memoranda.calls.transcripts import Origins
from memoranda.calls.why import StaleKeys, Why
from memoranda.graph.records import Fact
from memoranda.memory.records import Origin
from memoranda.memory.transcripts import StoredTranscript
from memoranda.model.clock import to_rfc3339
from memoranda.why.reason import Reason


def _origins(root: Origin | None) -> Any:
    return None if root is None else {"nodes": [*origin_nodes(root)]}


def _reasons(root: Reason) -> Any:
    return {"nodes": [*reason_nodes(root)]}


def _shared_fact(item: tuple[Fact, str]) -> Any:
    fact, visibility = item
    return {"fact": to_json(fact), "visibility": visibility}


def _cursors(cursors: list[tuple[str, int]]) -> Any:
    return [{"cursor": name, "commit_ts": commit_ts} for name, commit_ts in cursors]


def _head(head: LogHead) -> Any:
    time = to_rfc3339(head.committed_micros) if head.commit_ts else None
    return {"commit_ts": head.commit_ts, "committed_at": time}


def _same_transcript(stored: StoredTranscript | None) -> Any:
    return None if stored is None else stored._asdict()


_FORMS: Mapping[type[Call[Any]], Callable[[Any], Any]] = {
    Cursors: _cursors,
    FindSameTranscript: _same_transcript,
    GetHead: _head,
    IterSharedFacts: _shared_fact,
    Origins: _origins,
    StaleKeys: stale_key,
    Why: _reasons,
}
"""Calls whose answers, or items of them, have another form than `to_json` gives."""


def answer_json(call: Call[Any], answer: Any) -> Any:
    """Return the answer of a call as a JSON value; of a long answer, one of its items."""
    if isinstance(call, AskWithin):
        assert isinstance(answer, AnsweredWithin), "that is what it answers"
        return {"answer": answer_json(call.read, answer.answer), "reads": to_json(answer.reads)}
    if isinstance(call, ListWithin):
        return answer_json(call.read, answer)
    form = _FORMS.get(type(call))
    if form is not None:
        return form(answer)
    if type(answer) is list:  # of records; a list inside a record is JSON already
        return [to_json(item) for item in answer]
    return to_json(answer)
