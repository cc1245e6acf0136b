"""Notices about stale beliefs: find what rests on evidence that a transaction changes.

A belief is the current value of a key, a memory that stands, or an assertion that stands. When the
evidence it rests on directly is superseded, revised, retracted, overwritten, deleted or closed, its
owner gets a notice in the same event. The judgement is that of `why`, as its owner sees it, so the
inbox and `why` agree. What time alone makes stale (an expiry, a planned end) and what an erasure
takes away write no notice.

A value that is replaced, and an assertion that is retracted, settles the open notices about it.

It takes three steps, each with a constant number of queries, over indexes of what rests on what:

    1. which evidence the operations change, and which references they add
    2. which beliefs rest on that evidence, besides those that this transaction replaces
    3. what happened to the evidence of each, as the transaction leaves it

Whether a statement closes a fact follows only from the whole timeline. So if a value rests on a
fact of a timeline that changes, the graph view applies the event on trial, `why` judges, and the
trial is undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, get_args

import msgspec

from memoranda.graph.fact_explanation import private_assertions
from memoranda.graph.rules import GraphRules
from memoranda.graph.view import GraphView
from memoranda.log import pages
from memoranda.log.pages import SplitEventCache
from memoranda.log.read.as_of import AsOf
from memoranda.log.read.scope_index import ScopeIds
from memoranda.log.views import Commit, DecidedEvent, TransactionRules
from memoranda.memory import snapshots
from memoranda.memory.notices import (
    CLOSED,
    DELETED,
    FACT,
    KEY,
    MEMORY,
    OVERWRITTEN,
    RETRACTED,
    REVISED,
    SUPERSEDED,
    StaleCause,
    notify_stale,
)
from memoranda.memory.rules import MemoryRules
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.memory.view import MemoryView
from memoranda.model import codec
from memoranda.model.event import Envelope
from memoranda.model.memory import (
    DERIVED_FROM,
    NOTICE_TIER,
    REFLECTION,
    REFLECTS_ON,
    SUPERSEDES,
    Expiry,
)
from memoranda.model.operations import (
    AddLink,
    Alias,
    AnyOperation,
    Assert,
    Classify,
    CloseLink,
    Configure,
    Delete,
    End,
    Merge,
    Resolve,
    Retract,
    Revise,
    Withdraw,
    Write,
)
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, OperationRef
from memoranda.model.scope import Scope
from memoranda.state.evidence import FACT_EVIDENCE, KEY_EVIDENCE, MEMORY_EVIDENCE
from memoranda.state.key_cache import KeyAddress, address_of
from memoranda.state.rules import StateRules
from memoranda.state.view import StateView
from memoranda.storage.port import Row, Writer
from memoranda.why.facts import FactUse, fact_statuses

_AnyRef = TypeVar("_AnyRef", KeyRef, MemoryRef, FactRef)
_EVIDENCE_LINKS = (REFLECTS_ON, DERIVED_FROM)
_TIMELINE_OPERATIONS = (Assert, End, Withdraw, Classify, Alias, Merge, Configure)
"""Operations that can change timelines; a setting may share the facts of a namespace."""
_CHANGING_KINDS = frozenset(
    kind
    for kind in get_args(AnyOperation)
    if issubclass(kind, (Write, Delete, AddLink, CloseLink, Revise, Retract, *_TIMELINE_OPERATIONS))
)
"""Operations that can make a belief stale, or rest on something stale."""
_PREFIX_END = b"\xff"
"""Sorts after every version at the end of an encoded reference to a memory."""


class _Belief(msgspec.Struct, frozen=True):
    """A key's value, a memory or a fact that rests on something, and its owner."""

    kind: str
    ref: MemoryRef | OperationRef
    owner: Scope
    private: bool = False


class _Use(msgspec.Struct, frozen=True):
    """A belief, and a version of a memory that it rests on."""

    belief: _Belief
    evidence: MemoryRef
    relation: str | None = None
    """The link, if the belief is a memory."""


