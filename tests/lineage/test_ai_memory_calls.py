"""What ai-memory's two modules call of the rest of it, as calls of ours."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import InvalidInput, LinkCycle, Store


def test_transcripts_of_a_memory(client: Store) -> None:
    transcript = client.store_transcript("one two", namespace="team/eng", ttl=60, agent_id="ai")
    memory = client.remember("m", agent_id="ai")
    client.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=[(0, 3)])

    (link,) = client.transcripts_for(memory.id)
    assert (link.transcript_id, link.spans) == (transcript.id, ((0, 3),))
    meta = client.get_transcript(transcript.id)
    assert meta is not None
    assert (meta.namespace, meta.original_size) == ("team/eng", 7)
    assert meta.expires_at == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def test_a_dependent_record(client: Store) -> None:
    ground = client.remember("m", agent_id="ai")
    top = client.reflect("r", on=[ground.id], agent_id="ai", namespace="team/eng")
    (record,) = client.dependents(ground.id)

    assert (record.id, record.namespace) == (top.id, "team/eng")
    assert (record.agent_id, record.hop) == ("ai", 1)


def test_where_a_confidence_comes_from(client: Store) -> None:
    assert client.remember("m", agent_id="ai").confidence_source is None
    memory = client.remember("m", agent_id="ai", confidence_source="caller_provided")
    assert memory.confidence_source == "caller_provided"


def test_kinds_and_tiers(client: Store) -> None:
    for kind in ("observation", "reflection"):
        assert client.remember("m", agent_id="ai", kind=kind).kind == kind
    for tier in ("short", "mid", "long"):
        assert client.remember("m", agent_id="ai", tier=tier).tier == tier
    with pytest.raises(InvalidInput, match="kind"):
        client.remember("m", agent_id="ai", kind="Reflection")


def test_a_title_is_an_identity(client: Store) -> None:
    first = client.remember("one", title="t", namespace="ns", agent_id="ai")
    again = client.remember("two", title="t", namespace="ns", agent_id="ai")
    assert (again.id, again.version) == (first.id, 2)


def test_a_cycle_is_refused(client: Store) -> None:
    ground = client.remember("m", agent_id="ai")
    top = client.reflect("r", on=[ground.id], agent_id="ai")
    with pytest.raises(LinkCycle):
        client.link(source=ground.id, target=top.id, relation="reflects_on")


def test_a_reflection_has_a_depth(client: Store) -> None:
    ground = client.remember("m", agent_id="ai")
    top = client.reflect("r", on=[ground.id], agent_id="ai")
    assert (ground.reflection_depth, top.reflection_depth) == (0, 1)
