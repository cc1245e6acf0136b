"""What a store finds again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TypedDict, Unpack

from memoranda.errors import MemorandaError
from memoranda.log.moments import Moment
from memoranda.memory.inputs import check_known, check_tags, check_time
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.instant import Instant
from memoranda.model.scope import AllNamespaces
from memoranda.sdk.handle import Handle
from memoranda.search import context, questions
from memoranda.search.hits import Hit
from memoranda.search.questions import RecallQuery
from memoranda.search.recall import recall


class RecallOptions(TypedDict, total=False):
    """Where a query is asked, for what, and as of when. `Store.recall` says what each means."""

    namespace: str | AllNamespaces | None
    children: bool
    agent_id: str | None
    kinds: Iterable[str] | None
    tags: Iterable[str]
    metadata: Document | None
    valid_at: Instant | None
    known_at: Moment | None
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
        children: bool = False,
        agent_id: str | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Document | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_superseded: bool = False,
        include_expired: bool = False,
    ) -> list[Hit]:
        """Return the `k` best hits for a query in plain words, the best first.

        They are memories, facts and pieces of transcripts of one namespace, with `children` also
        of those below it, as far as the bound agent may see them. `agent_id` asks for those of one
        agent alone; `kinds` for kinds of hits (memory, fact, passage) or of memories; `tags` for
        memories that have all of them, `metadata` for those that have these members.

        `valid_at` asks what held at an instant, `known_at` what was known at a moment: nothing
        later is in the answer. What was superseded or has expired is shown only when asked for.
        """
        given = RecallOptions(
            namespace=namespace,
            children=children,
            agent_id=agent_id,
            kinds=kinds,
            tags=tags,
            metadata=metadata,
            valid_at=valid_at,
            known_at=known_at,
            include_superseded=include_superseded,
            include_expired=include_expired,
        )
        return self._calls.run(self._recall, self._asked_query(query, k, given))

    def recall_context(
        self,
        query: str,
        *,
        budget: int = 2000,
        k: int = 50,
        **options: Unpack[RecallOptions],
    ) -> str:
        """Return what `recall` finds as text for a prompt, of at most `budget` * 4 characters.

        Each hit is a line with its date; lines below say where it comes from. It takes what
        `recall` takes. What was superseded is in it, and says by what, unless
        `include_superseded` is False.
        """
        room = context.check_budget(budget)
        given: RecallOptions = {"include_superseded": True, **options}
        asked = self._asked_query(query, k, given)
        return self._calls.run(self._recall_context, asked, room)

    def _asked_query(self, query: str, k: int, given: RecallOptions) -> RecallQuery:
        """Return what is asked, once every part of it is checked."""
        check_known(given, RecallOptions)
        limits = self._core.limits
        return RecallQuery(
            query=questions.check_query(query, limits),
            k=questions.check_hits(k),
            namespace=self._namespace(given.get("namespace")),
            children=bool(given.get("children")),
            viewer=self._viewer(given.get("agent_id")),
            agent_id=self._agent(given.get("agent_id")),
            kinds=questions.check_kinds(given.get("kinds")),
            tags=frozenset(check_tags(given.get("tags", ()), limits)),
            metadata=self._members(given.get("metadata")),
            valid=check_time("valid_at", given.get("valid_at")),
            known_at=given.get("known_at"),
            superseded=bool(given.get("include_superseded")),
            expired=bool(given.get("include_expired")),
        )

    def _catch_up(self) -> None:
        """Fill the index if very much is not in it yet; where that cannot be, all is looked at."""
        with suppress(MemorandaError):
            self._core.filler.catch_up()

    def _members(self, metadata: Document | None) -> Document:
        if metadata is None:
            return {}
        return document.decode(document.encode("metadata", metadata, self._core.limits))

    def _recall(self, asked: RecallQuery) -> list[Hit]:
        self._catch_up()
        vectors = self._core.vectors.prepare(asked.query)
        with self._core.engine.snapshot() as reader:
            question = questions.question_of(reader, self._core.clock, asked)
            return recall(reader, question, vectors, self._core.vectors.remembered)

    def _recall_context(self, asked: RecallQuery, budget: int) -> str:
        self._catch_up()
        vectors = self._core.vectors.prepare(asked.query)
        with self._core.engine.snapshot() as reader:
            question = questions.question_of(reader, self._core.clock, asked)
            hits = recall(reader, question, vectors, self._core.vectors.remembered)
            return context.render(hits, budget, context.around(reader, question, hits))
