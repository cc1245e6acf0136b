"""Random histories of facts, compared on both axes of time with an oracle that keeps no tables."""

from __future__ import annotations

import shutil
import tempfile
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import memoranda
from memoranda import Fact, MemorandaError, Scope, Transaction
from memoranda import Literal as Value
from memoranda.graph import timeline_store
from memoranda.graph.entities import normal_name
from memoranda.model.refs import Evidence, MemoryRef
from memoranda.testing import FixedClock, FixedIds
from tests.property.graph_oracle import Edge, GraphOracle, Literal, Object
from tests.property.model import Refused

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86_400.0
SUBJECTS = ("Ann", "Bob", "ANN", "Nick", "Cy")
NAMES = (*SUBJECTS, "Acme", "acme_", "Globex", "The Firm", "nobody")
OBJECTS: tuple[Object, ...] = (
    *("Acme", "acme_", "Globex", "Bob", "The Firm", "Nick"),
    Literal("text", "Acme"),
    Literal("number", "1"),
)
RELATIONS = ("works at", "Works_At", "knows")
SOURCES = ("one", "two")
DEEDS = (
    *("assert",) * 9,
    *("end", "end", "end", "end", "end all", "end all", "retract", "retract", "retract"),
    *("retract all", "cardinality", "cardinality", "alias", "merge"),
)
SCOPE = Scope("default", "a")


def day(number: int) -> datetime:
    return START + timedelta(days=number)


GRID = [day(number) + timedelta(hours=hours) for number in range(-1, 9) for hours in (0, 7)]
FEW = GRID[::4]
PLACES = [(name, relation) for name in ("ann", "bob", "nick", "cy") for relation in RELATIONS[1:]]


@dataclass(frozen=True)
class Deed:
    """Something to say in a transaction; what of it counts depends on its name."""

    name: str
    subject: str
    relation: str
    object: Object
    at: int | None
    """A day; none: when it is committed."""
    length: int | None
    """How many days it holds, if that is said."""
    confidence: float
    source: str | None
    which: int
    names: tuple[str, str]
    single: bool


deeds = st.builds(
    Deed,
    name=st.sampled_from(DEEDS),
    subject=st.sampled_from(["Ann"] * 6 + ["Bob"] * 2 + list(SUBJECTS)),
    relation=st.sampled_from(["works at"] * 4 + list(RELATIONS)),
    object=st.sampled_from(["Acme"] * 4 + ["Globex"] * 2 + list(OBJECTS)),
    at=st.sampled_from([0, 1, 1, 1, 2, 2, 3, 4, 5, None]),
    length=st.sampled_from([None] * 20 + [0] + [1, 2, 3, 5] * 3),
    confidence=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    source=st.sampled_from([None, None, *SOURCES]),
    which=st.integers(0, 10**6),
    names=st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    single=st.booleans(),
)

Row = tuple[object, ...]


def shown(edges: list[Edge]) -> list[Row]:
    """Return edges as a store should show them."""
    return [
        (
            *(edge.subject, edge.relation, edge.object, edge.valid_from, edge.valid_to),
            *(edge.confidence, edge.assertions),
            tuple(dict.fromkeys(source for source in edge.sources if source in SOURCES)),
        )
        for edge in edges
    ]


