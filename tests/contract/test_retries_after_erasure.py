"""A txn_id is good for one request, also when what that was can no longer be read.

Every one-call form and a transaction are tried again, and other requests in their place, behind
every kind of erasure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from memoranda import IdempotencyMismatch, NotFound, Store, TransactionConflict
from memoranda.log.commit import idempotency

T = "the-same"
Names = dict[str, str]


def _transaction(store: Store, names: Names, txn_id: str) -> int:
    with store.begin_transaction(txn_id=txn_id) as transaction:
        transaction.write(key=names["key"], value={"n": 1})
        transaction.remember("drafted", title="in a transaction")
        transaction.link(source=names["m1"], target=names["m2"], relation="contradicts")
    commit = transaction.commit_ts
    assert commit is not None
    return commit


def _fact(names: Names) -> dict[str, Any]:
    return {"subject": names["who"], "relation": "likes"}


FORMS: dict[str, Callable[[Store, Names, str], object]] = {
    "write": lambda s, n, t: s.write(key=n["key"], value={"n": 1}, txn_id=t),
    "delete": lambda s, n, t: s.delete(key=n["key"], txn_id=t),
    "remember": lambda s, n, t: s.remember("said", title="new", txn_id=t),
    "reflect": lambda s, n, t: s.reflect("drawn", on=[n["m1"]], txn_id=t),
    "update": lambda s, n, t: s.update_memory(n["m1"], content="revised", txn_id=t),
    "retract": lambda s, n, t: s.retract_memory(n["m2"], reason="wrong", txn_id=t),
    "touch": lambda s, n, t: s.touch(n["m1"], txn_id=t),
    "promote": lambda s, n, t: s.promote(n["short"], tier="long", txn_id=t),
    "link": lambda s, n, t: s.link(source=n["m1"], target=n["m2"], relation="related_to", txn_id=t),
    "unlink": lambda s, n, t: s.unlink(
        source=n["m2"], target=n["m1"], relation="related_to", txn_id=t
    ),
    "supersede": lambda s, n, t: s.supersede(old=n["m1"], new=n["m2"], txn_id=t),
    "transcript": lambda s, n, t: s.store_transcript("some words", txn_id=t),
    "cite": lambda s, n, t: s.link_transcript(
        memory_id=n["m1"], transcript_id=n["words"], txn_id=t
    ),
    "resolve": lambda s, n, t: s.resolve_invalidation(n["notice"], decision="keep", txn_id=t),
    "configure": lambda s, n, t: s.configure(max_reflection_depth=7, txn_id=t),
    "assert": lambda s, n, t: s.assert_fact(**_fact(n), object="tea", txn_id=t),
    "assert from": lambda s, n, t: s.assert_fact(
        **_fact(n), object="cake", source=n["m1"], txn_id=t
    ),
    "assert once": lambda s, n, t: s.assert_fact(**_fact(n), object="rum", once="o", txn_id=t),
    "end": lambda s, n, t: s.end_fact(**_fact(n), object="milk", txn_id=t, allow_unknown=True),
    "retract fact": lambda s, n, t: s.retract_fact(**_fact(n), object="milk", txn_id=t),
    "cardinality": lambda s, n, t: s.set_cardinality(
        relation="lives in", cardinality="single", txn_id=t
    ),
    "alias": lambda s, n, t: s.alias(entity=n["who"], alias="Bobby", txn_id=t),
    "merge": lambda s, n, t: s.merge_entities(source="Bert", into=n["who"], txn_id=t),
    "forget memory": lambda s, n, t: s.forget(memory_id=n["m3"], txn_id=t),
    "forget transcript": lambda s, n, t: s.forget(transcript_id=n["words"], txn_id=t),
    "forget key": lambda s, n, t: s.forget(key=n["spare"], txn_id=t),
    "forget derived": lambda s, n, t: s.forget(transcript_id=n["words"], derived=True, txn_id=t),
    "forget fact": lambda s, n, t: s.forget(fact=n["fact"], txn_id=t),
    "forget entity": lambda s, n, t: s.forget(entity="Bert", txn_id=t),
    "forget children": lambda s, n, t: s.forget(
        whole_namespace=n["other namespace"], children=True, txn_id=t
    ),
    "forget facts": lambda s, n, t: s.forget(facts_from=n["m3"], txn_id=t),
    "forget agent": lambda s, n, t: s.forget(whole_agent=n["other agent"], txn_id=t),
    "forget namespace": lambda s, n, t: s.forget(whole_namespace=n["other namespace"], txn_id=t),
    "sweep": lambda s, n, t: s.sweep(expired_for=1, txn_id=t),
    "transaction": _transaction,
}


def prepare(store: Store, place: str, clock: Any) -> tuple[Store, Names]:
    """Return a handle of a1 in a namespace, with one of everything there that a form is about."""
    bound = store.bind(agent_id="a1", namespace=place)
    names = {"key": "k", "spare": "spare", "who": "Bob", "other agent": f"of {place}"}
    names["other namespace"] = f"{place}-other"
    store.write(agent_id=names["other agent"], key="k", value={}, namespace=place)
    store.write(agent_id="a1", key="k", value={}, namespace=names["other namespace"])
    bound.write(key="k", value={"n": 0})
    bound.write(key="spare", value={"n": 0})
    for name in ("m1", "m2", "m3"):
        names[name] = bound.remember(f"memory {name}", kind="reflection").id
    names["short"] = bound.remember("for a while", tier="short").id
    names["words"] = bound.store_transcript("what was said").id
    bound.link(source=names["m2"], target=names["m1"], relation="related_to")
    old, new = (bound.remember(item, kind="reflection") for item in ("old", "new"))
    bound.reflect("on old", on=[old.id])
    bound.supersede(old=old.id, new=new.id)
    names["notice"] = list(bound.invalidations())[-1].id
    bound.assert_fact(subject="Bob", relation="likes", object="milk")
    bound.assert_fact(subject="Bert", relation="likes", object="jam")
    names["fact"] = str(bound.assert_fact(subject="Bo", relation="has", object="it").assertion_id)
    bound.assert_fact(subject="Bob", relation="knows", object="Ann", source=names["m3"])
    bound.remember("soon over", ttl=1)
    clock.advance(3600)
    return bound, names


def _forget_memories(store: Store, _: Names) -> None:
    for memory in list(store.list_memories(namespace="work")):
        store.forget(memory_id=memory.id, purge=False)


def _forget_transcripts(store: Store, _: Names) -> None:
    for transcript in list(store.list_transcripts(namespace="work")):
        store.forget(transcript_id=transcript.id, purge=False)


def _forget_keys(store: Store, _: Names) -> None:
    work = store.bind(agent_id="a1", namespace="work")
    for key in ["k", "spare"]:
        if list(work.history(key=key)):
            work.forget(key=key, purge=False)


def _compact(store: Store, names: Names) -> None:
    work = store.bind(agent_id="a1", namespace="work")
    work.write(key="k", value={"n": "later"})
    work.compact(before=work.stats().commits, confirm=True, purge=False)


ERASURES: dict[str, Callable[[Store, Names], object]] = {
    "memories": _forget_memories,
    "transcripts": _forget_transcripts,
    "keys": _forget_keys,
    "namespace": lambda store, _: store.forget(whole_namespace="work", purge=False),
    "compaction": _compact,
}


def head(store: Store) -> int:
    return store.stats().commits


FLAVOURS = ("sync-memory", "async-memory")
CASES = [
    *(pytest.param("sync-memory", form, "namespace") for form in FORMS),
    *(pytest.param("async-memory", form, "namespace", marks=pytest.mark.slow) for form in FORMS),
    *(
        pytest.param("sync-memory", form, erasure, marks=pytest.mark.slow)
        for form in FORMS
        for erasure in ("compaction", "memories", "transcripts", "keys")
    ),
]


@pytest.mark.parametrize(("open_store", "form", "erasure"), CASES, indirect=["open_store"])
class TestEveryForm:
    def test_a_retry_is_the_first_commit(
        self, store: Store, clock: Any, form: str, erasure: str
    ) -> None:
        bound, names = prepare(store, "work", clock)
        first = FORMS[form](bound, names, T)
        ERASURES[erasure](store, names)
        commits = head(store)
        again: object = None
        with suppress(NotFound):  # what a record would be of is gone
            again = FORMS[form](bound, names, T)
        if isinstance(first, int):
            assert again == first
        else:
            assert type(again) in (type(first), type(None))
        assert head(store) == commits, "a retry does nothing"

    def test_another_request_is_refused(
        self, store: Store, clock: Any, form: str, erasure: str
    ) -> None:
        bound, names = prepare(store, "work", clock)
        elsewhere, others = prepare(store, "elsewhere", clock)
        FORMS[form](bound, names, T)
        ERASURES[erasure](store, names)
        commits = head(store)
        for other, call in FORMS.items():
            if other == form == "sweep":
                continue  # what is due there later is no other request
            with pytest.raises(IdempotencyMismatch, match="use a new txn_id"):
                call(elsewhere, others, T)
        assert head(store) == commits, "nothing is done under a txn_id that is taken"


@pytest.mark.parametrize("open_store", FLAVOURS, indirect=True)
class TestReturningAgent:
    @pytest.mark.slow
    def test_every_form_works_as_the_first_time(self, store: Store, clock: Any) -> None:
        for _ in range(2):
            for number, form in enumerate(FORMS):
                bound, names = prepare(store, f"work-{number}", clock)
                first = FORMS[form](bound, names, form)
                assert type(FORMS[form](bound, names, form)) is type(first)
            store.forget(whole_agent="a1", purge=False)
        assert store.verify(deep=True).commits
        assert store.rebuild().identical

    def test_its_ids_are_new(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        first = agent.remember("what I know", txn_id=T)
        assert agent.remember("what I know", txn_id=T).id == first.id
        store.forget(whole_agent="a1")
        second = agent.remember("what I know", txn_id=T)
        assert second.id != first.id
        assert agent.remember("what I know", txn_id=T) == second
        with pytest.raises(IdempotencyMismatch):
            agent.remember("what I know not", txn_id=T)
        store.verify(deep=True)

    def test_a_retry_has_its_ids_whoever_else_was_forgotten(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        first = agent.remember("what I know", txn_id=T)
        store.write(agent_id="a2", key="k", value={})
        store.bind(agent_id="a2").write(key="k", value={})
        store.forget(whole_agent="a2")
        assert agent.remember("what I know", txn_id=T).id == first.id

    def test_ids_of_before_an_erasure_are_not_committed_behind_it(self, store: Store) -> None:
        agent, other = store.bind(agent_id="a1"), store.bind(agent_id="a2")
        other.write(key="k", value={})
        transaction = agent.begin_transaction(txn_id=T)
        transaction.remember("what I know")
        store.forget(whole_agent="a2")
        with pytest.raises(TransactionConflict, match="forgotten since"):
            transaction.commit()
        assert agent.remember("what I know", txn_id=T).outcome == "created"


@pytest.mark.parametrize("open_store", FLAVOURS, indirect=True)
class TestFarewell:
    def test_answers_its_own_retry(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={})
        first = agent.forget(whole_agent="a1", txn_id=T)
        assert agent.forget(whole_agent="a1", txn_id=T) == first

    def test_answers_nobody_who_is_there(self, store: Store) -> None:
        for name in ("a1", "a2"):
            store.bind(agent_id=name).write(key="k", value={})
        memory = store.bind(agent_id="a2").remember("kept")
        first = store.bind(agent_id="a1").forget(whole_agent="a1", txn_id=T)
        other = store.bind(agent_id="a2")
        assert other.forget(memory_id=memory.id, txn_id=T).commit_ts != first.commit_ts
        assert other.get_memory(memory.id) is None
        other.remember("more")
        assert other.forget(whole_agent="a2", txn_id="u").pseudonym not in (None, first.pseudonym)
        assert list(store.list_memories()) == []

    def test_of_one_who_came_back_is_another(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={})
        first = agent.forget(whole_agent="a1", txn_id=T)
        agent.write(key="k", value={"back": True})
        second = agent.forget(whole_agent="a1", txn_id=T)
        assert second.commit_ts != first.commit_ts
        assert agent.get_state(key="k") is None
        with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
            agent.forget(whole_agent="a1", txn_id=T)


@pytest.mark.parametrize("open_store", FLAVOURS, indirect=True)
class TestForgettingByName:
    def test_another_key_that_is_there_is_not_passed_for_forgotten(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        for key in ("first", "second"):
            agent.write(key=key, value={})
        agent.forget(key="first", txn_id=T)
        with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
            agent.forget(key="second", txn_id=T)
        assert agent.get_state(key="second") is not None

    def test_a_key_that_was_written_again_is_not_passed_for_forgotten(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={})
        first = agent.forget(key="k", txn_id=T)
        assert agent.forget(key="k", txn_id=T) == first
        agent.write(key="k", value={"again": True})
        with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
            agent.forget(key="k", txn_id=T)

    def test_another_agent_and_namespace(self, store: Store) -> None:
        for name in ("a1", "a2"):
            store.write(agent_id=name, key="k", value={}, namespace=f"of-{name}")
        store.forget(whole_agent="a1", txn_id=T)
        store.forget(whole_namespace="of-a1", txn_id="u")
        with pytest.raises(IdempotencyMismatch):
            store.forget(whole_agent="a2", txn_id=T)
        with pytest.raises(IdempotencyMismatch):
            store.forget(whole_namespace="of-a2", txn_id="u")
        assert store.get_state(agent_id="a2", key="k", namespace="of-a2") is not None


@pytest.mark.parametrize("open_store", FLAVOURS, indirect=True)
class TestWhatIsOlderThanFingerprints:
    @pytest.fixture
    def old(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
        """A store whose first events have none."""
        agent = store.bind(agent_id="a1")
        with monkeypatch.context() as patch:
            patch.setattr(idempotency, "fingerprint_of", lambda _: b"")
            agent.write(key="k", value={}, txn_id="w")
            agent.write(key="whole", value={}, txn_id="x")
            agent.remember("m", txn_id="m")
            agent.write(key="spare", value={})
            agent.forget(key="spare", txn_id="f")
            agent.forget(key="k")
        return agent

    def test_what_is_whole_is_compared_as_ever(self, old: Store) -> None:
        assert old.write(key="whole", value={}, txn_id="x").commit_ts == 2
        assert old.remember("m", txn_id="m").outcome == "created"
        with pytest.raises(IdempotencyMismatch, match="other operations"):
            old.write(key="whole", value={"n": 1}, txn_id="x")

    def test_what_was_erased_cannot_be_compared(self, old: Store) -> None:
        for key in ("k", "another"):
            with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
                old.write(key=key, value={}, txn_id="w")

    def test_an_erasure_is_a_retry_if_nothing_is_left(self, old: Store) -> None:
        assert old.forget(key="spare", txn_id="f").target == "key"
        with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
            old.forget(key="whole", txn_id="f")
        with pytest.raises(IdempotencyMismatch, match="no longer be compared"):
            old.forget(whole_agent="a1", txn_id="f")
        assert old.get_state(key="whole") is not None


@pytest.mark.parametrize("open_store", FLAVOURS, indirect=True)
def test_what_differs_in_erased_content_alone_counts_as_a_retry(store: Store) -> None:
    """Telling them apart would confirm a guess of what was erased."""
    agent = store.bind(agent_id="a1")
    first = agent.write(key="k", value={"n": 1}, txn_id=T).commit_ts
    agent.forget(key="k")
    assert agent.write(key="k", value={"n": 2}, txn_id=T).commit_ts == first
