"""The rows of the matrix of grants for calls that write: what each is asked to do.

A row says how to ask a call for what is covered and for what is not: by scope, by id, by title, by
link, as evidence and as a source. All calls of a row are made one after another on copies of two
stores, so those that change what later ones name come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from memoranda.calls.call import WriteCall
from memoranda.calls.erasure_writes import Forget
from memoranda.calls.fact_writes import (
    Alias,
    AssertFact,
    EndFact,
    MergeEntities,
    RetractFact,
    SetCardinality,
)
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.link_writes import Link, ResolveInvalidation, Supersede, Unlink
from memoranda.calls.memory_writes import (
    Configure,
    Promote,
    Reflect,
    Remember,
    RetractMemory,
    Touch,
    UpdateMemory,
)
from memoranda.calls.transactions import Commit
from memoranda.calls.transcript_writes import LinkTranscript, StoreTranscript
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from tests.grant_worlds import ELSEWHERE, MARK, TEAM

Ids = Mapping[str, str]
AGENTS = ("a", "b", "nobody")
PLACES = (TEAM, ELSEWHERE, f"{TEAM}/sub", f"{TEAM}/shared", "nowhere")
SCOPES = tuple(product(AGENTS, PLACES))
MEMORIES = ("x_home", "x_home_of_a", "x_diary", "x_diary_of_a", "x_insight", "x_newer",
            "x_forgotten", "of_b", "diary", "below", "newer", "insight", "home")  # fmt: skip
"""What is foreign comes first, since the last ones are needed longest."""
TALKS = ("x_talk", "talk")
FACTS = ("x_fact", "x_fact_of_a", "x_fact_of_diary", "x_shared_private", "shared_of_b",
         "fact_of_b", "fact_of_diary", "fact")  # fmt: skip
PAIRS = (
    ("x_home", "x_insight"), ("home", "x_home"), ("x_home", "home"), ("home", "x_diary"),
    ("x_diary", "home"), ("x_diary_of_a", "home"), ("home", "x_forgotten"), ("x_newer", "newer"),
    ("home", "reflected_on"), ("reflected_on", "home"), ("of_b", "home"), ("diary", "of_b"),
    ("newer", "insight"), ("insight", "home"), ("home", "insight"), ("home", "below"),
)  # fmt: skip
"""Memories to link, each way: foreign ones, and one's own."""
RELATIONS = ("related_to", "derived_from", "reflects_on", "supersedes")
NOWHERE = "00000000-0000-7000-8000-000000000000"
"""An id that nothing has."""


def _by_id(
    kind: Callable[..., WriteCall[Any]], *more: Any
) -> Callable[[Ids], list[WriteCall[Any]]]:
    """Return calls that name each memory, as each agent and as none."""
    return lambda ids: [
        *(kind(ids[name], *more, agent_id=agent) for name in MEMORIES for agent in ("b", None)),
        *(kind(ids[name], *more, agent_id="a") for name in MEMORIES),
        kind(NOWHERE, *more, agent_id="a"),
    ]


def _refs(ids: Ids) -> list[Ref]:
    spans = ((0, 4),)
    return [
        *(KeyRef("plan", version, *scope) for version in (None, 1, 2) for scope in SCOPES),
        *(MemoryRef(ids[name], version) for version in (None, 1, 9) for name in MEMORIES),
        *(FactRef(ids[name]) for name in FACTS),
        *(TranscriptRef(ids[name]) for name in TALKS),
        *(TranscriptRef(ids[name], spans) for name in TALKS),
        *(TranscriptRef(ids[name], ((0, 9999),)) for name in TALKS),
        MemoryRef(NOWHERE), FactRef(NOWHERE), TranscriptRef(NOWHERE), TranscriptRef(NOWHERE, spans),
    ]  # fmt: skip