class GraphMachine(RuleBasedStateMachine):
    """Says the same things to a store on disk and to the oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memoranda-"))
        self.ids, self.clock = FixedIds(), FixedClock()
        self.oracle = GraphOracle()
        self.said: list[str] = []
        self.histories: dict[int, list[Row]] = {}
        """What was believed at each commit, of all times, as it was shown right behind it."""
        self.start()
        self.sources = {self.store.remember(name, agent_id="a").id: name for name in SOURCES}
        self.oracle.begin(self.store.stats().commits)
        self.remember_history()

    def start(self) -> None:
        opened = memoranda.open(
            self.folder / "store.db", clock=self.clock, ids=self.ids, durability="relaxed"
        )
        self.store = opened.bind(agent_id="a")

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # Saying

    def foretell(self, deeds: list[Deed], staged_ids: list[str]) -> tuple[GraphOracle, str]:
        """Return the oracle after a transaction, and which error refuses it, if one does."""
        if any(deed.name == "assert" and deed.length == 0 for deed in deeds):
            return self.oracle, "InvalidInput"  # at once, whatever a commit would say
        oracle, argument = copy(self.oracle), iter(staged_ids)
        oracle.steps = list(self.oracle.steps)
        oracle.begin()
        reference = list(self.said)
        try:
            for deed in deeds:
                reference.extend(self.tell(oracle, deed, reference, argument))
        except Refused as error:
            return self.oracle, str(error)
        return (oracle if len(oracle.steps) > len(self.oracle.steps) else self.oracle), ""

    def tell(self, oracle: GraphOracle, deed: Deed, known: list[str], answer: Any) -> list[str]:
        place = (deed.subject, deed.relation)
        if deed.name == "assert":
            begin, end = self.times(deed)
            source = deed.source
            more: dict[str, Any] = {"confidence": deed.confidence, "source": source}
            return [
                oracle.assert_fact(
                    *place, deed.object, begin, valid_to=end, id_=next(answer, None), **more
                )
            ]
        if deed.name in ("end", "end all"):
            ended = deed.object if deed.name == "end" else None
            at = self.times(deed)[0]
            id_ = next(answer, None)
            return [oracle.end_fact(*place, ended, at, source=deed.source, id_=id_)]
        if deed.name == "retract":
            oracle.retract(known[deed.which % len(known)] if known else "never said")
        elif deed.name == "retract all":
            oracle.retract_all(*place, deed.object if deed.single else None)
        elif deed.name == "cardinality":
            oracle.set_cardinality(deed.relation, single=deed.single)
        elif deed.name == "alias":
            oracle.alias(*deed.names)
        else:
            oracle.merge(*deed.names)
        return []

    def times(self, deed: Deed) -> tuple[datetime, datetime | None]:
        now = START + timedelta(microseconds=self.clock.now() - FixedClock().now())
        begin = now if deed.at is None else day(deed.at)
        return begin, None if deed.length is None else begin + timedelta(days=deed.length)

    def perform(self, tx: Transaction, deed: Deed, known: list[str]) -> list[str]:
        place: dict[str, Any] = {"subject": deed.subject, "relation": deed.relation}
        begin, end = self.times(deed)
        start = None if deed.at is None else begin
        source = {name: id_ for id_, name in self.sources.items()}.get(deed.source or "")
        if deed.name == "assert":
            return [
                tx.assert_fact(
                    **place,
                    object=value(deed.object),
                    valid_from=start,
                    valid_to=end,
                    confidence=deed.confidence,
                    source=source,
                )
            ]
        if deed.name in ("end", "end all"):
            ended = value(deed.object) if deed.name == "end" else None
            return [tx.end_fact(**place, object=ended, at=start, source=source, allow_unknown=True)]
        if deed.name == "retract":
            tx.retract_fact(assertion_id=known[deed.which % len(known)] if known else "never said")
        elif deed.name == "retract all":
            tx.retract_fact(**place, object=value(deed.object) if deed.single else None)
        elif deed.name == "cardinality":
            cardinality = "single" if deed.single else "multi"
            tx.set_cardinality(relation=deed.relation, cardinality=cardinality)
        elif deed.name == "alias":
            tx.alias(entity=deed.names[0], alias=deed.names[1])
        else:
            tx.merge_entities(source=deed.names[0], into=deed.names[1])
        return []

    @rule(taken=st.lists(st.lists(deeds, min_size=1, max_size=3), min_size=3, max_size=6))
    def say(self, taken: list[list[Deed]]) -> None:
        """Several transactions: some are refused, and there is little to see where little is."""
        for number, together in enumerate(taken):
            self.say_one(together, peeks=number % 2 == 0)

    def say_one(self, taken: list[Deed], *, peeks: bool) -> None:
        """All of it becomes one commit, or none; what is staged is seen before as it is then."""
        self.clock.advance(DAY / 10)
        text: list[str] = []
        observations: list[list[Fact]] = []
        refused = self.foretell(taken, [])[1]
        before = self.store.stats().commits
        if refused:
            with pytest.raises(MemorandaError) as caught:
                self.say_together(taken, text, observations, peeks=peeks)
            assert type(caught.value).__name__ == refused
        else:
            self.say_together(taken, text, observations, peeks=peeks)
            self.oracle = self.foretell(taken, text)[0]
            self.said.extend(text)
        assert self.store.stats().commits == self.oracle.commit
        if self.oracle.commit > before:
            self.remember_history()
        if observations and not refused:
            result = [self.store.timeline(subject=s, relation=r) for s, r in PLACES]
            assert [list(map(bare, facts)) for facts in observations] == [
                list(map(bare, facts)) for facts in result
            ]

    def say_together(
        self, deeds: list[Deed], staged_ids: list[str], seen: list[list[Fact]], *, peeks: bool
    ) -> None:
        with self.store.begin_transaction() as tx:
            for deed in deeds:
                staged_ids.extend(self.perform(tx, deed, [*self.said, *staged_ids]))
            if peeks:
                seen.extend(tx.timeline(subject=s, relation=r) for s, r in PLACES)

    # What must change nothing

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.start()

    @rule()
    def rebuild(self) -> None:
        assert self.store.rebuild().identical

    # Reading

    def told(self, facts: list[Fact]) -> list[Row]:
        """Return facts as the oracle would say them, but for when they were known."""
        return [
            (
                *(normal_name(fact.subject), normal_name(fact.relation), key(fact.object)),
                *(fact.valid_from, fact.valid_to, fact.confidence, fact.assertions),
                tuple(self.sources[memory_of(ref)] for ref in fact.sources),
            )
            for fact in facts
        ]

    def history(self, known_at: int | None) -> list[Row]:
        return sorted(self.told(self.store.facts(include_closed=True, known_at=known_at)), key=repr)

    def remember_history(self) -> None:
        """Keep what is believed right behind a commit, once it is what the oracle says."""
        edges = [edge for edges in self.oracle.timelines().values() for edge in edges]
        versions = self.history(None)
        assert versions == sorted(shown(edges), key=repr)
        self.histories[self.oracle.commit] = versions

    @invariant()
    def what_was_believed_stays_what_was_believed(self) -> None:
        for known_at, history in self.histories.items():
            assert self.history(known_at) == history, f"as known at {known_at}"

    @invariant()
    def timelines_are_the_oracles(self) -> None:
        single = self.oracle.single_valued()
        for subject, relation in PLACES:
            facts = self.store.timeline(subject=subject, relation=relation)
            assert self.told(facts) == shown(self.oracle.timeline(subject, relation))
            ends = [fact.valid_to for fact in facts]
            assert all(
                end is None or end >= fact.valid_from for fact, end in zip(facts, ends, strict=True)
            )
            if normal_name(relation) in single:
                for end, follower in zip(ends, facts[1:], strict=False):
                    assert end is not None
                    assert end <= follower.valid_from
            open_now = self.store.current_edges(SCOPE, subject, relation)
            current = self.oracle.current_edges(subject, relation)
            assert [(edge.subject_key, edge.valid_from) for edge in open_now] == [
                (edge.subject, edge.valid_from) for edge in current
            ]

    @rule(which=st.integers(0, 10**6), deed=deeds)
    def read_at_one_commit(self, which: int, deed: Deed) -> None:
        """Everything asked for in another way, as known at some commit."""
        known_at = list(self.histories)[which % len(self.histories)]
        for subject, relation in PLACES:
            facts = self.store.timeline(subject=subject, relation=relation, known_at=known_at)
            assert self.told(facts) == shown(self.oracle.timeline(subject, relation, known_at))
        for at in FEW:
            self.read_parts(at, known_at, deed)
            self.read_parts(at, None, deed)
        self.read_names(known_at)

    def read_parts(self, at: datetime, known_at: int | None, deed: Deed) -> None:
        parts: list[dict[str, Any]] = [{"subject": deed.subject}, {"relation": deed.relation}, {}]
        for part in parts:
            for object_ in (None, deed.object):
                facts = self.store.facts(
                    valid_at=at,
                    known_at=known_at,
                    object=None if object_ is None else value(object_),
                    **part,
                )
                edges = self.oracle.facts(at, known_at, object_=object_, **part)
                assert sorted(self.told(facts), key=repr) == sorted(shown(edges), key=repr)

    def read_names(self, known_at: int) -> None:
        names = self.oracle.names(known_at)
        heard = self.oracle.heard_of(known_at)
        meanings: dict[str, set[str]] = {}
        for name in map(normal_name, NAMES):
            result = self.store.entity(name, known_at=known_at)
            assert (result is not None) == (name in heard)
            if result is not None:
                means = name
                while means in names:
                    means = names[means]
                assert result.key == means
                meanings.setdefault(means, set()).add(name)
        entities = list(self.store.entities(known_at=known_at))
        assert {
            item.key: {item.key, *map(normal_name, item.aliases)} for item in entities
        } == meanings

    @rule()
    def read_all_instants(self) -> None:
        """All of a grid of instants, as known at every commit."""
        for known_at in self.histories:
            for at in FEW:
                result = self.told(self.store.facts(valid_at=at, known_at=known_at))
                edges = shown(self.oracle.facts(at, known_at))
                assert sorted(result, key=repr) == sorted(edges, key=repr), (at, known_at)
        for at in GRID:
            result = self.told(self.store.facts(valid_at=at))
            assert sorted(result, key=repr) == sorted(shown(self.oracle.facts(at)), key=repr), at


def value(object_: Object) -> str | Value:
    if not isinstance(object_, Literal):
        return object_
    return Value(int(object_.text) if object_.kind == "number" else object_.text)


def key(object_: str | Value) -> Object:
    if isinstance(object_, str):
        return normal_name(object_)
    kind = "text" if isinstance(object_.value, str) else "number"
    return Literal(kind, str(object_))


def memory_of(ref: Evidence) -> str:
    assert isinstance(ref, MemoryRef)
    return ref.memory_id


def bare(fact: Fact) -> Row:
    """Return what a transaction knows of a fact before it has a commit."""
    return (
        *(fact.subject, fact.relation, fact.object, fact.valid_from, fact.valid_to),
        *(fact.confidence, fact.sources, fact.assertions),
    )


class LongTimelinesMachine(GraphMachine):
    """The same where every timeline is taken for one that is too long to be derived as a whole."""

    def __init__(self) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(timeline_store, "SMALL_TIMELINE_STATEMENTS", 0)
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.patched.undo()


TestGraphMachine = GraphMachine.TestCase
TestLongTimelinesMachine = pytest.mark.slow(LongTimelinesMachine.TestCase)
TestGraphMachine.settings = settings(
    max_examples=15,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLongTimelinesMachine.settings = settings(TestGraphMachine.settings, max_examples=8)
