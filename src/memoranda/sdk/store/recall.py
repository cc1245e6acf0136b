"""The store's calls that search, and that update the indexes."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.calls.arguments import plain_items
from memoranda.calls.maintenance import Reindex
from memoranda.calls.recall import ExplainRecall, Recall, RecallContext
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.model.clock import Instant, plain_instant
from memoranda.model.document import Document
from memoranda.model.limits import check_callable
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.store.handle import Handle
from memoranda.search.explanation import RecallExplanation
from memoranda.search.index.background_indexer import Reindexed
from memoranda.search.results import Hit
from memoranda.storage.port import Progress


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
        selects the words of a speaker, by name or role: passages, and memories that cite them.

        `since` and `until` bound the time of a hit, half-open: its `event_time`, else when it was
        created, said or began to hold. `min_score` leaves out hits with a lower score. The hits do
        not depend on `k`, but for their number.

        `valid_at` selects what held at an instant, `known_at` what was known at a moment: the
        answer has nothing later. Superseded and expired items are left out by default.
        """
        call = Recall(
            query=query,
            k=k,
            namespace=self._selected_namespace(namespace),
            children=bool(children),
            agent_id=agent_id,
            kinds=plain_items(kinds),
            tags=plain_items(tags),
            metadata=metadata,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            since=plain_instant("since", since),
            until=plain_instant("until", until),
            speaker=speaker,
            min_score=min_score,
            include_superseded=bool(include_superseded),
            include_expired=bool(include_expired),
        )
        return self._calls.ask(call)

    def explain_recall(
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
    ) -> RecallExplanation:
        """Return what `recall` returns, and how it came about.

        The arguments are those of `recall`. The answer says how many candidates the words, the
        vectors and the graph found, and which were dropped, with the reasons: superseded,
        retracted, expired, ended, not of the requested kind, time or agent, or the same as a hit.
        """
        call = ExplainRecall(
            query=query,
            k=k,
            namespace=self._selected_namespace(namespace),
            children=bool(children),
            agent_id=agent_id,
            kinds=plain_items(kinds),
            tags=plain_items(tags),
            metadata=metadata,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            since=plain_instant("since", since),
            until=plain_instant("until", until),
            speaker=speaker,
            min_score=min_score,
            include_superseded=bool(include_superseded),
            include_expired=bool(include_expired),
        )
        return self._calls.ask(call)

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
        those of `recall`. Superseded items are included, marked with their successor, unless
        `include_superseded` is False.
        """
        call = RecallContext(
            query=query,
            budget=budget,
            k=k,
            namespace=self._selected_namespace(namespace),
            children=bool(children),
            agent_id=agent_id,
            kinds=plain_items(kinds),
            tags=plain_items(tags),
            metadata=metadata,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            since=plain_instant("since", since),
            until=plain_instant("until", until),
            speaker=speaker,
            min_score=min_score,
            include_superseded=bool(include_superseded),
            include_expired=bool(include_expired),
        )
        return self._calls.ask(call)


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
        return self._calls.ask(Reindex(text, vectors, language, namespace), progress)