class StaleNotices:
    """Decides the notices of each transaction."""

    def __init__(
        self, scopes: ScopeIds, state: StateView, memory: MemoryView, graph: GraphView
    ) -> None:
        self._scopes = scopes
        self._state = state
        self._memory = memory
        self._graph = graph

    def concern(self, rules: TransactionRules, operations: Sequence[AnyOperation], /) -> bool:
        """Say whether any belief may become stale; most transactions only add new data.

        New data matters only if it rests on evidence that is stale already.
        """
        for operation in operations:
            if type(operation) in _CHANGING_KINDS and self._concerns(rules, operation):
                return True
        return False

    def _concerns(self, rules: TransactionRules, operation: AnyOperation) -> bool:
        if isinstance(operation, (Write, Delete)):
            state: StateRules = rules[self._state]
            head = state.stored_head((operation.namespace, operation.agent_id, operation.key))
            if head.is_cited or head.has_evidence:
                return True
            if isinstance(operation, Delete) or not operation.because:  # the most frequent case
                return False
            return any(
                isinstance(ref, KeyRef) for ref in operation.because
            ) or self._cites_stale_memory(rules)
        if isinstance(operation, (AddLink, CloseLink)):
            return operation.relation == SUPERSEDES or self._cites_stale_memory(rules)
        if isinstance(operation, _TIMELINE_OPERATIONS):
            has_source = isinstance(operation, Assert) and operation.source is not None
            return (
                isinstance(operation, Withdraw)
                or rules[self._state].rests_on_facts()
                or (has_source and self._cites_stale_memory(rules))
            )
        return isinstance(operation, (Revise, Retract))

    def _cites_stale_memory(self, rules: TransactionRules) -> bool:
        memory: MemoryRules = rules[self._memory]
        return bool(memory.stale_evidence)

    def decide(
        self, writer: Writer, rules: TransactionRules, event: DecidedEvent, /
    ) -> list[AnyOperation]:
        """Return a notice for each belief whose evidence this event changes, once per cause.

        Before them come the decisions on notices about beliefs that this event replaces.
        """
        search = _Search(writer, rules[self._state], rules[self._memory], event)
        search.find_key_changes()
        search.find_memory_changes()
        if any(isinstance(operation, _TIMELINE_OPERATIONS) for operation in event.operations):
            graph: GraphRules = rules[self._graph]
            self._find_fact_changes(writer, graph, search)
        return [*search.settlements(), *search.notices()]

    def _find_fact_changes(self, writer: Writer, graph: GraphRules, search: _Search) -> None:
        search.find_retracted_facts()
        uses = search.uses_of_open_facts(graph)
        if not uses:
            return
        event = search.event
        commit = Commit(
            event.commit_ts,
            event.committed_at,
            Envelope("", event.actor, b""),
            tuple(event.operations),
            b"",
        )
        with writer.trial():
            try:
                self._graph.apply(writer, commit)
                search.judge_facts(uses)
            finally:  # they may hold rows of the trial
                self._graph.drop_caches()
                self._scopes.drop_caches()


