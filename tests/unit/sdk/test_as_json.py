"""Results as JSON: every public result has one form, and it is what `json` can write."""

from __future__ import annotations

import asyncio
import inspect
import json
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

import memoranda
from memoranda.calls.as_json import origin_nodes, reason_nodes, stale_key, to_json
from memoranda.model.receipt import CommitFields
from memoranda.testing import memory_store

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
NOON_TEXT = "2026-02-07T12:00:00.000000Z"
FACT = memoranda.Fact(
    subject="Mara",
    relation="age",
    object=memoranda.Literal(41),
    valid_from=NOON,
    valid_to=None,
    confidence=0.5,
    sources=(memoranda.MemoryRef("m1", 2), memoranda.TranscriptRef("t1", ((0, 4),))),
    known_from=None,
    assertions=("a1",),
    namespace="team",
    agent_id="ada",
)
FACT_JSON = {
    "subject": "Mara",
    "relation": "age",
    "object": "41",
    "object_kind": "number",
    "valid_from": NOON_TEXT,
    "valid_to": None,
    "confidence": 0.5,
    "sources": [
        {"memory_id": "m1", "version": 2},
        {"transcript_id": "t1", "spans": [[0, 4]]},
    ],
    "known_from": None,
    "assertions": ["a1"],
    "namespace": "team",
    "agent_id": "ada",
    "asserted_by": [],
}
PLACE: dict[str, Any] = {"key": "k", "namespace": "team", "agent_id": "ada"}
RECORD = memoranda.StateRecord(**PLACE, value={"a": [1]}, version=3, commit_ts=7, committed_at=NOON)
RECORD_JSON = {
    **PLACE,
    "value": {"a": [1]},
    "version": 3,
    "commit_ts": 7,
    "committed_at": NOON_TEXT,
}


def same(value: object, expected: object) -> None:
    """Compare with the order of the members, which programs that print JSON show."""
    assert json.dumps(to_json(value)) == json.dumps(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        ("text", "text"),
        (NOON, NOON_TEXT),
        (date(2026, 2, 7), "2026-02-07"),
        (b"\x00\xff", "00ff"),
        (("a", NOON), ["a", NOON_TEXT]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (memoranda.OperationType.WRITE, memoranda.OperationType.WRITE.value),
        (memoranda.Literal(41), "41"),
        (
            memoranda.KeyRef("k", 1, "ada"),
            {"key": "k", "version": 1, "agent_id": "ada", "namespace": None},
        ),
        (memoranda.FactRef("a1"), {"assertion_id": "a1"}),
        (memoranda.Anchor("m1", 2, ((0, 4),)), {"memory_id": "m1", "hop": 2, "spans": [[0, 4]]}),
    ],
)
def test_values(value: object, expected: object) -> None:
    same(value, expected)


def test_another_object_is_refused() -> None:
    with pytest.raises(TypeError, match="Store has no JSON form"):
        to_json(memory_store())


def test_a_document_is_not_copied_however_deep() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert to_json(msgspec.structs.replace(RECORD, value=deep))["value"] is deep


def test_records_of_keys() -> None:
    same(RECORD, RECORD_JSON)
    same(msgspec.structs.replace(RECORD, unproven=True), RECORD_JSON | {"unproven": True})
    change = memoranda.StateChange("k", None, RECORD)
    same(change, {"key": "k", "kind": "added", "before": None, "after": RECORD_JSON})
    version = memoranda.StateVersion(
        **PLACE,
        version=1,
        value=None,
        because=(memoranda.MemoryRef("m"), memoranda.TranscriptRef("t", ((0, 3),))),
        commit_ts=7,
        committed_at=NOON,
        txn_id="t",
        actor="ada",
    )
    same(
        version,
        {
            **PLACE,
            "version": 1,
            "value": None,
            "because": [
                {"memory_id": "m", "version": None},
                {"transcript_id": "t", "spans": [[0, 3]]},
            ],
            "commit_ts": 7,
            "committed_at": NOON_TEXT,
            "txn_id": "t",
            "actor": "ada",
        },
    )


def test_facts() -> None:
    same(FACT, FACT_JSON)
    same(msgspec.structs.replace(FACT, unproven=True), FACT_JSON | {"unproven": True})
    entity = msgspec.structs.replace(FACT, object="Oslo")
    same(entity, FACT_JSON | {"object": "Oslo", "object_kind": None})
    neighbor = memoranda.Neighbor("Oslo", 1, FACT)
    same(neighbor, {"node": "Oslo", "node_kind": None, "hop": 1, "via": FACT_JSON})
    same(memoranda.Subgraph(("Mara",), (FACT,)), {"entities": ["Mara"], "facts": [FACT_JSON]})


