"""Recall beside brute force: who asks gets all that is theirs to see, and nothing else, ever."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Store
from memoranda.search.index import indexer
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.embedders import Hashing
from tests.quick import often

NAMESPACES = ("n", "n/below", "m")
AGENTS = ("ann", "ben")
WORDS = ("bees", "goats")
Action = tuple[str, str, str, str, int]
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("public", "private", "fact", "sourced", "transcript", "cite"),
                *("edit", "retract", "forget", "fill", "withdraw"),
            )
        ),
        st.sampled_from(NAMESPACES),
        st.sampled_from(AGENTS),
        st.sampled_from(WORDS),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=14,
)


@dataclass
class Thing:
    """Something that was written, as a plain program would remember it."""

    id: str
    kind: str
    namespace: str
    agent: str
    private: bool
    text: str
    source: str | None = None
    """The memory a fact comes from, or the transcript that a memory cites."""
    gone: bool = False
    since: int = 0
    """The commit that stored it."""
    retracted: int | None = None
    """The commit that retracted it, if it is a memory."""


@dataclass
class Model:
    """The store under test, and everything that is in it."""

    store: Store
    things: dict[str, Thing] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    answers: list[tuple[int, str, str, bool, dict[str, str]]] = field(default_factory=list)
    """What was found before: at a commit, by an agent in a namespace, perhaps with those below,
    ids and texts."""
    number: int = 0

    def act(self, action: Action) -> None:
        kind, namespace, agent, word, pick = action
        self.number += 1
        text = f"{word} unique{self.number}"
        handle = self.store.bind(agent_id=agent, namespace=namespace)
        if kind in ("public", "private"):
            visibility = "private" if kind == "private" else "namespace"
            memory = handle.remember(text, visibility=visibility)
            self.add(Thing(memory.id, "memory", namespace, agent, kind == "private", text))
        elif kind == "transcript":
            words = handle.store_transcript(text)
            self.add(Thing(words.id, "passage", namespace, agent, False, text))
        elif kind in ("fact", "sourced"):
            self.assert_fact(handle, namespace, agent, text, pick if kind == "sourced" else None)
        elif kind == "cite":
            self.cite(text, pick)
        elif kind == "fill":
            indexer.fill(core_of(self.store).engine)
        else:
            self.change(kind, text, pick)

    def add(self, thing: Thing) -> None:
        thing.since = self.head()
        self.things[thing.id] = thing

    def living(self, kind: str, pick: int) -> Thing | None:
        result = [value for value in self.things.values() if value.kind == kind and not value.gone]
        return result[pick % len(result)] if result else None

    def assert_fact(
        self, handle: Store, namespace: str, agent: str, text: str, pick: int | None
    ) -> None:
        source = None if pick is None else self.living("memory", pick)
        if source is not None and source.private and source.agent != agent:
            source = None
        origin = None if source is None else source.id
        word, name = text.split()
        fact = handle.assert_fact(subject=word, relation="have", object=name, source=origin)
        assert fact.assertion_id is not None
        own = f"{word} have {name}"
        private = source is not None and source.private
        self.add(Thing(fact.assertion_id, "fact", namespace, agent, private, own, origin))

    def cite(self, text: str, pick: int) -> None:
        words = self.living("passage", pick)
        if words is not None:
            handle = self.store.bind(agent_id=words.agent, namespace=words.namespace)
            memory = handle.remember(text, transcript=words.id)
            self.add(
                Thing(memory.id, "memory", words.namespace, words.agent, False, text, words.id)
            )

    def change(self, kind: str, text: str, pick: int) -> None:
        thing = self.living("fact" if kind == "withdraw" else "memory", pick)
        if kind == "forget" and pick % 3 == 0:
            thing = self.living("passage", pick)
        if thing is None:
            return
        handle = self.store.bind(agent_id=thing.agent, namespace=thing.namespace)
        if kind == "edit":
            handle.update_memory(thing.id, content=text)
            thing.text = text
            return
        thing.gone = True
        if kind == "retract":
            handle.retract_memory(thing.id)
            thing.retracted = self.head()
        elif kind == "withdraw":
            handle.retract_fact(assertion_id=thing.id)
        elif thing.kind == "passage":
            handle.forget(transcript_id=thing.id, reason="asked to")
            self.forgotten.add(thing.id)
        else:
            handle.forget(memory_id=thing.id, reason="asked to")
            self.forgotten.add(thing.id)
            for fact in self.things.values():
                if fact.source == thing.id and fact.kind == "fact":
                    fact.gone = True
                    self.forgotten.add(fact.id)

    def visible(self, agent: str, namespace: str, *, children: bool) -> dict[str, Thing]:
        below = f"{namespace}/"
        return {
            value.id: value
            for value in self.things.values()
            if (value.namespace == namespace or (children and value.namespace.startswith(below)))
            and not value.gone
            and (not value.private or value.agent == agent)
            and not self.withdrawn(value.id, self.head())
        }

    def withdrawn(self, transcript: str, commit: int) -> bool:
        """Say whether a transcript was cited at a commit by retracted memories alone."""
        ends = [
            value.retracted
            for value in self.things.values()
            if value.kind == "memory"
            and value.source == transcript
            and value.since <= commit
            and value.id not in self.forgotten
        ]
        return bool(ends) and all(end is not None and end <= commit for end in ends)

    def check(self) -> None:
        """Ask as everybody, everywhere."""
        for agent in AGENTS:
            for namespace in NAMESPACES:
                for children in (True, False):
                    self.check_one(agent, namespace, children=children)

    def check_one(self, agent: str, namespace: str, *, children: bool) -> None:
        handle = self.store.bind(agent_id=agent, namespace=namespace)
        observations = self.visible(agent, namespace, children=children)
        query = "bees goats"
        hits = handle.recall(query, k=1000, children=children)
        result = {item: hit.text for hit in hits for item in (hit.id, *hit.duplicates)}
        assert result.keys() <= observations.keys(), "nothing that is not theirs to see"
        assert result.keys() == observations.keys(), "all of it: everything has one of the words"
        for hit in hits:
            assert hit.text == observations[hit.id].text, "as it stands now"
            for part in hit.context:
                assert not self.words_of_forgotten(part)
        self.answers.append((self.head(), agent, namespace, children, result))

    def words_of_forgotten(self, text: str) -> bool:
        return any(self.things[item].text in text for item in self.forgotten)

    def head(self) -> int:
        return self.store.stats().commits

    def check_past(self) -> None:
        """What was found then is found again, less what was forgotten since.

        A forgotten citation is none, so a passage may then rest on retracted ones alone.
        """
        for commit, agent, namespace, children, before in self.answers:
            handle = self.store.bind(agent_id=agent, namespace=namespace)
            hits = handle.recall("bees goats", k=1000, children=children, known_at=commit)
            result = {item: hit.text for hit in hits for item in (hit.id, *hit.duplicates)}
            remainder = {
                item: text
                for item, text in before.items()
                if item not in self.forgotten and not self.withdrawn(item, commit)
            }
            assert result == remainder


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(ACTIONS)
def test_no_scope_appears_in_another_and_the_past_stays(actions: list[Action]) -> None:
    for embedder in (None, Hashing(dimension=64)):
        with memory_store(embedder=embedder) as store:
            model = Model(store)
            for action in actions:
                model.act(action)
                model.check()
            model.check_past()


test_no_scope_appears_often = often(
    test_no_scope_appears_in_another_and_the_past_stays, 25, ACTIONS
)
