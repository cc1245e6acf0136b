"""The demo's fourth act: a conversation is kept and read, and what it says comes back when asked.

Then somebody moves, and the newer answer comes first; as of the year before, the older one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.cli.telling import telling
from memoranda.model.refs import TranscriptRef

if TYPE_CHECKING:
    from memoranda.cli.stage import Stage
    from memoranda.sdk.store import Store

_TALK = """\
[2024-03-04 09:12] Ann: I work at Polaris. I live in Bergen.
[2024-03-04 09:13] Bo: Do you still sail?
[2024-03-04 09:13] Ann: I love sailing in the fjords!
[2024-03-04 09:15] Bo: Lucky you. I report to Carol."""
_LATER = """\
[2025-02-10 16:40] Bo: How was the move?
[2025-02-10 16:41] Ann: Good! I moved to Oslo last week."""
_QUESTION = "Where does Ann live?"
_BEFORE = "2024-06-01"
_SHOWN = 2


def converse(store: Store, stage: Stage) -> None:
    """Play the act on a store that is bound to an agent and to a namespace of its own."""
    _hear(store, stage, _TALK)
    _ask(store, stage, "what comes to mind first, where it is from, and how its score came about")
    _hear(store, stage, _LATER)
    _ask(store, stage, "the newer answer comes first")
    _ask(store, stage, f"and as of {_BEFORE}, the older one", at=_BEFORE)


def _hear(store: Store, stage: Stage, text: str) -> None:
    """Keep a conversation, and tell what was drawn from it and from which words."""
    made = store.import_chat(text, extract=True)
    stage.talk({"what": "heard", "lines": text.splitlines(), "transcript": made.transcript_id})
    kept = store.get_transcript(made.transcript_id)
    assert kept is not None, "it was just kept"
    for fact in store.facts():
        for source in fact.sources:
            if isinstance(source, TranscriptRef) and source.transcript_id == kept.id:
                (words,) = kept.excerpts(source.spans)
                stage.talk({"what": "drawn", "said": str(fact), "words": words})


def _ask(store: Store, stage: Stage, subtitle: str, *, at: str | None = None) -> None:
    valid_at = None if at is None else f"{at}T00:00:00Z"
    with telling(lambda said: stage.talk({"what": "aside", "said": said})):
        found = store.recall(_QUESTION, k=_SHOWN, kinds=["memory", "fact"], valid_at=valid_at)
    stage.hits(found, _QUESTION, subtitle)