def test_an_explanation() -> None:
    assertion = memoranda.Assertion(
        id="a1",
        subject="Mara",
        relation="age",
        object=memoranda.Literal(41),
        valid_from=NOON,
        confidence=1.0,
        commit_ts=7,
        committed_at=NOON,
        actor="ada",
        source=memoranda.MemoryRef("m1"),
        agent_id="bo",
    )
    ending = memoranda.Ending("e1", NOON, 8, NOON, "ada", agent_id="bo")
    assert to_json(memoranda.Explanation(FACT, (assertion,), ending)) == {
        "fact": FACT_JSON,
        "assertions": [
            {
                "id": "a1",
                "subject": "Mara",
                "relation": "age",
                "valid_from": NOON_TEXT,
                "confidence": 1.0,
                "commit_ts": 7,
                "committed_at": NOON_TEXT,
                "actor": "ada",
                "source": {"memory_id": "m1", "version": None},
                "quotes": [],
                "agent_id": "bo",
                "object": "41",
                "object_kind": "number",
            }
        ],
        "end": {
            "id": "e1",
            "at": NOON_TEXT,
            "commit_ts": 8,
            "committed_at": NOON_TEXT,
            "actor": "ada",
            "source": None,
            "quotes": [],
            "agent_id": "bo",
        },
    }


def test_a_resolution_names_both_sides_of_a_change() -> None:
    before = memoranda.ExistingEdge("mara", "lives", "oslo", NOON)
    after = msgspec.structs.replace(before, valid_to=NOON)
    shape = to_json(memoranda.EdgeResolution(None, changed=((before, after),), commit_ts=3))
    edge = {"subject_key": "mara", "relation": "lives", "object_key": "oslo"}
    assert list(shape) == list(memoranda.EdgeResolution.__struct_fields__)
    assert shape["changed"] == [
        {
            "before": edge | {"valid_from": NOON_TEXT, "valid_to": None},
            "after": edge | {"valid_from": NOON_TEXT, "valid_to": NOON_TEXT},
        }
    ]


def test_what_a_store_returns() -> None:
    store = memory_store().bind(agent_id="ada")
    memory = store.remember("Mara moved to Oslo", title="Mara")
    commit = ["outcome", "commit_ts", "committed_at"]
    assert list(to_json(memory))[-3:] == commit
    read = store.get_memory(memory.id)
    assert read is not None
    members = to_json(read)
    assert list(members) == [
        name for name in memoranda.Memory.__struct_fields__ if name not in ("unproven", *commit)
    ]
    transcript = store.store_transcript("Mara: I moved to Oslo")
    assert to_json(transcript)["original_size"] == 21
    store.write(key="home", value={"city": "Oslo"}, because=[read])
    event = list(store.replay())[-1]
    assert to_json(event) == {
        "commit_ts": event.commit_ts,
        "committed_at": event.timestamp,
        "txn_id": event.txn_id,
        "actor": event.actor,
        "token": event.token,
        "operations": [
            {
                "type": "write",
                "namespace": event.operations[0].namespace,
                "agent_id": event.actor,
                "key": "home",
                "value": {"city": "Oslo"},
                "version": 1,
                "because": [{"memory_id": memory.id, "version": 1}],
            }
        ],
    }
    (hit,) = store.recall("who moved to Oslo", kinds=["memory"])
    shape = to_json(hit)
    assert shape["memory"] == members
    assert shape["context"] == {"before": "", "after": ""}
    json.dumps([shape, to_json(store.stats()), to_json(store.verify())])


def test_trees_are_lists_of_nodes() -> None:
    store = memory_store().bind(agent_id="ada")
    words = store.store_transcript("Mara: I moved to Oslo")
    base = store.remember("Mara moved to Oslo", transcript=words.id)
    top = store.reflect("Mara lives in Oslo", on=[base.id])
    origin = store.origins(top.id)
    assert origin is not None
    nodes = list(origin_nodes(origin))
    assert [(node["memory"]["id"], node["parent"], node["depth"]) for node in nodes] == [
        (top.id, None, 0),
        (base.id, top.id, 1),
    ]
    assert nodes[1]["sources"][0]["excerpts"] == ["Mara: I moved to Oslo"]
    store.write(key="home", value={"city": "Oslo"}, because=[top])
    reason = store.why(memoranda.KeyRef("home"))
    assert reason is not None
    reasons = list(reason_nodes(reason))
    assert [(node["number"], node["parent"], node["depth"]) for node in reasons] == [
        (0, None, 0),
        (1, 0, 1),
        (2, 1, 2),
        (3, 2, 3),
    ]
    assert "because" not in reasons[0]
    assert reasons[0]["believed"] is True
    store.retract_memory(base.id)
    reason = store.why(memoranda.KeyRef("home"))
    assert reason is not None
    assert [node["kind"] for node in stale_key(reason)["rests_on"]] == ["memory"]
    json.dumps([nodes, reasons, stale_key(reason)])


def test_every_public_struct_has_a_form() -> None:
    structs = [
        value
        for name in memoranda.__all__
        if inspect.isclass(value := getattr(memoranda, name))
        and issubclass(value, msgspec.Struct)
        and value is not memoranda.Operation
    ]
    assert len(structs) > 40
    for struct in structs:
        assert to_json.dispatch(struct) is not to_json.dispatch(object), struct


def test_a_transcript_of_an_asynchronous_store_has_the_same_form() -> None:
    async def work() -> Any:
        async with await memoranda.open_async(":memory:", embedder=None) as opened:
            transcript = await opened.bind(agent_id="a").store_transcript("words")
            stored = await opened.get_transcript(transcript.id)
            assert stored is not None
            return to_json(transcript), to_json(stored)

    stored, read = asyncio.run(work())
    assert stored == read | {name: stored[name] for name in CommitFields.__annotations__}
    assert (stored["original_size"], stored["outcome"]) == (5, "created")
