"""Random histories, summed up at random places: from there on nothing differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memoranda import ALL_AGENTS, ALL_NAMESPACES, Compacted, KeyRef, MemorandaError, Store
from tests.property.compaction_twins import AGENTS, KEYS, RELATIONS, SPACES, SUBJECTS, Twins
from tests.quick import some

BEGIN = datetime.fromisoformat("2025-06-01T00:00:00+00:00")
INSTANTS = [BEGIN + timedelta(days=days) for days in (3, 9, 15)]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A seed does not shrink."""
SEEDS = st.integers(min_value=0, max_value=2**32)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=3, deadline=None, phases=PHASES)
def test_what_is_asked_from_the_horizon_on_is_as_it_would_be(seed: int) -> None:
    check(seed, deeds=80)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=some(60), deadline=None, phases=PHASES)
def test_what_is_asked_from_the_horizon_on_is_as_it_would_be_often(seed: int) -> None:
    check(seed, deeds=150)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=2, deadline=None, phases=PHASES)
def test_others_write_between_its_slices(seed: int) -> None:
    check(seed, deeds=40, weight=8, between=2)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=some(24), deadline=None, phases=PHASES)
def test_others_write_between_its_slices_often(seed: int) -> None:
    check(seed, deeds=80, weight=Random(seed).choice((1, 3, 10)), between=1)


def check(seed: int, *, deeds: int, weight: int = 256, between: int = 0) -> None:
    """Do things to both, compact one in slices, compare; go on, and compact it again."""
    twins, random = Twins(seed), Random(seed)
    horizons = dict.fromkeys(SPACES, 0)
    for round_ in range(3):
        twins.do(deeds)
        for namespace in SPACES if round_ else SPACES[:1]:
            head = twins.stores[1].stats().commits
            horizon = random.randrange(head // 3, head + 1)
            if twins.compact(namespace, horizon, weight=weight, deeds=between):
                horizons[namespace] = max(horizons[namespace], horizon)
        plain, summed = twins.stores
        assert summed.rebuild().identical
        summed.verify()
        compare(plain, summed, horizons, random)
        check_replay(plain, summed, horizons)


class Question:
    """A call on a store; what it yields is listed."""

    def __init__(self, method: str, *args: Any, **values: Any) -> None:
        self.method, self.args, self.values = method, args, values

    def ask(self, store: Store) -> Any:
        result = getattr(store, self.method)(*self.args, **self.values)
        return list(result) if isinstance(result, Iterator) else result

    def answer(self, store: Store) -> Any:
        try:
            return self.ask(store)
        except MemorandaError as error:
            return type(error), str(error)

    def __repr__(self) -> str:
        return f"{self.method}({self.args}, {self.values})"


def compare(plain: Store, summed: Store, horizons: dict[str, int], random: Random) -> None:
    """Ask both the same, as of moments from the horizons on, and of moments before."""
    head = plain.stats().commits
    for namespace, horizon in horizons.items():
        for at in moments(horizon, head, random):
            for question in questions(namespace, at):
                assert question.answer(plain) == question.answer(summed), question
        for at in moments(1, horizon - 1, random):
            for question in questions(namespace, at):
                with pytest.raises(Compacted) as refused:
                    question.ask(summed)
                assert refused.value.horizon == horizon
    for at in moments(max(horizons.values()), head, random):
        for question in wide_questions(plain, at, random):
            assert question.answer(plain) == question.answer(summed), question


def moments(first: int, last: int, random: Random) -> Iterable[int]:
    if first > last:
        return []
    return sorted({first, last, random.randint(first, last)})


def questions(namespace: str, at: int) -> Iterator[Question]:
    """Yield questions about one namespace as of a commit."""
    for agent in AGENTS:
        who = {"agent_id": agent, "namespace": namespace}
        yield Question("scan_prefix", prefix="", at=at, **who)
        yield Question("list_keys", at=at, **who)
        yield Question("diff", old=at, **who)
        yield Question("get_state", key="k", at=at, **who)
        yield Question("history", key="k", since=at, **who)
        yield Question("entities", known_at=at, **who)
        for valid in (None, *INSTANTS):
            yield Question("facts", valid_at=valid, known_at=at, **who)
        for subject, relation in product(SUBJECTS, RELATIONS):
            yield Question("timeline", subject=subject, relation=relation, known_at=at, **who)
        yield Question("list_memories", children=False, at=at, content=True, **who)
        yield Question("get_memory", title="alpha", at=at, **who)


def wide_questions(plain: Store, at: int, random: Random) -> Iterator[Question]:
    """Yield questions that lead from one namespace into another."""
    for agent in AGENTS:
        when = {"agent_id": agent, "at": at}
        for status in ("open", "resolved"):
            yield Question("invalidations", status=status, **when)
        bound = plain.bind(agent_id=agent)
        memories = [item.id for item in bound.list_memories(namespace=ALL_NAMESPACES)]
        for memory in random.sample(memories, min(5, len(memories))):
            yield Question("links", memory, include_closed=True, **when)
            yield Question("origins", memory, **when)
            yield Question("dependents", memory, depth=None, **when)
            yield Question("memory_history", memory, since=at, agent_id=agent)
        for namespace in SPACES:
            for key in KEYS:
                yield Question("why", KeyRef(key), namespace=namespace, **when)
            yield Question("stale_keys", namespace=namespace, **when)
            for fact in plain.facts(agent_id=agent, namespace=namespace, include_closed=True):
                yield Question("explain", fact, known_at=at, agent_id=agent)


def check_replay(plain: Store, summed: Store, horizons: dict[str, int]) -> None:
    """Apply what is replayed: it gives what is there, wherever the reader was before."""
    for namespace, horizon in horizons.items():
        for agent in AGENTS:
            who: dict[str, Any] = {"agent_id": agent, "namespace": namespace}
            now = {entry.key: entry.value for entry in plain.scan_prefix(prefix="", **who)}
            assert applied({}, summed, **who) == now
            behind = list(summed.replay(after_commit=horizon, **who))
            assert behind == [entry for entry in summed.replay(**who) if entry.commit_ts > horizon]
            assert [entry.summary for entry in behind] == [False] * len(behind)
            for observations in (1, horizon // 2, horizon - 1):
                reference = seen_by(plain, observations, **who)
                assert applied(reference, summed, after_commit=max(observations, 0), **who) == now
        everybody = list(summed.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES))
        commits = [entry.commit_ts for entry in everybody]
        assert commits == sorted(set(commits))


def seen_by(plain: Store, through: int, **who: Any) -> dict[str, Any]:
    if through < 1:
        return {}
    return {entry.key: entry.value for entry in plain.scan_prefix(prefix="", at=through, **who)}


def applied(state: dict[str, Any], store: Store, **bounds: Any) -> dict[str, Any]:
    values = dict(state)
    for event in store.replay(kinds=["write", "delete"], **bounds):
        for operation in event.operations:
            if operation.value is None:
                values.pop(operation.key, None)
            else:
                values[operation.key] = operation.value
    return values
