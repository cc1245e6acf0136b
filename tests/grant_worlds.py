"""Stores to compare under a grant: with what it does not cover, without it, and with other words.

A world is built step by step, one transaction each. Where it leaves a step out, it commits as often
in a far namespace. Ids, salts and times depend on the step alone, so what is covered is the same in
two worlds, byte for byte, but for the hashes of the chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

import memoranda
from memoranda import Store, Transaction
from memoranda.audit.events import AuditEvent
from memoranda.calls.grant import Grant
from memoranda.calls.transactions import Begun
from memoranda.log.erasure.certificate import Certificate
from memoranda.log.read.cursors import Cursor
from memoranda.model.event import ReplayEvent
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, TranscriptRef
from memoranda.testing import FixedClock
from tests.cores import core_of
from tests.embedders import Hashing

TEAM, ELSEWHERE, FAR = "team", "teammate", "far"
"""What is covered, what is not and begins with the same letters, and where nobody looks."""
MARK = "Sesame"
"""A word of everything that is foreign to the grants of the matrix."""
SECONDS_A_STEP = 60
SEED = "e"
"""With it, ids of foreign facts are so near to others that these would need longer prefixes."""
HORIZONS = {f"{TEAM}/sub": 20, ELSEWHERE: 34}
"""The commits up to which namespaces are compacted."""

GRANTS = {
    "one agent in a namespace": Grant("a", frozenset("a"), frozenset([TEAM])),
    "an agent everywhere": Grant("a", frozenset("a")),
    "a namespace": Grant("a", None, frozenset([TEAM])),
    "a host of one agent": Grant(None, frozenset("a"), frozenset([TEAM])),
    "an actor that is not covered": Grant("b", frozenset("a"), frozenset([TEAM])),
    "nothing": Grant("a", frozenset(), frozenset()),
}
QUICK_GRANTS = ("one agent in a namespace",)
"""Those that `make test` asks under; the slow tests ask under all."""

Sort = Literal["own", "public"]
"""An agent's own: its keys, and what is private to it. What is public is everybody's in the
namespace."""
Work = Callable[[Transaction, Mapping[str, str], str], str | None]


class StepIds:
    """Ids and bytes that depend on the step, and on how many were drawn in it."""

    def __init__(self) -> None:
        self.step = 0
        self._count = 0

    def begin(self, step: int) -> None:
        self.step, self._count = step, 0

    def unique(self) -> str:
        self._count += 1
        tail = hashlib.sha256(f"{SEED}{self.step}:{self._count}".encode()).hexdigest()
        return f"00000000-{tail[:4]}-7{self._count:03x}-8{tail[4:7]}-{tail[7:19]}"

    def entropy(self, size: int) -> bytes:
        self._count += 1
        return hashlib.shake_256(f"{self.step}:{self._count}".encode()).digest(size)


class Step(msgspec.Struct, frozen=True):
    """One transaction of an agent, and who may see what it wrote."""

    label: str
    namespace: str
    agent_id: str
    sort: Sort
    work: Work

    def is_covered(self, grant: Grant) -> bool:
        if self.sort == "public":
            return grant.coverage.covers_namespace(self.namespace)
        return grant.covers(self.namespace, self.agent_id)


class World(msgspec.Struct):
    """A store, the ids of what its steps wrote, and the commits of each step."""

    store: Store
    ids: dict[str, str]
    commits: dict[str, int]


def build(
    steps: list[Step],
    *,
    leave_out: Callable[[Step], bool] = lambda _: False,
    like: World | None = None,
    words: str = MARK,
) -> World:
    """Build a world; `like` is a world that has all steps, and the ids of those left out."""
    ids, clock = StepIds(), FixedClock()
    store = memoranda.open(":memory:", clock=clock, ids=ids, embedder=Hashing())
    world = World(store, {} if like is None else dict(like.ids), {})
    for number, step in enumerate(steps, start=1):
        clock.step(SECONDS_A_STEP)
        ids.begin(number)
        before = core_of(store).head()
        if leave_out(step):
            assert like is not None
            _fill(store, like.commits[step.label])
        else:
            handle = store.bind(agent_id=step.agent_id, namespace=step.namespace)
            with handle.begin_transaction() as transaction:
                name = step.work(transaction, world.ids, words)
            world.ids[step.label] = name or ""
        world.commits[step.label] = core_of(store).head() - before
    return world


def finish(
    world: World, leave_out: Callable[[Step], bool] = lambda _: False, like: World | None = None
) -> World:
    """Forget, compact and subscribe, as far as steps are not left out, and index everything."""
    store, core = world.store, core_of(world.store)
    for number, step in enumerate((FOREIGN[-1], OWN[-1], OWN[3], FOREIGN[2])):
        label, before = f"after {step.label}", core.head()
        assert isinstance(core.ids, StepIds)
        core.ids.begin(1000 + number)
        if leave_out(step):
            assert like is not None
            _fill(store, like.commits[label])
        elif step.label.endswith("forgotten"):
            store.bind(agent_id=step.agent_id).forget(memory_id=world.ids[step.label], purge=False)
        else:
            place = step.namespace
            store.compact(before=HORIZONS[place], namespace=place, confirm=True)
        world.commits[label] = core.head() - before
    for agent in ("a", "b"):
        Cursor(core.engine, core.log_id, f"cursor of {agent}", agent).begin(1)
    Cursor(core.engine, core.log_id, f"cursor of nobody {MARK}").begin(1)
    store.reindex()
    return world


def _fill(store: Store, commits: int) -> None:
    """Commit as often as a step that is left out."""
    for number in range(commits):
        store.write(agent_id="z", namespace=FAR, key="k", value={"n": number})


# The steps. Foreign ones have the same titles, keys, subjects and words as the others.


def _remember(text: str, **fields: Any) -> Work:
    return lambda tx, _, words: tx.remember(text.format(words), **fields)


def _reflect(text: str, on: str) -> Work:
    return lambda tx, ids, words: tx.reflect(text.format(words), on=[ids[on]])


def _fact(subject: str, object_: str, source: str | None = None, **fields: Any) -> Work:
    def work(tx: Transaction, ids: Mapping[str, str], words: str) -> str:
        evidence = None if source is None else _evidence(source, ids[source])
        return tx.assert_fact(
            subject=subject.format(words), relation="lives in", object=object_.format(words),
            source=evidence, **fields,
        )  # fmt: skip

    return work


def _evidence(label: str, name: str) -> Any:
    return TranscriptRef(name) if "talk" in label else MemoryRef(name)


def _write(
    key: str, value: str, because: Callable[[Mapping[str, str]], list[Any]] | None = None
) -> Work:
    def work(tx: Transaction, ids: Mapping[str, str], words: str) -> None:
        refs = [] if because is None else because(ids)
        tx.write(key=key.format(words), value={"v": value.format(words)}, because=refs)

    return work


def _talk(text: str) -> Work:
    return lambda tx, _, words: tx.store_transcript(text.format(words))


def _supersede(old: str, new: str) -> Work:
    def work(tx: Transaction, ids: Mapping[str, str], _: str) -> None:
        tx.supersede(old=ids[old], new=ids[new])

    return work


def _link(source: str, target: str, relation: str = "related_to") -> Work:
    def work(tx: Transaction, ids: Mapping[str, str], _: str) -> None:
        tx.link(source=ids[source], target=ids[target], relation=relation)

    return work


def _cite(memory: str, transcript: str) -> Work:
    def work(tx: Transaction, ids: Mapping[str, str], _: str) -> None:
        tx.link_transcript(memory_id=ids[memory], transcript_id=ids[transcript], spans=[(0, 4)])

    return work


def _cardinality(relation: str) -> Work:
    return lambda tx, _, words: tx.set_cardinality(
        relation=relation.format(words), cardinality="single"
    )


def _many(count: int) -> Work:
    def work(tx: Transaction, _: Mapping[str, str], words: str) -> None:
        for number in range(count):
            tx.remember(f"Ann lives in Bonn, note {number}: " + f"{words} " * number)

    return work


OWN = [
    Step("single", TEAM, "a", "public", _cardinality("lives in")),
    Step("talk", TEAM, "a", "public", _talk("Ann: I live in Bonn.\nBob: Since when?")),
    Step("home", TEAM, "a", "public", lambda tx, ids, _: tx.remember(
        "Ann lives in Bonn", title="home", transcript=ids["talk"], metadata={"m": 1})),
    Step("below", f"{TEAM}/sub", "a", "public", _remember("Ann lives in a house", title="below")),
    Step("below_again", f"{TEAM}/sub", "a", "public", _remember("Ann has one", title="below")),
    Step("diary", TEAM, "a", "own", _remember(
        "Ann is tired of Bonn", title="diary", visibility="private")),
    Step("of_b", TEAM, "b", "public", _remember("Ann and Bob live in Bonn, says b", title="of b")),
    Step("insight", TEAM, "a", "public", _reflect("Ann likes Bonn", "home")),
    Step("insight_on_it", TEAM, "a", "public", _reflect("Ann will stay", "insight")),
    Step("fact", TEAM, "a", "public", _fact("Ann", "Bonn", "home")),
    Step("similar", TEAM, "a", "public", _fact("Ann Smith", "Anne Smith")),
    Step("fact_of_b", TEAM, "b", "public", _fact("Ann", "Rome")),
    Step("fact_of_diary", TEAM, "a", "own", _fact("Ann", "Paris", "diary")),
    Step("shared_setting", "team/shared", "a", "public",
         lambda tx, *_: tx.configure(namespace="team/shared", facts="shared")),
    Step("shared_fact", "team/shared", "a", "public", _fact("Ann", "Bonn")),
    Step("shared_of_b", "team/shared", "b", "public", _fact("Ann", "Rome")),
    Step("key", TEAM, "a", "own", _write("plan", "stay", lambda ids: [
        MemoryRef(ids["insight"]), FactRef(ids["fact"]), TranscriptRef(ids["talk"])])),
    Step("key_again", TEAM, "a", "own", _write("plan", "stay longer", lambda ids: [
        MemoryRef(ids["insight"]), KeyRef("plan")])),
    Step("key_below", f"{TEAM}/sub", "a", "own", _write("plan", "move")),
    Step("newer", TEAM, "a", "public", _remember("Ann dislikes Bonn", kind="reflection")),
    Step("superseding", TEAM, "a", "public", _supersede("insight", "newer")),
    Step("mine_forgotten", TEAM, "a", "public", _remember("Ann lives nowhere")),
]  # fmt: skip
FOREIGN = [
    Step("x_single", ELSEWHERE, "b", "public", _cardinality("{} lives in")),
    Step("x_talk", ELSEWHERE, "b", "public", _talk("Ann: {} I live in Bonn.")),
    Step("x_home", ELSEWHERE, "b", "public", lambda tx, ids, words: tx.remember(
        f"Ann lives in Bonn {words}", title="home", transcript=ids["x_talk"], metadata={"m": 1},
        event_time="2025-12-01T00:00:00Z")),
    Step("x_home_again", ELSEWHERE, "b", "public", _remember("{} Ann lives in Bonn", title="home")),
    Step("x_home_of_a", ELSEWHERE, "a", "public", _remember("Ann {} lives in Bonn", title="x")),
    Step("x_diary", TEAM, "b", "own", _remember(
        "Ann lives in Bonn {}", title="diary", visibility="private", metadata={"m": 1})),
    Step("x_diary_of_a", ELSEWHERE, "a", "own", _remember(
        "Ann lives in Bonn {}", visibility="private")),
    Step("x_insight", ELSEWHERE, "b", "public", _reflect("{} Bonn is fine", "x_home")),
    Step("x_insight_on_it", ELSEWHERE, "b", "public", _reflect("{} it is", "x_insight")),
    Step("x_fact", ELSEWHERE, "b", "public", _fact("Ann", "{} Bonn", "x_home")),
    Step("x_similar", ELSEWHERE, "a", "public", _fact("Ann Smith", "Anne Smith")),
    Step("x_fact_of_a", ELSEWHERE, "a", "public", _fact("Ann", "{} Rome")),
    Step("x_fact_of_diary", TEAM, "b", "own", _fact("Ann", "{}", "x_diary")),
    Step("x_shared_private", "team/shared", "b", "own",
         _fact("Ann", "{}", visibility="private")),
    Step("x_key", TEAM, "b", "own", _write("plan", "{}", lambda ids: [MemoryRef(ids["insight"])])),
    Step("x_key_of_a", ELSEWHERE, "a", "own", _write("plan", "{}", lambda ids: [
        MemoryRef(ids["x_insight"]), FactRef(ids["x_fact"]), TranscriptRef(ids["x_talk"])])),
    Step("x_other_key", ELSEWHERE, "b", "own", _write("{}", "{}")),
    Step("x_newer", ELSEWHERE, "b", "public", _remember("{} Bonn", kind="reflection")),
    Step("x_superseding", ELSEWHERE, "b", "public", _supersede("x_insight", "x_newer")),
    Step("x_many", ELSEWHERE, "b", "public", _many(120)),
    Step("x_many_of_a", ELSEWHERE, "a", "public", _many(3)),
    Step("x_forgotten", ELSEWHERE, "b", "public", _remember("{} is gone")),
]  # fmt: skip
LINKS = [
    Step("to", TEAM, "a", "public", _link("home", "x_home")),
    Step("from", ELSEWHERE, "b", "public", _link("x_home", "home", "derived_from")),
    Step("reflecting", TEAM, "a", "public", _reflect("on what is elsewhere", "x_home")),
    Step("reflected_on", ELSEWHERE, "b", "public", _reflect("{} on it", "home")),
    Step("superseded", ELSEWHERE, "b", "public", _supersede("home", "x_home")),
    Step("superseded_insight", ELSEWHERE, "b", "public", _supersede("newer", "x_newer")),
    Step("resting", TEAM, "a", "own", _write("resting", "on it", lambda ids: [
        MemoryRef(ids["x_home"]), FactRef(ids["x_fact"]), TranscriptRef(ids["x_talk"]),
        KeyRef("plan", None, "b", TEAM), MemoryRef(ids["home"])])),
    Step("changed", TEAM, "b", "own", _write("plan", "{} changed")),
    Step("sourced", TEAM, "a", "public", _fact("Bob", "Bonn", "x_home")),
    Step("sourced_by_talk", TEAM, "a", "public", _fact("Eve", "Bonn", "x_talk")),
    Step("citing", TEAM, "a", "public", _cite("insight", "x_talk")),
    Step("cited", ELSEWHERE, "b", "public", _cite("x_home", "talk")),
    Step("sourced_elsewhere", ELSEWHERE, "b", "public", _fact("Ann", "{} Ulm", "home")),
    Step("resting_elsewhere", ELSEWHERE, "b", "own", _write("resting", "{}", lambda ids: [
        MemoryRef(ids["home"]), FactRef(ids["fact"]), KeyRef("plan", None, "a", TEAM)])),
]  # fmt: skip


# Comparing answers.


def comparable(answer: Any) -> Any:
    """Return an answer without what depends on the whole chain, or on all salts of an event."""
    if isinstance(answer, list):
        return [comparable(item) for item in answer]
    if isinstance(answer, ReplayEvent):
        return msgspec.structs.replace(answer, hash=b"")
    if isinstance(answer, AuditEvent):
        commit, _, _ = answer.id.partition(".")  # the position counts all operations of the event
        return msgspec.structs.replace(answer, id=commit, payload_hash="")
    if isinstance(answer, Certificate):
        return msgspec.structs.replace(answer, digest="")
    if isinstance(answer, Begun):
        return msgspec.structs.replace(answer, era=0)  # it counts the erasures of the whole store
    return answer
