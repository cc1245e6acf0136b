"""Private memories: their own agent's, and unseen by any other in every read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import ALL_AGENTS, ALL_NAMESPACES, LinkCycle, Memory, NotFound, Store


@pytest.fixture
def secret(owner: Store) -> Memory:
    """A private memory with a past, words, links, and a notice about it."""
    words = owner.store_transcript("the secret words")
    memory = owner.remember(
        "secret", title="t", visibility="private", kind="reflection",
        transcript=words.id, spans=[(4, 10)],
    )  # fmt: skip
    owner.update_memory(memory.id, content="more secret")
    old = owner.remember("old", title="old", kind="reflection")
    new = owner.remember("new", title="new", kind="reflection")
    owner.link(source=memory.id, target=old.id, relation="reflects_on")
    top = owner.remember("top", title="top", kind="reflection")
    owner.link(source=top.id, target=memory.id, relation="reflects_on")
    owner.supersede(old=old.id, new=new.id)
    return memory


def titled(store: Store, title: str) -> str:
    memory = store.get_memory(title=title)
    assert memory is not None
    return memory.id


READS: dict[str, Callable[[Store, str], Any]] = {
    "get": lambda store, secret: store.get_memory(secret),
    "get by title": lambda store, secret: store.get_memory(title="t"),
    "get a version": lambda store, secret: store.get_memory(secret, version=1),
    "get the past": lambda store, secret: store.get_memory(secret, at=3),
    "history": lambda store, secret: list(store.memory_history(secret)),
    "list": lambda store, secret: [
        memory.id for memory in store.list_memories(namespace=ALL_NAMESPACES) if memory.id == secret
    ],
    "list of its agent": lambda store, secret: [
        memory.id for memory in store.list_memories(agent_id="owner") if memory.id == secret
    ],
    "list of the past": lambda store, secret: list(store.list_memories(at=3)),
    "links": lambda store, secret: store.links(secret),
    "links of another": lambda store, secret: store.links(
        titled(store, "top"), relation="reflects_on"
    ),
    "dependents": lambda store, secret: store.dependents(titled(store, "old")),
    "dependents of it": lambda store, secret: store.dependents(secret),
    "transcripts_for": lambda store, secret: store.transcripts_for(secret),
    "memories_for": lambda store, secret: [
        link
        for transcript in store.list_transcripts()
        for link in store.memories_for(transcript.id)
    ],
    "replay_transcripts": lambda store, secret: store.replay_transcripts(secret),
    "replay through it": lambda store, secret: store.replay_transcripts(titled(store, "top")),
    "origins": lambda store, secret: store.origins(secret),
    "origins through it": lambda store, secret: [
        origin.memory.id
        for tree in [store.origins(titled(store, "top"))]
        if tree is not None
        for origin in tree.origins
    ],
    "invalidations": lambda store, secret: list(store.invalidations(agent_id=ALL_AGENTS)),
    "the notice": lambda store, secret: list(
        store.list_memories(namespace="default/_invalidations")
    ),
    "in a transaction": lambda store, secret: store.begin_transaction().get_memory(secret),
    "its title in a transaction": lambda store, secret: store.begin_transaction().get_memory(
        title="t"
    ),
    "its links in a transaction": lambda store, secret: store.begin_transaction().links(secret),
}


@pytest.mark.parametrize("read", READS)
def test_its_agent_sees_it_and_no_other_does(
    owner: Store, other: Store, secret: Memory, read: str
) -> None:
    assert READS[read](owner, secret.id)
    assert not READS[read](other, secret.id)


ACTS: dict[str, Callable[[Store, str], Any]] = {
    "update": lambda store, secret: store.update_memory(secret, content="x"),
    "retract": lambda store, secret: store.retract_memory(secret),
    "touch": lambda store, secret: store.touch(secret),
    "promote": lambda store, secret: store.promote(secret),
    "reflect": lambda store, secret: store.reflect("x", on=[secret]),
    "link from": lambda store, secret: store.link(
        source=secret, target=titled(store, "old"), relation="related_to"
    ),
    "link to": lambda store, secret: store.link(
        source=titled(store, "old"), target=secret, relation="related_to"
    ),
    "unlink": lambda store, secret: store.unlink(
        source=secret, target=titled(store, "old"), relation="reflects_on"
    ),
    "supersede": lambda store, secret: store.supersede(old=secret, new=titled(store, "new")),
    "cite": lambda store, secret: store.link_transcript(
        memory_id=secret, transcript_id=next(store.list_transcripts()).id
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_no_other_can_act_on_it(other: Store, secret: Memory, act: str) -> None:
    before = other.stats().commits
    with pytest.raises(NotFound, match=secret.id):
        ACTS[act](other, secret.id)
    assert other.stats().commits == before


def test_titles_do_not_collide(owner: Store, other: Store, secret: Memory) -> None:
    shared = other.remember("shared", title="t")
    mine = other.remember("mine", title="t", visibility="private")
    assert len({secret.id, shared.id, mine.id}) == 3
    assert owner.remember("again", title="t", visibility="private").id == secret.id
    assert owner.remember("again", title="t").id == shared.id
    observations = [store.get_memory(title="t") for store in (owner, other)]
    assert [memory and memory.id for memory in observations] == [secret.id, mine.id]


def test_a_cycle_names_what_may_be_seen_only(owner: Store, other: Store, secret: Memory) -> None:
    old, top = titled(other, "old"), titled(other, "top")
    with pytest.raises(LinkCycle) as caught:
        other.link(source=old, target=top, relation="reflects_on")
    assert caught.value.path == (old, top, None, old)
    assert secret.id not in str(caught.value)
    with pytest.raises(LinkCycle) as owners:
        owner.link(source=old, target=top, relation="reflects_on")
    assert owners.value.path == (old, top, secret.id, old)


def test_who_supersedes_is_told_of_what_it_may_see(
    owner: Store, other: Store, secret: Memory
) -> None:
    newer = other.remember("newer", kind="reflection")
    assert other.supersede(old=titled(other, "old"), new=newer.id).notified == ()
    assert [notice.invalidating_id for notice in owner.invalidations()][-1] == newer.id
    assert list(other.invalidations(agent_id=ALL_AGENTS)) == []


def test_a_private_superseder_is_not_named(owner: Store, other: Store, secret: Memory) -> None:
    old = titled(owner, "old")
    hidden = owner.remember("hidden", visibility="private", kind="reflection")
    owner.supersede(old=old, new=hidden.id)
    mine, theirs = owner.get_memory(old), other.get_memory(old)
    assert mine is not None
    assert theirs is not None
    assert mine.superseded_by == hidden.id
    assert theirs.superseded_by == titled(other, "new")


def test_a_handle_without_an_agent_sees_with_the_eyes_it_names(
    store: Store, other: Store, secret: Memory
) -> None:
    assert store.get_memory(secret.id) is None
    assert store.get_memory(secret.id, agent_id="owner") is not None
    assert other.get_memory(secret.id, agent_id="owner") is None


FOLLOWING: dict[str, Callable[[Store], Any]] = {
    "replay": lambda store: store.replay(agent_id="owner", namespace=ALL_NAMESPACES),
    "replay of all": lambda store: store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES),
    "subscribe": lambda store: store.subscribe(
        agent_id="owner", namespace=ALL_NAMESPACES, after_commit=0, timeout=0
    ),
}


@pytest.mark.parametrize("how", FOLLOWING)
def test_who_follows_the_log_is_not_shown_it(
    store: Store, owner: Store, other: Store, secret: Memory, how: str
) -> None:
    owner.touch(secret.id)
    owner.retract_memory(secret.id, reason="it was found out")
    output = {
        name: "".join(repr(event.operations) for event in FOLLOWING[how](handle))
        for name, handle in (("owner", owner), ("other", other), ("nobody", store))
    }
    assert secret.id not in output["other"]
    assert "secret" not in output["other"]
    for name in ("owner", "nobody"):
        assert "more secret" in output[name]
        assert "it was found out" in output[name]
    assert "'new'" in output["other"], "what is not private is there"
