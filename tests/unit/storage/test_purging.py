"""Purging: what was erased leaves the files, as soon as nobody who reads holds on to it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda import KeyRef
from memoranda.storage.sqlite import wal
from tests.leftovers import leftovers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def words_of(store: memoranda.Store, count: int, random: Random) -> dict[str, bytes]:
    """Write keys, memories and transcripts of all sizes, and return the word each of them has."""
    result: dict[str, bytes] = {}
    for number in range(count):
        word = f"secret{number:04}{random.getrandbits(48):012x}"
        text = word + "x" * random.choice([0, 3, 40, 300, 2000, 9000])
        kind = random.randrange(3)
        if kind == 0:
            store.write(key=f"k{number}", value={"v": text})
            store.write(key=f"k{number}", value={"v": word})
            result[f"key k{number}"] = word.encode()
        elif kind == 1:
            memory = store.remember(text, title=f"{word}t", tags=[f"{word}g"])
            result[f"memory_id {memory.id}"] = word.encode()
        else:
            transcript = store.store_transcript(f"{text} {word}")
            result[f"transcript_id {transcript.id}"] = word.encode()
    return result


def forget(store: memoranda.Store, what: str, *, purge: bool) -> None:
    field, name = what.split(" ")
    store.forget(**{field: name}, purge=purge)  # type: ignore[arg-type]


def test_nothing_is_left_whatever_size_it_had(path: Path) -> None:
    random = Random(0)
    with memoranda.open(path, durability="relaxed") as opened:
        store = opened.bind(agent_id="ann")
        words = words_of(store, 300, random)
        going = random.sample(sorted(words), k=100)
        for what in going:
            forget(store, what, purge=False)
        assert store.stats().pending_purge
        assert store.purge()
        assert not store.stats().pending_purge
        target = {words[what] for what in going}
        assert leftovers(path, words.values()) == set(words.values()) - target
        store.verify()
    assert leftovers(path, words.values()) == set(words.values()) - target


def test_no_name_is_left(path: Path) -> None:
    agent, space, txn = "uniqueagent", "uniquespace", "uniquetxn"
    with memoranda.open(path, durability="relaxed") as store:
        ann, bob = store.bind(agent_id=agent, namespace=space), store.bind(agent_id="bob")
        ann.write(key="k", value={}, txn_id=txn)
        old = ann.remember("old", kind="reflection", visibility="private", title="t")
        memory = ann.remember("seen", kind="reflection", title="t")
        resting = bob.reflect("resting", on=[memory.id])
        ann.supersede(old=memory.id, new=ann.remember("new", kind="reflection").id)
        bob.supersede(old=resting.id, new=bob.remember("newer", kind="reflection").id)
        ann.reflect("on it", on=[resting.id, old.id])
        for notice in ann.invalidations():
            ann.resolve_invalidation(notice.id, decision="keep")
        ann.configure(max_reflection_depth=4)
        ann.set_cardinality(relation="is", cardinality="single")
        ann.assert_fact(subject="a", relation="is", object="b")
        ann.store_transcript("words")
        bob.write(key="k", value={}, because=[KeyRef("k", agent_id=agent, namespace=space)])
        ann.forget(key="k", purge=False)
        assert leftovers(path, [agent.encode(), space.encode(), txn.encode()])
        store.forget(whole_agent=agent)
        assert leftovers(path, [agent.encode(), txn.encode()]) == set()
        store.forget(whole_namespace=space)
        assert leftovers(path, [agent.encode(), space.encode(), txn.encode()]) == set()
        store.verify()
        assert store.rebuild().identical
        assert len(list(bob.invalidations(status="all"))) == 1


def test_a_reader_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "_READERS_WAIT_MS", 1)
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={"v": "secretword"})
        with memoranda.open(path) as other, other._core.engine.snapshot() as reader:
            assert reader.row("state_count") == (1,)
            certificate = store.forget(key="k")
            assert certificate.pending_purge
            assert store.stats().pending_purge
            assert store.get_state(key="k") is None
            assert not store.purge()
            assert reader.row("state_count") == (1,)
        assert store.certificate(certificate.erasure_id).pending_purge
    with memoranda.open(path) as again:
        assert again.stats().pending_purge
        assert again.purge()
        assert not again.certificate(certificate.erasure_id).pending_purge
        again.verify()
    assert leftovers(path, [b"secretword"]) == set()


def test_an_interrupt_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        for number in range(200):
            store.write(key=f"k{number}", value={"v": "secretword" * 50})
        store.forget(key="k7", purge=False)

        def interrupt() -> bool:
            raise KeyboardInterrupt

        monkeypatch.setattr(wal, "_STEPS_BETWEEN_INTERRUPTS", 100)
        monkeypatch.setattr(wal, "_check_interrupts", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.purge()
        monkeypatch.undo()
        assert store.stats().pending_purge
        store.write(key="after", value={})
        assert store.purge()
        assert len(list(store.list_keys())) == 200
        store.verify()


def test_what_is_erased_meanwhile_stays_pending(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="one", value={"v": "firstword"})
        store.write(key="two", value={"v": "secondword"})
        store.forget(key="one", purge=False)
        engine = opened._core.engine
        real = engine.purge

        def late() -> bool:
            done = real()
            store.forget(key="two", purge=False)
            return done

        monkeypatch.setattr(engine, "purge", late)
        assert not store.purge()
        monkeypatch.undo()
        assert store.stats().pending_purge
        assert store.purge()


def test_a_store_in_memory_has_nothing_to_purge() -> None:
    with memoranda.open(":memory:") as opened:
        store = opened.bind(agent_id="ann")
        store.write(key="k", value={})
        assert not store.forget(key="k").pending_purge
        assert store.purge()


def test_purging_what_was_never_erased_does_nothing(path: Path) -> None:
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={})
        before = store.stats().commits
        assert store.purge()
        assert store.stats().commits == before
