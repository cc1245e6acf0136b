"""Rules for requests about facts: check each request and turn it into operations.

They decide little, because timelines are derived from statements when operations are applied. An
assertion is not compared with what holds, so requests may arrive in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.reads import FactQuery, unknown_entity
from memoranda.graph.requests import (
    AliasEntity,
    AssertFact,
    AssertFactAs,
    EndFact,
    EndFactAs,
    EndFactFrom,
    EndUnknownFact,
    GraphRequest,
    MergeEntities,
    RetractAssertion,
    RetractFact,
    SetCardinality,
    ShareFacts,
)
from memoranda.graph.sharing import FACTS, own_graph, shared_graph, shared_scope
from memoranda.log.views import LookUp
from memoranda.model.intervals import NEWEST
from memoranda.model.limits import argument
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    AssertPrivately,
    Classify,
    Configure,
    End,
    EndFrom,
    EndPrivately,
    Merge,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.operations.graph import ENTITY, Name
from memoranda.model.refs import Evidence, FactRef, MemoryRef, Referent, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

Operations = Iterator[AnyOperation]
_NOBODY = ""
"""A viewer that is no agent: it sees what is private to none."""


class GraphRules:
    """Decides the requests of one transaction in order; each sees the ones before it.

    The tables show the store before the transaction. Its own merges and statements are kept here,
    on top of them.
    """

    def __init__(self, reader: Reader, look_up: LookUp, as_of_commit: int = NEWEST) -> None:
        self._reader = reader
        self._look_up = look_up
        self._as_of_commit = as_of_commit
        """The commit to read names and cardinalities as of. Withdrawals are always read as of now.
        """
        self._graphs: dict[str, int | None] = {}
        """A cache of shared graphs, by namespace. None: its facts are not shared."""
        self._kinds: set[bool] = set()
        """Whether the requests so far were about sharing: such requests come alone."""
        self._statements: dict[str, Assert | End] = {}
        """The statements of this transaction, by id."""
        self._unindexed: list[Assert | End] = []
        """Those of them that the next two do not have yet. Most transactions never need these."""
        self._assertions: dict[tuple[Scope, str, str], list[Assert]] = {}
        """The assertions of this transaction, by relation key and the subject's stored root key.

        Here and below, a scope stands for a graph: an agent's own, or the shared one.
        """
        self._mentions: set[tuple[Scope, str]] = set()
        """The keys of the entities that its statements name."""
        self._withdrawn: set[str] = set()
        """The ids this transaction has withdrawn."""
        self._roots: dict[tuple[Scope, str], str | None] = {}
        """A cache of stored root keys: what names mean in the tables. None: not mentioned."""
        self._merged_into: dict[tuple[Scope, str], str] = {}
        """Maps root keys that this transaction merged to the root key they mean now.

        Never in two steps: merging A into B and B into C maps both A and B to C.
        """
        self._merged_from: dict[tuple[Scope, str], list[str]] = {}
        """The inverse of `_merged_into`."""
        self._rederived: dict[tuple[Scope, str], int] = {}
        """The number of statements to derive again because of this transaction's merges."""
        self._single: dict[tuple[str, str], bool] = {}
        """The cardinalities this transaction has set, by namespace and relation key."""
        self._deciders: Mapping[type, Callable[[Any], Operations]] = {
            AssertFact: self._assert,
            AssertFactAs: self._assert,
            EndFact: self._end,
            EndFactFrom: self._end,
            EndFactAs: self._end,
            EndUnknownFact: self._end,
            RetractAssertion: self._retract_assertion,
            RetractFact: self._retract,
            SetCardinality: self._classify,
            AliasEntity: self._alias,
            MergeEntities: self._merge,
            ShareFacts: self._share,
        }

    def decide(self, request: GraphRequest, /) -> Operations:
        """Return the operations of a request; none if it would change nothing."""
        self._kinds.add(isinstance(request, ShareFacts))
        if len(self._kinds) > 1:
            raise InvalidInput(
                "facts",
                "decides whose facts are whose: change it in a transaction without other requests "
                "about facts",
            )
        return self._deciders[type(request)](request)

    def graph_of(self, scope: Scope) -> Scope:
        """Return the scope that stands for the graph an agent reads and writes."""
        namespace = scope.namespace
        if namespace not in self._graphs:
            self._graphs[namespace] = shared_graph(self._reader, namespace, self._as_of_commit)
        return scope if self._graphs[namespace] is None else shared_scope(namespace)

    def _graph_id(self, graph: Scope) -> int:
        shared = self._graphs.get(graph.namespace)
        return own_graph(self._reader, graph) if graph.agent_id or shared is None else shared

    def _share(self, request: ShareFacts) -> Operations:
        namespace, shared = request.scope.namespace, request.shared
        if self._reader.row("graph_sharing_own", namespace=namespace) == (int(shared),):
            return
        is_shared = shared_graph(self._reader, namespace) is not None
        if is_shared != shared and request.max_statements is not None:
            count = self._count("graph_sharing_size", namespace=namespace)
            _check_size(count, request.max_statements)
        yield Configure(*_owner(request.scope), {FACTS: int(shared)})

    def look_up(self, ref: FactRef, asker: Scope, /) -> Referent:
        """Return the fact of an assertion.

        Raises `NotFound` if there is no such assertion, if it was retracted, or if it is private to
        another agent. The last looks like the first: its existence is private too.
        """
        statement = self._statements.get(ref.assertion_id)
        if isinstance(statement, Assert):
            stands, begin = True, statement.valid_from
            hidden = statement.private and statement.agent_id != asker.agent_id
        else:
            row = self._reader.row("graph_assertion_find", assertion_id=ref.assertion_id)
            if row is None or not row[2]:
                raise NotFound(f"there is no assertion {ref.assertion_id!r}")
            stands, begin = bool(row[3]), row[4]
            hidden = bool(row[5]) and row[1] != asker.agent_id
        if hidden:
            raise NotFound(f"there is no assertion {ref.assertion_id!r}")
        if not stands or ref.assertion_id in self._withdrawn:
            raise NotFound(f"assertion {ref.assertion_id!r} was retracted: refer to another one")
        return Referent(ref, begin)

    def _assert(self, request: AssertFact) -> Operations:
        if request.once and self._exists(request.assertion_id):
            return
        valid_from, source, private = self._resolve_source(request, request.valid_from)
        if (
            request.valid_to is not None
            and valid_from is not None
            and request.valid_to <= valid_from
        ):
            raise InvalidInput(
                "valid_to", "is not after valid_from: give a later time, for a fact must last"
            )
        kind = AssertPrivately if private else Assert
        assertion = kind(
            *_owner(request.scope),
            request.assertion_id,
            request.subject,
            request.relation,
            request.object,
            valid_from,
            request.confidence,
            source,
        )
        self._note(assertion)
        yield assertion
        # Its own end follows directly: `times_of` recognizes the pair by that.
        if request.valid_to is not None:
            yield self._make_end(request, request.object, request.valid_to, private=private)

    def _resolve_source(
        self, request: AssertFact | EndFact, time: int | None
    ) -> tuple[int | None, Evidence | None, bool]:
        """Return the valid time, the source and the privacy of a statement.

        The time defaults to the event time of the source. A statement is private if its source is,
        unless the request says otherwise.
        """
        choice = None
        if isinstance(request, AssertFactAs | EndFactAs | EndUnknownFact):
            choice = request.private
        if request.source is None:
            return time, None, bool(choice)
        with argument("source"):
            referent = self._look_up(request.source, request.scope)
        private = referent.private if choice is None else choice
        return referent.event_time if time is None else time, _evidence(referent), private

    def _exists(self, assertion_id: str) -> bool:
        """Say whether an id was ever used for a statement, withdrawn or not."""
        if assertion_id in self._statements or assertion_id in self._withdrawn:
            return True
        return self._reader.row("graph_assertion_known", assertion_id=assertion_id) is not None

    def _end(self, request: EndFact) -> Operations:
        if not isinstance(request, EndUnknownFact):
            self._check_mentioned(request.scope, request.subject)
        at, source, private = self._resolve_source(request, request.at)
        end = self._make_end(request, request.object, at, source, private=private)
        self._note(end)
        yield end

    def _note(self, statement: Assert | End) -> None:
        self._statements[statement.assertion_id] = statement
        self._unindexed.append(statement)

    def _index(self) -> None:
        """Index this transaction's statements by subject and relation, and their names."""
        for statement in self._unindexed:
            scope = self.graph_of(statement.scope)
            for name in (statement.subject, statement.object):
                if name is not None and name.kind == ENTITY:
                    self._mentions.add((scope, name.key))
            if isinstance(statement, Assert):
                subject = self._root(scope, statement.subject.key) or statement.subject.key
                key = (scope, statement.relation.key, subject)
                self._assertions.setdefault(key, []).append(statement)
        self._unindexed.clear()

    def _make_end(
        self,
        request: AssertFact | EndFact,
        object_: Name | None,
        at: int | None,
        source: Evidence | None = None,
        *,
        private: bool = False,
    ) -> End:
        fields = (
            *_owner(request.scope),
            request.assertion_id,
            request.subject,
            request.relation,
            object_,
            at,
        )
        if private:
            return EndPrivately(*fields, source)
        return End(*fields) if source is None else EndFrom(*fields, source)

    def _retract_assertion(self, request: RetractAssertion) -> Operations:
        owner, assertion_id = request.scope, request.assertion_id
        stands = self._stands(owner, assertion_id)
        if stands is None:
            raise NotFound(
                f"{owner.agent_id!r} in {owner.namespace!r} has no assertion {assertion_id!r}",
                field="assertion_id",
            )
        if not stands:
            return
        yield from self._withdraw(owner, assertion_id, request.reason)

    def _stands(self, owner: Scope, assertion_id: str) -> bool | None:
        """Say whether a statement stands; None: the agent may retract none with this id.

        That is one of its own, or a public one of a graph that it shares.
        """
        statement = self._statements.get(assertion_id)
        if statement is not None:
            author, private, stands = statement.scope, statement.private, True
        else:
            row = self._reader.row("graph_assertion_find", assertion_id=assertion_id)
            if row is None:
                return None
            author, private, stands = Scope(row[0], row[1]), bool(row[5]), bool(row[3])
        is_in_graph = not private and self.graph_of(author) == self.graph_of(owner)
        return stands if author == owner or is_in_graph else None

    def _retract(self, request: RetractFact) -> Operations:
        assertion_ids = self._find_assertions(request)
        if not assertion_ids:
            fact = " ".join(
                name.text for name in (request.subject, request.relation, request.object) if name
            )
            self._check_mentioned(request.scope, request.subject)
            raise NotFound(f"nobody has asserted {fact!r}, or it is retracted already")
        for assertion_id in assertion_ids:
            yield from self._withdraw(request.scope, assertion_id, request.reason)

    def _withdraw(self, scope: Scope, assertion_id: str, reason: str | None) -> Operations:
        if assertion_id not in self._withdrawn:
            self._withdrawn.add(assertion_id)
            kind = WithdrawPrivately if self._is_private(assertion_id) else Withdraw
            yield kind(scope.namespace, scope.agent_id, assertion_id, reason)

    def _is_private(self, assertion_id: str) -> bool:
        """Say whether a statement is private to its agent."""
        statement = self._statements.get(assertion_id)
        if statement is not None:
            return statement.private
        row = self._reader.row("graph_assertion_find", assertion_id=assertion_id)
        return row is not None and bool(row[5])

    def _find_assertions(self, request: RetractFact) -> list[str]:
        """Return the ids of a fact's assertions that stand, under any names of its entities."""
        self._index()
        scope, object_name = self.graph_of(request.scope), request.object
        ids: dict[str, None] = {}
        for subject in self.stored_keys(scope, request.subject):
            objects = [None] if object_name is None else self.stored_keys(scope, object_name)
            for object_ in objects:
                rows = self._reader.rows(
                    "graph_assertions_matching",
                    graph=self._graph_id(scope),
                    subject=subject,
                    relation=request.relation.key,
                    kind=None if object_name is None else object_name.kind,
                    object=object_,
                )
                ids |= dict.fromkeys(row[0] for row in rows)
            meaning = None if object_name is None else self.meaning(scope, object_name)
            for assertion in self._assertions.get((scope, request.relation.key, subject), ()):
                is_hidden = assertion.private and assertion.scope != request.scope
                is_match = meaning is None or self.meaning(scope, assertion.object) == meaning
                if is_match and not is_hidden:
                    ids[assertion.assertion_id] = None
        if scope != request.scope:
            ids |= dict.fromkeys(self._find_private(request))
        return [assertion_id for assertion_id in ids if assertion_id not in self._withdrawn]

    def _find_private(self, request: RetractFact) -> Iterator[str]:
        """Yield an agent's private assertions of a fact, by what names mean in the shared graph."""
        graph, object_name = self.graph_of(request.scope), request.object
        subject = self.meaning(graph, request.subject)
        object_ = None if object_name is None else self.meaning(graph, object_name)
        rows = self._reader.rows(
            "graph_private_assertions",
            scope_id=own_graph(self._reader, request.scope),
            relation=request.relation.key,
        )
        for assertion_id, key, object_kind, object_key in rows:
            if self.meaning(graph, Name(key, key)) == subject and object_ in (
                None,
                self.meaning(graph, Name(object_key, object_key, object_kind)),
            ):
                yield assertion_id

    def _classify(self, request: SetCardinality) -> Operations:
        namespace, relation = request.scope.namespace, request.relation.key
        if self.is_single(request.scope, relation) == request.single:
            return
        if request.max_statements is not None:
            count = self._count("graph_relation_size", namespace=namespace, relation=relation)
            _check_size(count, request.max_statements)
        self._single[namespace, relation] = request.single
        yield Classify(*_owner(request.scope), request.relation, request.single)

    def _alias(self, request: AliasEntity) -> Operations:
        scope, alias = self.graph_of(request.scope), request.alias
        meaning = self.meaning(scope, alias)
        if meaning == self.meaning(scope, request.entity):
            return
        if meaning != (alias.kind, alias.key):
            raise InvalidInput(
                "alias",
                f"{alias.text!r} already means {meaning[1]!r}: use merge_entities if both are the "
                "same entity",
            )
        self._merge_names(scope, alias, request.entity, request.max_statements)
        yield Alias(*_owner(request.scope), request.entity, alias)

    def _merge(self, request: MergeEntities) -> Operations:
        scope = self.graph_of(request.scope)
        for field, name in (("source", request.source), ("into", request.into)):
            if not self._is_known(request.scope, name):
                raise self._unknown(request.scope, field, name)
        if self.meaning(scope, request.source) == self.meaning(scope, request.into):
            return
        self._merge_names(scope, request.source, request.into, request.max_statements)
        yield Merge(*_owner(request.scope), request.source, request.into)

    def _is_known(self, owner: Scope, name: Name) -> bool:
        """Say whether an agent's graphs or this transaction mention an entity."""
        graphs = (self.graph_of(owner), owner)
        return self._is_staged(graphs[0], name) or any(
            self._root(graph, name.key) is not None for graph in graphs
        )

    def _merge_names(
        self, scope: Scope, source_name: Name, into_name: Name, max_statements: int | None
    ) -> None:
        """Let the first name mean what the second means, for the rest of this transaction.

        The count of statements goes along with the root: several merges into one entity add up.
        """
        _, source = self.meaning(scope, source_name)
        _, into = self.meaning(scope, into_name)
        if max_statements is not None:
            count = self._rederived.get((scope, source), 0)
            graph = self._graph_id(scope)
            count += self._count("graph_entity_size", graph=graph, key=source, into=into)
            _check_size(count, max_statements)
            self._rederived[scope, into] = self._rederived.get((scope, into), 0) + count
        keys = [*self._merged_from.pop((scope, source), ()), source]
        self._merged_into.update(((scope, key), into) for key in keys)
        self._merged_from.setdefault((scope, into), []).extend(keys)

    def _check_mentioned(self, scope: Scope, subject: Name) -> None:
        """Raise `NotFound` if no statement mentions a subject yet, so a misspelling is noticed.

        What an end applies to need not be asserted yet, for statements arrive in any order; that
        the subject is known is enough.
        """
        if not self._is_known(scope, subject):
            raise self._unknown(scope, "subject", subject)

    def _unknown(self, scope: Scope, field: str, name: Name) -> NotFound:
        """Return the error for an unknown name; it suggests only names that everybody may see."""
        return unknown_entity(self._reader, FactQuery(scope=scope, viewer=_NOBODY), field, name)

    def _is_staged(self, scope: Scope, name: Name) -> bool:
        """Say whether this transaction itself mentions an entity."""
        self._index()
        key = (scope, name.key)
        return key in self._merged_into or key in self._merged_from or key in self._mentions

    def is_single(self, scope: Scope, relation: str) -> bool:
        """Say whether a relation is single-valued, as this transaction sees it."""
        single = self._single.get((scope.namespace, relation))
        if single is not None:
            return single
        row = self._reader.row(
            "graph_cardinality_at",
            namespace=scope.namespace,
            relation=relation,
            as_of_commit=self._as_of_commit,
        )
        return row is not None and bool(row[0])

    def meaning(self, scope: Scope, name: Name) -> tuple[str, str]:
        """Return what a name means as this transaction sees it: a kind and a root key."""
        if name.kind != ENTITY:
            return name.kind, name.key
        key = self._root(scope, name.key) or name.key
        return name.kind, self._merged_into.get((scope, key), key)

    def stored_keys(self, scope: Scope, name: Name) -> list[str]:
        """Return the root keys that the tables have for what a name means.

        They are several if this transaction has merged entities: the tables still keep them apart.
        """
        kind, key = self.meaning(scope, name)
        return [*(self._merged_from.get((scope, key), ()) if kind == ENTITY else ()), key]

    def _root(self, scope: Scope, key: str) -> str | None:
        """Return the root key of a name in the tables; None: it is not mentioned there."""
        if (scope, key) not in self._roots:
            row = self._reader.row(
                "graph_root_key",
                graph=self._graph_id(scope),
                key=key,
                as_of_commit=self._as_of_commit,
            )
            self._roots[scope, key] = None if row is None else str(row[0])
        return self._roots[scope, key]

    def _count(self, query: str, **values: str | int) -> int:
        row = self._reader.row(query, **values)
        assert row is not None, "a count has a row"
        return int(row[0])


def _check_size(count: int, limit: int) -> None:
    """Refuse a request that derives more statements again than the caller allows."""
    if count > limit:
        raise InvalidInput(
            "allow_large",
            f"{count} statements would be derived again, over the limit of {limit}: give "
            "allow_large=True if that is meant",
        )


def _evidence(referent: Referent) -> Evidence:
    assert isinstance(referent.ref, MemoryRef | TranscriptRef), "a source is one of these"
    return referent.ref


def _owner(scope: Scope) -> tuple[str, str]:
    return scope.namespace, scope.agent_id
