"""Agents, namespaces and ids: what a store holds, and finding one of it by a few characters."""

from __future__ import annotations

import pytest

from memoranda import AgentSummary, InvalidInput, NamespaceSummary, NotFound, Store


class TestAgentsAndNamespaces:
    def test_an_empty_store(self, store: Store) -> None:
        assert [*store.agents()] == []
        assert [*store.namespaces()] == []

    def test_counts_and_the_last_activity(self, store: Store) -> None:
        store.write(agent_id="bob", key="k", value={}, namespace="team/eng")
        with store.begin_transaction() as transaction:
            transaction.write(agent_id="ann", key="k", value={}, namespace="team")
            transaction.write(agent_id="ann", key="k", value={}, namespace="team/eng")
            transaction.write(agent_id="bob", key="k", value={}, namespace="team/eng")
        last = store.write(agent_id="ann", key="k", value={}, namespace="team").commit_ts
        times = {
            event.commit_ts: event.committed_at
            for agent in ("ann", "bob")
            for namespace in ("team", "team/eng")
            for event in store.replay(agent_id=agent, namespace=namespace)
        }
        assert [*store.agents()] == [
            AgentSummary("ann", 2, 2, last, times[last]),
            AgentSummary("bob", 1, 2, 2, times[2]),
        ]
        assert [*store.namespaces()] == [
            NamespaceSummary("team", 1, 2, last, times[last]),
            NamespaceSummary("team/eng", 2, 2, 2, times[2]),
        ]

    def test_more_than_a_page(self, store: Store) -> None:
        names = [f"agent-{number:03}" for number in range(150)]
        with store.begin_transaction() as transaction:
            for name in names:
                transaction.write(agent_id=name, key="k", value={}, namespace=name)
        assert [summary.agent_id for summary in store.agents()] == names
        assert [summary.namespace for summary in store.namespaces()] == names

    def test_private_memories_count_and_the_engines_namespaces_do_not(self, owner: Store) -> None:
        first = owner.remember("a secret", visibility="private")
        doubt = owner.reflect("doubt", on=[first.id])
        owner.reflect("rule", on=[doubt.id])
        better = owner.reflect("trust", on=[first.id])
        owner.supersede(old=doubt.id, new=better.id)  # writes a notice to an inbox
        assert [summary.namespace for summary in owner.namespaces()] == ["default"]
        assert [summary.namespaces for summary in owner.agents()] == [1]

    def test_a_forgotten_agent_is_listed_by_its_pseudonym_only(self, store: Store) -> None:
        store.write(agent_id="ann", key="k", value={})
        store.write(agent_id="bob", key="k", value={})
        store.forget(whole_agent="ann")
        assert "ann" not in [summary.agent_id for summary in store.agents()]


class TestFindingIds:
    def test_each_kind_by_a_prefix(self, agent: Store) -> None:
        memory = agent.remember("Ann likes tea")
        transcript = agent.store_transcript("Ann: tea, please")
        fact = agent.assert_fact(subject="Ann", relation="likes", object="tea").assertion_id
        assert fact is not None
        doomed = agent.remember("a slip")
        erasure = agent.forget(memory_id=doomed.id).erasure_id
        for kind, whole in (
            ("memory", memory.id),
            ("transcript", transcript.id),
            ("fact", fact),
            ("erasure", erasure),
        ):
            assert agent.find_id(whole[:8], kinds=kind) == whole
            assert agent.find_id(whole) == whole
            assert agent.find_id(whole.upper()) == whole
            assert [match.kind for match in agent.find_ids(whole)] == [kind]

    def test_a_notice_is_found_as_one(self, agent: Store) -> None:
        note = agent.remember("late again")
        doubt = agent.reflect("doubt", on=[note.id])
        agent.reflect("rule", on=[doubt.id])
        agent.supersede(old=doubt.id, new=agent.reflect("trust", on=[note.id]).id)
        (notice,) = agent.invalidations()
        assert agent.find_id(notice.id[:10], kinds="notice") == notice.id
        assert [match.kind for match in agent.find_ids(notice.id)] == ["notice"]
        with pytest.raises(NotFound, match="not found: notice"):
            agent.find_id(note.id, kinds="notice")

    def test_none_of_another_kind(self, agent: Store) -> None:
        memory = agent.remember("Ann likes tea")
        with pytest.raises(NotFound, match="not found: transcript or assertion"):
            agent.find_id(memory.id, kinds=["transcript", "fact"])
        with pytest.raises(NotFound):
            agent.find_id("ffff")

    def test_an_ambiguous_prefix_lists_the_candidates(self, agent: Store) -> None:
        memories = [agent.remember(f"note {number}") for number in range(20)]
        prefix = memories[0].id[:4]
        with pytest.raises(InvalidInput, match="is ambiguous") as refusal:
            agent.find_id(prefix)
        assert f"memory {memories[0].id}" in str(refusal.value)
        assert str(refusal.value).count("\n") == 11  # ten of them, and a dot for the others
        assert memories[19].id not in str(refusal.value)

    @pytest.mark.parametrize("prefix", ["", "0", "000"])
    def test_a_prefix_may_be_too_short(self, agent: Store, prefix: str) -> None:
        agent.remember("Ann likes tea")
        with pytest.raises(InvalidInput, match="prefix"):
            agent.find_id(prefix)

    def test_an_unknown_kind(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="kinds"):
            agent.find_id("0000", kinds="key")

    def test_what_is_private_is_no_candidate(self, owner: Store, other: Store) -> None:
        hidden = owner.remember("a secret", visibility="private")
        secret = owner.assert_fact(
            subject="Ann", relation="is", object="ill", source=hidden
        ).assertion_id
        assert secret is not None
        for whole in (hidden.id, secret):
            assert owner.find_id(whole[:8]) == whole
            assert other.find_ids(whole[:8]) == []
            with pytest.raises(NotFound, match="not found"):
                other.find_id(whole)

    def test_a_limit(self, agent: Store) -> None:
        ids = [agent.remember(f"note {number}").id for number in range(5)]
        assert [match.id for match in agent.find_ids(limit=3)] == ids[:3]
        assert [match.id for match in agent.find_ids(ids[1])] == [ids[1]]


class TestShortIds:
    def test_they_are_unique_and_find_the_whole(self, agent: Store) -> None:
        ids = [agent.remember(f"note {number}").id for number in range(40)]
        short = agent.short_ids(ids, kind="memory")
        assert list(short) == ids
        for whole, prefix in short.items():
            assert len(prefix) < len(whole)
            assert agent.find_id(prefix, kinds="memory") == whole

    def test_an_erasure_has_none(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="has no short ids"):
            agent.short_ids(["x"], kind="erasure")
