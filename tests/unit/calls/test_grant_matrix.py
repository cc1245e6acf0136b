"""What a grant does not cover looks like what does not exist, for every call.

`CASES` has a row for each call of the registry: how to ask it for what is covered and for what is
not, by scope, by id, by prefix, by link and for all. Each question is asked of two stores. In one
of them, what the grant does not cover was never written: both answers must be equal, errors
included. In a third and a fourth, what is covered is linked with what is not, and only the words
of the latter differ. A call whose row is `REFUSED` needs a grant that covers everything.

The questions of a call that writes are asked one after another of stores of its own, so that both
change alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from memoranda import MemorandaError, PermissionDenied
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
from memoranda.calls.call import Call, WriteCall, call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.registry import CALLS, handle, stage_write
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import AnsweredWithin, AskWithin, Begin, ListWithin
from memoranda.log import pages
from memoranda.log.read.feed import Feed
from memoranda.memory.transcripts import check_transcript
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import Limits
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
from memoranda.search.results import Hit
from tests.grant_worlds import (
    ELSEWHERE,
    FOREIGN,
    GRANTS,
    LINKS,
    MARK,
    OWN,
    QUICK_GRANTS,
    TEAM,
    Step,
    StepIds,
    World,
    build,
    comparable,
    finish,
)
from tests.grant_writes import WRITE_CASES
from tests.quick import only

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
    for number in range(len(STEPS)):
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
OF_ALL_SCOPES = {"agents", "namespaces", "audit_events", "replay", "timeline_buckets", "cursors",
                 "find_id", "find_ids", "subscribe"}  # fmt: skip
"""Calls that show more without a grant, even where nothing foreign was written: other agents' part
of the log, and the ids of erasures."""
SAME_WITHOUT = {"drop_cursor", "cursors", "begin", "refusals", "find_title", "find_event_time"}
"""Calls that do not depend on what the steps wrote."""


def asked(world: World, grant: Grant, call: Call[Any]) -> Any:
    """Return all of an answer, page by page, or its error."""
    core = world.store._core
    assert isinstance(core.ids, StepIds)
    core.ids.begin(10_000)
    try:
        answer = handle(core, grant, call)
        if call.shape == "stream":
            return comparable(_followed(answer))
        if call.shape == "pages":
            return comparable([*iter(answer.next_page, [])])
    except MemorandaError as error:
        return type(error), str(error)
    return comparable(answer)


def _followed(feed: Feed) -> list[ReplayEvent]:
    """Return the events of a feed up to the end of the log."""
    events = feed.next_page()
    while not feed.caught_up:
        events += feed.next_page()
    return events


def without_scores(answer: Any) -> Any:
    """Return an answer with the ids of hits: an inbox that is not searched counts in scores."""
    if isinstance(answer, list) and answer and isinstance(answer[0], Hit):
        return sorted(hit.id for hit in answer)
    return answer


def rows(name: str, world: World) -> list[Call[Any]]:
    row = CASES[name]
    return [] if row is None else row(world.ids)


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that what is not covered would show in their lengths."""
    monkeypatch.setattr(pages, "PAGE_ROWS", 5)


ASKED = [name for name, row in CASES.items() if row is not REFUSED]
READS = [name for name in ASKED if name in CALLS and CALLS[name].verb == "read"]
STEPS = [step for pair in zip(OWN, FOREIGN, strict=True) for step in pair]
"""Every step of an agent's own, each followed by a foreign one."""


@cache
def whole() -> World:
    return finish(build(STEPS))


@cache
def without(grant_name: str) -> World:
    return build_without(grant_name)


def build_without(grant_name: str) -> World:
    """Return a world in which only what a grant covers was written."""
    grant = GRANTS[grant_name]

    def is_foreign(step: Step) -> bool:
        return not step.is_covered(grant)

    return finish(build(STEPS, leave_out=is_foreign, like=whole()), is_foreign, whole())


def worlds(name: str, grant_name: str) -> tuple[World, World]:
    """Return the worlds with and without what is foreign: new ones for a call that writes."""
    if CALLS[name].verb == "read":
        return whole(), without(grant_name)
    return finish(build(STEPS)), build_without(grant_name)


@cache
def linked(words: str) -> World:
    return finish(build([*STEPS, *LINKS], words=words))


def test_every_call_has_a_row() -> None:
    assert CASES.keys() | WRITE_CASES.keys() == CALLS.keys()
    assert CASES.keys().isdisjoint(WRITE_CASES)
    for name, row in (CASES | WRITE_CASES).items():
        for call in [] if row is None else row(linked(MARK).ids):
            assert call_name(type(call)) == name


@pytest.mark.parametrize("grant_name", only(QUICK_GRANTS, GRANTS))
@pytest.mark.parametrize("name", ASKED)
def test_what_is_not_covered_looks_like_what_does_not_exist(name: str, grant_name: str) -> None:
    grant, (world, other) = GRANTS[grant_name], worlds(name, grant_name)
    for call in rows(name, world):
        assert asked(world, grant, call) == asked(other, grant, call), call


@pytest.mark.parametrize("name", [name for name in READS if name not in SAME_WITHOUT])
def test_the_same_questions_show_what_is_foreign_to_whoever_may_see_it(name: str) -> None:
    world, other = whole(), without("one agent in a namespace")
    assert any(
        asked(world, EVERYTHING, call) != asked(other, EVERYTHING, call)
        for call in rows(name, world)
    )


@pytest.mark.parametrize("name", [name for name in READS if name not in OF_ALL_SCOPES])
def test_what_is_covered_is_shown_as_without_a_grant(name: str) -> None:
    world, grant = without("one agent in a namespace"), GRANTS["one agent in a namespace"]
    calls = rows(name, world)
    for call in calls:
        shown, as_embedded = (asked(world, authority, call) for authority in (grant, Grant("a")))
        assert without_scores(shown) == without_scores(as_embedded), call
    assert any(asked(world, grant, call) for call in calls)


@pytest.mark.parametrize("name", READS)
def test_nothing_foreign_shows_through_links(name: str) -> None:
    grant = GRANTS["one agent in a namespace"]
    world, other = linked(MARK), linked(f"{MARK} other words")
    foreign = {world.ids[step.label] for step in (*FOREIGN, *LINKS) if not step.is_covered(grant)}
    for call in rows(name, world):
        answer = asked(world, grant, call)
        assert answer == asked(other, grant, call), call
        if not isinstance(answer, tuple):  # errors and tracked reads repeat what the caller said
            text = repr(answer.answer if isinstance(answer, AnsweredWithin) else answer)
            assert MARK not in text or name == "unused_relations", call
            assert ELSEWHERE not in text, call
            assert name in NAMING_IDS or not [one for one in foreign - {""} if one in text], call


@pytest.mark.parametrize("name", [name for name, row in CASES.items() if row is REFUSED])
def test_a_call_about_the_whole_store_is_refused(name: str) -> None:
    kind = CALLS[name]
    call = kind(**dict.fromkeys(kind.__struct_fields__))
    for grant_name, grant in GRANTS.items():
        ask: Callable[..., Any] = stage_write if isinstance(call, WriteCall) else handle
        with pytest.raises(PermissionDenied, match=f"{name} needs a grant that covers every"):
            ask(without(grant_name).store._core, grant, call)
