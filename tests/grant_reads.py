"""The rows of the matrix of grants for calls that answer at once: what each is asked.

A row says how to ask a call for what is covered and for what is not: by scope, by id, by prefix, by
link and for all. A call whose row is `REFUSED` needs a grant that covers everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memoranda.calls import (
    audit,
    directory,
    fact_writes,
    facts,
    graph,
    key_writes,
    keys,
    link_writes,
    links,
    log,
    memories,
    memory_writes,
    recall,
    within,
)
from memoranda.calls import extraction as imports
from memoranda.calls import transcripts as talks
from memoranda.calls import why as reasons
from memoranda.calls.bulk_facts import CountAsserted
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import AskWithin, Begin, ListWithin
from memoranda.memory.transcripts import check_transcript
from memoranda.model.limits import Limits
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from tests.grant_worlds import ELSEWHERE, FOREIGN, MARK, OWN, TEAM, StepIds

Ids = Mapping[str, str]
AGENTS = ("a", "b", "nobody")
PLACES = (TEAM, ELSEWHERE, "team/sub", "team/shared", "nowhere")
MEMORIES = ("home", "below", "diary", "of_b", "insight", "newer", "x_home", "x_home_of_a",
            "x_diary", "x_diary_of_a", "x_insight", "x_newer", "x_forgotten")  # fmt: skip
TALKS = ("talk", "x_talk")
FACTS = ("fact", "fact_of_b", "fact_of_diary", "shared_of_b", "x_fact", "x_fact_of_a",
         "x_fact_of_diary", "x_shared_private")  # fmt: skip
REFUSED = None


def of_scopes(kind: type[Call[Any]], *more: Any) -> list[Call[Any]]:
    return [kind(agent, place, *more) for agent in AGENTS for place in PLACES]


def of_all(kind: type[Call[Any]], *more: Any) -> list[Call[Any]]:
    agents, places = (*AGENTS, None), (*PLACES, None)
    return [kind(agent, place, *more) for agent in agents for place in places]


def by_id(
    names: tuple[str, ...], kind: Callable[..., Call[Any]]
) -> Callable[[Ids], list[Call[Any]]]:
    return lambda ids: [
        *(kind(ids[name]) for name in names),
        *(kind(ids[name], agent_id=agent) for name in names for agent in AGENTS),
    ]


def _facts(kind: Any) -> list[Call[Any]]:
    return [
        *(kind(agent, place) for agent in (*AGENTS, None) for place in PLACES),
        *(kind("a", place, "Ann", "lives in", include_closed=True) for place in PLACES),
        *(kind("a", place, None, None, f"{MARK} Bonn", known_at=30) for place in PLACES),
    ]


def _searches(kind: Any) -> list[Call[Any]]:
    return [
        *(kind(query="Ann lives in Bonn", namespace=place) for place in (*PLACES, None)),
        *(kind(query="Bonn", namespace=None, agent_id=agent) for agent in AGENTS),
        kind(query="Bonn", namespace=TEAM, k=1),
        kind(query="Bonn", namespace=TEAM, known_at=30),
        kind(query=MARK, namespace=None, include_superseded=True, include_expired=True),
    ]


def _walks(kind: Any, **ends: Any) -> list[Call[Any]]:
    return [
        *(kind(agent_id=agent, namespace=place, **ends) for agent in AGENTS for place in PLACES),
        kind(agent_id="a", namespace=TEAM, known_at=30, **ends),
    ]


def _whys(ids: Ids) -> list[Call[Any]]:
    refs: list[Ref] = [
        *(KeyRef("plan", None, agent, place) for agent in AGENTS for place in PLACES),
        KeyRef("resting", None, "a", TEAM),
        *(MemoryRef(ids[name]) for name in MEMORIES),
        *(FactRef(ids[name]) for name in FACTS),
        *(TranscriptRef(ids[name]) for name in TALKS),
    ]
    return [reasons.Why(ref, None, agent) for ref in refs for agent in (None, "a", "b")]


def _lists(kind: Any) -> list[Call[Any]]:
    return [
        *(kind(place) for place in (*PLACES, None)),
        *(kind(None, agent_id=agent) for agent in AGENTS),
        kind(None, kind="reflection"),
        kind(None, metadata={"m": 1}),
        kind(f"{TEAM}/_invalidations"),
        kind(None, at=30),
    ]


def _prefixes(ids: Ids) -> Iterator[str]:
    yield from ("0000", "00000000-", "", "ffff")
    for name in (*MEMORIES, *TALKS, *FACTS):
        yield from (ids[name], ids[name][:11])


def _subscriptions(_: Ids) -> list[Call[Any]]:
    names = ("cursor of a", "cursor of b", f"cursor of nobody {MARK}", "new")
    return [
        *of_all(Subscribe, 0),
        Subscribe(None, None, last=3),
        Subscribe("a", None, 20, prefix="plan"),
        Subscribe(None, None, 0, kinds=("WRITE",)),
        *(Subscribe("a", None, cursor=name) for name in names),
        *(Subscribe(None, TEAM, 0, cursor=name) for name in names),
    ]


def _same_transcripts(_: Ids) -> list[Call[Any]]:
    words = "Ann: I live in Bonn.\nBob: Since when?", f"Ann: {MARK} I live in Bonn."
    contents = [check_transcript(text, Limits()) for text in words]
    return [
        imports.FindSameTranscript(agent, place, (content.digest,), len(content.content))
        for content in contents
        for agent in AGENTS
        for place in PLACES
    ]


def _transactions(_: Ids) -> list[Call[Any]]:
    """Return questions for the transaction of each step, and for one that there is not."""
    ids, calls = StepIds(), [imports.GetCommittedItems("none")]
    for number in range(len(OWN) + len(FOREIGN)):
        ids.begin(number + 1)
        calls.append(imports.GetCommittedItems(ids.unique()))
    return [*calls]


def _stagings(ids: Ids) -> list[tuple[WriteCall[Any], ...]]:
    """Return calls to read after: none, one's own, and some that name what is foreign."""
    foreign, own = ids["x_home"], ids["home"]
    return [
        (),
        (key_writes.Write("a", TEAM, "plan", {"v": 1}),
         memory_writes.Remember("a", TEAM, "Ann lives in Ulm", "home")),
        (link_writes.Supersede(own, foreign, "a"), link_writes.Link(foreign, own, "reflects_on"),
         memory_writes.UpdateMemory(foreign, "a", content="x"),
         memory_writes.Remember("a", TEAM, "Ann lives in Ulm", "diary", visibility="private"),
         fact_writes.AssertFact("a", TEAM, "Ann", "lives in", "Ulm", source=foreign)),
    ]  # fmt: skip


