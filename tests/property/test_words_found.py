"""Random histories: the index and the tail together find what reading everything finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

import memoranda
from memoranda import MemorandaError, Store
from memoranda.model.memory import inbox_of
from memoranda.search.index import indexer, partitions
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.text.tokenizer import tokens
from tests.cores import core_of
from tests.quick import only
from tests.searching import fill, search

AGENTS = ("ann", "bob")
SPACES = ("one", "one/below", "two")
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath")
STEPS = 70
RUNS = 3
Row = tuple[str, str, str]
"""A kind, a source, and its text with what stands around it."""


class History:
    """A store that is written to at random, and what a reader of all of it can find."""

    def __init__(self, store: Store, random: Random, agents: tuple[str, ...] = AGENTS) -> None:
        self.store = store
        self.agents = agents
        self.random = random
        self.memories: list[tuple[str, str, str]] = []
        self.facts: list[tuple[str, str, str]] = []
        self.transcripts: list[tuple[str, str, str]] = []
        self.private: set[str] = set()
        """The private memories, and the facts that come from them."""
        self.cited: dict[tuple[str, str], int] = {}
        """Which memory cites which transcript, since which commit."""

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randrange(1, 5)))

    def bound(self, scope: tuple[str, str] | None = None) -> Store:
        space, agent = scope or (self.random.choice(SPACES), self.random.choice(self.agents))
        self.scope = (space, agent)
        return self.store.bind(namespace=space, agent_id=agent)

    def step(self) -> None:
        acts = [self.remember, self.remember, self.revise, self.revise, self.cite, self.talk]
        acts += [self.state, self.state, self.withdraw, self.fill, self.forget]
        with suppress(MemorandaError):  # of what was withdrawn or forgotten before
            self.random.choice(acts)()

    def remember(self) -> None:
        visibility = self.random.choice(["namespace", "private"])
        memory = self.bound().remember(self.text(), tags=[self.text()], visibility=visibility)
        self.memories.append((memory.id, *self.scope))
        if visibility == "private":
            self.private.add(memory.id)

    def revise(self) -> None:
        memory_id, *scope = self.random.choice(self.memories or [("", "one", "ann")])
        store = self.bound((scope[0], scope[1]))
        act = self.random.randrange(4)
        if act == 0:
            store.retract_memory(memory_id)
        elif act == 1:
            store.touch(memory_id)
        else:
            title = f"{self.text()} {self.random.random()}"
            store.update_memory(memory_id, content=self.text(), title=title)

    def talk(self) -> None:
        transcript = self.bound().store_transcript("\n".join(self.text() for _ in range(5)))
        self.transcripts.append((transcript.id, *self.scope))

    def cite(self) -> None:
        memory_id, *scope = self.random.choice(self.memories or [("", "one", "ann")])
        transcript_id, *_ = self.random.choice(self.transcripts or [("", "")])
        store = self.bound((scope[0], scope[1]))
        store.link_transcript(memory_id=memory_id, transcript_id=transcript_id, spans=[(0, 3)])
        cited = (memory_id, transcript_id)
        self.cited.setdefault(cited, self.store.stats().commits)

    def state(self) -> None:
        subject, object_ = self.random.sample(WORDS, k=2)
        sources = [memory[0] for memory in self.memories[-3:]]
        store = self.bound()
        source = self.random.choice([None, *sources])
        with store.begin_transaction() as transaction:
            fact = transaction.assert_fact(
                subject=subject,
                relation="next_to",
                object=object_,
                source=source,
            )
        if source in self.private:
            self.private.add(fact)
        self.facts.append((fact, *self.scope))

    def withdraw(self) -> None:
        assertion_id, *scope = self.random.choice(self.facts or [("", "one", "ann")])
        self.bound((scope[0], scope[1])).retract_fact(assertion_id=assertion_id)

    def fill(self) -> None:
        indexer.fill(core_of(self.store).engine, max_commits=self.random.randrange(1, 30))

    def forget(self) -> None:
        if self.random.random() < 0.5:
            return
        kind = self.random.choice(["memory_id", "transcript_id", "facts_from"])
        reference = self.transcripts if kind == "transcript_id" else self.memories
        name, *scope = self.random.choice(reference or [("", "one", "ann")])
        store = self.bound((scope[0], scope[1]))
        store.forget(**{kind: name}, purge=False)  # type: ignore[arg-type]

    def readable(self, space: str, viewer: str, at: int) -> Iterator[Row]:
        """Yield everything that can be read at a commit, by asking for each thing."""
        store = self.store.bind(namespace=space, agent_id=viewer)
        text: dict[str, str] = {}
        for transcript in store.list_transcripts(children=False, at=at):
            text[transcript.id] = transcript.text()
            lines = transcript.text().splitlines()
            for number in range(len(lines)):
                near = lines[max(number - 2, 0) : number + 3]
                yield "passage", transcript.id, " ".join(near)
        for memory in store.list_memories(children=False, at=at, content=True):
            own = f"{memory.title or ''} {memory.content} {' '.join(memory.tags)}"
            for (citing, cited), since in self.cited.items():
                if citing == memory.id and since <= at and cited in text:
                    own += " ".join(["", *text[cited][3:].splitlines()[:3]])
            yield "memory", memory.id, own
        for row in self.store.sql("SELECT * FROM assertions WHERE kind = 'assert'"):
            until = row["retracted_in"] or at + 1
            hidden = row["id"] in self.private and row["agent_id"] != viewer
            if row["namespace"] == space and row["commit_ts"] <= at < until and not hidden:
                words = (row["subject"], row["relation"], row["object"])
                yield "fact", row["id"], " ".join(words)


def contents(documents: list[ScoredDocument]) -> Counter[tuple[str, str]]:
    return Counter((item.document.kind, item.document.source) for item in documents)


def check(history: History, at: int | None) -> None:
    """Look for each word as everybody, and compare with what reading finds."""
    store, head = history.store, history.store.stats().commits
    for space in SPACES:
        for viewer in AGENTS:
            rows = [*history.readable(space, viewer, head if at is None else at)]
            for word in WORDS:
                (term,) = tokens(word)
                counter = Counter((kind, id_) for kind, id_, text in rows if term in tokens(text))
                match = search(store, word, known=at, viewer=viewer, namespaces=[space])
                assert match == sorted(match, key=lambda item: -item.score)
                assert contents(match) == counter, (word, at, space, viewer)


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0], range(RUNS)))
def test_the_index_finds_what_reading_finds(seed: int) -> None:
    random = Random(seed)
    with memoranda.open(":memory:") as store:
        history = History(store, random)
        for number in range(STEPS):
            history.step()
            if number % 25 == 24:
                check(history, None)
        store.verify(deep=True)
        head = store.stats().commits
        moments = [None, *random.sample(range(1, head + 1), k=5)]
        for at in moments:
            check(history, at)
        fill(store)
        assert store.stats().index_backlog == 0
        store.verify(deep=True)
        for at in moments:
            check(history, at)


@pytest.mark.parametrize("seed", range(RUNS))
def test_the_tail_is_scored_as_the_index_is(seed: int) -> None:
    """Where all that is there can be seen: how long passages are on average counts everywhere.

    Notices of stale facts are there too, so the inboxes are searched as well.
    """
    everywhere = [*SPACES, *map(inbox_of, SPACES)]
    random = Random(seed)
    with memoranda.open(":memory:") as store:
        history = History(store, random, agents=("ann",))
        for _ in range(STEPS):
            history.step()
        fill(store)
        at = store.stats().commits
        queries = [*WORDS, "amber cedar grove"]
        before = [search(store, word, known=at, namespaces=everywhere) for word in queries]
        empty_index(store)
        assert sum(map(len, before)) > 0
        for word, filled in zip(queries, before, strict=True):
            unfilled = search(store, word, known=at, namespaces=everywhere)
            assert all(item.document.id is not None for item in filled)
            assert all(item.document.id is None for item in unfilled)
            scores = {item.document.key: item.score for item in unfilled}
            assert {item.document.key: item.score for item in filled} == pytest.approx(scores)


def empty_index(store: Store) -> None:
    """Put everything on the list again, as a rebuild does."""
    assert store.rebuild().identical
    with core_of(store).engine.reading() as reader:
        assert partitions.totals(reader) == (0, 0)
