"""The rules of facts: what a request becomes, and whether it may.

They decide little: what holds follows from what was said, and is derived when it is applied. So who
says something need not know what was said before, and the order in which things arrive does not
matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph.derive import NEWEST
from memoranda.graph.requests import (
    AliasEntity,
    AssertFact,
    AssertFactAs,
    EndFact,
    EndFactAs,
    EndFactFrom,
    GraphRequest,
    MergeEntities,
    RetractAssertion,
    RetractFact,
    SetCardinality,
)
from memoranda.log.views import LookUp
from memoranda.model.graph_operations import ENTITY, Name
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    AssertPrivately,
    Classify,
    End,
    EndFrom,
    EndPrivately,
    Merge,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.refs import Evidence, FactRef, MemoryRef, Referent, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

Operations = Iterator[AnyOperation]


class GraphRules:
    """Decides one transaction's requests about facts, in order, each seeing those before it."""

    def __init__(self, reader: Reader, look_up: LookUp, known: int = NEWEST) -> None:
        self._reader = reader
        self._look_up = look_up
        self._known = known
        """The commit as of which names and cardinalities are; what stands is as of now."""
        self._said: dict[str, Assert | End] = {}
        """What this transaction has said, by its id."""
        self._unsorted: list[Assert | End] = []
        """What of it is yet to be sorted, should anything be looked for."""
        self._asserted: dict[tuple[Scope, str, str], list[Assert]] = {}
        """What it has asserted, by the relation and by what the tables have the subject under."""
        self._mentioned: set[tuple[Scope, str]] = set()
        self._withdrawn: set[str] = set()
        self._roots: dict[tuple[Scope, str], str | None] = {}
        self._means: dict[tuple[Scope, str], str] = {}
        """What names came to mean in this transaction, each at once what it means by now."""
        self._united: dict[tuple[Scope, str], list[str]] = {}
        """The same the other way round."""
        self._moved: dict[tuple[Scope, str], int] = {}
        """How many statements are derived anew because of names that mean something else now."""
        self._single: dict[tuple[str, str], bool] = {}
        self._deciders: Mapping[type, Callable[[Any], Operations]] = {
            AssertFact: self._assert,
            AssertFactAs: self._assert,
            EndFact: self._end,
            EndFactFrom: self._end,
            EndFactAs: self._end,
            RetractAssertion: self._retract_assertion,
            RetractFact: self._retract,
            SetCardinality: self._classify,
            AliasEntity: self._alias,
            MergeEntities: self._merge,
        }

    def decide(self, staged: GraphRequest, /) -> Operations:
        """Return what a request becomes: nothing, if all is as it asks for."""
        return self._deciders[type(staged)](staged)

    def look_up(self, ref: FactRef, asker: Scope, /) -> Referent:
        """Return the fact that an assertion stands for."""
        said = self._said.get(ref.assertion_id)
        if isinstance(said, Assert):
            stands, begin = True, said.valid_from
            hidden = said.private and said.agent_id != asker.agent_id
        else:
            row = self._reader.row("graph_assertion_find", assertion_id=ref.assertion_id)
            if row is None or not row[2]:
                raise NotFound(f"there is no assertion {ref.assertion_id!r}")
            stands, begin = bool(row[3]), row[4]
            hidden = bool(row[5]) and row[1] != asker.agent_id
        if hidden:  # to others it is as if it had never been said
            raise NotFound(f"there is no assertion {ref.assertion_id!r}")
        if not stands or ref.assertion_id in self._withdrawn:
            raise NotFound(f"assertion {ref.assertion_id!r} was retracted: rest on another one")
        return Referent(ref, begin)

    def _assert(self, asked: AssertFact) -> Operations:
        if asked.once and self._is_known(asked.assertion_id):
            return
        valid_from, source, private = self._grounded(asked, asked.valid_from)
        if asked.valid_to is not None and valid_from is not None and asked.valid_to <= valid_from:
            raise InvalidInput(
                "valid_to", "is not after valid_from, and a fact holds for some time: give a later"
            )
        kind = AssertPrivately if private else Assert
        said = kind(
            *_owner(asked.scope),
            asked.assertion_id,
            asked.subject,
            asked.relation,
            asked.object,
            valid_from,
            asked.confidence,
            source,
        )
        self._note(said)
        yield said
        if asked.valid_to is not None:
            yield self._ending(asked, asked.object, asked.valid_to, private=private)

    def _grounded(
        self, asked: AssertFact | EndFact, time: int | None
    ) -> tuple[int | None, Evidence | None, bool]:
        """Return when what is said is so, not given when its source was, what that is.

        And whether it is private: as its source is, unless it is said otherwise.
        """
        chosen = asked.private if isinstance(asked, AssertFactAs | EndFactAs) else None
        if asked.source is None:
            return time, None, bool(chosen)
        found = self._look_up(asked.source, asked.scope)
        private = found.private if chosen is None else chosen
        return found.event_time if time is None else time, _evidence(found), private

    def _is_known(self, assertion_id: str) -> bool:
        """Say whether anything was ever said under an id, be it taken back since."""
        if assertion_id in self._said or assertion_id in self._withdrawn:
            return True
        return self._reader.row("graph_assertion_known", assertion_id=assertion_id) is not None

    def _end(self, asked: EndFact) -> Operations:
        at, source, private = self._grounded(asked, asked.at)
        said = self._ending(asked, asked.object, at, source, private=private)
        self._note(said)
        yield said

    def _note(self, said: Assert | End) -> None:
        """Remember what is said; most transactions never ask for it."""
        self._said[said.assertion_id] = said
        self._unsorted.append(said)

    def _sort(self) -> None:
        """Find out who is named in what was said, and what was asserted of whom."""
        for said in self._unsorted:
            scope = said.scope
            for name in (said.subject, said.object):
                if name is not None and name.kind == ENTITY:
                    self._mentioned.add((scope, name.key))
            if isinstance(said, Assert):
                subject = self._root(scope, said.subject.key) or said.subject.key
                self._asserted.setdefault((scope, said.relation.key, subject), []).append(said)
        self._unsorted.clear()

    def _ending(
        self,
        asked: AssertFact | EndFact,
        object_: Name | None,
        at: int | None,
        source: Evidence | None = None,
        *,
        private: bool = False,
    ) -> End:
        said = (
            *_owner(asked.scope),
            asked.assertion_id,
            asked.subject,
            asked.relation,
            object_,
            at,
        )
        if private:
            return EndPrivately(*said, source)
        return End(*said) if source is None else EndFrom(*said, source)

    def _retract_assertion(self, asked: RetractAssertion) -> Operations:
        owner, assertion_id = asked.scope, asked.assertion_id
        stands = self._stands(owner, assertion_id)
        if stands is None:
            raise NotFound(
                f"assertion_id: {owner.agent_id!r} in {owner.namespace!r} has said nothing "
                f"under {assertion_id!r}"
            )
        if not stands:
            return
        yield from self._withdraw(owner, assertion_id, asked.reason)

    def _stands(self, owner: Scope, assertion_id: str) -> bool | None:
        """Say whether what somebody said under an id stands; None: they said nothing under it."""
        said = self._said.get(assertion_id)
        if said is not None:
            return True if said.scope == owner else None
        row = self._reader.row("graph_assertion_find", assertion_id=assertion_id)
        if row is None or row[:2] != (owner.namespace, owner.agent_id):
            return None
        return bool(row[3])

    def _retract(self, asked: RetractFact) -> Operations:
        matching = self._matching(asked)
        if not matching:
            said = " ".join(
                name.text for name in (asked.subject, asked.relation, asked.object) if name
            )
            raise NotFound(f"nobody has asserted {said!r}, or it is retracted already")
        for assertion_id in matching:
            yield from self._withdraw(asked.scope, assertion_id, asked.reason)

    def _withdraw(self, scope: Scope, assertion_id: str, reason: str | None) -> Operations:
        if assertion_id not in self._withdrawn:
            self._withdrawn.add(assertion_id)
            kind = WithdrawPrivately if self._is_private(assertion_id) else Withdraw
            yield kind(scope.namespace, scope.agent_id, assertion_id, reason)

    def _is_private(self, assertion_id: str) -> bool:
        """Say whether what was said under an id is its agent's own."""
        said = self._said.get(assertion_id)
        if said is not None:
            return said.private
        row = self._reader.row("graph_assertion_find", assertion_id=assertion_id)
        return row is not None and bool(row[5])

    def _matching(self, asked: RetractFact) -> list[str]:
        """Return the assertions of a fact that stand, whatever names it was said under."""
        self._sort()
        scope, named = asked.scope, asked.object
        found: dict[str, None] = {}
        for subject in self.stored(scope, asked.subject):
            for object_ in [None] if named is None else self.stored(scope, named):
                rows = self._reader.rows(
                    "graph_assertions_matching",
                    agent_id=scope.agent_id,
                    namespace=scope.namespace,
                    subject=subject,
                    relation=asked.relation.key,
                    kind=None if named is None else named.kind,
                    object=object_,
                )
                found |= dict.fromkeys(row[0] for row in rows)
            for said in self._asserted.get((scope, asked.relation.key, subject), ()):
                if named is None or self.meaning(scope, said.object) == self.meaning(scope, named):
                    found[said.assertion_id] = None
        return [each for each in found if each not in self._withdrawn]

    def _classify(self, asked: SetCardinality) -> Operations:
        namespace, relation = asked.scope.namespace, asked.relation.key
        if self.is_single(asked.scope, relation) == asked.single:
            return
        if asked.most is not None:
            values = {"namespace": namespace, "relation": relation}
            _check_size(self._count("graph_relation_size", values), asked.most)
        self._single[namespace, relation] = asked.single
        yield Classify(*_owner(asked.scope), asked.relation, asked.single)

    def _alias(self, asked: AliasEntity) -> Operations:
        scope, alias = asked.scope, asked.alias
        meaning = self.meaning(scope, alias)
        if meaning == self.meaning(scope, asked.entity):
            return
        if meaning != (alias.kind, alias.key):
            raise InvalidInput(
                "alias",
                f"{alias.text!r} means {meaning[1]!r} already: use merge_entities if the two are "
                "one",
            )
        yield from self._unite(scope, alias, asked.entity, asked.most)
        yield Alias(*_owner(scope), asked.entity, alias)

    def _merge(self, asked: MergeEntities) -> Operations:
        scope = asked.scope
        for field, name in (("source", asked.source), ("into", asked.into)):
            if self._root(scope, name.key) is None and not self._is_said(scope, name):
                raise NotFound(f"{field}: nothing is known of an entity {name.text!r}")
        if self.meaning(scope, asked.source) == self.meaning(scope, asked.into):
            return
        yield from self._unite(scope, asked.source, asked.into, asked.most)
        yield Merge(*_owner(scope), asked.source, asked.into)

    def _unite(self, scope: Scope, one: Name, other: Name, most: int | None) -> Operations:
        """Let two names mean the same from here on; says nothing itself."""
        _, source = self.meaning(scope, one)
        _, into = self.meaning(scope, other)
        if most is not None:
            names = {"namespace": scope.namespace, "agent_id": scope.agent_id, "key": source}
            count = self._moved.get((scope, source), 0)
            count += self._count("graph_entity_size", names | {"into": into})
            _check_size(count, most)
            self._moved[scope, into] = self._moved.get((scope, into), 0) + count
        united = [*self._united.pop((scope, source), ()), source]
        self._means.update(((scope, key), into) for key in united)
        self._united.setdefault((scope, into), []).extend(united)
        yield from ()

    def _is_said(self, scope: Scope, name: Name) -> bool:
        """Say whether this transaction itself speaks of an entity."""
        self._sort()
        which = (scope, name.key)
        return which in self._means or which in self._united or which in self._mentioned

    def is_single(self, scope: Scope, relation: str) -> bool:
        """Say whether a relation has one object at a time, as this transaction sees it."""
        known = self._single.get((scope.namespace, relation))
        if known is not None:
            return known
        row = self._reader.row(
            "graph_cardinality_at",
            namespace=scope.namespace,
            relation=relation,
            known=self._known,
        )
        return row is not None and bool(row[0])

    def meaning(self, scope: Scope, name: Name) -> tuple[str, str]:
        """Return what a name means, as this transaction sees it: a kind and a key."""
        if name.kind != ENTITY:
            return name.kind, name.key
        key = self._root(scope, name.key) or name.key
        return name.kind, self._means.get((scope, key), key)

    def stored(self, scope: Scope, name: Name) -> list[str]:
        """Return the keys under which the tables have what a name means."""
        kind, key = self.meaning(scope, name)
        return [*(self._united.get((scope, key), ()) if kind == ENTITY else ()), key]

    def _root(self, scope: Scope, key: str) -> str | None:
        """Return what the tables have a name under, while a transaction is decided."""
        if (scope, key) not in self._roots:
            row = self._reader.row(
                "graph_root_key",
                agent_id=scope.agent_id,
                namespace=scope.namespace,
                key=key,
                known=self._known,
            )
            self._roots[scope, key] = None if row is None else str(row[0])
        return self._roots[scope, key]

    def _count(self, query: str, values: Mapping[str, str]) -> int:
        row = self._reader.row(query, **values)
        assert row is not None, "a count has a row"
        return int(row[0])


def _check_size(count: int, most: int) -> None:
    """Refuse what would derive very much anew, unless that is asked for."""
    if count > most:
        raise InvalidInput(
            "allow_large",
            f"{count} statements would be derived anew, over the limit of {most}: give "
            "allow_large=True if that is meant",
        )


def _evidence(found: Referent) -> Evidence:
    assert isinstance(found.ref, MemoryRef | TranscriptRef), "a source is one of these"
    return found.ref


def _owner(scope: Scope) -> tuple[str, str]:
    return scope.namespace, scope.agent_id