def _questions(ids: Ids) -> list[Call[Any]]:
    titles = ("home", "diary", "of b", "x", MARK)
    return [
        *of_scopes(keys.GetState, "plan"),
        *(memories.GetMemory(ids[name], agent_id=agent) for name in MEMORIES for agent in "ab"),
        *(memories.GetMemory(None, title, place) for title in titles for place in PLACES),
        *(links.Links(ids[name]) for name in MEMORIES),
        *(links.Dependents(ids[name], None) for name in MEMORIES),
        *of_scopes(facts.Timeline, "Ann", "lives in"),
        *of_scopes(facts.Facts, "Ann", "lives in"),
        within.Refusals(),
        *(
            within.FindTitle(place, owner, title)
            for place in PLACES
            for owner in ("", *AGENTS)
            for title in titles
        ),
        *(
            within.FindEventTime(MemoryRef(ids[name]), agent, TEAM)
            for name in MEMORIES
            for agent in AGENTS
        ),
    ]


SINCE = 45
"""A commit behind all steps, as of which transactions read."""


def _asked_within(ids: Ids) -> list[Call[Any]]:
    return [
        AskWithin("t", SINCE, 0, calls, read)
        for calls in _stagings(ids)
        for read in _questions(ids)
    ]


def _listed_within(ids: Ids) -> list[Call[Any]]:
    reads = [*of_scopes(keys.ListKeys), *of_scopes(keys.ScanPrefix, "")]
    return [ListWithin("t", SINCE, 0, calls, read) for calls in _stagings(ids) for read in reads]


