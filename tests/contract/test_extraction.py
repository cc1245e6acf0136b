"""Extraction: the words are kept first, and what is drawn from them cites them, once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from memoranda import (
    ExtractedFact,
    ExtractedMemory,
    Extraction,
    Fact,
    InvalidInput,
    Message,
    NotFound,
    Skipped,
    Store,
    Unavailable,
)
from tests.contract.opener import Opener

CHAT = """\
[2024-05-03 10:21] Ann: Hi! I work at Acme. 😀 I've lived in Köln since 2019.
[2024-05-03 10:22] Bob: Do you like tea?
[2024-05-03 10:23] Ann: I like tea.
[2024-06-07 09:00] Ann: I moved to Oslo yesterday."""


def homes(store: Store) -> list[tuple[str, str, str]]:
    return [
        (str(fact.object), str(fact.valid_from.date()), str(fact.valid_to and fact.valid_to.date()))
        for fact in store.timeline(subject="Ann", relation="lives in")
    ]


MOVED = [("Köln", "2019-01-01", "2024-06-06"), ("Oslo", "2024-06-06", "None")]


def quoted(store: Store, fact: Fact) -> list[str]:
    words: list[str] = []
    for source in fact.sources:
        transcript = store.get_transcript(source.transcript_id)  # type: ignore[union-attr]
        assert transcript is not None
        words += transcript.excerpts(source.spans)  # type: ignore[union-attr]
    return words


class Failing:
    """An extractor whose endpoint is away for the first so many times."""

    name = "failing/1"

    def __init__(self, times: int = 1) -> None:
        self.left = times
        self.asked = 0

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        self.asked += 1
        if self.asked > 1 and self.left:  # half-way: a part is done
            self.left -= 1
            raise Unavailable("away")
        first = messages[0]
        words = f"heard {first.text[:5]}"
        return Extraction(memories=(ExtractedMemory(content=words, spans=(first.span,)),))


class Giving:
    """An extractor that gives what it was given, or something else each time."""

    def __init__(self, *extractions: Extraction) -> None:
        self.found = list(extractions)

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        return self.found.pop(0)


class TestImporting:
    def test_what_is_said_is_drawn_and_cites_the_words(self, agent: Store) -> None:
        report = agent.import_chat(CHAT, extractor="rules")
        assert not report.already
        transcript = agent.get_transcript(report.transcript_id)
        assert transcript is not None
        assert transcript.text() == CHAT
        assert f"{transcript.occurred_at:%Y-%m-%d %H:%M}" == "2024-05-03 10:21"
        result = {str(fact): quoted(agent, fact) for fact in agent.facts(include_closed=True)}
        assert result == {
            "Ann works at Acme": ["I work at Acme."],
            "Ann lives in Köln": ["I've lived in Köln since 2019."],
            "Ann likes tea": ["I like tea."],
            "Ann lives in Oslo": ["I moved to Oslo yesterday."],
        }
        assert homes(agent) == MOVED
        memories = list(agent.list_memories(content=True))
        assert report.extraction is not None
        assert {item.id for item in memories} == set(report.extraction.memories)
        for memory in memories:
            (entry,) = agent.replay_transcripts(memory.id)
            assert memory.content == f"Ann: {entry.excerpts()[0]}"
            assert memory.source == "extract"
            assert memory.confidence_source == "rules/1"
        assert [f"{item.event_time:%Y-%m-%d}" for item in memories] == [
            "2024-05-03", "2019-01-01", "2024-05-03", "2024-06-06",
        ]  # fmt: skip

    def test_messages_in_a_list(self, agent: Store) -> None:
        text = [
            {"role": "user", "content": "I like tea.", "timestamp": "2024-05-03T10:21:00Z"},
            {"role": "assistant", "content": "I like to help."},
        ]
        report = agent.import_chat(text, extractor="rules")
        person = f"user {report.transcript_id[-6:]}"
        assert [str(fact) for fact in agent.facts()] == [f"{person} likes tea"]
        assert agent.import_chat(text).transcript_id == report.transcript_id

    def test_again(self, agent: Store) -> None:
        first = agent.import_chat(CHAT)
        assert (first.already, first.extraction) == (False, None)
        second = agent.import_chat(CHAT, extractor="rules")
        assert (second.already, second.transcript_id) == (True, first.transcript_id)
        assert second.extraction is not None
        assert not second.extraction.already
        commits = agent.stats().commits
        third = agent.import_chat(CHAT, extractor="rules")
        assert third.extraction is not None
        assert third.extraction.already
        assert third.extraction.memories == second.extraction.memories
        assert third.extraction.facts == second.extraction.facts
        assert agent.stats().commits == commits

    def test_each_scope_and_time_has_its_own(self, agent: Store) -> None:
        ids = {
            agent.import_chat("Ann: hi", **where).transcript_id  # type: ignore[arg-type]
            for where in (
                {},
                {"namespace": "team"},
                {"agent_id": "a2"},
                {"occurred_at": "2024-01-01T00:00:00Z"},
            )
        }
        assert len(ids) == 4

    def test_what_was_forgotten_can_be_imported_anew(self, agent: Store) -> None:
        first = agent.import_chat(CHAT, extractor="rules")
        agent.forget(transcript_id=first.transcript_id, reason="asked to")
        assert agent.facts(include_closed=True) == []
        with pytest.raises(NotFound, match="transcript"):
            agent.extract(first.transcript_id, extractor="rules")
        assert not agent.import_chat(CHAT).already

    def test_how_many_messages_it_has(self, agent: Store) -> None:
        text = '[2024-05-13 10:20] Bob created group "Trip"\n' + CHAT
        assert agent.import_chat(text).messages == CHAT.count("Ann: ") + CHAT.count("Bob: ")

    def test_days_that_are_not_clear_are_refused(self, agent: Store) -> None:
        text = "\n03/05/2024, 10:21 - Ann: I like tea."
        for when in (None, "2020-01-01T00:00:00Z"):
            with pytest.raises(
                InvalidInput, match=r"text: line 2 has the date '03/05/2024'.*occurred_at"
            ):
                agent.import_chat(text, occurred_at=when)
        agent.import_chat(text, extractor="rules", occurred_at="2024-05-03T00:00:00Z")
        assert [f"{fact.valid_from:%Y-%m-%d %H:%M}" for fact in agent.facts()] == [
            "2024-05-03 10:21"
        ]

    @pytest.mark.parametrize(
        "text", ["", 7, None, [], [{"role": "user"}], b"x", {"role": "x"}, "\nprose", "x\nAnn: hi"]
    )
    def test_what_is_no_conversation_is_refused(self, agent: Store, text: object) -> None:
        with pytest.raises(InvalidInput, match="text"):
            agent.import_chat(text)  # type: ignore[arg-type]
        assert agent.stats().commits == 0


class TestExtracting:
    def test_the_extractor_is_named(self, agent: Store) -> None:
        transcript = agent.store_transcript("Ann: I like tea.")
        with pytest.raises(InvalidInput, match=r"extractor: is missing: give `rules` .* URL#model"):
            agent.extract(transcript.id, extractor=None)  # type: ignore[arg-type]
        assert agent.import_chat("Ann: I like tea.").extraction is None
        assert not list(agent.list_memories())
        assert not agent.facts()

    def test_where_it_goes(self, store: Store) -> None:
        transcript = store.store_transcript("Ann: I like tea.", agent_id="a1", namespace="team")
        store.extract(transcript.id, extractor="rules")
        (fact,) = store.bind(agent_id="a1", namespace="team").facts()
        assert str(fact) == "Ann likes tea"
        store.bind(agent_id="a2").extract(transcript.id, extractor="rules", namespace="other")
        assert len(store.facts(agent_id="a2", namespace="other")) == 1
        store.bind(agent_id="a2").extract(transcript.id, extractor="rules", agent_id="a3")
        assert len(store.facts(agent_id="a3", namespace="team")) == 1
        for wrong in ({"agent_id": ""}, {"namespace": ""}):
            with pytest.raises(InvalidInput, match=next(iter(wrong))):
                store.extract(transcript.id, extractor="rules", **wrong)  # type: ignore[arg-type]

    def test_without_a_time_of_its_own_it_holds_since_it_was_stored(self, agent: Store) -> None:
        transcript = agent.store_transcript("Ann: I like tea.")
        agent.extract(transcript.id, extractor="rules")
        assert [fact.valid_from for fact in agent.facts()] == [transcript.created_at]

    def test_relations_that_are_new_have_one_object_at_a_time(self, agent: Store) -> None:
        text = "Ann: I live in Rome. I work at Acme.\nAnn: I live in Oslo since 2020. I like tea."
        agent.assert_fact(subject="Bob", relation="Lives_In", object="Bonn")
        agent.import_chat(text, extractor="rules")
        assert [*agent.cardinalities()] == ["works at"]
        assert len(agent.facts(subject="Ann", relation="lives in")) == 2

    def test_a_relation_that_was_set_stays_so(self, agent: Store) -> None:
        for cardinality in ("single", "multi"):
            agent.set_cardinality(relation="lives in", cardinality=cardinality)
        agent.import_chat("Ann: I live in Rome.", extractor="rules")
        assert agent.cardinalities()["lives in"].value == "multi"

    def test_the_caller_says_which_have_one(self, agent: Store) -> None:
        report = agent.import_chat("Ann: I live in Rome. I like tea.")
        agent.extract(report.transcript_id, extractor="rules", single_valued=["Likes"])
        assert [*agent.cardinalities()] == ["likes"]

    def test_who_moved_lives_elsewhere_whatever_the_cardinality(self, agent: Store) -> None:
        report = agent.import_chat(CHAT)
        agent.extract(report.transcript_id, extractor="rules", single_valued=())
        assert agent.cardinalities() == {}
        assert homes(agent) == MOVED

    def test_what_a_new_object_ends_is_not_said_to_end(self, agent: Store) -> None:
        instance = agent.import_chat("Ann: I moved from Rome to Oslo in 2020.", extractor="rules")
        assert instance.extraction is not None
        assert len(instance.extraction.facts) == 1
        stored_item = agent.import_chat("Bob: I moved to Oslo in 2020.", namespace="other")
        report = agent.extract(stored_item.transcript_id, extractor="rules", single_valued=())
        assert len(report.facts) == 2

    def test_nothing_to_draw(self, agent: Store) -> None:
        transcript = agent.store_transcript("Ann: hm")
        commits = agent.stats().commits
        report = agent.extract(transcript.id, extractor="rules")
        assert (report.memories, report.facts, report.already) == ((), (), False)
        assert agent.stats().commits == commits

    def test_a_transcript_that_is_not_there(self, agent: Store) -> None:
        with pytest.raises(NotFound, match="nobody"):
            agent.extract("nobody", extractor="rules")

    def test_what_cannot_be_taken_is_set_aside(self, agent: Store) -> None:
        transcript = agent.store_transcript("Ann: tea")
        giving = Giving(
            Extraction(
                memories=(
                    ExtractedMemory(content="good", spans=((5, 8),)),
                    ExtractedMemory(content="far", spans=((5, 99),)),
                    ExtractedMemory(content="odd", kind="rumour"),
                    ExtractedMemory(content=""),
                ),
                facts=(
                    ExtractedFact(subject="Ann", relation="likes", object="tea"),
                    ExtractedFact(subject="", relation="likes", object="tea"),
                    ExtractedFact(subject="Ann", relation="likes"),
                    ExtractedFact(subject="Ann", relation="", object="x", ends=True),
                ),
                skipped=(Skipped("x", "not said"),),
            )
        )
        report = agent.extract(transcript.id, extractor=giving)
        assert [memory.what for memory in report.skipped] == [
            "x", "far", "odd", "", " likes tea", "Ann likes …", "Ann  x (ended)",
        ]  # fmt: skip
        assert "99" in report.skipped[1].reason
        assert [memory.content for memory in agent.list_memories(content=True)] == ["good"]
        assert [str(fact) for fact in agent.facts()] == ["Ann likes tea"]

    def test_an_extractor_that_says_otherwise_the_second_time(self, agent: Store) -> None:
        transcript = agent.store_transcript("Ann: tea")
        one, two = (Extraction(memories=(ExtractedMemory(content=item),)) for item in "xy")
        giving = Giving(one, two)
        first = agent.extract(transcript.id, extractor=giving)
        again = agent.extract(transcript.id, extractor=giving)
        assert (again.memories, again.already) == (first.memories, True)
        assert giving.found == [two]

    def test_days_that_are_not_clear_are_told_of(self, agent: Store) -> None:
        text = "03/05/2024, 10:21 - Ann: I like tea."
        transcript = agent.store_transcript(text)
        assert [item.what for item in agent.extract(transcript.id, extractor="rules").skipped] == [
            "03/05/2024"
        ]
        assert [fact.valid_from for fact in agent.facts()] == [transcript.created_at]
        transcript = agent.store_transcript(
            text, occurred_at="2024-05-03T10:21:00Z", namespace="other"
        )
        assert agent.extract(transcript.id, extractor="rules").skipped == ()


class Absent:
    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> None:
        return None


class Later:
    async def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        return Extraction()


class TestChoosing:
    def test_by_name(self, agent: Store) -> None:
        report = agent.import_chat("Ann: I like tea.", extractor="rules")
        assert report.extraction is not None
        assert report.extraction.extractor == "rules/1"

    @pytest.mark.parametrize("extractor", ["magic", 7, Absent(), Absent, Later(), "x#y"])
    def test_what_is_no_extractor_is_refused(self, agent: Store, extractor: object) -> None:
        with pytest.raises(InvalidInput, match=r"^extractor: "):
            agent.import_chat("Ann: I like tea.", extractor=extractor)  # type: ignore[arg-type]


class TestFailing:
    LONG = "\n".join(f"Ann: {number:05} {'x' * 900}" for number in range(100))

    def test_nothing_is_lost_and_it_can_be_tried_again(self, agent: Store) -> None:
        failing = Failing()
        with pytest.raises(Unavailable, match="away; the conversation is stored") as raised:
            agent.import_chat(self.LONG, extractor=failing)
        (stored_item,) = agent.list_transcripts()
        assert stored_item.id in str(raised.value)
        assert stored_item.text() == self.LONG
        done = list(agent.list_memories(content=True))
        assert [memory.content for memory in done] == ["heard 00000"]
        report = agent.extract(stored_item.id, extractor=failing)
        assert failing.asked == 4  # the part that was done is not asked for again
        assert [memory.content for memory in agent.list_memories(content=True)] == [
            "heard 00000", "heard 00035", "heard 00070",
        ]  # fmt: skip
        assert len(report.memories) == 3
        assert not report.already
        assert agent.extract(stored_item.id, extractor=failing).already

    def test_progress_is_told(self, agent: Store) -> None:
        transcript = agent.store_transcript(self.LONG)
        observations: list[tuple[int, int]] = []
        agent.extract(
            transcript.id,
            extractor="rules",
            progress=lambda done, whole: observations.append((done, whole)),
        )
        assert len(observations) == 3
        assert observations[-1] == (len(self.LONG), len(self.LONG))
        assert observations == sorted(observations)

    def test_somebody_else_is_first(self, reopen: Opener) -> None:
        one, two = (reopen().bind(agent_id="a1") for _ in range(2))
        transcript = one.store_transcript("Ann: tea")

        class Slow:
            name = "slow/1"

            def extract(
                self, messages: Sequence[Message], /, *, occurred_at: datetime
            ) -> Extraction:
                two.extract(transcript.id, extractor=Named())
                return Extraction(memories=(ExtractedMemory(content="late"),))

        class Named(Giving):
            name = "slow/1"

            def __init__(self) -> None:
                super().__init__(Extraction(memories=(ExtractedMemory(content="first"),)))

        report = one.extract(transcript.id, extractor=Slow())
        assert report.already
        assert [memory.content for memory in one.list_memories(content=True)] == ["first"]
