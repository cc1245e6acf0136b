"""Errors name the argument that the caller used, and suggest what was probably meant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, KeyRef, MemoryRef, NotFound, Store
from memoranda.model.refs import FactRef, TranscriptRef

Call = Callable[[Any, dict[str, str]], object]
GONE = "no-such-id"

NOT_FOUND: dict[str, tuple[str | None, Call]] = {
    "reflect": ("on", lambda s, n: s.reflect("x", on=[n["memory"], GONE])),
    "remember, cited": ("transcript", lambda s, n: s.remember("x", transcript=GONE)),
    "remember, quoted": (
        "transcript",
        lambda s, n: s.remember("x", transcript=GONE, spans=[(0, 1)]),
    ),
    "update": ("memory_id", lambda s, n: s.update_memory(GONE, priority=1)),
    "retract": ("memory_id", lambda s, n: s.retract_memory(GONE)),
    "touch": ("memory_id", lambda s, n: s.touch(GONE)),
    "promote": ("memory_id", lambda s, n: s.promote(GONE)),
    "link, source": (
        "source",
        lambda s, n: s.link(source=GONE, target=n["memory"], relation="related_to"),
    ),
    "link, target": (
        "target",
        lambda s, n: s.link(source=n["memory"], target=GONE, relation="related_to"),
    ),
    "unlink": (
        "target",
        lambda s, n: s.unlink(source=n["memory"], target=n["other"], relation="related_to"),
    ),
    "supersede, old": ("old", lambda s, n: s.supersede(old=GONE, new=n["memory"])),
    "supersede, new": ("new", lambda s, n: s.supersede(old=n["memory"], new=GONE)),
    "cite, memory": (
        "memory_id",
        lambda s, n: s.link_transcript(memory_id=GONE, transcript_id=n["transcript"]),
    ),
    "cite, transcript": (
        "transcript_id",
        lambda s, n: s.link_transcript(memory_id=n["memory"], transcript_id=GONE),
    ),
    "resolve": ("notice_id", lambda s, n: s.resolve_invalidation(GONE, decision="keep")),
    "because a memory": (
        "because[1]",
        lambda s, n: s.write(key="k", value={}, because=[MemoryRef(n["memory"]), MemoryRef(GONE)]),
    ),
    "because a fact": (
        "because[0]",
        lambda s, n: s.write(key="k", value={}, because=[FactRef(GONE)]),
    ),
    "because a key": (
        "because[0]",
        lambda s, n: s.write(key="k", value={}, because=[KeyRef(GONE)]),
    ),
    "because of a retracted memory": (
        "because[0]",
        lambda s, n: s.write(key="k", value={}, because=[MemoryRef(n["retracted"])]),
    ),
    "assert from a memory": (
        "source",
        lambda s, n: s.assert_fact(subject="a", relation="b", object="c", source=GONE),
    ),
    "assert from a transcript": (
        "source",
        lambda s, n: s.assert_fact(
            subject="a", relation="b", object="c", source=TranscriptRef(GONE)
        ),
    ),
    "assert from words": (
        "source",
        lambda s, n: s.assert_fact(
            subject="a", relation="b", object="c", source=TranscriptRef(GONE), spans=[(0, 1)]
        ),
    ),
    "end from a memory": (
        "source",
        lambda s, n: s.end_fact(subject="Ann", relation="lives in", source=GONE),
    ),
    "end of an unknown subject": (
        "subject",
        lambda s, n: s.end_fact(subject="Zoe", relation="lives in"),
    ),
    "retract an assertion": ("assertion_id", lambda s, n: s.retract_fact(assertion_id=GONE)),
    "retract of an unknown subject": (
        "subject",
        lambda s, n: s.retract_fact(subject="Zoe", relation="lives in"),
    ),
    "merge, source": ("source", lambda s, n: s.merge_entities(source="Zoe", into="Ann")),
    "merge, into": ("into", lambda s, n: s.merge_entities(source="Ann", into="Zoe")),
}
"""Calls of a store and of a transaction that name something that does not exist."""
READS_NOT_FOUND: dict[str, tuple[str, Call]] = {
    "why": ("ref", lambda s, n: s.why(GONE)),
    "why a memory": ("ref", lambda s, n: s.why(MemoryRef(GONE))),
    "explain": ("fact", lambda s, n: s.explain(GONE)),
    "neighbors": ("entity", lambda s, n: s.neighbors("Zoe")),
    "extract": ("transcript_id", lambda s, n: s.extract(GONE, extractor="rules")),
}
INVALID: dict[str, tuple[str, Call]] = {
    "reflect": ("on[0]", lambda s, n: s.reflect("x", on=[7])),
    "remember": ("transcript", lambda s, n: s.remember("x", transcript="")),
    "supersede, old": ("old", lambda s, n: s.supersede(old="", new=n["memory"])),
    "supersede, new": ("new", lambda s, n: s.supersede(old=n["memory"], new="")),
    "link": ("target", lambda s, n: s.link(source="x", target="", relation="related_to")),
    "resolve": (
        "replacement",
        lambda s, n: s.resolve_invalidation("x", decision="revise", replacement=""),
    ),
    "assert": (
        "source",
        lambda s, n: s.assert_fact(subject="a", relation="b", object="c", source=""),
    ),
    "alias": ("alias", lambda s, n: s.alias(entity="a", alias=" ")),
}


@pytest.fixture
def names(agent: Store) -> dict[str, str]:
    """The ids of what exists."""
    agent.assert_fact(subject="Ann", relation="lives in", object="Oslo")
    retracted = agent.remember("wrong").id
    agent.retract_memory(retracted)
    return {
        "memory": agent.remember("x").id,
        "other": agent.remember("y").id,
        "retracted": retracted,
        "transcript": agent.store_transcript("words").id,
    }


@pytest.mark.parametrize("name", NOT_FOUND)
def test_what_is_not_found_is_named_by_its_argument(
    agent: Store, names: dict[str, str], name: str
) -> None:
    field, call = NOT_FOUND[name]
    head = agent.stats().commits
    with pytest.raises(NotFound, match=f"^{field}:".replace("[", r"\[")) as refusal:
        call(agent, names)
    assert refusal.value.field == field

    def work(transaction: Any) -> None:
        transaction.write(key="first", value={})  # so that positions differ
        call(transaction, names)

    with pytest.raises(NotFound) as refusal:
        _commit(agent, work)
    assert refusal.value.field == field
    assert agent.stats().commits == head


def _commit(agent: Store, work: Callable[[Any], None]) -> None:
    with agent.begin_transaction() as transaction:
        work(transaction)


@pytest.mark.parametrize("name", READS_NOT_FOUND)
def test_a_read_names_its_argument(agent: Store, names: dict[str, str], name: str) -> None:
    field, call = READS_NOT_FOUND[name]
    with pytest.raises(NotFound, match=f"^{field}:") as refusal:
        call(agent, names)
    assert refusal.value.field == field


@pytest.mark.parametrize("name", INVALID)
def test_a_bad_value_is_named_by_its_argument(
    agent: Store, names: dict[str, str], name: str
) -> None:
    field, call = INVALID[name]
    with pytest.raises(InvalidInput) as refusal:
        call(agent, names)
    assert refusal.value.field == field
    with agent.begin_transaction() as transaction, pytest.raises(InvalidInput) as refusal:
        call(transaction, names)
    assert refusal.value.field == field


SUGGESTIONS: dict[str, tuple[str, Call]] = {
    "observation": ("kind", lambda s, n: s.remember("x", kind="observatoin")),
    "short": ("tier", lambda s, n: s.remember("x", tier="shrt")),
    "private": ("visibility", lambda s, n: s.remember("x", visibility="privat")),
    "update": ("on_conflict", lambda s, n: s.remember("x", on_conflict="updte")),
    "mid": ("tiers", lambda s, n: s.configure(tiers={"midd": "1d"})),
    "supersedes": ("relation", lambda s, n: s.link(source="a", target="b", relation="supersede")),
    "reflects_on": ("relation", lambda s, n: s.links("a", relation="reflect_on")),
    "retract": ("decision", lambda s, n: s.resolve_invalidation("x", decision="retrac")),
    "open": ("status", lambda s, n: list(s.invalidations(status="opne"))),
    "namespace": (
        "visibility",
        lambda s, n: s.assert_fact(subject="a", relation="b", object="c", visibility="namespce"),
    ),
    "single": ("cardinality", lambda s, n: s.set_cardinality(relation="a", cardinality="singel")),
    "passage": ("kinds", lambda s, n: s.recall("x", kinds=["passages"])),
    "REMEMBER": ("kinds", lambda s, n: list(s.replay(kinds=["rember"]))),
    "german": ("language", lambda s, n: s.reindex(language="germann")),
}


@pytest.mark.parametrize("meant", SUGGESTIONS)
def test_a_misspelled_choice_is_suggested(agent: Store, names: dict[str, str], meant: str) -> None:
    field, call = SUGGESTIONS[meant]
    with pytest.raises(InvalidInput, match=f"did you mean .*'{meant}'") as refusal:
        call(agent, names)
    assert refusal.value.field == field


def test_what_resembles_nothing_gets_no_suggestion(agent: Store) -> None:
    with pytest.raises(InvalidInput) as refusal:
        agent.remember("x", kind="zzz")
    assert "did you mean" not in str(refusal.value)


class TestEntities:
    def test_at_most_three_similar_names_are_suggested(self, agent: Store) -> None:
        for name in ("Anna", "Annie", "Annika", "Annemarie", "Bob"):
            agent.assert_fact(subject=name, relation="is", object="here")
        calls: list[Callable[[], object]] = [
            lambda: agent.neighbors("Ann"),
            lambda: agent.end_fact(subject="Ann", relation="is"),
            lambda: agent.retract_fact(subject="Ann", relation="is"),
            lambda: agent.merge_entities(source="Ann", into="Bob"),
        ]
        for call in calls:
            with pytest.raises(NotFound, match="did you mean 'Anna'") as refusal:
                call()
            assert str(refusal.value).count("'Ann") == 4  # the name, and three suggestions
            assert "Bob" not in str(refusal.value)

    def test_a_name_that_the_viewer_may_not_see_is_never_suggested(
        self, owner: Store, other: Store
    ) -> None:
        owner.assert_fact(subject="Annika", relation="is", object="here", visibility="private")
        owner.assert_fact(subject="Bob", relation="is", object="here")
        calls: list[Callable[[], object]] = [
            lambda: other.neighbors("Annik", agent_id="owner"),
            lambda: other.end_fact(subject="Annik", relation="is", agent_id="owner"),
            lambda: other.retract_fact(subject="Annik", relation="is", agent_id="owner"),
        ]
        for call in calls:
            with pytest.raises(NotFound) as refusal:
                call()
            assert "Annika" not in str(refusal.value)
        with pytest.raises(NotFound, match="did you mean 'Annika'"):
            owner.neighbors("Annik")

    def test_an_alias_is_suggested_too(self, agent: Store) -> None:
        agent.assert_fact(subject="Robert", relation="is", object="here")
        agent.alias(entity="Robert", alias="Bobby")
        with pytest.raises(NotFound, match="did you mean 'Bobby'"):
            agent.neighbors("Boby")


class TestEnds:
    def test_an_end_may_come_before_its_assertion(self, agent: Store) -> None:
        """The subject is known: the order in which statements arrive does not matter."""
        agent.assert_fact(subject="Ann", relation="is", object="here")
        agent.end_fact(subject="ann", relation="lives in", object="Oslo", at="2020")
        agent.assert_fact(subject="Ann", relation="lives in", object="Oslo", valid_from="2019")
        (fact,) = agent.timeline(subject="Ann", relation="lives in")
        assert (fact.valid_from.year, fact.valid_to and fact.valid_to.year) == (2019, 2020)

    def test_a_transaction_may_name_the_subject_itself(self, agent: Store) -> None:
        with agent.begin_transaction() as tx:
            tx.assert_fact(subject="Ann", relation="lives in", object="Oslo", valid_from="2019")
            tx.end_fact(subject="Ann", relation="lives in", at="2020")
        (fact,) = agent.timeline(subject="Ann", relation="lives in")
        assert fact.valid_to is not None

    def test_an_object_is_a_known_subject(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann", relation="lives in", object="Oslo")
        agent.end_fact(subject="Oslo", relation="is in")

    def test_an_unknown_subject_is_accepted_if_that_is_meant(self, agent: Store) -> None:
        """Statements that arrive in any order, such as parts of one conversation, need it."""
        agent.end_fact(
            subject="Ann", relation="lives in", object="Oslo", at="2020", allow_unknown=True
        )
        agent.assert_fact(subject="Ann", relation="lives in", object="Oslo", valid_from="2019")
        (fact,) = agent.timeline(subject="Ann", relation="lives in")
        assert fact.valid_to is not None
        secret = agent.remember("x", visibility="private")
        agent.end_fact(
            subject="Bob", relation="lives in", at="2020", source=secret.id, allow_unknown=True
        )
        public = agent.bind(agent_id="other").entities(agent_id="a1")
        assert [entity.name for entity in public] == ["Ann", "Oslo"]
        agent.verify(deep=True)

    def test_nothing_is_logged_for_an_unknown_subject(self, agent: Store) -> None:
        with pytest.raises(NotFound, match="subject: nothing is known of an entity 'Ann'"):
            agent.end_fact(subject="Ann", relation="lives in")
        assert agent.stats().commits == 0


def test_a_misspelled_argument_of_open_is_suggested() -> None:
    with pytest.raises(TypeError, match=r"open\(\) .*'reed_only': did you mean 'read_only'"):
        memoranda.open(":memory:", reed_only=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"open_async\(\) .*: did you mean 'embedder'"):
        asyncio.run(memoranda.open_async(":memory:", embeder=None))  # type: ignore[call-arg]