class _Search:
    """Collects the causes of notices of one event."""

    def __init__(
        self, writer: Writer, state: StateRules, memory: MemoryRules, event: DecidedEvent
    ) -> None:
        self._writer = writer
        self._state = state
        self._memory = memory
        self._overlay = memory.overlay
        self.event = event
        self._causes: dict[StaleCause, tuple[_Belief, bool]] = {}
        """Each cause with its belief, and whether the notice is private."""
        self._written: dict[KeyAddress, int] = {}
        """The keys that this event writes or deletes, and the position where it does so last."""
        self._withdrawn: set[str] = set()
        self._events = SplitEventCache()
        for position, operation in enumerate(event.operations):
            if isinstance(operation, (Write, Delete)):
                address = (operation.namespace, operation.agent_id, operation.key)
                self._written[address] = position
            elif isinstance(operation, Withdraw):
                self._withdrawn.add(operation.assertion_id)

    def notices(self) -> list[AnyOperation]:
        """Return the notices for causes that never had one, ordered by what they are about."""
        new = self._overlay.without_notice(self._causes)
        result: list[AnyOperation] = []
        for cause in sorted(new, key=_order):
            belief, private = self._causes[cause]
            result.append(notify_stale(cause, belief.owner, private=private, by=self.event.actor))
        return result

    def settlements(self) -> Iterator[AnyOperation]:
        """Yield a decision on each open notice about a value or fact that this event replaces."""
        decisions: dict[OperationRef, str] = {}
        for address, position in self._written.items():
            head = self._state.stored_head(address)
            place = self._place_of(address, head.version) if head.has_evidence else None
            if place is not None:
                is_write = isinstance(self.event.operations[position], Write)
                decisions[place] = "revise" if is_write else "retract"
        for place in self._fact_places(self._withdrawn).values():
            decisions[place] = "retract"
        for chunk in pages.chunks(list(decisions)):
            places = [(place.commit_ts, place.position) for place in chunk]
            for row in self._writer.rows("notices_open_at", places=places):
                notice_id, namespace, agent_id, private, *place_row = row
                notice = self._overlay.notice(notice_id)
                if notice is not None and notice.decision is None:
                    yield Resolve(
                        namespace,
                        agent_id,
                        notice_id,
                        decisions[OperationRef(*place_row)],
                        self.event.actor,
                        Expiry(self._overlay.settings(namespace).lifetime(NOTICE_TIER)),
                        private=bool(private),
                    )

    # Keys.

    def find_key_changes(self) -> None:
        """Find values that rest on keys that have newer versions."""
        changed = [name for name in self._written if self._state.stored_head(name).is_cited]
        heads = [self._state.head(address) for address in changed]
        evidence = [(KEY_EVIDENCE, str(head.key_id)) for head in heads]
        for row in self._dependents(evidence):
            self._add_key_change(_value(row), changed[row[0]], row[1], OperationRef(*row[2:4]))
        for belief, ref in self._new_references(KeyRef):
            address = address_of(ref)
            if self._state.head(address).version > (ref.version or 0):
                place = self._place_of(address, ref.version or 0)
                if place is not None and _is_other_key(self.event, belief, address):
                    self._add_key_change(belief, address, ref.version or 0, place)

    def _add_key_change(
        self, belief: _Belief, address: KeyAddress, version: int, place: OperationRef
    ) -> None:
        head = self._state.head(address)
        if head.version > version:
            change = OVERWRITTEN if head.live else DELETED
            self._add(StaleCause(KEY, belief.ref, KEY, place, change), belief)

    def _place_of(self, address: KeyAddress, version: int) -> OperationRef | None:
        """Return the place of a key's version, in this event or in the log."""
        for position, operation in enumerate(self.event.operations):
            if isinstance(operation, (Write, Delete)) and (
                (operation.namespace, operation.agent_id, operation.key) == address
                and operation.version == version
            ):
                return OperationRef(self.event.commit_ts, position)
        key_id = self._state.head(address).key_id
        row = self._writer.find("state_version_place", version, key_id)
        return None if row is None else OperationRef(*row)

    def _dependents(self, evidence: Sequence[tuple[int, str]]) -> Iterator[Row]:
        """Yield the values that rest on evidence and that this event does not replace."""
        for first in range(0, len(evidence), pages.PAGE_ROWS):
            chunk = evidence[first : first + pages.PAGE_ROWS]
            for number, *row in self._writer.rows("state_dependents", evidence=chunk):
                if (row[3], row[4], row[5]) not in self._written:
                    yield (first + number, *row)

    def _new_references(self, kind: type[_AnyRef]) -> Iterator[tuple[_Belief, _AnyRef]]:
        """Yield the references of one kind that this event's last value of each key has."""
        for position in self._written.values():
            operation = self.event.operations[position]
            if isinstance(operation, Write):
                place = OperationRef(self.event.commit_ts, position)
                belief = _Belief(KEY, place, operation.scope)
                for ref in operation.because:
                    if isinstance(ref, kind):
                        yield belief, ref

    # Memories.

    def find_memory_changes(self) -> None:
        """Find beliefs that rest on memories that are superseded, revised or retracted."""
        changed = {
            operation.target if isinstance(operation, AddLink) else operation.memory_id
            for operation in self.event.operations
            if isinstance(operation, (Revise, Retract))
            or (isinstance(operation, AddLink) and operation.relation == SUPERSEDES)
        }
        suspects = changed | self._memory.stale_evidence
        new = (use for use in self._new_uses() if use.evidence.memory_id in suspects)
        uses = [*self._uses_of(sorted(changed)), *new, *self._returning_uses()]
        if not uses:
            return
        ids = {use.evidence.memory_id for use in uses}
        superseding = self._overlay.sources(ids, SUPERSEDES)
        ids.update(*superseding.values())
        memories = self._overlay.memories(ids, content=False)
        for use in uses:
            evidence = memories.get(use.evidence.memory_id)
            if evidence is not None and not evidence.forgotten:
                newer = [memories[name] for name in superseding[evidence.memory_id]]
                self._judge_memory(use, evidence, newer)

    def _judge_memory(
        self, use: _Use, evidence: MemorySnapshot, newer: Iterable[MemorySnapshot]
    ) -> None:
        """Add what happened to a memory since a belief came to rest on a version of it."""
        belief, viewer = use.belief, use.belief.owner.agent_id
        if not evidence.visible_to(viewer):
            return
        for memory in newer:
            # Whoever supersedes what it rests on knows. Between reflections there is a notice of
            # its own (see `find_causes`).
            is_own = belief.kind == MEMORY and belief.ref == MemoryRef(memory.memory_id)
            is_reflection = (
                use.relation == REFLECTS_ON and evidence.kind == memory.kind == REFLECTION
            )
            if memory.visible_to(viewer) and not is_own and not is_reflection:
                cause = self._memory_cause(use, SUPERSEDED, memory.memory_id)
                self._add(cause, belief, private=evidence.private or memory.private)
        if evidence.retracted:
            self._add(self._memory_cause(use, RETRACTED), belief, private=evidence.private)
        elif evidence.version > (use.evidence.version or 0):
            self._add(self._memory_cause(use, REVISED), belief, private=evidence.private)

    def _memory_cause(
        self, use: _Use, change: str, invalidating_id: str | None = None
    ) -> StaleCause:
        belief = use.belief
        return StaleCause(belief.kind, belief.ref, MEMORY, use.evidence, change, invalidating_id)

    def _uses_of(self, memory_ids: Sequence[str]) -> Iterator[_Use]:
        """Yield the beliefs in the tables that rest on memories, as this event leaves them."""
        if not memory_ids:
            return
        for row in self._dependents([(MEMORY_EVIDENCE, name) for name in memory_ids]):
            yield _Use(_value(row), MemoryRef(memory_ids[row[0]], row[1]))
        links = [
            (source, relation, MemoryRef(target, version))
            for chunk in pages.chunks(memory_ids)
            for target, source, relation, version in self._writer.rows(
                "memory_dependents", memory_ids=chunk
            )
        ]
        yield from self._uses_by_links(links)
        for name in memory_ids:
            prefix = codec.encode(MemoryRef(name)).removesuffix(b"\xc0")
            for assertion_id, source, *place in self._writer.rows(
                "graph_assertions_from", first=prefix, end=prefix + _PREFIX_END
            ):
                evidence = codec.decode_evidence(source)
                if assertion_id not in self._withdrawn and isinstance(evidence, MemoryRef):
                    yield _Use(self._fact(OperationRef(*place)), evidence)

    def _uses_by_links(self, links: Sequence[tuple[str, str, MemoryRef]]) -> Iterator[_Use]:
        """Yield memories that stand, by links that this event leaves open."""
        sources = {source for source, _, _ in links}
        memories = self._overlay.memories(sources, content=False)
        superseding = self._overlay.sources(sources, SUPERSEDES) if sources else {}
        for source, relation, target in links:
            memory = memories[source]
            if (
                not memory.forgotten
                and not memory.retracted
                and not superseding[source]
                and self._overlay.has_link((source, relation, target.memory_id))
            ):
                belief = _Belief(MEMORY, MemoryRef(source), memory.scope, memory.private)
                yield _Use(belief, target, relation)

    def _new_uses(self) -> Iterator[_Use]:
        """Yield the references to memories that this event adds."""
        for belief, ref in self._new_references(MemoryRef):
            yield _Use(belief, ref)
        links: list[tuple[str, str, MemoryRef]] = []
        for position, operation in enumerate(self.event.operations):
            if isinstance(operation, AddLink) and operation.relation in _EVIDENCE_LINKS:
                target = MemoryRef(operation.target, self._version_at(operation.target, position))
                links.append((operation.source, operation.relation, target))
            elif (
                isinstance(operation, Assert)
                and isinstance(operation.source, MemoryRef)
                and operation.assertion_id not in self._withdrawn
            ):
                place = OperationRef(self.event.commit_ts, position)
                belief = _Belief(FACT, place, operation.scope, operation.private)
                yield _Use(belief, operation.source)
        yield from self._uses_by_links(links)

    def _returning_uses(self) -> Iterator[_Use]:
        """Yield the evidence of memories that may stand again; it may have changed meanwhile."""
        ids = {
            operation.target if isinstance(operation, CloseLink) else operation.memory_id
            for operation in self.event.operations
            if isinstance(operation, Revise)
            or (isinstance(operation, CloseLink) and operation.relation == SUPERSEDES)
        }
        if ids:
            links = snapshots.evidence_links(self._writer, sorted(ids), self.event.commit_ts)
            yield from self._uses_by_links(
                [(link.source, link.relation, link.target) for link in links]
            )

    def _version_at(self, memory_id: str, position: int) -> int:
        """Return the version that a memory has at a position of this event."""
        memory = self._overlay.memory(memory_id)
        assert memory is not None, "a link leads to a memory"
        later = self.event.operations[position:]
        changes = (op for op in later if isinstance(op, (Revise, Retract)))
        return memory.version - sum(change.memory_id == memory_id for change in changes)

    def _fact(self, place: OperationRef) -> _Belief:
        operation = self._events.of(self._writer, place.commit_ts).effective(place.position)
        assert isinstance(operation, Assert), "the log has an assertion at its position"
        return _Belief(FACT, place, operation.scope, operation.private)

    # Facts.

    def _new_withdrawn(self) -> Iterator[tuple[_Belief, str]]:
        for belief, ref in self._new_references(FactRef):
            if ref.assertion_id in self._withdrawn:
                yield belief, ref.assertion_id

    def find_retracted_facts(self) -> None:
        """Find values that rest on facts that this event retracts."""
        ids = sorted(self._withdrawn)
        rows = self._dependents([(FACT_EVIDENCE, assertion_id) for assertion_id in ids])
        uses = [(_value(row), ids[row[0]]) for row in rows]
        for belief, cause in self._fact_causes([*uses, *self._new_withdrawn()], RETRACTED):
            self._add(cause, belief)

    def uses_of_open_facts(self, graph: GraphRules) -> list[tuple[_Belief, str, StaleCause]]:
        """Return the values that rest on a fact of a timeline that this event changes.

        Those that had a notice, or whose fact is retracted, are left out.
        """
        if not self._state.rests_on_facts():
            return []
        ids = sorted(self._cited_facts(graph) - self._withdrawn)
        rows = self._dependents([(FACT_EVIDENCE, assertion_id) for assertion_id in ids])
        uses = [(_value(row), ids[row[0]]) for row in rows]
        causes = list(self._fact_causes(uses, CLOSED))
        new = set(self._overlay.without_notice(cause for _, cause in causes))
        places = {place: name for name, place in self._fact_places(ids).items()}
        return [
            (belief, places[cause.evidence], cause)
            for belief, cause in causes
            if cause in new and isinstance(cause.evidence, OperationRef)
        ]

    def judge_facts(self, uses: Sequence[tuple[_Belief, str, StaleCause]]) -> None:
        """Add the facts that are closed, as each belief's owner sees them in the tables now."""
        as_of = AsOf(self.event.commit_ts, self.event.committed_at)
        for belief, assertion_id, cause in uses:
            assert isinstance(belief.ref, OperationRef), "only a value rests on a fact"
            use = FactUse(assertion_id, belief.ref.commit_ts)
            viewer = belief.owner.agent_id
            statuses = fact_statuses(self._writer, [use], as_of, viewer, newest=as_of.commit)
            for _, status in statuses:
                if status.is_closed:
                    self._add(cause, belief)

    def _cited_facts(self, graph: GraphRules) -> set[str]:
        """Return the cited assertions on the timelines that this event changes."""
        timelines: dict[tuple[str, str, str], None] = {}
        for operation in self.event.operations:
            if isinstance(operation, (Classify, Alias, Merge, Configure)):
                return {row[0] for row in self._writer.rows("graph_cited")}
            # In a multi-valued relation an assertion closes nothing.
            if isinstance(operation, End) or (
                isinstance(operation, Assert)
                and graph.is_single(operation.scope, operation.relation.key)
            ):
                key = (operation.namespace, operation.subject.key, operation.relation.key)
                timelines[key] = None
        cited: set[str] = set()
        for chunk in pages.chunks(list(timelines)):
            rows = self._writer.rows("graph_cited_on_timelines", timelines=chunk)
            cited.update(row[0] for row in rows)
        for ids in pages.chunks(sorted(self._withdrawn)):
            cited.update(row[0] for row in self._writer.rows("graph_cited_beside", ids=ids))
        return cited

    def _fact_causes(
        self, uses: Sequence[tuple[_Belief, str]], change: str
    ) -> Iterator[tuple[_Belief, StaleCause]]:
        """Yield the causes for facts that the owners of the beliefs may see."""
        places = self._fact_places({name for _, name in uses})
        hidden: dict[str, set[str]] = {}
        for belief, name in uses:
            viewer = belief.owner.agent_id
            if viewer not in hidden:
                hidden[viewer] = private_assertions(self._writer, places, viewer)
            if name in places and name not in hidden[viewer]:
                yield belief, StaleCause(KEY, belief.ref, FACT, places[name], change)

    def _fact_places(self, ids: Iterable[str]) -> dict[str, OperationRef]:
        """Return the places of assertions, in this event or in the log."""
        own = {
            operation.assertion_id: OperationRef(self.event.commit_ts, position)
            for position, operation in enumerate(self.event.operations)
            if isinstance(operation, Assert)
        }
        rows = (
            row
            for chunk in pages.chunks(sorted(ids))
            for row in self._writer.rows("graph_assertion_places", ids=chunk)
        )
        return own | {name: OperationRef(*place) for name, *place in rows}

    def _add(self, cause: StaleCause, belief: _Belief, *, private: bool = False) -> None:
        self._causes[cause] = (belief, private or belief.private)


def _value(row: Row) -> _Belief:
    """Return the belief of a row of `state_dependents`."""
    return _Belief(KEY, OperationRef(*row[7:9]), Scope(row[4], row[5]))


def _is_other_key(event: DecidedEvent, belief: _Belief, address: KeyAddress) -> bool:
    """Say whether a new value rests on another key than its own, which it replaces."""
    assert isinstance(belief.ref, OperationRef), "the belief is a value"
    operation = event.operations[belief.ref.position]
    return (operation.namespace, operation.agent_id, operation.key) != address


def _order(cause: StaleCause) -> tuple[str, str, int, int]:
    ref = cause.dependent
    if isinstance(ref, MemoryRef):
        return cause.dependent_kind, ref.memory_id, 0, 0
    return cause.dependent_kind, "", ref.commit_ts, ref.position
