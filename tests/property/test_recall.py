"""Recall beside brute force: who asks gets all that is theirs to see, and nothing else, ever."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Store
from memoranda.search import filling
from memoranda.testing import memory_store
from tests.embedders import Hashing

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


@dataclass
class Model:
    """The store under test, and everything that is in it."""

    store: Store
    things: dict[str, Thing] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    answers: list[tuple[int, str, str, dict[str, str]]] = field(default_factory=list)
    """What was found before: at a commit, by an agent in a namespace, ids and texts."""
    number: int = 0

    def act(self, action: Action) -> None:
        kind, namespace, agent, word, pick = action
        self.number += 1
        text = f"{word} unique{self.number}"
        handle = self.store.bind(agent_id=agent, namespace=namespace)
        if kind in ("public", "private"):
            visibility = "private" if kind == "private" else "namespace"
            made = handle.remember(text, visibility=visibility)
            self.add(Thing(made.id, "memory", namespace, agent, kind == "private", text))
        elif kind == "transcript":
            words = handle.store_transcript(text)
            self.add(Thing(words.id, "passage", namespace, agent, False, text))
        elif kind in ("fact", "sourced"):
            self.assert_fact(handle, namespace, agent, text, pick if kind == "sourced" else None)
        elif kind == "cite":
            self.cite(text, pick)
        elif kind == "fill":
            filling.fill(self.store._core.engine)
        else:
            self.change(kind, text, pick)

    def add(self, thing: Thing) -> None:
        self.things[thing.id] = thing

    def living(self, kind: str, pick: int) -> Thing | None:
        found = [each for each in self.things.values() if each.kind == kind and not each.gone]
        return found[pick % len(found)] if found else None

    def assert_fact(
        self, handle: Store, namespace: str, agent: str, text: str, pick: int | None
    ) -> None:
        source = None if pick is None else self.living("memory", pick)
        if source is not None and source.private and source.agent != agent:
            source = None
        origin = None if source is None else source.id
        word, name = text.split()
        said = handle.assert_fact(subject=word, relation="have", object=name, source=origin)
        assert said.assertion_id is not None
        own = f"{word} have {name}"
        private = source is not None and source.private
        self.add(Thing(said.assertion_id, "fact", namespace, agent, private, own, origin))

    def cite(self, text: str, pick: int) -> None:
        words = self.living("passage", pick)
        if words is not None:
            handle = self.store.bind(agent_id=words.agent, namespace=words.namespace)
            made = handle.remember(text, transcript=words.id)
            self.add(Thing(made.id, "memory", words.namespace, words.agent, False, text, words.id))

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

    def visible(self, agent: str, namespace: str) -> dict[str, Thing]:
        return {
            each.id: each
            for each in self.things.values()
            if each.namespace == namespace
            and not each.gone
            and (not each.private or each.agent == agent)
        }

    def check(self) -> None:
        """Ask as everybody, everywhere."""
        for agent in AGENTS:
            for namespace in NAMESPACES:
                self.check_one(agent, namespace)

    def check_one(self, agent: str, namespace: str) -> None:
        handle = self.store.bind(agent_id=agent, namespace=namespace)
        seen = self.visible(agent, namespace)
        query = "bees goats"
        hits = handle.recall(query, k=1000)
        found = {each: hit.text for hit in hits for each in (hit.id, *hit.duplicates)}
        assert found.keys() <= seen.keys(), "nothing that is not theirs to see"
        assert found.keys() == seen.keys(), "all of it: everything has one of the words"
        for hit in hits:
            assert hit.text == seen[hit.id].text, "as it stands now"
            for part in hit.context:
                assert not self.words_of_forgotten(part)
        self.answers.append((self.head(), agent, namespace, found))

    def words_of_forgotten(self, text: str) -> bool:
        return any(self.things[each].text in text for each in self.forgotten)

    def head(self) -> int:
        return self.store.stats().commits

    def check_past(self) -> None:
        """What was found then is found again, less what was forgotten since."""
        for commit, agent, namespace, before in self.answers:
            handle = self.store.bind(agent_id=agent, namespace=namespace)
            hits = handle.recall("bees goats", k=1000, known_at=commit)
            found = {each: hit.text for hit in hits for each in (hit.id, *hit.duplicates)}
            left = {each: text for each, text in before.items() if each not in self.forgotten}
            assert found == left


@settings(max_examples=25, deadline=None)
@given(ACTIONS)
def test_no_scope_appears_in_another_and_the_past_stays(actions: list[Action]) -> None:
    for embedder in (None, Hashing(dimension=64)):
        with memory_store(embedder=embedder) as store:
            model = Model(store)
            for action in actions:
                model.act(action)
                model.check()
            model.check_past()
