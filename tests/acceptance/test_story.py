"""The whole story: from a talk to a decision, a change of mind, and the answer to why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import Fact, Store
from memoranda.testing import FixedClock, FixedIds

DECISION = "offers/polaris"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def open_again(path: Path) -> Store:
    return memoranda.open(path, clock=FixedClock(), ids=FixedIds())


def at(day: str) -> str:
    return f"{day}T00:00:00Z"


def shape(facts: list[Fact]) -> list[tuple[str, str, str | None]]:
    return [
        (
            str(fact.object),
            f"{fact.valid_from:%Y-%m}",
            None if fact.valid_to is None else f"{fact.valid_to:%Y-%m}",
        )
        for fact in facts
    ]


def test_from_a_talk_to_a_decision_and_back(path: Path) -> None:
    with open_again(path) as opened:
        store = opened.bind(agent_id="buyer")
        store.set_cardinality(relation="works at", cardinality="single")

        talk = store.store_transcript("Ann: Since June 2023 I buy for Polaris.")
        note = store.remember(
            "Ann is at Polaris", transcript=talk.id, spans=[talk.find("I buy for Polaris")]
        )
        belief = store.reflect("Ann decides for Polaris", on=[note.id])
        plan = store.reflect("Write to Ann", on=[belief.id])
        works: dict[str, Any] = {"subject": "Ann", "relation": "works at"}
        store.assert_fact(**works, object="Polaris", valid_from=at("2023-06-01"), source=belief.id)
        (fact,) = store.facts(**works)
        decided = store.write(key=DECISION, value={"to": "Ann"}, because=[fact, plan]).commit_ts
        believed = str(store.why(DECISION))
        assert "STALE" not in believed
        assert "“I buy for Polaris”" in believed

        # a job change arrives out of order: it takes its place, and nothing becomes stale
        before = shape(store.timeline(**works))
        late = store.assert_fact(**works, object="Nordlys", valid_from=at("2019-03-01"))
        assert before == [("Polaris", "2023-06", None)]
        assert shape(store.timeline(**works)) == [("Nordlys", "2019-03", "2023-06"), *before]
        assert shape(store.timeline(**works, known_at=decided)) == before
        assert store.facts(**works, valid_at=at("2020-01-01"), known_at=decided) == []
        (then,) = store.facts(**works, valid_at=at("2020-01-01"), known_at=late.commit_ts)
        assert then.object == "Nordlys"
        assert str(store.why(DECISION)) == believed

        # the ground goes: the belief is superseded, whoever built on it is told, the fact ends
        better = store.reflect("Ann has left Polaris", on=[note.id])
        superseded = store.supersede(old=belief.id, new=better.id)
        assert superseded.notified == (plan.id,)
        notices = {notice.kind: notice for notice in store.invalidations()}
        assert notices.keys() == {"reflection_invalidation", "stale_fact"}
        assert notices["reflection_invalidation"].dependent_id == plan.id
        assert notices["stale_fact"].evidence == belief.ref
        assert store.why(DECISION).is_stale, "the source of the fact is superseded"
        store.end_fact(**works, at=at("2024-06-01"))
        reason = store.why(DECISION)
        assert reason.because[0].stale == ("closed on 2024-06-01",)
        assert [stale_key.ref for stale_key in store.stale_keys()] == [reason.ref]
        assert str(store.why(DECISION, at=decided)) == believed, "at that moment it was so"
        reports = str(reason)

    with open_again(path) as opened:
        store = opened.bind(agent_id="buyer")
        assert opened.rebuild().identical
        assert opened.verify().commits == opened.stats().commits
        assert str(store.why(DECISION)) == reports
        assert str(store.why(DECISION, at=decided)) == believed
