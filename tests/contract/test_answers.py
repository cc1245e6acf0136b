"""Answers: every write returns its commit and what it did, and is a moment to read at."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, cast, get_args

import pytest

from memoranda import (
    ExtractedMemory,
    Extraction,
    InvalidInput,
    KeyRef,
    Message,
    Receipt,
    Store,
    TranscriptRef,
    Unavailable,
)
from memoranda.audit.keys import PublicKey
from memoranda.calls.as_json import time_text, to_json
from memoranda.model.receipt import Outcome
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.cores import core_of

HERE = ("a1", "default")


@pytest.fixture
def agent(open_store: Opener) -> Store:
    return open_store(embedder=None).bind(agent_id="a1")


def check(agent: Store, answer: Any, outcome: str) -> None:
    """Check the fields that all answers have, for the write that was just made."""
    assert answer.outcome == outcome
    (head,) = agent.sql("SELECT commit_ts, committed_at FROM events ORDER BY 1 DESC LIMIT 1")
    assert answer.commit_ts == head["commit_ts"]
    assert time_text(answer.committed_at) == head["committed_at"]


class TestKeys:
    def test_a_key_is_created_updated_and_deleted(self, agent: Store) -> None:
        steps: list[tuple[Callable[[], Receipt], str]] = [
            (lambda: agent.delete(key="k"), "unchanged"),  # a version, but nothing to delete
            (lambda: agent.write(key="k", value={"n": 1}), "created"),
            (lambda: agent.write(key="k", value={"n": 1}), "updated"),
            (lambda: agent.delete(key="k"), "deleted"),
            (lambda: agent.delete(key="k"), "unchanged"),
            (lambda: agent.write(key="k", value={"n": 2}), "created"),
        ]
        for version, (step, outcome) in enumerate(steps, start=1):
            receipt = step()
            assert isinstance(receipt, Receipt)
            check(agent, receipt, outcome)
            assert receipt.version == version
            assert receipt.ref == KeyRef("k", version, *HERE)

    def test_it_is_known_when_others_wrote_the_key_too(self, reopen: Opener) -> None:
        one, other = (reopen(embedder=None).bind(agent_id="a1") for _ in range(2))
        assert one.write(key="k", value={}).outcome == "created"
        assert other.write(key="k", value={}).outcome == "updated"
        assert one.delete(key="k").outcome == "deleted"
        assert other.write(key="k", value={}).outcome == "created"

    def test_a_retry_answers_the_same(self, agent: Store) -> None:
        def write() -> Receipt:
            return agent.write(key="k", value={}, txn_id="once")

        first = write()
        agent.delete(key="k")
        assert write() == first
        removed = agent.write(key="k", value={"n": 2}, txn_id="again")
        assert removed.outcome == "created"
        assert agent.write(key="k", value={"n": 2}, txn_id="again") == removed

    def test_a_retry_of_what_was_forgotten(self, agent: Store) -> None:
        first = agent.write(key="k", value={}, txn_id="once")
        agent.forget(key="k")
        again = agent.write(key="k", value={}, txn_id="once")
        assert (again.commit_ts, again.committed_at) == (first.commit_ts, first.committed_at)
        assert (again.outcome, again.version, again.ref) == ("deleted", None, None)

    def test_a_retry_after_a_compaction(self, agent: Store) -> None:
        agent.write(key="k", value={"n": 1})
        agent.write(key="k", value={"n": 2})
        last = agent.write(key="k", value={"n": 3}, txn_id="once")
        agent.compact(before=last)
        assert agent.write(key="k", value={"n": 3}, txn_id="once") == last

    def test_it_can_be_cited(self, agent: Store) -> None:
        goal = agent.write(key="goal", value={})
        agent.write(key="plan", value={}, because=[goal])
        (version,) = agent.history(key="plan")
        assert version.because == (KeyRef("goal", 1, *HERE),)
        assert agent.why(goal).ref == goal.ref
        settings = agent.configure(max_reflection_depth=1)
        with pytest.raises(InvalidInput, match=r"because\[0\]: .* is not a reference"):
            agent.write(key="plan", value={}, because=[settings])

    def test_words_as_grounds_are_answered_alike(self, agent: Store) -> None:
        talk = agent.store_transcript("I never fly")
        receipt = agent.write(key="plan", value={}, because=talk)
        check(agent, receipt, "created")
        assert receipt.ref == KeyRef("plan", 1, *HERE)


class TestOtherWrites:
    def test_settings_and_names(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann", relation="visits", object="Oslo")
        agent.assert_fact(subject="Anna", relation="visits", object="Oslo")
        calls: list[Callable[[], Receipt]] = [
            lambda: agent.set_cardinality(relation="visits", cardinality="single"),
            lambda: agent.alias(entity="Ann", alias="Annie"),
            lambda: agent.merge_entities(source="Anna", into="Ann"),
            lambda: agent.configure(facts="shared"),
        ]
        for call in calls:
            check(agent, call(), "updated")
            check(agent, call(), "unchanged")
        check(agent, agent.configure(max_reflection_depth=2), "updated")

    def test_a_retry_and_a_named_write_without_effect(self, agent: Store) -> None:
        def classify(txn_id: str) -> Receipt:
            return agent.set_cardinality(relation="visits", cardinality="single", txn_id=txn_id)

        first = classify("one")
        agent.write(key="k", value={})
        assert classify("one") == first
        check(agent, classify("two"), "unchanged")  # it is remembered by an event of its own

    def test_memories(self, agent: Store) -> None:
        memory = agent.remember("Ann likes ferries", title="ann")
        check(agent, memory, "created")
        check(agent, agent.remember("Ann likes ferries", title="ann"), "unchanged")
        check(agent, agent.remember("Ann likes boats", title="ann"), "updated")
        check(agent, agent.update_memory(memory, priority=7), "updated")
        check(agent, agent.touch(memory), "updated")
        check(agent, agent.promote(memory), "unchanged")
        check(agent, agent.reflect("drawn", on=memory), "created")
        check(agent, agent.retract_memory(memory), "deleted")
        check(agent, agent.retract_memory(memory), "unchanged")

    def test_links_and_transcripts(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("new")
        ends: dict[str, Any] = {"source": old, "target": new, "relation": "related_to"}
        check(agent, agent.link(**ends), "created")
        check(agent, agent.link(**ends), "unchanged")
        check(agent, agent.unlink(**ends), "deleted")
        check(agent, agent.supersede(old=old, new=new), "created")
        talk = agent.store_transcript("I never fly")
        check(agent, talk, "created")
        check(agent, agent.link_transcript(memory_id=new, transcript_id=talk), "created")
        check(agent, agent.link_transcript(memory_id=new, transcript_id=talk), "unchanged")
        spans: dict[str, Any] = {"memory_id": new, "transcript_id": talk, "spans": [(0, 1)]}
        check(agent, agent.link_transcript(**spans), "updated")

    def test_notices(self, agent: Store) -> None:
        ground = agent.remember("ground")
        old, new = agent.reflect("old", on=ground), agent.reflect("new", on=ground)
        agent.reflect("dependent", on=old)
        agent.supersede(old=old, new=new)
        (notice,) = agent.invalidations()
        resolved = agent.resolve_invalidation(notice, decision="keep", note="still so")
        check(agent, resolved, "updated")
        assert (resolved.id, resolved.status, resolved.note) == (notice.id, "resolved", "still so")
        assert resolved.resolved_at == resolved.committed_at
        check(
            agent, agent.resolve_invalidation(notice, decision="keep", note="still so"), "unchanged"
        )

    def test_facts(self, agent: Store) -> None:
        fact: dict[str, Any] = {"subject": "Ann", "relation": "visits", "object": "Oslo"}
        edge = agent.assert_fact(**fact, once="import")
        check(agent, edge, "created")
        assert edge.id == edge.assertion_id is not None
        check(agent, agent.assert_fact(**fact, once="import"), "unchanged")
        check(agent, agent.end_fact(subject="Ann", relation="visits"), "updated")
        check(agent, agent.retract_fact(assertion_id=edge), "deleted")
        rows = [{"subject": f"S{number}", "relation": "is", "object": "o"} for number in range(5)]
        check(agent, agent.assert_facts(rows, batch=2, once="rows"), "created")
        again = agent.assert_facts(rows, batch=2, once="rows")
        assert (again.outcome, again.unchanged, again.commit_ts) == ("unchanged", 5, None)
        assert agent.assert_facts([]).commit_ts is None

    def test_erasures(self, agent: Store) -> None:
        memory = agent.remember("gone")
        preview = agent.forget(memory_id=memory, dry_run=True)
        assert (preview.outcome, preview.commit_ts) == ("unchanged", None)
        certificate = agent.forget(memory_id=memory)
        check(agent, certificate, "deleted")
        assert agent.certificate(certificate.id).id == certificate.erasure_id

    def test_keys_of_signers(self, agent: Store) -> None:
        old, new = (PublicKey("name", bytes([number] * 32)) for number in (1, 2))
        check(agent, agent.trust_key(old), "created")
        check(agent, agent.trust_key(old), "unchanged")
        check(agent, agent.rotate_key(old=old, new=new), "updated")
        check(agent, agent.retire_key(new), "deleted")
        check(agent, agent.retire_key(new), "unchanged")

    def test_a_read_has_no_outcome(self, agent: Store) -> None:
        memory, other = agent.remember("one"), agent.remember("two")
        talk = agent.store_transcript("words")
        agent.link(source=memory, target=other, relation="related_to")
        agent.link_transcript(memory_id=memory, transcript_id=talk)
        for record in (
            agent.get_memory(memory),
            *agent.links(memory),
            *agent.transcripts_for(memory),
            *agent.list_memories(),
        ):
            assert record is not None
            assert (record.outcome, record.commit_ts, record.committed_at) == (None, None, None)
        read = agent.get_transcript(talk)
        assert read is not None
        assert (read.outcome, read.commit_ts) == (None, talk.commit_ts)


CHAT = "Ann: I like tea."
LONG_CHAT = "\n".join(f"Ann: {number:05} {'x' * 900}" for number in range(70))
"""A conversation of two parts."""


class Listener:
    """An extractor that makes a memory of each part; it fails at the part with that number."""

    name = "listener/1"

    def __init__(self, fails_at: int | None = None, silent_from: int | None = None) -> None:
        self.parts = 0
        self._fails_at = fails_at
        self._silent_from = silent_from

    def extract(self, messages: Sequence[Message], /, *, occurred_at: datetime) -> Extraction:
        self.parts += 1
        if self.parts == self._fails_at:
            raise Unavailable("away")
        if self._silent_from is not None and self.parts >= self._silent_from:
            return Extraction()
        span = messages[0].span
        return Extraction(memories=(ExtractedMemory(content=f"part {span}", spans=(span,)),))


class TestConversations:
    def test_an_import(self, agent: Store) -> None:
        chat = agent.import_chat(CHAT)
        check(agent, chat, "created")
        assert chat.id == chat.transcript_id
        agent.write(key="k", value={})
        again = agent.import_chat(CHAT)
        assert (again.already, again.outcome, again.id) == (True, "unchanged", chat.id)
        assert (again.commit_ts, again.committed_at) == (chat.commit_ts, chat.committed_at)

    def test_an_extraction(self, agent: Store) -> None:
        chat = agent.import_chat(CHAT)
        report = agent.extract(chat, extractor="rules")
        check(agent, report, "created")
        assert report.id == report.transcript_id == chat.id
        agent.write(key="k", value={})
        again = agent.extract(report, extractor="rules")
        assert (again.already, again.outcome, again.id) == (True, "unchanged", chat.id)
        assert (again.commit_ts, again.committed_at) == (report.commit_ts, report.committed_at)

    def test_an_import_with_an_extraction(self, agent: Store) -> None:
        first = agent.import_chat(CHAT)
        chat = agent.import_chat(CHAT, extractor="rules")  # stored before, extracted now
        check(agent, chat, "created")
        assert chat.extraction is not None
        assert chat.commit_ts == chat.extraction.commit_ts == first.commit_ts + 1
        agent.write(key="k", value={})
        again = agent.import_chat(CHAT, extractor="rules")
        assert again.outcome == "unchanged"
        assert (again.commit_ts, again.committed_at) == (chat.commit_ts, chat.committed_at)
        check(agent, agent.import_chat("Bob: I like ale.", extractor="rules"), "created")

    def test_the_last_of_several_parts(self, agent: Store) -> None:
        listener = Listener()
        chat = agent.import_chat(LONG_CHAT, extractor=listener)
        assert listener.parts == 2
        check(agent, chat, "created")
        memories = list(agent.list_memories(at=chat))
        assert chat.extraction is not None
        assert {memory.id for memory in memories} == {*chat.extraction.memories}
        assert chat.commit_ts == 3

    def test_parts_that_were_missing(self, agent: Store) -> None:
        transcript = agent.store_transcript(LONG_CHAT)
        with pytest.raises(Unavailable):
            agent.extract(transcript, extractor=Listener(fails_at=2))
        report = agent.extract(transcript, extractor=Listener())
        check(agent, report, "created")
        assert len(report.memories) == 2

    def test_a_part_without_a_result_has_no_commit(self, agent: Store) -> None:
        transcript = agent.store_transcript(LONG_CHAT)
        report = agent.extract(transcript, extractor=Listener(silent_from=2))
        check(agent, report, "created")
        agent.write(key="k", value={})
        again = agent.extract(transcript, extractor=Listener(silent_from=1))
        assert again.outcome == "unchanged"
        assert (again.commit_ts, again.committed_at) == (report.commit_ts, report.committed_at)

    @pytest.mark.parametrize("text", [" \n", "Ann: hm"])
    def test_nothing_to_extract(self, agent: Store, text: str) -> None:
        transcript = agent.store_transcript(text)
        agent.write(key="k", value={})
        for _ in range(2):
            check(agent, agent.extract(transcript, extractor="rules"), "unchanged")
        agent.import_chat("Ann: hm")
        agent.write(key="k", value={})
        check(agent, agent.import_chat("Ann: hm", extractor="rules"), "unchanged")

    def test_another_handle_was_first(self, reopen: Opener) -> None:
        one, other = (reopen(embedder=None).bind(agent_id="a1") for _ in range(2))
        transcript_id = one.import_chat(CHAT).id

        class Late(Listener):
            def extract(
                self, messages: Sequence[Message], /, *, occurred_at: datetime
            ) -> Extraction:
                other.extract(transcript_id, extractor=Listener())
                other.write(key="k", value={})
                return Extraction(memories=(ExtractedMemory(content="another"),))

        report = one.extract(transcript_id, extractor=Late())
        assert (report.already, report.outcome, report.commit_ts) == (True, "unchanged", 2)
        (memory,) = one.list_memories()
        assert report.committed_at == memory.created_at

    def test_it_can_be_cited(self, agent: Store) -> None:
        chat = agent.import_chat(CHAT, extractor="rules")
        agent.write(key="plan", value={}, because=[chat])
        (version,) = agent.history(key="plan")
        assert version.because == (TranscriptRef(chat.id),) == (chat.ref,)
        assert chat.extraction is not None
        assert chat.extraction.ref == chat.ref


class TestCompactions:
    def test_what_was_erased(self, agent: Store) -> None:
        horizon = [agent.write(key="k", value={"n": number}) for number in range(3)][-1]
        preview = agent.compact(before=horizon)
        assert (preview.erased, preview.outcome) == (2, "unchanged")
        assert (preview.commit_ts, preview.committed_at) == (None, None)
        compaction = agent.compact(before=horizon, confirm=True)
        check(agent, compaction, "deleted")
        assert agent.get_state(key="k", at=compaction) == agent.get_state(key="k")
        again = agent.compact(before=horizon, confirm=True)
        assert (again.outcome, again.commit_ts, again.committed_at) == ("unchanged", None, None)


READS = {
    "agents", "audit_events", "cardinalities", "certificate", "checkpoints", "current_edges",
    "cursors", "dependents", "diff", "entities", "entity", "erasures", "explain", "explain_recall",
    "facts", "find_id", "find_ids", "get_memory", "get_state", "get_transcript", "history",
    "invalidations", "iter_facts", "iter_shared_facts", "links", "list_keys", "list_memories",
    "list_transcripts", "memories_for", "memory_history", "namespaces", "neighbors", "origins",
    "path", "prove", "prove_erasure", "prove_growth", "recall", "recall_context", "replay",
    "replay_transcripts", "scan_prefix", "short_ids", "sql", "sql_views", "stale_keys", "stats",
    "subgraph", "suggest_merges", "timeline", "timeline_buckets", "transcripts_for", "trusted_keys",
    "verify", "why",
}  # fmt: skip
WITHOUT_COMMIT = {
    "backup", "begin_transaction", "bind", "checkpoint", "close", "drop_cursor", "export_log",
    "fork", "purge", "rebuild", "reindex", "subscribe", "transact",
}  # fmt: skip
"""Calls that make no commit of their own."""
WITHOUT_ID = {
    "alias", "assert_facts", "compact", "configure", "delete", "link", "link_transcript",
    "merge_entities", "retire_key", "retract_fact", "rotate_key", "set_cardinality",
    "supersede", "trust_key", "unlink", "write",
}  # fmt: skip
"""Writes of something that has another identity, such as the ends of a link, or several."""


def writes(agent: Store, clock: FixedClock) -> dict[str, Callable[[], Any]]:
    """Return a call of each write, in an order in which each has an effect."""
    old, new = agent.remember("old", title="old"), agent.remember("new", title="new")
    ground = agent.reflect("ground", on=old)
    agent.reflect("dependent", on=ground)
    ends: dict[str, Any] = {"source": old, "target": new, "relation": "related_to"}
    fact: dict[str, Any] = {"subject": "Ann", "relation": "visits", "object": "Oslo"}
    keys = [PublicKey("name", bytes([number] * 32)) for number in (1, 2)]

    def sweep() -> Any:
        agent.remember("short", ttl=1)
        clock.step(10)
        return agent.sweep(expired_for=1)

    return {
        "write": lambda: agent.write(key="k", value={}),
        "delete": lambda: agent.delete(key="k"),
        "remember": lambda: agent.remember("one"),
        "reflect": lambda: agent.reflect("drawn", on=new),
        "update_memory": lambda: agent.update_memory(new, priority=7),
        "touch": lambda: agent.touch(new),
        "promote": lambda: agent.promote(agent.remember("brief", tier="short")),
        "link": lambda: agent.link(**ends),
        "unlink": lambda: agent.unlink(**ends),
        "supersede": lambda: agent.supersede(old=ground, new=agent.reflect("newer", on=new)),
        "resolve_invalidation": lambda: agent.resolve_invalidation(
            next(agent.invalidations()), decision="keep"
        ),
        "retract_memory": lambda: agent.retract_memory(old),
        "configure": lambda: agent.configure(max_reflection_depth=2),
        "store_transcript": lambda: agent.store_transcript(CHAT),
        "link_transcript": lambda: agent.link_transcript(
            memory_id=new, transcript_id=next(agent.list_transcripts())
        ),
        "extract": lambda: agent.extract(next(agent.list_transcripts()), extractor="rules"),
        "import_chat": lambda: agent.import_chat("Bob: I like ale."),
        "assert_fact": lambda: agent.assert_fact(**fact),
        "end_fact": lambda: agent.end_fact(subject="Ann", relation="visits"),
        "retract_fact": lambda: agent.retract_fact(**fact),
        "assert_facts": lambda: agent.assert_facts([fact | {"subject": "Anna"}]),
        "set_cardinality": lambda: agent.set_cardinality(relation="is", cardinality="single"),
        "alias": lambda: agent.alias(entity="Ann", alias="Annie"),
        "merge_entities": lambda: agent.merge_entities(source="Anna", into="Ann"),
        "trust_key": lambda: agent.trust_key(keys[0]),
        "rotate_key": lambda: agent.rotate_key(old=keys[0], new=keys[1]),
        "retire_key": lambda: agent.retire_key(keys[1]),
        "forget": lambda: agent.forget(memory_id=new),
        "sweep": sweep,
        "compact": lambda: agent.compact(before=agent.stats().commits, confirm=True),
    }


class TestEveryWrite:
    def test_no_call_is_left_out(self, agent: Store, clock: FixedClock) -> None:
        names = {name for name, _ in inspect.getmembers(Store, callable) if name[0] != "_"}
        assert names == READS | WITHOUT_COMMIT | writes(agent, clock).keys()

    def test_it_answers_with_its_commit(self, agent: Store, clock: FixedClock) -> None:
        for name, call in writes(agent, clock).items():
            answer = call()
            assert answer.outcome in {*get_args(Outcome)} - {"unchanged"}, name
            check(agent, answer, answer.outcome)
            assert isinstance(answer.committed_at, datetime), name
            has_id = isinstance(getattr(answer, "id", None), str)
            assert has_id is (name not in WITHOUT_ID), name

    def test_its_json_has_them_too(self, agent: Store, clock: FixedClock) -> None:
        for name, call in writes(agent, clock).items():
            answer = call()
            if hasattr(answer, "_target"):  # only the command line writes transcripts as JSON
                continue
            members = to_json(answer)
            assert members["outcome"] == answer.outcome, name
            assert members["commit_ts"] == answer.commit_ts, name
            assert members["committed_at"] == time_text(answer.committed_at), name

    def test_the_json_of_a_read_has_no_outcome(self, agent: Store) -> None:
        memory, transcript = agent.remember("one"), agent.store_transcript(CHAT)
        assert "outcome" not in to_json(agent.get_memory(memory))
        record = agent.get_transcript(transcript)
        if not hasattr(record, "_target"):
            assert "outcome" not in to_json(record)


class TestMoments:
    def test_an_answer_is_a_moment(self, agent: Store, clock: FixedClock) -> None:
        agent.write(key="k", value={"n": 1})
        memory = agent.remember("one", title="t")
        edge = agent.assert_fact(subject="Ann", relation="is", object="here")
        receipt = agent.write(key="k", value={"n": 2})
        clock.step(10)
        agent.write(key="k", value={"n": 3})
        agent.remember("two", title="t")
        for at, number in ((receipt, 2), (memory, 1), (edge, 1), (receipt.commit_ts, 2)):
            record = agent.get_state(key="k", at=at)
            assert record is not None
            assert record.value == {"n": number}
        latest = agent.get_state(key="k")
        assert agent.get_state(key="k", at=latest) == latest
        then = agent.get_memory(memory, at=receipt)
        assert then is not None
        assert then.content == "one"
        assert [fact.object for fact in agent.facts(known_at=receipt)] == ["here"]
        assert agent.facts(known_at=memory) == []
        (change,) = agent.diff(old=receipt)
        assert change.before is not None
        assert change.before.value == {"n": 2}
        assert len(list(agent.history(key="k", since=receipt))) == 2
        assert list(agent.list_keys(at=receipt)) == ["k"]
        events = list(agent.replay(after_commit=receipt))
        assert [event.commit_ts for event in events] == [
            receipt.commit_ts + 1,
            receipt.commit_ts + 2,
        ]
        assert len(list(agent.replay(through_commit=receipt))) == receipt.commit_ts
        assert agent.get_state(key="k", at=events[0]) == agent.get_state(key="k")

    def test_what_has_no_commit_is_no_moment(self, agent: Store) -> None:
        memory = agent.get_memory(agent.remember("one"))
        with pytest.raises(InvalidInput, match="has no commit") as error:
            agent.get_state(key="k", at=cast(Any, memory))
        assert error.value.field == "at"
        with pytest.raises(InvalidInput) as error:
            agent.facts(known_at=cast(Any, object()))
        assert error.value.field == "known_at"


class TestNames:
    def test_a_handle_names_its_file_and_its_scope(self, open_store: Opener) -> None:
        store = open_store(embedder=None)
        agent = store.bind(agent_id="ann", namespace="team/eng")
        target = getattr(agent, "_target", agent)
        plain = getattr(store, "_target", store)
        kind, path = type(target).__name__, core_of(target).engine.name
        assert repr(plain) == f"<{kind} {path} namespace='default'>"
        assert repr(target) == f"<{kind} {path} agent_id='ann' namespace='team/eng'>"
        store.close()
        assert repr(target) == f"<{kind} {path} agent_id='ann' namespace='team/eng', closed>"
        assert os.fspath(path) in repr(plain)

    def test_a_transaction_says_how_it_ended(self, agent: Store) -> None:
        transaction = agent.begin_transaction(txn_id="t")
        target = getattr(transaction, "_target", transaction)
        assert repr(target).startswith(f"<{type(target).__name__} ")
        assert repr(target).endswith(" agent_id='a1' namespace='default' txn_id='t', open>")
        transaction.write(key="k", value={})
        transaction.commit()
        assert repr(target).endswith(" txn_id='t', committed in 1>")
        aborted = agent.begin_transaction(txn_id="u")
        aborted.abort()
        assert repr(getattr(aborted, "_target", aborted)).endswith(" txn_id='u', aborted>")