def _sources(ids: Ids) -> list[Any]:
    """Return sources of facts: references, and bare ids, whose kind is looked up."""
    refs = [ref for ref in _refs(ids) if isinstance(ref, (MemoryRef, TranscriptRef))]
    return [*refs, *(ids[name] for name in (*MEMORIES, *TALKS)), NOWHERE]


def _writes(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *(Write("a", TEAM, "resting", {"n": 1}, None, (ref,)) for ref in _refs(ids)),
        *(Write(*scope, "plan", {"n": 1}, 9) for scope in SCOPES),
        *(Write(*scope, "plan", {"n": 1}, 1) for scope in SCOPES),
        *(Write(*scope, MARK, {"n": 1}, 0) for scope in SCOPES),
        *(Write(*scope, "plan", {"n": 2}) for scope in SCOPES),
    ]


def _deletions(_: Ids) -> list[WriteCall[Any]]:
    return [
        *(Delete(*scope, "plan", 9) for scope in SCOPES),
        *(Delete(*scope, MARK) for scope in SCOPES),
        *(Delete(*scope, "plan") for scope in SCOPES),
    ]


def _new_memories(ids: Ids) -> list[WriteCall[Any]]:
    titles = ("home", "diary", "of b", "x", "below", MARK)
    return [
        *(
            Remember(*scope, "as before", title, visibility=visibility, on_conflict=on_conflict)
            for scope in SCOPES
            for title in titles
            for visibility in ("private", "namespace")
            for on_conflict in ("error", "update")
        ),
        *(
            Remember("a", TEAM, "quoting", transcript=TranscriptRef(name), spans=spans)
            for name in (*(ids[label] for label in TALKS), NOWHERE)
            for spans in (None, ((0, 4),), ((0, 9999),))
        ),
        *(Remember(*scope, "anew") for scope in SCOPES),
    ]


def _reflections(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *(Reflect(*scope, "on it", on=(ids["x_home"],)) for scope in SCOPES),
        *(Reflect("a", TEAM, "on it", on=(ids[name],)) for name in MEMORIES),
        *(Reflect("a", TEAM, "on both", on=(ids["home"], ids[name])) for name in MEMORIES),
        *(Reflect("a", TEAM, "on it", title, on=(ids["home"],)) for title in ("diary", "x", MARK)),
        Reflect("a", TEAM, "on nothing", on=(NOWHERE,)),
    ]


def _updates(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *_by_id(lambda name, **by: UpdateMemory(name, expect_version=9, content="x", **by))(ids),
        *_by_id(lambda name, **by: UpdateMemory(name, title="diary", **by))(ids),
        *_by_id(lambda name, **by: UpdateMemory(name, content="other words", **by))(ids),
        *_by_id(lambda name, **by: UpdateMemory(name, title=MARK, **by))(ids),
    ]


def _settings(_: Ids) -> list[WriteCall[Any]]:
    return [
        *(Configure(place, agent, max_reflection_depth=2) for agent, place in SCOPES),
        *(Configure(place, max_reflection_depth=3) for place in PLACES),
        *(Configure(place, "a", facts="shared") for place in PLACES),
        *(Configure(place, "a", facts="own") for place in PLACES),
    ]


def _edges(ids: Ids) -> list[tuple[str, str, str]]:
    pairs = [*((ids[source], ids[target]) for source, target in PAIRS),
             (ids["home"], NOWHERE), (NOWHERE, ids["home"])]  # fmt: skip
    return [(*pair, relation) for relation in RELATIONS for pair in pairs]


def _linking(kind: Any) -> Callable[[Ids], list[WriteCall[Any]]]:
    return lambda ids: [kind(*edge, agent) for agent in ("b", "a") for edge in _edges(ids)]


def _superseding(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *(Supersede(ids[old], ids[new], agent) for agent in ("b", None) for old, new in PAIRS),
        *(Supersede(ids[old], NOWHERE, "a") for old in MEMORIES),
        *(Supersede(ids[new], ids[old], "a") for old, new in PAIRS),
    ]


