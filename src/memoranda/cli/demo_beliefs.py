"""The demo's second act: words become memories, a belief is drawn, superseded, decided about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.cli.stage import Stage
    from memoranda.memory.records import Memory
    from memoranda.sdk.store import Store

_TALKS = (
    ("Ann: Nordlys was late again.\nBo: They said sorry.", "Nordlys was late again"),
    ("Ann: Nordlys sent the wrong parts. 😞", "Nordlys sent the wrong parts"),
    ("Bo: Nordlys has a new owner, and two trucks more.", "Nordlys has a new owner"),
)
"""What was said, and the words of it that are noted."""


def believe(store: Store, stage: Stage) -> None:
    """Play the act on a store that is bound to an agent and to a namespace of its own."""
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
    told = store.supersede(old=doubt.id, new=better.id).notified
    stage.belief(
        {"what": "superseded", "old": doubt.content, "new": better.content, "told": list(told)}
    )
    for notice in store.invalidations():
        concerned = store.get_memory(notice.dependent_id)
        assert concerned is not None, "nothing is cascaded"
        stage.belief({"what": "notice", "id": notice.id, "about": concerned.content})
        _decide(store, stage, notice.id, better)


def _note(store: Store, stage: Stage, text: str, quote: str) -> Memory:
    """Keep what was said, and note the words that matter, where they stand."""
    talk = store.store_transcript(text)
    note = store.remember(quote, transcript=talk.id, spans=[talk.find(quote)])
    stage.belief({"what": "note", "content": quote, "span": list(talk.find(quote))})
    return note


def _decide(store: Store, stage: Stage, notice_id: str, ground: Memory) -> None:
    """Draw the belief anew on the new ground, and let it take the old one's place."""
    revised = store.reflect("Pay Nordlys within a week", on=[ground.id])
    store.resolve_invalidation(
        notice_id, decision="revise", replacement=revised.id, note="they deserve a chance"
    )
    stage.belief({"what": "decision", "decision": "revise", "content": revised.content})
