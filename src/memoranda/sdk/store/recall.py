"""The store's calls that search, and that update the indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from memoranda.errors import InvalidInput
from memoranda.log.read.as_of import Moment
from memoranda.memory.requests import check_tags, given_fields
from memoranda.model import document
from memoranda.model.clock import Instant, check_time
from memoranda.model.document import Document
from memoranda.model.limits import check_callable
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.maintenance import reindex_both
from memoranda.sdk.store.handle import Handle
from memoranda.search import prompt
from memoranda.search import query as search_query
from memoranda.search.index.background_indexer import Reindexed
from memoranda.search.query import RecallRequest
from memoranda.search.recall import recall
from memoranda.search.results import Hit
from memoranda.search.text.stemmer import check_language
from memoranda.storage.port import Progress


class RecallOptions(TypedDict):
    """Where a query is asked, for what, and as of when. `Store.recall` says what each means."""

    namespace: str | AllNamespaces | None
    children: bool
    agent_id: str | None
    kinds: Iterable[str] | None
    tags: Iterable[str]
    metadata: Document | None
    valid_at: Instant | None
    known_at: Moment | None
    since: Instant | None
    until: Instant | None
    speaker: str | None
    min_score: float
    include_superseded: bool
    include_expired: bool


class RecallCalls(Handle):
    """Finding memories, facts and pieces of transcripts by what they say."""

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        agent_id: str | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Document | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        speaker: str | None = None,
        min_score: float = 0.0,
        include_superseded: bool = False,
        include_expired: bool = False,
    ) -> list[Hit]:
        """Return the `k` best hits for a query in plain words, the best first.

        They are memories, facts and pieces of transcripts of a namespace and, unless `children` is
        False, of those below it, as far as the bound agent may see them. `agent_id` asks for those
        of one agent alone; `kinds` for kinds of hits (memory, fact, passage) or of memories; `tags`
        for memories that have all of them, `metadata` for those that have these members. `speaker`
        asks for what somebody said, by name or role: passages, and memories that cite them.

        `since` and `until` bound the time of a hit, half-open: its `event_time`, else when it was
        created, said or began to hold. `min_score` leaves out hits with a lower score. The hits do
        not depend on `k`, but for their number.

        `valid_at` asks what held at an instant, `known_at` what was known at a moment: nothing
        later is in the answer. What was superseded or has expired is shown only when asked for.
        """
        selection = given_fields(RecallOptions, locals())
        return self._calls.run(self._recall, self._recall_query(query, k, selection))

    def recall_context(
        self,
        query: str,
        *,
        budget: int = 2000,
        k: int = 50,
        namespace: str | AllNamespaces | None = None,
        children: bool = True,
        agent_id: str | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Document | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        speaker: str | None = None,
        min_score: float = 0.0,
        include_superseded: bool = True,
        include_expired: bool = False,
    ) -> str:
        """Return what `recall` finds as text for a prompt, of at most `budget` * 4 characters.

        Each hit is a line with its date; lines below say where it comes from. The arguments are
        those of `recall`. What was superseded is in it, and says by what, unless
        `include_superseded` is False.
        """
        selection = given_fields(RecallOptions, locals())
        room = prompt.check_budget(budget)
        recall_query = self._recall_query(query, k, selection)
        return self._calls.run(self._recall_context, recall_query, room)

    def _recall_query(self, query: str, k: int, selection: RecallOptions) -> RecallRequest:
        """Return a query with checked arguments."""
        limits = self._core.limits
        since, until = search_query.check_window(selection["since"], selection["until"])
        return RecallRequest(
            text=search_query.check_query(query, limits),
            k=search_query.check_limit(k),
            namespace=self._namespace(selection["namespace"]),
            children=bool(selection["children"]),
            viewer=self._viewer(selection["agent_id"]),
            agent_id=self._agent(selection["agent_id"]),
            kinds=search_query.check_kinds(selection["kinds"]),
            tags=frozenset(check_tags(selection["tags"], limits)),
            metadata=self._members(selection["metadata"]),
            valid_at=check_time("valid_at", selection["valid_at"]),
            known_at=selection["known_at"],
            since=since,
            until=until,
            speaker=search_query.check_speaker(selection["speaker"]),
            min_score=search_query.check_score(selection["min_score"]),
            include_superseded=bool(selection["include_superseded"]),
            include_expired=bool(selection["include_expired"]),
        )

    def _members(self, metadata: Document | None) -> Document:
        if metadata is None:
            return {}
        return document.decode(document.encode("metadata", metadata, self._core.limits))

    def _recall(self, recall_query: RecallRequest) -> list[Hit]:
        vectors = self._core.vectors.prepare(recall_query.text)
        with self._core.engine.snapshot() as reader:
            question = search_query.resolve_query(reader, self._core.clock, recall_query)
            self._core.background_indexer.hurry(reader)
            return recall(reader, question, vectors, self._core.vectors.chunk_cache)

    def _recall_context(self, recall_query: RecallRequest, budget: int) -> str:
        vectors = self._core.vectors.prepare(recall_query.text)
        with self._core.engine.snapshot() as reader:
            question = search_query.resolve_query(reader, self._core.clock, recall_query)
            self._core.background_indexer.hurry(reader)
            hits = recall(reader, question, vectors, self._core.vectors.chunk_cache)
            return prompt.render(hits, budget, prompt.load_notes(reader, question, hits))


# Indexing.


class ReindexCalls(Handle):
    """Indexing at once what is otherwise indexed behind the commits."""

    def reindex(
        self,
        *,
        text: bool = True,
        vectors: bool = True,
        language: str | None = None,
        namespace: str | None = None,
        progress: Progress | None = None,
    ) -> Reindexed:
        """Put what waits into the index of words, and give every passage a vector.

        `language` becomes that of the store: the one whose stemmer reduces words, such as
        `"german"`; it is `"english"` at first. With `namespace` it becomes that of the namespace
        and those below it; the nearest setting wins. Words that were indexed in another are
        rewritten, now or, with `text=False`, behind the commits; meanwhile a search goes by both.

        Vectors of another model than the store's embedder are dropped and made anew. It may be
        stopped and called again: it goes on from there. `progress` is told of passages: those that
        are indexed first, about, then those that have a vector.
        """
        check_callable("progress", progress)
        if language is not None:
            check_language(language)
        if namespace is not None:
            if language is None:
                raise InvalidInput("namespace", "is given without a language: give both or neither")
            namespace = self._scope(self._defaults.actor, namespace).namespace
        return self._calls.run(
            reindex_both,
            self._core.engine,
            self._core.background_indexer.indexer,
            self._core.vectors,
            text=text,
            embedding=vectors,
            language=language,
            namespace=namespace,
            progress=progress,
        )
