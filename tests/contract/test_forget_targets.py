"""Forgetting reaches what a person may ask for: a fact, a name, a path, and what quotes words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memoranda
import memoranda_verify
from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    FactRef,
    IdempotencyMismatch,
    InvalidInput,
    KeyRef,
    Literal,
    NotFound,
    Signer,
    Store,
)
from tests.contract.opener import Opener
from tests.contract.test_forgetting import check
from tests.leftovers import leftovers


def said(store: Store) -> set[tuple[str, str, str]]:
    """What is believed, by its words."""
    return {(fact.subject, fact.relation, str(fact.object)) for fact in store.facts()}


def everything(store: Store) -> str:
    """All that anybody can be shown of the log."""
    events = store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES)
    rows = [repr(event.operations) for event in events]
    return "\n".join([*rows, *(str(row) for row in store.sql("SELECT * FROM assertions"))])


class TestFact:
    def test_one_assertion_goes_and_its_twin_stays(self, agent: Store) -> None:
        fact: dict[str, Any] = {"subject": "Ann", "relation": "likes", "object": "tea"}
        first = agent.assert_fact(**fact)
        second = agent.assert_fact(**fact, valid_from="2020-01-01T00:00:00Z")
        assert first.assertion_id is not None
        certificate = agent.forget(fact=first.assertion_id, reason="asked to")
        assert (certificate.target, certificate.operations) == ("fact", 1)
        (remainder,) = agent.facts(include_closed=True)
        assert remainder.assertions == (second.assertion_id,)
        check(agent)

    def test_with_its_end_and_its_withdrawal(self, agent: Store) -> None:
        fact: dict[str, Any] = {"subject": "Ann", "relation": "likes", "object": "tea"}
        instance = agent.assert_fact(**fact, valid_to="2999-01-01T00:00:00Z")
        agent.retract_fact(assertion_id=instance.assertion_id, reason="Ann never said so")
        assert instance.assertion_id is not None
        assert agent.forget(fact=instance.assertion_id).operations == 3
        assert "Ann" not in everything(agent)
        check(agent)

    def test_what_it_had_closed_is_open_again(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        where: dict[str, Any] = {"subject": "Ann", "relation": "lives in"}
        agent.assert_fact(**where, object="Bonn", valid_from="2020-01-01T00:00:00Z")
        moved = agent.assert_fact(**where, object="Rome", valid_from="2021-01-01T00:00:00Z")
        assert moved.assertion_id is not None
        agent.forget(fact=moved.assertion_id)
        (fact,) = agent.facts(subject="Ann")
        assert (fact.object, fact.valid_to) == ("Bonn", None)
        check(agent)

    def test_an_end_by_its_own_id(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann", relation="likes", object="tea")
        ended = agent.end_fact(subject="Ann", relation="likes", object="tea")
        assert ended.assertion_id is not None
        agent.forget(fact=ended.assertion_id)
        assert said(agent) == {("Ann", "likes", "tea")}
        check(agent)

    def test_who_rests_on_one_with_an_id_of_words_names_it_no_more(self, agent: Store) -> None:
        fact = agent.assert_fact(subject="Ann", relation="is", object="ill", once="file")
        assert fact.assertion_id is not None
        agent.write(key="k", value={}, because=[FactRef(fact.assertion_id)])
        agent.forget(fact=fact.assertion_id)
        assert fact.assertion_id not in everything(agent)
        assert agent.why("k").because[0].stale == ("forgotten",)
        check(agent)

    def test_one_that_is_not_there(self, agent: Store) -> None:
        with pytest.raises(NotFound, match="not found: fact 'x'"):
            agent.forget(fact="x")


class TestEntity:
    @pytest.fixture
    def people(self, agent: Store) -> Store:
        agent.assert_fact(subject="Ann Lee", relation="knows", object="Bob")
        agent.assert_fact(subject="Bob", relation="likes", object="ANN_LEE")
        agent.assert_fact(subject="Bob", relation="likes", object="tea")
        agent.alias(entity="Ann Lee", alias="Annie")
        agent.assert_fact(subject="annie", relation="lives in", object="Bonn")
        agent.assert_fact(subject="Nan", relation="lives in", object="Bonn")
        agent.merge_entities(source="Nan", into="Annie")
        agent.end_fact(subject="Annie", relation="lives in")
        wrong = agent.assert_fact(subject="Annie", relation="age", object=Literal(3))
        agent.retract_fact(assertion_id=wrong.assertion_id, reason="she is older")
        return agent

    @pytest.mark.parametrize("name", ["Ann Lee", "annie", "NAN"])
    def test_goes_with_all_its_names_and_every_fact(self, people: Store, name: str) -> None:
        certificate = people.forget(entity=name, reason="asked to")
        assert certificate.target == "entity"
        assert said(people) == {("Bob", "likes", "tea")}
        assert people.facts(include_closed=True, known_at=3) == people.facts(include_closed=True)
        for word in ("Ann", "annie", "Nan", "Bonn", "she is older", "lives"):
            assert word.lower() not in everything(people).lower(), word
        assert [entity.name for entity in people.entities()] == ["Bob", "tea"]
        check(people)

    def test_a_dry_run_says_what_would_go(self, people: Store) -> None:
        would = people.forget(entity="Annie", dry_run=True).preview
        assert would is not None
        assert would.by_type == {"alias": 1, "assert": 5, "end": 1, "merge": 1, "withdraw": 1}
        assert people.forget(entity="Annie").operations == would.operations

    def test_of_another_scope_stays(self, store: Store) -> None:
        one, other = store.bind(agent_id="a1"), store.bind(agent_id="a2")
        for item in (one, other, store.bind(agent_id="a1", namespace="n")):
            item.assert_fact(subject="Ann", relation="likes", object="tea")
        one.forget(entity="Ann")
        assert said(one) == set()
        assert said(other) == {("Ann", "likes", "tea")}
        assert said(store.bind(agent_id="a1", namespace="n")) == {("Ann", "likes", "tea")}
        check(store)

    def test_behind_a_compaction(self, people: Store) -> None:
        people.retract_fact(subject="Bob", relation="likes", object="tea")
        people.compact(before=people.stats().commits, confirm=True)
        people.forget(entity="Annie")
        for word in ("ann", "nan"):
            assert word not in everything(people).lower()
        check(people)

    def test_who_was_named_beside_it_in_what_is_summed_up_stays(self, agent: Store) -> None:
        fact = agent.assert_fact(subject="Ann", relation="knows", object="Bob")
        agent.retract_fact(assertion_id=fact.assertion_id)
        agent.compact(before=agent.stats().commits, confirm=True)
        assert [entity.name for entity in agent.entities()] == ["Ann", "Bob"]
        agent.forget(entity="Ann")
        assert [entity.name for entity in agent.entities()] == ["Bob"]
        check(agent)

    def test_named_again_it_is_a_new_one(self, people: Store) -> None:
        people.forget(entity="Annie")
        people.assert_fact(subject="Annie", relation="likes", object="milk")
        assert said(people) == {("Bob", "likes", "tea"), ("Annie", "likes", "milk")}
        entity = people.entity("Annie")
        assert entity is not None
        assert entity.aliases == ()
        check(people)

    def test_one_that_is_not_there(self, agent: Store) -> None:
        with pytest.raises(
            NotFound, match="not found: entity 'Ann' of agent 'a1' in namespace 'default'"
        ):
            agent.forget(entity="Ann")

    def test_a_relation_is_none(self, people: Store) -> None:
        with pytest.raises(NotFound):
            people.forget(entity="likes")


class TestChildren:
    SPACES = ("team", "team/eng", "team/eng/deep", "team/_x", "teams", "team2/team")

    def test_the_whole_path_goes_and_nothing_beside_it(self, store: Store) -> None:
        for namespace in self.SPACES:
            bound = store.bind(agent_id="a1", namespace=namespace)
            if not namespace.endswith("_x"):
                bound.write(key="k", value={"in": namespace})
                bound.remember(f"of {namespace}", title=namespace)
                bound.configure(max_reflection_depth=5)
        certificate = store.forget(whole_namespace="team", children=True)
        assert certificate.target == "namespace"
        namespaces = {memory.namespace for memory in store.list_memories(namespace=ALL_NAMESPACES)}
        assert namespaces == {"teams", "team2/team"}
        output = everything(store)
        for word in ("team/eng", "deep", "'team'"):
            assert word not in output, word
        check(store)
        again = store.bind(agent_id="a1", namespace="team/eng")
        assert again.write(key="k", value={}).commit_ts
        assert [version.version for version in again.history(key="k")] == [1]
        check(store)

    def test_notices_below_it(self, store: Store) -> None:
        bound = store.bind(agent_id="a1", namespace="team/eng")
        old = bound.remember("old", kind="reflection")
        bound.reflect("on old", on=[old.id])
        new = bound.remember("new", kind="reflection")
        bound.supersede(old=old.id, new=new.id)
        store.forget(whole_namespace="team", children=True)
        assert "team" not in everything(store)
        check(store)

    def test_without_it_those_below_stay(self, store: Store) -> None:
        for namespace in ("team", "team/eng"):
            store.write(agent_id="a1", key="k", value={}, namespace=namespace)
        store.forget(whole_namespace="team")
        assert store.get_state(agent_id="a1", key="k", namespace="team/eng") is not None

    def test_only_those_below(self, store: Store) -> None:
        store.write(agent_id="a1", key="k", value={}, namespace="team/eng")
        store.forget(whole_namespace="team", children=True)
        assert store.get_state(agent_id="a1", key="k", namespace="team/eng") is None
        check(store)

    def test_goes_with_a_namespace_only(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="children: goes with whole_namespace only"):
            agent.forget(key="k", children=True)


class TestDerived:
    def test_memories_that_cite_it_go_with_their_facts(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        words = ann.store_transcript("I cannot fly, for my heart")
        quoting = ann.remember("she cannot fly", transcript=words.id, spans=[(0, 12)])
        hidden = bob.remember("her heart", visibility="private", transcript=words.id)
        later = bob.remember("noted")
        bob.link_transcript(memory_id=later.id, transcript_id=words.id)
        apart = bob.remember("the weather is fine")
        ann.assert_fact(subject="Ann", relation="has", object="a heart", source=quoting.id)
        ann.assert_fact(subject="Ann", relation="said", object="so", source=words.id)
        bob.reflect("no flights", on=[quoting.id])
        store.forget(transcript_id=words.id, derived=True)
        contents = {memory.content for memory in bob.list_memories(content=True)}
        assert contents == {apart.content, "no flights"}
        assert bob.get_memory(hidden.id) is None
        assert said(ann) == set()
        check(store)

    def test_without_it_they_stay(self, agent: Store) -> None:
        words = agent.store_transcript("I cannot fly")
        memory = agent.remember("she cannot fly", transcript=words.id)
        agent.forget(transcript_id=words.id)
        assert agent.get_memory(memory.id) is not None

    def test_goes_with_a_transcript_only(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="derived: goes with transcript_id only"):
            agent.forget(key="k", derived=True)


class TestMentions:
    def test_where_the_name_of_an_agent_would_stay(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        ann.write(key="own", value={"me": "ann"})
        bob.write(key="team", value={"with": ["Ann", "Bo"]})
        bob.write(key="other", value={"with": "Annabel"})
        bob.write(key="rests", value={}, because=[KeyRef("own", agent_id="ann")])
        noted = bob.remember("long words, " * 1000 + "and ann", title="a note")
        hidden = bob.remember("about ANN", visibility="private")
        words = bob.store_transcript("ann: hello")
        bob.assert_fact(subject="Ann", relation="knows", object="Bob")
        would = store.forget(whole_agent="ann", dry_run=True).preview
        assert would is not None
        assert would.mentions == (
            *("fact:ann|knows|bob", "key:default|bob|team", f"memory:{noted.id}"),
            f"transcript:{words.id}",
        )
        assert would.hidden_mentions == 1
        observations = bob.forget(whole_agent="ann", dry_run=True).preview
        assert observations is not None
        assert f"memory:{hidden.id}" in observations.mentions
        assert observations.hidden_mentions == 0

    def test_of_an_entity_by_any_of_its_names(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann Lee", relation="knows", object="Bob")
        agent.alias(entity="Ann Lee", alias="Annie")
        agent.write(key="k", value={"who": "annie"})
        agent.write(key="ann lee", value={})
        would = agent.forget(entity="Ann Lee", dry_run=True).preview
        assert would is not None
        assert would.mentions == ("key:default|a1|ann lee", "key:default|a1|k")

    def test_of_a_namespace(self, store: Store) -> None:
        store.write(agent_id="a1", key="k", value={}, namespace="clients/ann")
        store.write(agent_id="a1", key="k", value={"see": "clients/ann"})
        would = store.forget(whole_namespace="clients/ann", dry_run=True).preview
        assert would is not None
        assert would.mentions == ("key:default|a1|k",)

    def test_a_memory_has_no_name(self, agent: Store) -> None:
        memory = agent.remember("said")
        agent.remember("said")
        would = agent.forget(memory_id=memory.id, dry_run=True).preview
        assert would is not None
        assert would.mentions == ()


class TestCursors:
    def test_go_with_their_agent(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        for item in (ann, bob):
            item.write(key="k", value={})
        for item, cursor in ((ann, "of-ann"), (bob, "ann-and-bob"), (store, "of nobody")):
            feed = item.subscribe(agent_id=ALL_AGENTS, cursor=cursor, after_commit=0, timeout=0)
            for event in feed:
                feed.ack(event)
        store.subscribe(agent_id="ann", cursor="named", after_commit=0, timeout=0).close()
        would = store.forget(whole_agent="ann", dry_run=True).preview
        assert would is not None
        assert set(would.cursors) <= {"of-ann", "named"}
        assert "of-ann" in would.cursors
        assert would.mentions == ("cursor:ann-and-bob",)
        store.forget(whole_agent="ann")
        assert [name for name, _ in store.cursors()] == ["ann-and-bob", "of nobody"]
        feed = bob.subscribe(agent_id="bob", cursor="ann-and-bob", timeout=0)
        assert list(feed) == []
        check(store)

    def test_keep_their_place_when_they_are_moved(self, agent: Store) -> None:
        agent.write(key="k", value={})
        for _ in range(2):
            agent.write(key="k", value={})
            feed = agent.subscribe(cursor="c", after_commit=0, timeout=0)
            for event in feed:
                feed.ack(event)
        assert agent.cursors() == [("c", 3)]
        agent.verify()

    def test_a_name_leaves_the_files_when_asked_to(self, reopen: Opener, tmp_path: Path) -> None:
        store = reopen()
        store.write(agent_id="a1", key="k", value={})
        feed = store.subscribe(agent_id="a1", cursor="Ann Lee's phone", after_commit=0, timeout=0)
        for event in feed:
            feed.ack(event)
        assert leftovers(tmp_path / "store.db", [b"Ann Lee's phone"])
        store.drop_cursor(cursor="Ann Lee's phone", purge=True)
        assert not store.stats().pending_purge
        assert leftovers(tmp_path / "store.db", [b"Ann Lee's phone"]) == set()


class TestEnvelopes:
    def told(self, store: Store) -> list[tuple[str, str]]:
        events = store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES)
        return [(event.txn_id, event.actor) for event in events]

    def test_goes_when_nothing_else_is_left(self, agent: Store) -> None:
        agent.write(key="k", value={}, txn_id="for Dorothea")
        agent.forget(key="k")
        assert self.told(agent) == [("", "")]
        assert [
            audit_event.agent_id for audit_event in agent.audit_events(event_type="content.erased")
        ] == ["a1"]
        check(agent)

    @pytest.mark.parametrize("kind", ["memory", "transcript", "fact"])
    def test_goes_with_what_leaves_only_its_id(self, agent: Store, kind: str) -> None:
        if kind == "memory":
            agent.forget(memory_id=agent.remember("said", txn_id="for Dorothea").id)
        elif kind == "transcript":
            agent.forget(transcript_id=agent.store_transcript("said", txn_id="for Dorothea").id)
        else:
            fact: dict[str, str] = {"subject": "s", "relation": "r", "object": "o"}
            instance = agent.assert_fact(**fact, txn_id="for Dorothea")  # type: ignore[arg-type]
            agent.forget(fact=instance.assertion_id)
        assert self.told(agent) == [("", "")]
        check(agent)

    def test_stays_while_something_is_left(self, agent: Store) -> None:
        with agent.begin_transaction(txn_id="both") as transaction:
            transaction.write(key="k", value={})
            transaction.write(key="other", value={})
        agent.forget(key="k")
        assert self.told(agent) == [("both", "a1")]
        agent.forget(key="other")
        assert self.told(agent)[0] == ("", "")
        check(agent)

    def test_stays_where_somebody_signed_it(self, store: Store) -> None:
        signed = store.bind(agent_id="a1", signer=Signer("a.key", b"a" * 32))
        signed.write(key="first", value={})
        signed.write(key="k", value={}, txn_id="signed")
        signed.forget(key="k")
        assert ("signed", "a1") in self.told(store)
        check(store)

    def test_stays_behind_a_compaction(self, agent: Store) -> None:
        first = agent.write(key="k", value={"n": 1}, txn_id="t").commit_ts
        agent.write(key="k", value={"n": 2})
        agent.compact(before=agent.stats().commits, confirm=True)
        assert agent.write(key="k", value={"n": 1}, txn_id="t").commit_ts == first
        check(agent)

    def test_a_retry_is_known_and_its_txn_id_stays_taken(self, agent: Store) -> None:
        first = agent.write(key="k", value={}, txn_id="t").commit_ts
        agent.forget(key="k")
        assert agent.write(key="k", value={}, txn_id="t").commit_ts == first
        with pytest.raises(IdempotencyMismatch):
            agent.remember("said", txn_id="t")
        assert agent.bind(agent_id="a2").write(key="k", value={}, txn_id="t").commit_ts != first
        agent.rebuild()
        assert agent.write(key="k", value={}, txn_id="t").commit_ts == first

    def test_a_forgotten_agent_takes_its_tokens_along(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        first = agent.write(key="k", value={}, txn_id="t").commit_ts
        agent.write(key="other", value={})
        agent.forget(key="k")
        store.forget(whole_agent="a1")
        assert agent.write(key="k", value={}, txn_id="t").commit_ts != first
        check(store)

    def test_an_export_of_it_can_be_verified_and_imported(
        self, reopen: Opener, tmp_path: Path
    ) -> None:
        store = reopen().bind(agent_id="a1")
        first = store.write(key="k", value={}, txn_id="for Dorothea").commit_ts
        store.forget(key="k")
        lines = tmp_path / "log.jsonl"
        store.export_log(lines)
        assert b"Dorothea" not in lines.read_bytes()
        assert memoranda_verify.main(["log", str(lines)]) == 0
        memoranda.import_log(lines, tmp_path / "copy.db")
        with memoranda.open(tmp_path / "copy.db") as copy:
            assert (
                copy.bind(agent_id="a1").write(key="k", value={}, txn_id="for Dorothea").commit_ts
                == first
            )
            check(copy)

    def test_no_word_of_it_is_left_in_the_files(self, reopen: Opener, tmp_path: Path) -> None:
        store = reopen()
        bound = store.bind(agent_id="Dorothea's phone")
        bound.write(agent_id="a1", key="k", value={}, txn_id="for Dorothea")
        store.bind(agent_id="a1").forget(key="k")
        assert leftovers(tmp_path / "store.db", [b"Dorothea"]) == set()
        check(store)


NAMES = {
    "fact": {"unwellword"},
    "entity": {"unwellword", "Dorothea"},
    "children": {"unwellword", "Dorothea", "clients", "confidential"},
    "derived": {"Zebra", "Quagga"},
}


@pytest.mark.parametrize("target", NAMES)
def test_no_word_is_left_in_the_files(reopen: Opener, tmp_path: Path, target: str) -> None:
    store = reopen()
    bound = store.bind(agent_id="a1", namespace="clients/confidential")
    fact = bound.assert_fact(subject="Dorothea", relation="is", object="unwellword")
    words = store.bind(agent_id="a1").store_transcript("Zebra, she said. " * 100)
    store.bind(agent_id="a1").remember("she said Quagga", transcript=words.id)
    going: dict[str, dict[str, Any]] = {
        "fact": {"fact": fact.assertion_id},
        "entity": {"entity": "dorothea"},
        "children": {"whole_namespace": "clients", "children": True},
        "derived": {"transcript_id": words.id, "derived": True},
    }
    victim = [word.encode() for word in NAMES[target]]
    assert leftovers(tmp_path / "store.db", victim) == set(victim)
    assert not bound.forget(**going[target]).pending_purge
    assert leftovers(tmp_path / "store.db", victim) == set()
    check(store)
