"""Transcripts: words kept as they were said, cited by the byte, replayed along reflections."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import (
    ALL_NAMESPACES,
    InvalidInput,
    Limits,
    Memory,
    NotFound,
    Origin,
    ReplayEntry,
    Store,
    Transcript,
)
from memoranda.testing import FixedClock
from tests.answers import as_read
from tests.contract.opener import Opener
from tests.cores import core_of

WORDS = "naïve 😀 café — done"
DAY = 24 * 3600


def cite(store: Store, memory: Memory, text: str, **fields: Any) -> Transcript:
    transcript = store.store_transcript(text, **fields)
    store.link_transcript(memory_id=memory.id, transcript_id=transcript.id)
    return transcript


def told(entries: list[ReplayEntry]) -> list[tuple[str, str]]:
    return [(entry.transcript.id, entry.memory_id) for entry in entries]


class TestKeeping:
    def test_the_words_come_back(self, agent: Store) -> None:
        transcript = agent.store_transcript(
            WORDS * 200, occurred_at="2025-12-31T23:00:00-01:00", namespace="team/eng"
        )
        assert transcript.text() == WORDS * 200
        assert transcript.original_size == len((WORDS * 200).encode())
        assert 0 < transcript.compressed_size < transcript.original_size // 10
        assert (transcript.namespace, transcript.agent_id) == ("team/eng", "a1")
        assert transcript.created_at == datetime(2026, 1, 1, tzinfo=UTC)
        assert transcript.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
        assert transcript.expires_at == datetime(2026, 1, 31, tzinfo=UTC)
        again = agent.get_transcript(transcript.id)
        assert again is not None
        assert (again.id, again.text()) == (transcript.id, transcript.text())
        assert agent.get_transcript("nobody") is None
        assert agent.get_transcript(transcript.id, at=0) is None

    def test_messages_are_put_one_below_the_other(self, agent: Store) -> None:
        text = [{"role": "user", "content": "tea?"}, {"role": "agent", "content": "yes"}]
        assert agent.store_transcript(text).text() == "user: tea?\nagent: yes"

    def test_how_long_it_is_kept(self, agent: Store) -> None:
        transcript = agent.store_transcript("x", ttl=timedelta(hours=1))
        assert transcript.expires_at == datetime(2026, 1, 1, 1, tzinfo=UTC)
        agent.configure(transcript_retention=None)
        assert agent.store_transcript("x").expires_at is None

    def test_they_are_listed(self, agent: Store) -> None:
        ids = [agent.store_transcript(f"{n}", namespace=f"team/{n}").id for n in range(3)]
        assert [
            list_transcript.id for list_transcript in agent.list_transcripts(namespace="team")
        ] == ids
        assert [
            list_transcript.id for list_transcript in agent.list_transcripts(namespace="team/1")
        ] == [ids[1]]
        assert len(list(agent.list_transcripts(namespace=ALL_NAMESPACES))) == 3
        assert list(agent.list_transcripts(namespace="team", children=False)) == []

    @pytest.mark.parametrize(
        "text", ["", 7, None, "a\0b", "\ud800", [], ["x"], [{"role": "user"}], b"bytes"]
    )
    def test_what_is_no_text_is_refused(self, agent: Store, text: Any) -> None:
        with pytest.raises(InvalidInput, match="text"):
            agent.store_transcript(text)
        assert list(agent.replay()) == []

    def test_how_much_is_too_much(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transcript_bytes=10)).bind(agent_id="a")
        assert agent.store_transcript("é" * 5).original_size == 10
        with pytest.raises(InvalidInput, match=r"11 bytes.*limit is 10"):
            agent.store_transcript("é" * 5 + "x")


class TestForgotten:
    """A handle can be older than the erasure of its transcript."""

    @pytest.mark.parametrize("words", [WORDS, [{"role": "user", "content": WORDS}]])
    def test_its_words_are_not_found(self, agent: Store, words: Any) -> None:
        transcript, other = agent.store_transcript(words), agent.store_transcript("stays")
        agent.forget(transcript_id=transcript)
        reads: list[Callable[[], object]] = [
            lambda: transcript.find("café"),
            transcript.text,
            transcript.messages,
            transcript.message_spans,
            lambda: transcript.message_at(0),
            lambda: transcript.excerpts(((0, 1),)),
        ]
        for read in reads:
            with pytest.raises(NotFound, match=f"'{transcript.id}' was forgotten"):
                read()
        assert other.find("stays") == (0, 5)

    def test_of_a_replay(self, agent: Store) -> None:
        transcript = agent.store_transcript(WORDS)
        memory = agent.remember("m", transcript=transcript)
        (entry,) = agent.replay_transcripts(memory)
        agent.forget(transcript_id=transcript)
        for read in (entry.text, entry.excerpts):
            with pytest.raises(NotFound, match="was forgotten"):
                read()


class TestSpans:
    @pytest.fixture
    def memory(self, agent: Store) -> Memory:
        return agent.remember("m")

    @pytest.fixture
    def transcript(self, agent: Store) -> Transcript:
        return agent.store_transcript(WORDS)

    @pytest.mark.parametrize("quote", ["naïve", "ï", "😀", "café — done", "e", WORDS])
    def test_a_quote_is_found_and_quoted(
        self, agent: Store, memory: Memory, transcript: Transcript, quote: str
    ) -> None:
        span = transcript.find(quote)
        link = agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=[span])
        assert link.spans == (span,)
        (entry,) = agent.replay_transcripts(memory.id)
        assert entry.excerpts() == (quote,)
        assert entry.text() == WORDS

    def test_words_that_are_not_there_are_not_found(self, transcript: Transcript) -> None:
        with pytest.raises(InvalidInput, match="Café"):
            transcript.find("Café")
        start, _ = transcript.find("é")
        with pytest.raises(InvalidInput):
            transcript.find("é", after=start + 1)

    @pytest.mark.parametrize(
        ("span", "problem"),
        [
            ((0, 0), "start < end"),
            ((5, 5), "start < end"),
            ((6, 2), "start < end"),
            ((-1, 2), "start < end"),
            ((0, 27), "past the text"),
            ((3, 5), "cuts a character"),
            ((0, 3), "cuts a character"),
            ((7, 9), "cuts a character"),
            ((0, 1.5), "pair"),
            ((0, True), "pair"),
            ((0,), "pair"),
            ("01", "pair"),
            (7, "pair"),
        ],
    )
    def test_a_bad_span_is_refused(
        self, agent: Store, memory: Memory, transcript: Transcript, span: Any, problem: str
    ) -> None:
        assert transcript.original_size == 26
        with pytest.raises(InvalidInput, match=problem):
            agent.link_transcript(
                memory_id=memory.id, transcript_id=transcript.id, spans=[(0, 1), span]
            )
        with pytest.raises(InvalidInput, match=problem):
            agent.remember("x", transcript=transcript.id, spans=[span])
        assert agent.transcripts_for(memory.id) == []

    @pytest.mark.parametrize("spans", [[], "ab", 7])
    def test_spans_are_a_list_with_something_in_it(
        self, agent: Store, memory: Memory, transcript: Transcript, spans: Any
    ) -> None:
        with pytest.raises(InvalidInput, match="spans"):
            agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=spans)

    def test_several_spans_of_one_transcript(
        self, agent: Store, memory: Memory, transcript: Transcript
    ) -> None:
        ids: dict[str, Any] = {"memory_id": memory.id, "transcript_id": transcript.id}
        agent.link_transcript(**ids, spans=[(12, 17), (0, 6)])
        agent.link_transcript(**ids, spans=[(0, 6), (7, 11)])
        before = len(list(agent.replay()))
        link = agent.link_transcript(**ids, spans=[(0, 6)])
        assert link.spans == ((0, 6), (7, 11), (12, 17))
        assert len(list(agent.replay())) == before
        assert (
            agent.transcripts_for(memory.id) == agent.memories_for(transcript.id) == [as_read(link)]
        )
        assert agent.link_transcript(**ids).spans == ((0, 6), (0, 26), (7, 11), (12, 17))
        assert agent.rebuild().identical

    def test_no_spans_mean_the_whole(
        self, agent: Store, memory: Memory, transcript: Transcript
    ) -> None:
        link = agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id)
        assert link.spans == ()
        (entry,) = agent.replay_transcripts(memory.id)
        assert (entry.spans, entry.excerpts()) == ((), (WORDS,))

    def test_a_memory_can_be_remembered_with_its_words(
        self, agent: Store, transcript: Transcript
    ) -> None:
        memory = agent.remember("x", transcript=transcript.id, spans=[transcript.find("café")])
        *_, event = agent.replay()
        assert [operation.type.name for operation in event.operations] == ["REMEMBER", "CITE"]
        (entry,) = agent.replay_transcripts(memory.id)
        assert entry.excerpts() == ("café",)

    def test_what_is_cited_must_be_there(
        self, agent: Store, memory: Memory, transcript: Transcript
    ) -> None:
        with pytest.raises(NotFound, match="nobody"):
            agent.link_transcript(memory_id=memory.id, transcript_id="nobody")
        with pytest.raises(NotFound, match="nobody"):
            agent.link_transcript(memory_id=memory.id, transcript_id="nobody", spans=[(0, 1)])
        with pytest.raises(NotFound, match="nobody"):
            agent.link_transcript(memory_id="nobody", transcript_id=transcript.id)


class TestReplay:
    def test_two_offsets_of_one_instant_sort_right(self, agent: Store) -> None:
        memory = agent.remember("m")
        times = [
            "2026-01-01T12:00:00+00:00",
            "2026-01-01T13:30:00+02:00",
            "2026-01-01T06:30:00-05:00",
            "2025-12-31T23:00:00-23:59",
        ]
        ids = [cite(agent, memory, time, occurred_at=time).id for time in times]
        same = sorted([ids[1], ids[2]])
        assert [item for item, _ in told(agent.replay_transcripts(memory.id))] == [
            *same,
            ids[0],
            ids[3],
        ]

    def test_what_has_no_time_of_its_own_counts_from_its_storing(
        self, agent: Store, clock: FixedClock
    ) -> None:
        memory = agent.remember("m")
        stored = cite(agent, memory, "stored first")
        clock.advance(60)
        earlier = cite(agent, memory, "said before", occurred_at="2025-01-01T00:00:00Z")
        later = cite(agent, memory, "stored last")
        assert [item for item, _ in told(agent.replay_transcripts(memory.id))] == [
            earlier.id,
            stored.id,
            later.id,
        ]

    def test_all_anchors_and_spans_of_a_shared_transcript(self, agent: Store) -> None:
        shared = agent.store_transcript("one two three")
        low = agent.remember("low", transcript=shared.id, spans=[(0, 3), (4, 7)])
        side = agent.remember("side", transcript=shared.id)
        top = agent.reflect("top", on=[low.id, side.id])
        agent.link_transcript(memory_id=top.id, transcript_id=shared.id, spans=[(8, 13)])
        (entry,) = agent.replay_transcripts(top.id)
        assert (entry.memory_id, entry.spans, entry.excerpts()) == (top.id, ((8, 13),), ("three",))
        first, second = sorted([low.id, side.id])
        spans = {low.id: ((0, 3), (4, 7)), side.id: ()}
        assert entry.anchors == (
            (top.id, 0, ((8, 13),)),
            (first, 1, spans[first]),
            (second, 1, spans[second]),
        )

    def test_closed_links_are_not_walked(self, agent: Store) -> None:
        ground = agent.remember("x")
        cite(agent, ground, "words")
        top = agent.reflect("top", on=[ground.id])
        agent.unlink(source=top.id, target=ground.id, relation="reflects_on")
        assert agent.replay_transcripts(top.id) == []
        assert len(agent.replay_transcripts(top.id, at=4)) == 1

    def test_only_reflections_are_walked_and_only_along_their_relation(self, agent: Store) -> None:
        ground = agent.remember("x")
        cite(agent, ground, "words")
        plain = agent.remember("plain")
        agent.link(source=plain.id, target=ground.id, relation="reflects_on")
        assert agent.replay_transcripts(plain.id) == []
        related = agent.remember("r", kind="reflection")
        agent.link(source=related.id, target=ground.id, relation="related_to")
        agent.link(source=related.id, target=ground.id, relation="derived_from")
        assert agent.replay_transcripts(related.id) == []

    def test_a_depth_is_not_negative(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="depth"):
            agent.replay_transcripts("m", depth=-1)
        assert agent.replay_transcripts("nobody") == []

    def test_evidence_outlives_its_time_and_is_marked(
        self, agent: Store, clock: FixedClock
    ) -> None:
        ground = agent.remember("x", tier="short")
        transcript = cite(agent, ground, "the very words", ttl=timedelta(days=40))
        top = agent.reflect("top", on=[ground.id])
        assert [entry.expired for entry in agent.replay_transcripts(top.id)] == [False]
        clock.advance(DAY)
        assert agent.get_memory(ground.id) is None
        (entry,) = agent.replay_transcripts(top.id)
        assert (entry.expired, entry.memory_id, entry.text()) == (True, ground.id, "the very words")
        agent.touch(ground.id)
        assert [entry.expired for entry in agent.replay_transcripts(top.id)] == [False]
        agent.promote(ground.id)
        clock.advance(40 * DAY)
        (late,) = agent.replay_transcripts(top.id)
        assert (late.expired, late.transcript.id) == (True, transcript.id)
        assert late.text() == "the very words"
        (before,) = agent.replay_transcripts(top.id, at="2026-01-01T01:00:00Z")
        assert not before.expired

    def test_what_was_taken_back_still_contributes_and_is_marked(self, agent: Store) -> None:
        ground = agent.remember("x")
        cite(agent, ground, "words")
        top = agent.reflect("top", on=[ground.id])
        agent.retract_memory(ground.id)
        (entry,) = agent.replay_transcripts(top.id)
        assert (entry.retracted, entry.text()) == (True, "words")
        (before,) = agent.replay_transcripts(top.id, at=4)
        assert not before.retracted


class TestOrigins:
    def test_the_tree_of_a_belief(self, agent: Store) -> None:
        words = agent.store_transcript("I drink tea. I hate rain.")
        tea = agent.remember("likes tea", transcript=words.id, spans=[words.find("drink tea")])
        rain = agent.remember("hates rain", transcript=words.id)
        copy = agent.remember("said again")
        agent.link(source=rain.id, target=copy.id, relation="derived_from")
        low = agent.reflect("stays inside", on=[tea.id, rain.id])
        top = agent.reflect("is at home", on=[low.id, tea.id])
        tree = agent.origins(top.id)
        assert isinstance(tree, Origin)
        assert (tree.memory.content, tree.relation, tree.repeated) == ("is at home", None, False)
        first, second = sorted([low.id, tea.id])
        assert [origin.memory.id for origin in tree.origins] == [first, second]
        under = {origin.memory.id: origin for origin in tree.origins}
        (quoted,) = under[tea.id].sources
        assert (quoted.excerpts, quoted.spans) == (("drink tea",), ((2, 11),))
        by_id = {origin.memory.id: origin for origin in under[low.id].origins}
        assert by_id[tea.id].repeated
        assert by_id[tea.id].sources == ()
        (whole,) = by_id[rain.id].sources
        assert whole.excerpts == ("I drink tea. I hate rain.",)
        (derived,) = by_id[rain.id].origins
        assert (derived.memory.content, derived.relation) == ("said again", "derived_from")
        assert agent.origins("nobody") is None

    def test_a_long_transcript_is_quoted_from_its_beginning(self, agent: Store) -> None:
        memory = agent.remember("m")
        cite(agent, memory, "é" * 3000 + "x")
        tree = agent.origins(memory.id)
        assert tree is not None
        assert tree.sources[0].excerpts == ("é" * 2048,)

    def test_expired_branches_are_marked(self, agent: Store, clock: FixedClock) -> None:
        ground = agent.remember("x", tier="short")
        cite(agent, ground, "words", ttl=DAY)
        top = agent.reflect("top", on=[ground.id])
        clock.advance(2 * DAY)
        tree = agent.origins(top.id)
        assert tree is not None
        (branch,) = tree.origins
        assert (tree.expired, branch.expired, branch.sources[0].expired) == (False, True, True)


def test_a_transcript_that_is_gone_is_left_out_with_a_warning(
    agent: Store, caplog: pytest.LogCaptureFixture
) -> None:
    memory = agent.remember("m")
    cite(agent, memory, "words")
    engine: Any = core_of(agent).engine
    engine._writer.database.execute("DELETE FROM transcript")
    with caplog.at_level(logging.WARNING, "memoranda"):
        assert agent.replay_transcripts(memory.id) == []
    assert memory.id in caplog.text
    assert agent.transcripts_for(memory.id) == []
