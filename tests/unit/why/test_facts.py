"""Facts as reasons: whoever keeps them gives an account, and the walk goes on from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from recollect import FactRef, KeyRef, MemoryRef, NotFound, Reason, Store, TranscriptRef
from recollect.log.views import View
from recollect.memory.queries import Asked, asked_at
from recollect.model.refs import Ref, Referent
from recollect.storage.port import Reader
from recollect.testing import memory_store
from recollect.why.explain import explain
from recollect.why.facts import Account, Reliance, no_facts
from recollect.why.inquiry import Inquiry


class Anything(View):
    """Lets values rest on any fact."""

    name = "anything"

    def apply(self, *_: object) -> None:
        raise NotImplementedError

    def rules(self, *_: object) -> Any:
        return self

    def look_up(self, ref: FactRef, *_: object) -> Referent:
        return Referent(ref)


@dataclass
class Facts:
    """Gives the accounts it was given, and remembers what it was asked."""

    accounts: dict[str, Account] = field(default_factory=dict)
    asked: list[tuple[Reliance, int]] = field(default_factory=list)
    withdrawn: dict[str, int] = field(default_factory=dict)

    def __call__(
        self, reader: Reader, reliances: Sequence[Reliance], asked: Asked, /
    ) -> Mapping[Reliance, Account]:
        self.asked.extend((each, asked.commit) for each in reliances)
        return {
            each: self._account(each, asked)
            for each in reliances
            if each.assertion_id in self.accounts
            and self.accounts[each.assertion_id].commit_ts <= asked.commit
        }

    def _account(self, reliance: Reliance, asked: Asked) -> Account:
        found = self.accounts[reliance.assertion_id]
        withdrawn = self.withdrawn.get(reliance.assertion_id, asked.commit + 1)
        known = reliance.relied_at is None or reliance.relied_at < withdrawn
        stale = ("retracted",) if known and withdrawn <= asked.commit else ()
        return Account(
            sentence=found.sentence,
            agent_id=found.agent_id,
            commit_ts=found.commit_ts,
            stale=stale,
            evidence=found.evidence,
        )


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as opened:
        opened._core.views._referees[FactRef] = Anything()
        yield opened.bind(agent_id="a")


def why(store: Store, ref: Ref, facts: Any, at: int | None = None) -> Reason:
    with store._core.engine.reading() as reader:
        asked = asked_at(reader, store._core.clock, at)
        return explain(Inquiry(reader, asked, "a", facts), ref)


KEY = KeyRef("plan", None, "a", "default")


def test_a_value_rests_on_a_fact_and_that_on_its_evidence(store: Store) -> None:
    talk = store.store_transcript("I moved to Oslo. In May.")
    memory = store.remember("Ann moved", transcript=talk.id, spans=[talk.find("I moved")])
    store.write(key="plan", value={}, because=[FactRef("f1"), FactRef("f2")])
    spans = ((0, 15), (17, 23))
    facts = Facts(
        {
            "f1": Account(
                sentence="Ann lives in Oslo", agent_id="a", commit_ts=2, evidence=(memory.ref,)
            ),
            "f2": Account(
                sentence="Ann moved in May",
                agent_id="a",
                commit_ts=2,
                evidence=(TranscriptRef(talk.id, spans), TranscriptRef(talk.id)),
            ),
        }
    )
    assert [(each.relation, each.kind, each.summary) for each in why(store, KEY, facts).walk()] == [
        (None, "key", "{}"),
        ("because", "fact", "Ann lives in Oslo"),
        ("source", "memory", "Ann moved"),
        ("quotes", "transcript", "I moved"),
        ("because", "fact", "Ann moved in May"),
        ("source", "transcript", "I moved to Oslo"),
        ("source", "transcript", "In May"),
        ("source", "transcript", "I moved to Oslo. In May."),
    ]
    assert facts.asked == [(Reliance("f1", 3), 3), (Reliance("f2", 3), 3)]
    store.retract_memory(memory.id)
    reason = why(store, KEY, facts)
    assert [each.is_stale for each in reason.because] == [True, False]
    assert reason.because[0].believed, "only its evidence is not"
    assert not why(store, KEY, facts, at=3).is_stale


def test_what_is_said_of_a_fact_depends_on_who_relied_on_it(store: Store) -> None:
    store.remember("said")
    store.write(key="plan", value={}, because=[FactRef("f")])
    store.remember("withdrawn")
    store.write(key="other", value={}, because=[FactRef("f"), KeyRef("plan")])
    facts = Facts(
        {"f": Account(sentence="so it is", agent_id="a", commit_ts=1)}, withdrawn={"f": 3}
    )
    own, plan = why(store, KeyRef("other", None, "a", "default"), facts).because
    assert (own.stale, plan.because[0].stale) == ((), ("retracted",))
    assert own.ref == plan.because[0].ref == FactRef("f")
    assert why(store, FactRef("f"), facts).stale == ("retracted",)
    assert why(store, FactRef("f"), facts, at=2).stale == ()
    assert facts.asked[-1] == (Reliance("f"), 2)


def test_a_fact_that_nobody_knows_is_gone(store: Store) -> None:
    store.write(key="plan", value={}, because=[FactRef("f")])
    (fact,) = why(store, KEY, no_facts).because
    assert (fact.kind, fact.ref, fact.stale) == ("fact", FactRef("f"), ("gone",))
    with pytest.raises(NotFound, match="'f'"):
        why(store, FactRef("f"), no_facts)
    with pytest.raises(NotFound, match="'f'"):
        why(store, FactRef("f"), Facts({"f": Account(sentence="", agent_id="a", commit_ts=9)}))


def test_evidence_without_a_version_is_what_there_is(store: Store) -> None:
    memory = store.remember("ground")
    store.write(key="plan", value={}, because=[FactRef("f"), memory])
    evidence = (MemoryRef(memory.id),)
    facts = Facts({"f": Account(sentence="f", agent_id="a", commit_ts=1, evidence=evidence)})
    fact, ground = why(store, KEY, facts).because
    assert fact.because[0].ref == ground.ref == memory.ref
