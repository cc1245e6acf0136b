"""The acts of the demo on memories, facts and conversations.

Each act runs on a store that is bound to an agent and to a namespace of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.cli.progress import search_notes
from memoranda.model.refs import TranscriptRef

if TYPE_CHECKING:
    from memoranda.cli.demo.stage import Stage
    from memoranda.graph.edge_resolver import EdgeResolution
    from memoranda.memory.records import Memory
    from memoranda.sdk.store.store import Store


# Second act: notes quote conversations, beliefs rest on notes, and one belief is superseded.

_TALKS = (
    ("Ann: Nordlys was late again.\nBo: They said sorry.", "Nordlys was late again"),
    ("Ann: Nordlys sent the wrong parts. 😞", "Nordlys sent the wrong parts"),
    ("Bo: Nordlys has a new owner, and two trucks more.", "Nordlys has a new owner"),
)
"""Conversations, and the quotation of each that becomes a note."""


def believe(store: Store, stage: Stage) -> None:
    """Play the second act."""
    notes = [_note(store, stage, text, quote) for text, quote in _TALKS]
    doubt = store.reflect("Nordlys cannot be relied on", on=[note.id for note in notes[:2]])
    rule = store.reflect("Pay Nordlys on delivery only", on=[doubt.id])
    for belief in (doubt, rule):
        stage.belief({"what": "reflection", "content": belief.content, "id": belief.id})
    for entry in store.replay_transcripts(rule.id):
        for _, hop, spans in entry.anchors:
            for words in entry.transcript.excerpts(spans):
                stage.belief({"what": "words", "hop": hop, "words": words})
    better = store.reflect("Nordlys is starting anew", on=[notes[2].id])
    notified = list(store.supersede(old=doubt.id, new=better.id).notified)
    stage.belief(
        {"what": "superseded", "old": doubt.content, "new": better.content, "told": notified}
    )
    for notice in store.invalidations():
        if notice.dependent_id is None:  # about a key
            continue
        dependent = store.get_memory(notice.dependent_id)
        assert dependent is not None, "superseding a memory does not delete its dependents"
        stage.belief({"what": "notice", "id": notice.id, "about": dependent.content})
        _decide(store, stage, notice.id, better)


def _note(store: Store, stage: Stage, text: str, quote: str) -> Memory:
    """Store a conversation, and a note that quotes it."""
    talk = store.store_transcript(text)
    note = store.remember(quote, transcript=talk.id, spans=[talk.find(quote)])
    stage.belief({"what": "note", "content": quote, "span": list(talk.find(quote))})
    return note


def _decide(store: Store, stage: Stage, notice_id: str, source: Memory) -> None:
    """Derive the belief from the new source, and replace the old one by it."""
    revised = store.reflect("Pay Nordlys within a week", on=[source.id])
    store.resolve_invalidation(
        notice_id, decision="revise", replacement=revised.id, note="they deserve a chance"
    )
    stage.belief({"what": "decision", "decision": "revise", "content": revised.content})


# Third act: the agent learns of a job change out of order, and a decision becomes stale.

_FACT_TALKS = {
    "Nordlys": ("Ann: I have been with Nordlys since March 2019.", "with Nordlys since March 2019"),
    "Polaris": ("Ann: Since June 2023 I buy for Polaris.", "Since June 2023 I buy for Polaris"),
    "Tall Ships": (
        "Bo: Before Polaris, Ann was at Tall Ships. From September 2021, I think.",
        "Ann was at Tall Ships. From September 2021",
    ),
    "": ("Ann: May was my last month at Polaris.", "May was my last month at Polaris"),
}
"""Employer -> a conversation and its quotation; the empty name is for the end of the last job."""
_SINCE = {"Nordlys": "2019-03-01", "Polaris": "2023-06-01", "Tall Ships": "2021-09-01"}
_VALID_AT, _END_DATE = "2022-06-01", "2024-06-01"
_DECISION = "orders/polaris"


def learn(store: Store, stage: Stage) -> None:
    """Play the third act."""
    store.set_cardinality(relation="works at", cardinality="single")
    _assert(store, stage, "Nordlys", _note_facts(store, "Nordlys"))
    note = _note_facts(store, "Polaris")
    belief = store.reflect("Ann buys for Polaris", on=[note.id])
    plan = store.reflect("Send Polaris' offers to Ann", on=[belief.id])
    polaris = _assert(store, stage, "Polaris", belief)
    decision = store.write(
        key=_DECISION,
        value={"send_to": "Ann"},
        because=[*store.facts(subject="Ann", relation="works at"), plan],
    )
    stage.fact({"what": "decided", "key": _DECISION, "value": {"send_to": "Ann"}})
    _draw(store, stage, "Ann's employers", polaris.commit_ts)
    _learn_late(store, stage, decision.commit_ts)
    _correct(store, stage, belief)
    stage.why(store.why(_DECISION, at=decision), f"Why, as of commit {decision.commit_ts}")
    stage.why(store.why(_DECISION), "Why, as of now")


def _learn_late(store: Store, stage: Stage, before: int) -> None:
    """Assert an earlier job after a later one; the timeline is corrected."""
    late = _assert(store, stage, "Tall Ships", _note_facts(store, "Tall Ships"))
    _draw(store, stage, "Ann's employers, after a late assertion", late.commit_ts)
    for commit in (before, late.commit_ts):
        (fact,) = store.facts(subject="Ann", valid_at=_at(_VALID_AT), known_at=commit)
        employer = str(fact.object)
        stage.fact(
            {"what": "believed", "valid_at": _VALID_AT, "known_at": commit, "object": employer}
        )


def _correct(store: Store, stage: Stage, belief: Memory) -> None:
    """Supersede the belief and end the fact that the decision rests on."""
    note = _note_facts(store, "")
    better = store.reflect("Ann has left Polaris", on=[note.id])
    notified = store.supersede(old=belief.id, new=better.id).notified
    store.end_fact(subject="Ann", relation="works at", object="Polaris", at=_at(_END_DATE))
    stage.fact({"what": "corrected", "belief": better.content, "notified": len(notified)})


def _note_facts(store: Store, employer: str) -> Memory:
    """Store a conversation, and a note that quotes it."""
    text, quote = _FACT_TALKS[employer]
    talk = store.store_transcript(text)
    return store.remember(quote, transcript=talk.id, spans=[talk.find(quote)])


def _assert(store: Store, stage: Stage, employer: str, source: Memory) -> EdgeResolution:
    resolution = store.assert_fact(
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
            "closed": [edge.object_key for edge in resolution.close],
        }
    )
    return resolution


def _draw(store: Store, stage: Stage, title: str, known_at: int | None) -> None:
    facts = store.timeline(subject="Ann", relation="works at", known_at=known_at)
    stage.timeline(facts, title)


def _at(day: str) -> str:
    return f"{day}T00:00:00Z"


# Fourth act: rules extract facts from conversations, and recall finds them.
#
# Ann moves, so the newer answer comes first; as of the year before, the older one does.

_TALK = """\
[2024-03-04 09:12] Ann: I work at Polaris. I live in Bergen.
[2024-03-04 09:13] Bo: Do you still sail?
[2024-03-04 09:13] Ann: I love sailing in the fjords!
[2024-03-04 09:15] Bo: Lucky you. I report to Carol."""
_LATER = """\
[2025-02-10 16:40] Bo: How was the move?
[2025-02-10 16:41] Ann: Good! I moved to Oslo last week."""
_QUESTION = "Where does Ann live?"
_PAST_DATE = "2024-06-01"
_RESULTS = 2
"""Search results that the demo shows: the present answer and the one before."""


def converse(store: Store, stage: Stage) -> None:
    """Play the fourth act."""
    _import(store, stage, _TALK)
    _recall(store, stage, "the best results, and the parts of their scores")
    _import(store, stage, _LATER)
    _recall(store, stage, "after the second conversation: the newer answer is first")
    _recall(store, stage, f"as of {_PAST_DATE}, the older answer comes first", at=_PAST_DATE)


def _import(store: Store, stage: Stage, text: str) -> None:
    """Import a conversation, and show the facts that were extracted and their quotations."""
    chat = store.import_chat(text, extractor="rules")
    stage.talk({"what": "heard", "lines": text.splitlines(), "transcript": chat.transcript_id})
    transcript = store.get_transcript(chat.transcript_id)
    assert transcript is not None, "it was just stored"
    for fact in store.facts():
        for source in fact.sources:
            if isinstance(source, TranscriptRef) and source.transcript_id == transcript.id:
                (words,) = transcript.excerpts(source.spans)
                stage.talk({"what": "drawn", "said": str(fact), "words": words})


def _recall(store: Store, stage: Stage, subtitle: str, *, at: str | None = None) -> None:
    valid_at = None if at is None else _at(at)
    with search_notes(lambda message: stage.talk({"what": "aside", "said": message})):
        hits = store.recall(_QUESTION, k=_RESULTS, kinds=["memory", "fact"], valid_at=valid_at)
    stage.hits(hits, _QUESTION, subtitle)
