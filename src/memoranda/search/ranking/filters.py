"""Sifting: what of all that was found may be shown to whoever asks, at the time asked about.

Everything is looked up as of one commit, in a constant number of reads, and checked here once more:
where it is, whose it is, whether it was taken back, replaced or over, and what else was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from memoranda.graph import lookup
from memoranda.graph.lookup import When
from memoranda.graph.records import Fact
from memoranda.memory import standing, transcripts
from memoranda.memory.queries import Filters
from memoranda.memory.standing import Standing
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.instant import to_micros
from memoranda.search.candidates import Candidate
from memoranda.search.questions import Question
from memoranda.search.shelves import FACT, MEMORY, PASSAGE
from memoranda.search.superseding import dated, superseders
from memoranda.storage.port import Reader


def sift(
    reader: Reader,
    question: Question,
    found: Iterable[Candidate],
    facts: Mapping[str, Fact],
) -> list[Candidate]:
    """Return the candidates that may be shown, with what is known of them.

    `facts` are those that are known already, by their first assertions.
    """
    kinds: dict[str, list[Candidate]] = {MEMORY: [], FACT: [], PASSAGE: []}
    for each in found:
        kinds[each.kind].append(each)
    kept = _memories(reader, question, kinds[MEMORY])
    if not question.asked.tags and not question.asked.metadata:  # which only memories have
        kept += _facts(reader, question, kinds[FACT], facts)
        kept += _passages(reader, question, kinds[PASSAGE])
    return kept


def time_of(found: Standing) -> int:
    """Return when what a memory says happened, or else when it was said as it stands.

    Its other details may have changed since: a new tag makes nothing newer.
    """
    time = found.details.event_time
    time = found.said_at if time is None else time
    assert time is not None, "it is committed"
    return time


def _memories(reader: Reader, question: Question, found: list[Candidate]) -> list[Candidate]:
    ids = [each.id for each in found]
    viewer, within = question.asked.viewer, question.namespaces
    known = standing.find(reader, ids, question.commit, viewer=viewer, within=within) if ids else {}
    fitting = _Memories(question)
    kept = []
    for each in found:
        about = known.get(each.id)
        if about is not None and fitting.accept(about):
            each.about, each.time = about, time_of(about)
            each.load = _Text(reader, about)
            kept.append(each)
    replaced = [known[each.id] for each in kept if known[each.id].superseded_by is not None]
    newer = superseders(reader, question, {each.memory_id for each in replaced})
    for each in kept:
        each.superseded = each.id in newer
    return kept if question.asked.superseded else [each for each in kept if not each.superseded]


class _Text:
    """A memory's content, read when it is asked for."""

    def __init__(self, reader: Reader, about: Standing) -> None:
        self._reader, self._about = reader, about

    def __call__(self) -> str:
        return standing.text_of(self._reader, self._about)


class _Memories:
    """Which memories a question is about."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._namespaces = question.namespaces
        self._filters = Filters(
            namespace=None,
            children=False,
            agent_id=question.asked.agent_id,
            kind=None,
            tier=None,
            tags=question.asked.tags,
            metadata=question.asked.metadata,
            viewer=question.asked.viewer,
        )

    def accept(self, found: Standing) -> bool:
        """Say whether a memory may be shown, whatever supersedes it."""
        return self._is_there(found) and self._is_meant(found)

    def _is_there(self, found: Standing) -> bool:
        gone = found.forgotten or found.retracted or not found.seen_by(self._question.asked.viewer)
        over = found.expired(self._question.now) and not self._question.asked.expired
        return not gone and not over and found.namespace in self._namespaces

    def _is_meant(self, found: Standing) -> bool:
        question = self._question
        if question.asked.agent_id is not None and found.agent_id != question.asked.agent_id:
            return False
        kinds = question.asked.kinds.memories
        if kinds is not None and found.kind not in kinds:
            return False
        if question.asked.valid is not None and dated(found) > question.asked.valid:
            return False
        return self._filters.accept(found)


def _facts(
    reader: Reader, question: Question, found: list[Candidate], known: Mapping[str, Fact]
) -> list[Candidate]:
    """Return facts, each once, however many of its assertions were found."""
    when = When(question.known, question.instant, question.asked.superseded)
    sought = {each.id for each in found if each.id not in known}
    facts = {**known, **lookup.by_assertions(reader, sought, when, question.asked.viewer)}
    kept: dict[str, Candidate] = {}
    for each in found:
        fact = facts.get(each.id)
        if fact is None or not _is_meant(fact, question):
            continue
        first = kept.setdefault(fact.ref.assertion_id, each)
        first.take(each)
        first.id = fact.ref.assertion_id
        first.about, first.time = fact, to_micros("valid_from", fact.valid_from)
        end = fact.valid_to
        first.superseded = end is not None and to_micros("valid_to", end) <= question.instant
        first.load = partial(spoken, fact)
    return list(kept.values())


def spoken(fact: Fact) -> str:
    """Return a fact as a sentence."""
    return f"{fact.subject} {fact.relation.replace('_', ' ')} {fact.object}"


def _passages(reader: Reader, question: Question, found: list[Candidate]) -> list[Candidate]:
    """Return pieces of transcripts; these are found as long as their words are there."""
    ids = {each.id for each in found}
    known = transcripts.find(reader, ids, question.commit) if ids else {}
    kept = []
    for each in found:
        about = known.get(each.id)
        if about is None or about.erased or not _is_meant(about, question):
            continue
        if question.asked.valid is None or about.instant <= question.asked.valid:
            each.about, each.time = about, about.instant
            kept.append(each)
    return kept


def _is_meant(found: Fact | TranscriptInfo, question: Question) -> bool:
    mine = question.asked.agent_id is None or found.agent_id == question.asked.agent_id
    return mine and found.namespace in question.namespaces
