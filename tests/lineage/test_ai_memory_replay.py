"""Every test of ai-memory's transcript replay, under its own name, with its calls and claims."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from memoranda import Memory, ReplayEntry, Store, Transcript
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.cores import core_of
from tests.lineage.corrections import corrected

TEAM = "team/eng"


def insert_memory(client: Store, name: str, kind: str) -> str:
    """Return the id of a new memory of a kind."""
    return client.remember("body", agent_id="ai", title=name, namespace=TEAM, kind=kind).id


def store(client: Store, body: str) -> Transcript:
    """Return a new transcript."""
    return client.store_transcript(body, agent_id="ai", namespace=TEAM)


def link_transcript(client: Store, memory_id: str, transcript_id: str) -> None:
    """Let a memory come from a transcript as a whole."""
    client.link_transcript(memory_id=memory_id, transcript_id=transcript_id)


def link_reflects_on(client: Store, source: str, target: str) -> None:
    """Let one memory reflect on another."""
    client.link(source=source, target=target, relation="reflects_on")


def behind_the_api(client: Store, statement: str, *values: object) -> None:
    """Change the view's tables directly, as ai-memory's tests do."""
    database = cast(SqliteEngine, core_of(client).engine)._writer.database
    database.execute(statement, values)


def backdate_transcript(client: Store, transcript: Transcript, time: datetime) -> None:
    """Let a transcript have been stored at another time."""
    micros = int(time.timestamp()) * 1_000_000
    behind_the_api(
        client,
        "UPDATE transcript SET created_at = ? WHERE transcript_id = ?",
        micros,
        transcript.id,
    )


def ids(entries: list[ReplayEntry]) -> list[str]:
    """Return the ids of the transcripts, in order."""
    return [entry.transcript.id for entry in entries]


def test_observation_returns_only_its_own_transcripts(client: Store) -> None:
    observation = insert_memory(client, "obs-1", "observation")
    first = store(client, "body-1")
    link_transcript(client, observation, first.id)
    sibling = insert_memory(client, "obs-2", "observation")
    link_transcript(client, sibling, store(client, "body-2").id)

    entries = client.replay_transcripts(observation)
    assert len(entries) == 1
    assert entries[0].transcript.id == first.id
    assert entries[0].memory_id == observation

    assert len(client.replay_transcripts(observation, depth=5)) == 1


def test_reflection_returns_union_of_self_plus_three_sources(client: Store) -> None:
    sources = [insert_memory(client, name, "observation") for name in ("obs-a", "obs-b", "obs-c")]
    for day, source in enumerate(sources, start=1):
        transcript = store(client, f"body-{source}")
        backdate_transcript(client, transcript, datetime(2026, 1, day, tzinfo=UTC))
        link_transcript(client, source, transcript.id)
    reflection = insert_memory(client, "ref-1", "reflection")
    own = store(client, "reflection-body")
    backdate_transcript(client, own, datetime(2026, 1, 4, tzinfo=UTC))
    link_transcript(client, reflection, own.id)
    for source in sources:
        link_reflects_on(client, reflection, source)

    entries = client.replay_transcripts(reflection)

    assert len(entries) == 4
    assert [entry.transcript.created_at for entry in entries] == [
        datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)
    ]
    assert {entry.memory_id for entry in entries} == {*sources, reflection}


def test_depth_cap_bounds_chain_walk(client: Store) -> None:
    instance: dict[str, tuple[str, Transcript]] = {}
    for day, (name, kind) in enumerate(
        [("leaf", "observation"), ("mid", "reflection"), ("top", "reflection")], start=1
    ):
        memory = insert_memory(client, name, kind)
        transcript = store(client, name)
        backdate_transcript(client, transcript, datetime(2026, 1, day, tzinfo=UTC))
        link_transcript(client, memory, transcript.id)
        instance[name] = (memory, transcript)
    link_reflects_on(client, instance["mid"][0], instance["leaf"][0])
    link_reflects_on(client, instance["top"][0], instance["mid"][0])
    top = instance["top"][0]

    assert len(client.replay_transcripts(top)) == 3

    within_one = ids(client.replay_transcripts(top, depth=1))
    assert len(within_one) == 2
    assert instance["top"][1].id in within_one
    assert instance["mid"][1].id in within_one
    assert instance["leaf"][1].id not in within_one

    assert ids(client.replay_transcripts(top, depth=0)) == [instance["top"][1].id]


@corrected("an-unloadable-root-is-empty")
def test_missing_root_returns_empty_union(client: Store) -> None:
    assert client.replay_transcripts("does-not-exist") == []


def test_cycle_in_reflects_on_does_not_loop_forever(client: Store) -> None:
    instance = []
    for name in ("ref-a", "ref-b"):
        memory = insert_memory(client, name, "reflection")
        link_transcript(client, memory, store(client, name).id)
        instance.append(memory)
    link_reflects_on(client, instance[0], instance[1])
    behind_the_api(
        client,
        "INSERT INTO memory_link (source, relation, target, commit_ts, position, valid_from,"
        " until_commit) SELECT target, relation, source, commit_ts, position, valid_from,"
        " until_commit FROM memory_link",
    )

    assert len(client.replay_transcripts(instance[0])) == 2


@corrected("every-anchor-is-listed")
def test_shared_transcript_deduplicates_to_one_entry(client: Store) -> None:
    observation = insert_memory(client, "obs-shared", "observation")
    shared = store(client, "shared")
    link_transcript(client, observation, shared.id)
    reflection = insert_memory(client, "ref-1", "reflection")
    link_transcript(client, reflection, shared.id)
    link_reflects_on(client, reflection, observation)

    entries = client.replay_transcripts(reflection)

    assert ids(entries) == [shared.id]
    assert entries[0].memory_id == reflection
    assert [anchor.memory_id for anchor in entries[0].anchors] == [reflection, observation]


def test_orphan_reflection_returns_only_self(client: Store) -> None:
    orphan = insert_memory(client, "ref-orphan", "reflection")
    link_transcript(client, orphan, store(client, "orphan").id)

    entries = client.replay_transcripts(orphan)

    assert len(entries) == 1
    assert entries[0].memory_id == orphan


def test_dangling_transcript_id_is_silently_dropped(client: Store) -> None:
    observation = insert_memory(client, "obs-1", "observation")
    transcript = store(client, "body")
    link_transcript(client, observation, transcript.id)
    behind_the_api(client, "DELETE FROM transcript WHERE transcript_id = ?", transcript.id)

    assert client.replay_transcripts(observation) == []


@corrected("instants-not-text")
def test_ordering_is_by_instant_then_id(client: Store) -> None:
    """The order of the union: by time, compared as instants, and by id where times are equal."""
    memory = client.remember("m", agent_id="ai")
    text = ["2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z"]
    instance = [client.store_transcript(time, agent_id="ai", occurred_at=time) for time in text]
    for transcript in instance:
        link_transcript(client, memory.id, transcript.id)

    assert ids(client.replay_transcripts(memory.id)) == [
        instance[2].id,
        *sorted([instance[0].id, instance[1].id]),
    ]


@corrected("times-over-is-not-gone")
def test_expired_ancestors_are_walked(client: Store) -> None:
    """Ancestors whose time is over stay in the union, and say so."""
    ground = client.remember("m", agent_id="ai", ttl=1)
    words = client.store_transcript("words", agent_id="ai")
    link_transcript(client, ground.id, words.id)
    top = client.reflect("top", on=[ground.id], agent_id="ai")
    core_of(client).clock.sleep(10)

    (entry,) = client.replay_transcripts(top.id)
    assert (entry.transcript.id, entry.expired) == (words.id, True)


@corrected("text-when-asked-for")
def test_an_entry_has_these_fields(client: Store) -> None:
    """An entry: the anchor, the spans, the transcript without its text, and the text on demand."""
    words = client.store_transcript("one two", agent_id="ai", namespace=TEAM)
    memory: Memory = client.remember("m", agent_id="ai", transcript=words.id, spans=[(4, 7)])
    (entry,) = client.replay_transcripts(memory.id)

    assert (entry.memory_id, entry.spans) == (memory.id, ((4, 7),))
    assert entry.transcript.namespace == TEAM
    assert entry.transcript.original_size == 7
    assert entry.transcript.compressed_size > 0
    assert (entry.text(), entry.excerpts()) == ("one two", ("two",))