Row = Callable[[Ids], list[Call[Any]]] | None
CASES: dict[str, Row] = {
    "audit_events": lambda _: [
        audit.AuditEvents(),
        *(audit.AuditEvents(agent_id=agent) for agent in AGENTS),
        audit.AuditEvents(("memory.*", "erasure.carried_out")),
        audit.AuditEvents(after_commit=30),
    ],
    "checkpoints": REFUSED,
    "prove": REFUSED,
    "prove_growth": REFUSED,
    "trusted_keys": REFUSED,
    "describe_store": lambda _: [directory.DescribeStore()],
    "agents": lambda _: [directory.Agents()],
    "namespaces": lambda _: [directory.Namespaces()],
    "find_id": lambda ids: [
        directory.FindId(prefix, kinds, agent)
        for prefix in _prefixes(ids)
        for kinds in (None, ("memory",), ("fact", "erasure"))
        for agent in (None, "b")
    ],
    "find_ids": lambda ids: [
        *(directory.FindIds(prefix) for prefix in _prefixes(ids)),
        *(directory.FindIds("", (kind,), 5) for kind in ("memory", "transcript", "fact")),
        directory.FindIds("", ("erasure", "notice")),
    ],
    "short_ids": lambda ids: [
        directory.ShortIds(tuple(ids[name] for name in names), kind)
        for names, kind in ((MEMORIES, "memory"), (TALKS, "transcript"), (FACTS, "fact"))
    ],
    "certificate": REFUSED,
    "prove_erasure": REFUSED,
    "erasures": REFUSED,
    "purge": REFUSED,
    "facts": lambda _: _facts(facts.Facts),
    "iter_facts": lambda _: _facts(facts.IterFacts),
    "iter_shared_facts": lambda _: of_scopes(facts.IterSharedFacts),
    "timeline": lambda _: [
        facts.Timeline(agent, place, "Ann", "lives in", known_at)
        for agent in (*AGENTS, None)
        for place in PLACES
        for known_at in (None, 30)
    ],
    "explain": by_id(FACTS, lambda name, **agent: facts.Explain(name, **agent)),
    "current_edges": lambda _: of_scopes(facts.CurrentEdges, "Ann", "lives in"),
    "cardinalities": lambda _: [facts.Cardinalities(place) for place in PLACES],
    "entity": lambda _: [*of_scopes(facts.Entity, "Ann"), *of_scopes(facts.Entity, MARK)],
    "entities": lambda _: of_scopes(facts.Entities),
    "neighbors": lambda _: _walks(graph.Neighbors, entity="Ann", hops=2),
    "path": lambda _: _walks(graph.Path, source="Ann", target="Rome"),
    "subgraph": lambda _: _walks(graph.Subgraph, entities=("Ann",), hops=2),
    "suggest_merges": lambda _: of_scopes(graph.SuggestMerges, 0.5),
    "get_state": lambda _: [
        *of_scopes(keys.GetState, "plan"),
        *of_scopes(keys.GetState, "plan", 1),
        *of_scopes(keys.GetState, "plan", None, 40),
    ],
    "list_keys": lambda _: of_scopes(keys.ListKeys),
    "scan_prefix": lambda _: of_scopes(keys.ScanPrefix, ""),
    "history": lambda _: of_scopes(keys.History, "plan"),
    "diff": lambda _: of_scopes(keys.Diff, 1),
    "links": by_id(MEMORIES, lambda name, **agent: links.Links(name, **agent)),
    "dependents": by_id(MEMORIES, lambda name, **agent: links.Dependents(name, None, **agent)),
    "invalidations": lambda _: [
        links.Invalidations(agent, status)
        for agent in (*AGENTS, None)
        for status in ("open", "all")
    ],
    "replay": lambda _: [
        *of_all(log.Replay),
        log.Replay(None, None, kinds=("WRITE",)),
        log.Replay(None, None, after_commit=20, through_commit=30),
    ],
    "timeline_buckets": lambda _: [
        log.TimelineBuckets(agent, place, buckets=3)
        for agent in AGENTS
        for place in (*PLACES, None)
    ],
    "cursors": lambda _: [log.Cursors()],
    "drop_cursor": REFUSED,
    "verify": REFUSED,
    "rebuild_views": REFUSED,
    "reindex": REFUSED,
    "get_stats": REFUSED,
    "sql_views": REFUSED,
    "sql": REFUSED,
    "get_memory": lambda ids: [
        *by_id(MEMORIES, lambda name, **agent: memories.GetMemory(name, **agent))(ids),
        *(memories.GetMemory(ids[name], version=1, at=30) for name in MEMORIES),
        *(
            memories.GetMemory(None, title, place, agent_id=agent)
            for title in ("home", "diary", "of b", "x", MARK)
            for place in PLACES
            for agent in (None, *AGENTS)
        ),
    ],
    "memory_history": by_id(MEMORIES, lambda name, **agent: memories.MemoryHistory(name, **agent)),
    "list_memories": lambda _: _lists(memories.ListMemories),
    "recall": lambda _: _searches(recall.Recall),
    "explain_recall": lambda _: _searches(recall.ExplainRecall),
    "recall_context": lambda _: _searches(recall.RecallContext),
    "get_transcript": lambda ids: [talks.GetTranscript(ids[name]) for name in TALKS],
    "load_transcript": lambda ids: [talks.LoadTranscript(ids[name]) for name in TALKS],
    "list_transcripts": lambda _: [talks.ListTranscripts(place) for place in (*PLACES, None)],
    "transcripts_for": by_id(MEMORIES, lambda name, **agent: talks.TranscriptsFor(name, **agent)),
    "memories_for": by_id(TALKS, lambda name, **agent: talks.MemoriesFor(name, **agent)),
    "replay_transcripts": by_id(
        MEMORIES, lambda name, **agent: talks.ReplayTranscripts(name, **agent)
    ),
    "origins": by_id(MEMORIES, lambda name, **agent: talks.Origins(name, **agent)),
    "why": _whys,
    "stale_keys": lambda _: of_scopes(reasons.StaleKeys),
    "count_asserted": lambda ids: [
        *(CountAsserted((ids[name],), commit) for name in FACTS for commit in range(15, 45)),
        CountAsserted(tuple(ids[name] for name in FACTS), None),
    ],
    "find_same_transcript": _same_transcripts,
    "get_committed_items": _transactions,
    "unused_relations": lambda _: [
        imports.UnusedRelations(place, ("lives in", f"{MARK} lives in", "visits"))
        for place in PLACES
    ],
    "get_head": REFUSED,
    "subscribe": _subscriptions,
    "acknowledge": REFUSED,
    "begin": lambda _: [Begin(), Begin("t")],
    "ask_within": _asked_within,
    "list_within": _listed_within,
    "refusals": lambda _: [within.Refusals()],
    "find_title": lambda _: [within.FindTitle(TEAM, "b", "diary")],
    "find_event_time": lambda ids: [within.FindEventTime(MemoryRef(ids["x_home"]), "a", TEAM)],
    "make_backup": REFUSED,
    "make_fork": REFUSED,
    "export_log": REFUSED,
    "preview_erasure": REFUSED,
    "compact": REFUSED,
    "sweep": REFUSED,
    "checkpoint": REFUSED,
    "trust_key": REFUSED,
    "retire_key": REFUSED,
    "rotate_key": REFUSED,
}
"""The rows of calls that answer at once; `WRITE_CASES` has those of calls that write."""
NAMING_IDS = {"list_memories", "replay", "subscribe", "short_ids", "ask_within"}
"""Calls whose answers name ids that covered operations and notices link, or the caller named."""
