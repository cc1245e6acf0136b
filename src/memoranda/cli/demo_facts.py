"""The demo's third act: a job change is told out of order, and a decision loses its ground.

From a talk to a note, from that to a belief and a fact, and on to a decision that rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.cli.stage import Stage
    from memoranda.graph.resolution import EdgeResolution
    from memoranda.memory.records import Memory
    from memoranda.sdk.store import Store

_TALKS = {
    "Nordlys": ("Ann: I have been with Nordlys since March 2019.", "with Nordlys since March 2019"),
    "Polaris": ("Ann: Since June 2023 I buy for Polaris.", "Since June 2023 I buy for Polaris"),
    "Tall Ships": (
        "Bo: Before Polaris, Ann was at Tall Ships. From September 2021, I think.",
        "Ann was at Tall Ships. From September 2021",
    ),
    "": ("Ann: May was my last month at Polaris.", "May was my last month at Polaris"),
}
"""What was said about each employer, and about the end, and the words of it that matter."""
_SINCE = {"Nordlys": "2019-03-01", "Polaris": "2023-06-01", "Tall Ships": "2021-09-01"}
_ASKED, _LEFT = "2022-06-01", "2024-06-01"
_DECISION = "orders/polaris"


def learn(store: Store, stage: Stage) -> None:
    """Play the act on a store that is bound to an agent and to a namespace of its own."""
    store.set_cardinality(relation="works at", cardinality="single")
    _assert(store, stage, "Nordlys", _note(store, "Nordlys"))
    note = _note(store, "Polaris")
    belief = store.reflect("Ann buys for Polaris", on=[note.id])
    plan = store.reflect("Send Polaris' offers to Ann", on=[belief.id])
    told = _assert(store, stage, "Polaris", belief)
    decided = store.write(
        key=_DECISION,
        value={"send_to": "Ann"},
        because=[*store.facts(subject="Ann", relation="works at"), plan],
    )
    stage.fact({"what": "decided", "key": _DECISION, "value": {"send_to": "Ann"}})
    _draw(store, stage, "What is known of Ann", told.commit_ts)
    _tell_late(store, stage, decided)
    _correct(store, stage, belief)
    stage.why(store.why(_DECISION, at=decided), f"Why, asked of commit {decided}")
    stage.why(store.why(_DECISION), "Why, asked now")


def _tell_late(store: Store, stage: Stage, before: int) -> None:
    """Tell what happened in between; it takes its place, and the current one stays."""
    late = _assert(store, stage, "Tall Ships", _note(store, "Tall Ships"))
    _draw(store, stage, "And now, after the late news", late.commit_ts)
    for known in (before, late.commit_ts):
        (fact,) = store.facts(subject="Ann", valid_at=_at(_ASKED), known_at=known)
        stage.fact(
            {"what": "believed", "valid_at": _ASKED, "known_at": known, "object": str(fact.object)}
        )


def _correct(store: Store, stage: Stage, belief: Memory) -> None:
    """Let the ground of the decision go: the belief is superseded, the fact has an end."""
    note = _note(store, "")
    better = store.reflect("Ann has left Polaris", on=[note.id])
    notified = store.supersede(old=belief.id, new=better.id).notified
    store.end_fact(subject="Ann", relation="works at", object="Polaris", at=_at(_LEFT))
    stage.fact({"what": "corrected", "belief": better.content, "notified": len(notified)})


def _note(store: Store, employer: str) -> Memory:
    """Keep what was said, and note the words that matter, where they stand."""
    text, quote = _TALKS[employer]
    talk = store.store_transcript(text)
    return store.remember(quote, transcript=talk.id, spans=[talk.find(quote)])


def _assert(store: Store, stage: Stage, employer: str, source: Memory) -> EdgeResolution:
    told = store.assert_fact(
        subject="Ann",
        relation="works at",
        object=employer,
        valid_from=_at(_SINCE[employer]),
        source=source.id,
    )
    stage.fact(
        {
            "what": "fact",
            "said": f"Ann works at {employer}",
            "since": _SINCE[employer],
            "closed": [edge.object_key for edge in told.close],
        }
    )
    return told


def _draw(store: Store, stage: Stage, title: str, known_at: int | None) -> None:
    facts = store.timeline(subject="Ann", relation="works at", known_at=known_at)
    stage.timeline(facts, title)


def _at(day: str) -> str:
    return f"{day}T00:00:00Z"