def _decisions(ids: Ids) -> list[WriteCall[Any]]:
    notices = [name for label, name in ids.items() if label.startswith("notice")]
    return [
        *(ResolveInvalidation(ids[name], "keep", agent_id="a") for name in MEMORIES),
        *(
            ResolveInvalidation(notice, "revise", None, ids[name], agent)
            for notice in (*notices, NOWHERE)
            for name in ("x_newer", "x_diary", "x_forgotten")
            for agent in ("b", "a")
        ),
        *(ResolveInvalidation(notice, "revise", None, NOWHERE, "a") for notice in notices),
        *(ResolveInvalidation(notice, "retract", "so", agent_id="a") for notice in notices[1::2]),
        *(ResolveInvalidation(notice, "keep", agent_id="b") for notice in notices),
        *(ResolveInvalidation(notice, "keep", agent_id="a") for notice in notices),
    ]


def _citations(ids: Ids) -> list[WriteCall[Any]]:
    names = (*(ids[label] for label in TALKS), NOWHERE)
    return [
        LinkTranscript(ids[memory], TranscriptRef(name), spans, agent)
        for memory in MEMORIES
        for name in names
        for spans in (((0, 9999),), ((0, 4),), None)
        for agent in ("b", "a")
    ]


def _assertions(ids: Ids) -> list[WriteCall[Any]]:
    until = "2027-01-01T00:00:00Z"
    return [
        *(AssertFact("a", TEAM, "Ann", "visits", "Bonn", source=name) for name in _sources(ids)),
        *(
            AssertFact("a", TEAM, "Ann", "visits", "Rome", valid_to=until, source=MemoryRef(name))
            for name in (*(ids[label] for label in MEMORIES), NOWHERE)
        ),
        *(
            AssertFact("a", TEAM, "Ann", "visits", "Rome", source=ids[name], spans=spans)
            for name in TALKS
            for spans in (((0, 4),), ((0, 9999),))
        ),
        *(AssertFact(*scope, "Ann", "lives in", "Bonn", once="once") for scope in SCOPES),
        *(AssertFact(*scope, "Ann", "lives in", f"{MARK} Bonn") for scope in SCOPES),
        *(AssertFact(*scope, MARK, "lives in", "Rome", visibility="private") for scope in SCOPES),
    ]


def _ends(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *(EndFact(*scope, MARK, "lives in") for scope in SCOPES),
        *(EndFact(*scope, "Anne", "lives in") for scope in SCOPES),
        *(EndFact("a", TEAM, "Ann", "visits", source=name) for name in _sources(ids)),
        *(EndFact(*scope, "Ann", "lives in", f"{MARK} Bonn") for scope in SCOPES),
        *(EndFact(*scope, "Ann", "lives in") for scope in SCOPES),
        *(EndFact(*scope, MARK, "lives in", allow_unknown=True) for scope in SCOPES),
    ]


def _retractions(ids: Ids) -> list[WriteCall[Any]]:
    return [
        *(RetractFact(*scope, NOWHERE) for scope in SCOPES),
        *(RetractFact(*scope, None, "Ann", "lives in", f"{MARK} Bonn") for scope in SCOPES),
        *(RetractFact(*scope, None, MARK, "lives in") for scope in SCOPES),
        *(RetractFact(*scope, ids[name]) for name in FACTS for scope in SCOPES),
        *(RetractFact(*scope, None, "Ann", "lives in") for scope in SCOPES),
    ]


