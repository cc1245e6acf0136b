"""Random histories of several agents that share facts, and stop, compared with the oracle.

The oracle of one scope is asked for every agent: with the steps of the agent alone, or with those
of all agents that are not private to another, as the namespace is configured at the commit of the
question.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import Fact, MemorandaError, Store
from memoranda.graph import timeline_store
from memoranda.graph.entities import normal_name
from memoranda.testing import FixedClock, FixedIds
from tests.property.graph_oracle import (
    Cardinality,
    GraphOracle,
    Mark,
    Retraction,
    Step,
)
from tests.property.model import Refused
from tests.property.test_graph_machine import GRID, day, key

AGENTS = ("ann", "bob", "cy")
NAMESPACE, PARENT = "team/eng", "team"
SUBJECTS = ("Ada", "Bea", "ada_", "Nick")
OBJECTS = ("Acme", "Globex", "Bea", "Nick", "The Firm")
RELATIONS = ("works at", "knows")
PLACES = [(subject, relation) for subject in ("ada", "bea", "nick") for relation in RELATIONS]
DEEDS = (
    *("assert",) * 8,
    *("end", "end", "end all", "retract", "retract", "retract all"),
    *("cardinality", "cardinality", "alias", "merge", "share", "share", "share", "forget"),
)


@dataclass(frozen=True)
class Deed:
    """What an agent says; what of it counts depends on its name."""

    name: str
    agent: str
    subject: str
    relation: str
    object: str
    at: int
    length: int | None
    private: bool
    which: int
    names: tuple[str, str]
    flag: bool
    child: bool


deeds = st.builds(
    Deed,
    name=st.sampled_from(DEEDS),
    agent=st.sampled_from(AGENTS),
    subject=st.sampled_from(("Ada", "Ada", *SUBJECTS)),
    relation=st.sampled_from(RELATIONS),
    object=st.sampled_from(OBJECTS),
    at=st.integers(0, 5),
    length=st.sampled_from((None, None, None, 1, 3)),
    private=st.sampled_from((False, False, False, True)),
    which=st.integers(0, 10**6),
    names=st.tuples(st.sampled_from((*SUBJECTS, *OBJECTS)), st.sampled_from((*SUBJECTS, *OBJECTS))),
    flag=st.booleans(),
    child=st.booleans(),
)


@dataclass
class SharedOracle:
    """The steps of all agents, and the settings of two namespaces."""

    steps: list[tuple[str, bool, Step]] = field(default_factory=list)
    """Each with its agent, and whether it is private."""
    sharing: list[tuple[int, str, bool]] = field(default_factory=list)
    commit: int = 0

    def is_shared(self, known_at: int | None = None) -> bool:
        last = self.commit if known_at is None else known_at
        for namespace in (NAMESPACE, PARENT):
            changes = [
                on for commit, name, on in self.sharing if name == namespace and commit <= last
            ]
            if changes:
                return changes[-1]
        return False

    def view(self, agent: str, known_at: int | None = None) -> GraphOracle:
        """Return the oracle of what an agent believes, as configured at a commit."""
        shared = self.is_shared(known_at)
        oracle = GraphOracle()
        oracle.commit = self.commit
        oracle.steps = [
            step
            for author, private, step in self.steps
            if author == agent
            or isinstance(step, Cardinality | Retraction)
            or (shared and not private)
        ]
        return oracle

    def forget(self, agent: str) -> None:
        """Drop what an agent said; the cardinalities it set are the namespace's."""
        self.steps = [
            (author, private, step)
            for author, private, step in self.steps
            if author != agent or isinstance(step, Cardinality)
        ]

    def authors(self) -> dict[str, str]:
        return {step.id: author for author, _, step in self.steps if isinstance(step, Mark)}


