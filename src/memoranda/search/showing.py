"""Showing: hits as a caller sees them, with where they come from and what stands around them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from memoranda.graph.records import Fact
from memoranda.memory import transcripts, versions
from memoranda.memory.records import memory_of
from memoranda.memory.standing import Standing
from memoranda.memory.transcripts import TranscriptInfo, plain_spans
from memoranda.model.instant import to_datetime
from memoranda.model.memory import Span
from memoranda.model.refs import Evidence, TranscriptRef
from memoranda.search.candidates import Candidate
from memoranda.search.hits import Hit
from memoranda.search.questions import Question
from memoranda.search.shelves import FACT, MEMORY, PASSAGE
from memoranda.search.tail import Tail
from memoranda.search.texts import text_of
from memoranda.storage.port import Reader

MOST_DUPLICATES: Final = 20
"""How many a hit names of those that it stands for."""
Grounds = Mapping[str, Sequence[Evidence]]
"""What memories rest on, by their ids."""


def hits(reader: Reader, question: Question, kept: Sequence[Candidate], tail: Tail) -> list[Hit]:
    """Return candidates as hits, in the same order."""
    load_texts(reader, kept, tail)
    grounds = _grounds(reader, question, [each.id for each in kept if each.kind == MEMORY])
    return [_hit(each, grounds) for each in kept]


def load_texts(reader: Reader, found: Iterable[Candidate], tail: Tail) -> None:
    """Find out what passages say, and what stands before and behind each: one read for all."""
    texts = (each for each in found if each.kind != FACT and each.around is None)
    sought = [(each, each.passage.key) for each in texts if each.passage]
    told = {key: tail.by_key[key].words() for _, key in sought if key in tail.by_key}
    missing = [each.passage for each, key in sought if each.passage and key not in told]
    told |= text_of(reader, missing, tail.remembered) if missing else {}
    for each, key in sought:
        words = told.get(key)
        if words is not None:
            each.around = (words.before, words.after)
            if each.kind == PASSAGE:
                each.load = words.own.__str__


def _hit(found: Candidate, grounds: Grounds) -> Hit:
    about = found.about
    memory = memory_of(about, found.text) if isinstance(about, Standing) else None
    return Hit(
        id=found.id,
        kind=found.kind,
        text=found.text,
        score=found.score,
        parts=found.parts,
        memory=memory,
        provenance=_provenance(found, grounds),
        fact=about if isinstance(about, Fact) else None,
        context=found.around or ("", ""),
        duplicates=_duplicates(found),
        time=to_datetime(found.time),
    )


def _duplicates(found: Candidate) -> tuple[str, ...]:
    """Return the ids of what was left out for something; pieces of its own transcript have its."""
    others = dict.fromkeys(each for each in found.duplicates if each != found.id)
    return tuple(islice(others, MOST_DUPLICATES))


def _provenance(found: Candidate, grounds: Grounds) -> tuple[Evidence, ...]:
    """Return what something that was found rests on."""
    if isinstance(found.about, Fact):
        return found.about.sources
    if isinstance(found.about, TranscriptInfo):
        assert found.passage is not None, "a piece of a transcript was found by its words"
        return (TranscriptRef(found.id, ((found.passage.first, found.passage.beyond),)),)
    return tuple(grounds.get(found.id, ()))


def _grounds(reader: Reader, question: Question, ids: Sequence[str]) -> Grounds:
    """Return what memories cite, reflect on and derive from, as far as somebody may see it."""
    if not ids:
        return {}
    found: dict[str, list[Evidence]] = {}
    spans: dict[tuple[str, str], list[Span]] = {}
    sizes: dict[str, int] = {}
    for memory_id, _, span, row in transcripts.cited_by(reader, ids, question.commit):
        if row[0] is not None:
            spans.setdefault((memory_id, row[0]), []).append(span)
            sizes[row[0]] = TranscriptInfo(*row).original_size
    for (memory_id, transcript_id), cited in spans.items():
        ref = TranscriptRef(transcript_id, plain_spans(cited, sizes[transcript_id]))
        found.setdefault(memory_id, []).append(ref)
    links = list(versions.groundings(reader, ids, question.commit))
    seen = _seen(reader, question, {link.target.memory_id for link in links})
    for link in links:
        if link.target.memory_id in seen:
            found.setdefault(link.source, []).append(link.target)
    return found


def _seen(reader: Reader, question: Question, memory_ids: Collection[str]) -> set[str]:
    """Return those of the memories that may be named, in whatever namespace they are.

    Only ids are told, so it does not matter how much is still known of another namespace.
    """
    listed = msgspec.json.encode(list(memory_ids)).decode()
    viewer, at = question.asked.viewer, question.commit
    return {row[0] for row in reader.rows("memories_seen", memory_ids=listed, at=at, viewer=viewer)}