def _erasures(ids: Ids) -> list[WriteCall[Any]]:
    memories, facts = [ids[name] for name in MEMORIES], [ids[name] for name in FACTS]
    talks = [ids[name] for name in TALKS]
    return [
        Forget(memory_id=NOWHERE),
        *(Forget(key="plan", agent_id=agent, namespace=place) for agent, place in SCOPES),
        *(Forget(key=MARK, agent_id=agent, namespace=place) for agent, place in SCOPES),
        *(Forget(entity=MARK, agent_id=agent, namespace=place) for agent, place in SCOPES),
        *(Forget(entity="Ann Smith", agent_id=agent, namespace=place) for agent, place in SCOPES),
        *(Forget(facts_from=name) for name in (*memories, NOWHERE)),
        *(Forget(facts_from=name) for name in talks),
        *(Forget(fact=name, agent_id=agent) for name in (*facts, NOWHERE) for agent in (None, "b")),
        *(Forget(transcript_id=name, derived=True) for name in (NOWHERE, *talks)),
        *(Forget(memory_id=name, agent_id=agent) for name in memories for agent in ("b", "a")),
        *(Forget(transcript_id=name) for name in (NOWHERE, *talks)),
        *(Forget(whole_agent=agent) for agent in AGENTS),
        *(Forget(whole_namespace=place, children=True) for place in PLACES),
    ]


def _transactions(ids: Ids) -> list[WriteCall[Any]]:
    """Return commits of a call that succeeds, with one that names something, in either order."""
    own = Write("a", TEAM, "with others", {"n": 1})
    parts: list[WriteCall[Any]] = [
        *(Write("a", TEAM, "resting", {"n": 1}, None, (ref,)) for ref in _refs(ids)),
        *(Touch(ids[name], "a") for name in MEMORIES),
        *(Reflect("a", TEAM, "on it", on=(ids[name],)) for name in MEMORIES),
        *(Link(ids[source], ids[target], "related_to", "a") for source, target in PAIRS),
        *(LinkTranscript(ids["home"], TranscriptRef(ids[name]), ((0, 4),), "a") for name in TALKS),
        *(AssertFact("a", TEAM, "Ann", "visits", "Bonn", source=ids[name]) for name in MEMORIES),
        *(RetractFact("a", TEAM, ids[name]) for name in FACTS),
        *(Remember(*scope, "as before", "diary") for scope in SCOPES),
        *(Delete(*scope, "plan") for scope in SCOPES),
    ]
    return [Commit(calls, txn_id=f"t{number}") for number, part in enumerate(parts)
            for calls in ((own, part),)]  # fmt: skip


WRITE_CASES: dict[str, Callable[[Ids], list[WriteCall[Any]]]] = {
    "write": _writes,
    "delete": _deletions,
    "remember": _new_memories,
    "reflect": _reflections,
    "update_memory": _updates,
    "touch": _by_id(Touch),
    "promote": _by_id(Promote, "long"),
    "retract_memory": _by_id(RetractMemory, "so"),
    "configure": _settings,
    "link": _linking(Link),
    "unlink": _linking(Unlink),
    "supersede": _superseding,
    "resolve_invalidation": _decisions,
    "store_transcript": lambda _: [
        StoreTranscript(*scope, "Ann: I live in Bonn.") for scope in SCOPES
    ],
    "link_transcript": _citations,
    "assert_fact": _assertions,
    "end_fact": _ends,
    "retract_fact": _retractions,
    "set_cardinality": lambda _: [
        *(SetCardinality(place, f"{MARK} lives in", "multi", "a") for place in PLACES),
        *(SetCardinality(place, "lives in", "single", agent) for agent, place in SCOPES),
        *(SetCardinality(place, "lives in", "multi", None) for place in PLACES),
    ],
    "alias": lambda _: [
        *(Alias(*scope, "Ann", MARK) for scope in SCOPES),
        *(Alias(*scope, MARK, "Ann Smith") for scope in SCOPES),
        *(Alias(*scope, "Ann", "Annie") for scope in SCOPES),
    ],
    "merge_entities": lambda _: [
        *(MergeEntities(*scope, MARK, "Ann") for scope in SCOPES),
        *(MergeEntities(*scope, "Ann Smith", f"{MARK} Bonn") for scope in SCOPES),
        *(MergeEntities(*scope, "Ann Smith", "Ann") for scope in SCOPES),
    ],
    "forget": _erasures,
    "commit": _transactions,
}