class Run:
    """One random history, told to a store and to the oracle."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.store = memoranda.open(":memory:", clock=self.clock, ids=FixedIds())
        self.oracle = SharedOracle()
        self.ids: list[str] = []
        self.agents = {name: self.bind(name) for name in AGENTS}

    def bind(self, agent: str) -> Store:
        return self.store.bind(agent_id=agent, namespace=NAMESPACE)

    def perform(self, deed: Deed) -> None:
        self.clock.advance(1000.0)
        if deed.name == "share":
            self.share(deed)
        elif deed.name == "forget":
            self.forget(deed)
        else:
            self.say(deed)
        self.oracle.commit = self.store.stats().commits

    def share(self, deed: Deed) -> None:
        namespace = NAMESPACE if deed.child else PARENT
        before = self.store.stats().commits
        self.agents[deed.agent].configure(
            namespace=namespace, facts="shared" if deed.flag else "own"
        )
        if self.store.stats().commits > before:
            self.oracle.sharing.append((before + 1, namespace, deed.flag))

    def forget(self, deed: Deed) -> None:
        own = [step for author, _, step in self.oracle.steps if author == deed.agent]
        if all(isinstance(step, Cardinality) for step in own):  # these stay, without its name
            return
        self.store.forget(whole_agent=deed.agent, reason="asked to")
        self.oracle.forget(deed.agent)

    def say(self, deed: Deed) -> None:
        view = self.oracle.view(deed.agent)
        steps = len(view.steps)
        view.begin()
        ids = [f"id-{len(self.ids)}"]
        refusal = ""
        try:
            tell(view, deed, self.ids, ids[0])
        except Refused as error:
            refusal = str(error)
        if refusal:
            with pytest.raises(MemorandaError) as caught:
                self.write(deed)
            assert type(caught.value).__name__ == refusal, deed
            return
        id_, staged = self.write(deed)
        for step in view.steps[steps:]:
            if isinstance(step, Mark) and id_ is not None:
                step = _with_id(step, id_)
            private = deed.private and isinstance(step, Mark)
            self.oracle.steps.append((deed.agent, private, step))
        if id_ is not None:
            self.ids.append(id_)
        agent = self.agents[deed.agent]
        after = [agent.timeline(subject=s, relation=r) for s, r in PLACES]
        # But for spellings: a name that only this agent's private facts had may become public.
        assert [list(map(row, facts)) for facts in staged] == [
            list(map(row, facts)) for facts in after
        ]

    def write(self, deed: Deed) -> tuple[str | None, list[list[Fact]]]:
        place: dict[str, Any] = {"subject": deed.subject, "relation": deed.relation}
        visibility = "private" if deed.private else None
        begin = day(deed.at)
        end = None if deed.length is None else day(deed.at + deed.length)
        id_ = None
        with self.agents[deed.agent].begin_transaction() as tx:
            if deed.name == "assert":
                id_ = tx.assert_fact(
                    **place,
                    object=deed.object,
                    valid_from=begin,
                    valid_to=end,
                    visibility=visibility,
                )
            elif deed.name in ("end", "end all"):
                object_ = deed.object if deed.name == "end" else None
                id_ = tx.end_fact(
                    **place, object=object_, at=begin, visibility=visibility, allow_unknown=True
                )
            elif deed.name == "retract":
                tx.retract_fact(assertion_id=_pick(self.ids, deed.which))
            elif deed.name == "retract all":
                tx.retract_fact(**place, object=deed.object if deed.flag else None)
            elif deed.name == "cardinality":
                cardinality = "single" if deed.flag else "multi"
                tx.set_cardinality(relation=deed.relation, cardinality=cardinality)
            elif deed.name == "alias":
                tx.alias(entity=deed.names[0], alias=deed.names[1])
            else:
                tx.merge_entities(source=deed.names[0], into=deed.names[1])
            staged = [tx.timeline(subject=s, relation=r) for s, r in PLACES]
        return id_, staged

    def check(self, known_at: int | None) -> None:
        """Compare what each agent believes, as known at a commit."""
        authors = self.oracle.authors()
        for name, agent in self.agents.items():
            view = self.oracle.view(name, known_at)
            edges = [edge for edges in view.timelines(known_at).values() for edge in edges]
            facts = agent.facts(include_closed=True, known_at=known_at)
            assert sorted(map(row, facts), key=repr) == sorted(
                [
                    (e.subject, e.relation, e.object, e.valid_from, e.valid_to, e.assertions)
                    for e in edges
                ],
                key=repr,
            ), (name, known_at)
            for fact in facts:
                assert fact.asserted_by == tuple(authors[id_] for id_ in fact.assertions)
            names = view.names(known_at)
            heard = view.heard_of(known_at)
            roots = {item for item in heard if item not in names}
            entities = list(agent.entities(known_at=known_at))
            assert {entity.key for entity in entities} == roots, (name, known_at)
            for subject, relation in PLACES:
                edges = view.timeline(subject, relation, known_at)
                timeline = agent.timeline(subject=subject, relation=relation, known_at=known_at)
                assert [fact.assertions for fact in timeline] == [e.assertions for e in edges]
            self.check_by_id(agent, facts, known_at)

    def check_by_id(self, agent: Store, facts: list[Fact], known_at: int | None) -> None:
        for fact in facts:
            explanation = agent.explain(fact, known_at=known_at)
            assert row(explanation.fact) == row(fact)
            assert tuple(item.agent_id for item in explanation.assertions) == fact.asserted_by
        at = GRID[8]
        current = agent.facts(valid_at=at, known_at=known_at)
        for fact in agent.facts(valid_at=at, known_at=known_at, object="Acme"):
            assert fact in current


def _with_id(step: Mark, id_: str) -> Mark:
    changed = copy(step)
    object.__setattr__(changed, "id", id_)
    return changed


def _pick(ids: list[str], which: int) -> str:
    return ids[which % len(ids)] if ids else "never said"


def tell(view: GraphOracle, deed: Deed, ids: list[str], id_: str) -> None:
    place = (deed.subject, deed.relation)
    end = None if deed.length is None else day(deed.at + deed.length)
    if deed.name == "assert":
        view.assert_fact(*place, deed.object, day(deed.at), valid_to=end, id_=id_)
    elif deed.name in ("end", "end all"):
        view.end_fact(*place, deed.object if deed.name == "end" else None, day(deed.at), id_=id_)
    elif deed.name == "retract":
        view.retract(_pick(ids, deed.which))
    elif deed.name == "retract all":
        view.retract_all(*place, deed.object if deed.flag else None)
    elif deed.name == "cardinality":
        view.set_cardinality(deed.relation, single=deed.flag)
    elif deed.name == "alias":
        view.alias(*deed.names)
    else:
        view.merge(*deed.names)


def row(fact: Fact) -> tuple[object, ...]:
    return (
        *(normal_name(fact.subject), normal_name(fact.relation), key(fact.object)),
        *(fact.valid_from, fact.valid_to, fact.assertions),
    )


def play(taken: list[Deed]) -> None:
    run = Run()
    with run.store:
        for deed in taken:
            run.perform(deed)
            run.check(None)
        for known_at in range(1, run.oracle.commit + 1):
            run.check(known_at)
        run.store.verify(deep=True)
        assert run.store.rebuild().identical
        run.check(None)


quick = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@given(st.lists(deeds, min_size=4, max_size=14))
@settings(quick, max_examples=60)
@pytest.mark.slow
def test_agents_believe_what_the_setting_of_the_commit_says(taken: list[Deed]) -> None:
    play(taken)


@pytest.mark.slow
@given(st.lists(deeds, min_size=4, max_size=14))
@settings(quick, max_examples=25)
def test_so_do_long_timelines(taken: list[Deed]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_store, "SMALL_TIMELINE_STATEMENTS", 0)
        play(taken)
