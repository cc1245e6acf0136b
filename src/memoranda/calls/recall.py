"""Calls that search memories, facts and pieces of transcripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from memoranda.calls.arguments import check_agent, check_members, check_namespace, check_viewer
from memoranda.calls.call import Answer, AnyInstant, AnyMoment, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.memory.requests import check_tags
from memoranda.model.clock import check_time
from memoranda.model.document import Document
from memoranda.search import explanation, prompt, query
from memoranda.search import recall as search
from memoranda.search.explanation import RecallExplanation
from memoranda.search.query import RecallRequest, SearchQuery
from memoranda.search.recall import VectorQuery
from memoranda.search.results import Hit
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.storage.port import Reader

Result = TypeVar("Result")


class _Search(Call[Answer], Generic[Answer], frozen=True, kw_only=True):
    lane = "search"

    query: str
    namespace: str | None
    """None: all namespaces."""
    children: bool = True
    agent_id: str | None = None
    """None: of all agents."""
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    metadata: Document | None = None
    valid_at: AnyInstant = None
    known_at: AnyMoment = None
    since: AnyInstant = None
    until: AnyInstant = None
    speaker: str | None = None
    min_score: float = 0.0
    include_expired: bool = False


class Recall(_Search[list[Hit]], frozen=True, kw_only=True):
    """Find the best hits for a query in plain words, the best first."""

    k: int = 10
    include_superseded: bool = False


class ExplainRecall(_Search[RecallExplanation], frozen=True, kw_only=True):
    """Find the best hits for a query, and list the dropped candidates with the reasons."""

    k: int = 10
    include_superseded: bool = False


class RecallContext(_Search[str], frozen=True, kw_only=True):
    """Find the best hits for a query, as text for a prompt."""

    k: int = 50
    budget: int = 2000
    include_superseded: bool = True


def recall(core: Core, grant: Grant, call: Recall) -> list[Hit]:
    """Return the hits."""
    return _search(core, _request(core, grant, call), search.recall)


def explain_recall(core: Core, grant: Grant, call: ExplainRecall) -> RecallExplanation:
    """Return the hits and the dropped candidates."""
    return _search(core, _request(core, grant, call), explanation.explain)


def recall_context(core: Core, grant: Grant, call: RecallContext) -> str:
    """Return the text: a line for each hit with its date, and below it lines with its sources."""
    budget = prompt.check_budget(call.budget)

    def render(
        reader: Reader, question: SearchQuery, vectors: VectorQuery, cache: ChunkCache
    ) -> str:
        hits = search.recall(reader, question, vectors, cache)
        return prompt.render(hits, budget, prompt.load_notes(reader, question, hits))

    return _search(core, _request(core, grant, call), render)


def _search(
    core: Core,
    request: RecallRequest,
    work: Callable[[Reader, SearchQuery, VectorQuery, ChunkCache], Result],
) -> Result:
    vectors = core.vectors.prepare(request.text)
    with core.engine.snapshot() as reader:
        question = query.resolve_query(reader, core.clock, request)
        core.background_indexer.hurry(reader)
        return work(reader, question, vectors, core.vectors.chunk_cache)


def _request(
    core: Core, grant: Grant, call: Recall | ExplainRecall | RecallContext
) -> RecallRequest:
    """Return the query with checked arguments."""
    since, until = query.check_window(call.since, call.until)
    return RecallRequest(
        text=query.check_query(call.query, core.limits),
        k=query.check_limit(call.k),
        namespace=check_namespace(core, call.namespace),
        children=bool(call.children),
        viewer=check_viewer(core, grant, call.agent_id),
        agent_id=check_agent(core, call.agent_id),
        kinds=query.check_kinds(call.kinds),
        tags=frozenset(check_tags(call.tags, core.limits)),
        metadata=check_members(core, call.metadata),
        valid_at=check_time("valid_at", call.valid_at),
        known_at=call.known_at,
        since=since,
        until=until,
        speaker=query.check_speaker(call.speaker),
        min_score=query.check_score(call.min_score),
        include_superseded=bool(call.include_superseded),
        include_expired=bool(call.include_expired),
    )


HANDLERS: Handlers = {
    ExplainRecall: explain_recall,
    Recall: recall,
    RecallContext: recall_context,
}
