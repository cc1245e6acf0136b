"""Facts whose sources are forgotten: the store answers as one in which they were never said.

The same history is written twice, at the same commits and times, the second time without what is
forgotten in the first. Every answer on both axes of time must then be the same.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.testing import FixedClock, FixedIds
from tests.quick import only

PEOPLE, PLACES = ("ann", "bob", "cyd"), ("rome", "oslo", "lima")
SOURCES = 4
RUNS, STEPS = 25, 40

Step = dict[str, Any]


def day(number: int) -> str:
    return f"2025-01-{number:02}T00:00:00Z"


def history(random: Random) -> list[Step]:
    """Return what is done: each step names the source that it goes with, if any."""
    steps: list[Step] = []
    text: list[Step] = []
    for number in range(STEPS):
        act = random.choice(["assert"] * 6 + ["end", "end", "retract", "classify", "merge"])
        step: Step = {"act": act, "source": None, "number": number}
        if act == "assert":
            step |= {
                "source": random.choice([None, *range(SOURCES)]),
                "subject": random.choice(PEOPLE),
                "object": random.choice(PLACES),
                "valid_from": day(random.randrange(1, 20)),
                "valid_to": day(random.randrange(20, 28)) if random.random() < 0.2 else None,
            }
            text.append(step)
        elif act == "end":
            step |= {"subject": random.choice(PEOPLE), "at": day(random.randrange(1, 28))}
            step["object"] = random.choice([None, *PLACES])
            step["source"] = random.choice([None, *range(SOURCES)])
            text.append(step)
        elif act == "retract" and text:
            item = text.pop(random.randrange(len(text)))
            step |= {"source": item["source"], "retracts": item["number"]}
        elif act == "classify":
            step["cardinality"] = random.choice(["single", "multi"])
        elif act == "merge":
            step["pair"] = random.sample(random.choice([PEOPLE, PLACES]), k=2)
        steps.append(step)
    return steps


class Writer:
    """Writes a history, leaving out what goes with some of the sources."""

    def __init__(self, left_out: set[int]) -> None:
        self._clock = FixedClock()
        opened = memoranda.open(":memory:", clock=self._clock, ids=FixedIds())
        self.store = opened.bind(agent_id="a1")
        self._left_out = left_out
        self._assertions: dict[int, str] = {}
        self.sources = [
            self.store.remember(f"source {number}")
            if number % 2
            else self.store.store_transcript(f"source {number}")
            for number in range(SOURCES)
        ]
        for one in (*PEOPLE, *PLACES):
            self.store.assert_fact(subject=one, relation="is", object=one, valid_from=day(1))

    def write(self, steps: list[Step]) -> None:
        for step in steps:
            self._clock.advance(60)
            before = self.store.stats().commits
            if step["source"] not in self._left_out:
                self._do(step)
            if self.store.stats().commits == before:  # so that commits have the same numbers
                self.store.write(key="nothing", value={})

    def _do(self, step: Step) -> None:
        store, relation = self.store, "lives in"
        source = None if step["source"] is None else self.sources[step["source"]].id
        if step["act"] == "assert":
            fields = {name: step[name] for name in ("subject", "object", "valid_from", "valid_to")}
            with store.begin_transaction() as transaction:
                self._assertions[step["number"]] = transaction.assert_fact(
                    relation=relation, source=source, **fields
                )
        elif step["act"] == "end":
            fields = {name: step[name] for name in ("subject", "object", "at")}
            with store.begin_transaction() as transaction:
                self._assertions[step["number"]] = transaction.end_fact(
                    allow_unknown=True, relation=relation, source=source, **fields
                )
        elif "retracts" in step:
            store.retract_fact(assertion_id=self._assertions[step["retracts"]])
        elif step["act"] == "classify":
            store.set_cardinality(relation=relation, cardinality=step["cardinality"])
        elif step["act"] == "merge":
            store.merge_entities(source=step["pair"][0], into=step["pair"][1])


def answers(store: Store, head: int) -> list[Any]:
    """Return what the store says of everything, on both axes of time, without ids."""
    reports: list[Any] = []
    for reference in (None, *range(1, head + 1)):
        reports.extend(
            (reference, fact.subject, fact.relation, fact.object, fact.valid_from, fact.valid_to,
             fact.known_from, len(fact.assertions))
            for fact in store.facts(known_at=reference, include_closed=True)
        )  # fmt: skip
        for number in (5, 15, 25):
            reports.extend(
                (reference, number, fact.subject, fact.relation, fact.object)
                for fact in store.facts(known_at=reference, valid_at=day(number))
            )
        reports.extend(
            (reference, entity.name, entity.aliases, entity.known_from)
            for entity in store.entities(known_at=reference)
        )
    return reports


@pytest.mark.parametrize("seed", only(range(8), range(RUNS)))
def test_the_answers_are_those_of_a_store_that_never_heard_of_it(seed: int) -> None:
    random = Random(seed)
    steps = history(random)
    names = set(random.sample(range(SOURCES), k=random.randrange(1, SOURCES + 1)))
    reports, untold = Writer(set()), Writer(names)
    reports.write(steps)
    untold.write(steps)
    head = untold.store.stats().commits
    for number in sorted(names):
        source = reports.sources[number].id
        field = random.choice(["facts_from", "memory_id" if number % 2 else "transcript_id"])
        try:
            reports.store.forget(**{field: source})  # type: ignore[arg-type]
        except memoranda.NotFound:
            assert field == "facts_from"
            assert not any(step["source"] == number for step in steps)
    assert answers(reports.store, head) == answers(untold.store, head)
    reports.store.verify()
    assert reports.store.rebuild().identical
    assert answers(reports.store, head) == answers(untold.store, head)
