"""Two stores to which the same is done, of which one forgets the way it came."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from memoranda import (
    Conflict,
    FactRef,
    InvalidInput,
    KeyRef,
    LinkCycle,
    MemoryRef,
    NotFound,
    ReflectionTooDeep,
    Store,
)
from memoranda.log.compaction import pace
from memoranda.log.compaction.compactor import Plan, Slice, Step
from memoranda.testing import FixedClock, FixedIds, memory_store
from tests.cores import core_of

SPACES = ("n", "team/x")
AGENTS = ("a1", "a2")
KEYS = ("k", "l")
TITLES = ("alpha", "beta", None, None)
SUBJECTS = ("bob", "eve", "Bobby")
RELATIONS = ("likes", "lives in")
LONG = "words " * 1000
REFUSED = (Conflict, NotFound, LinkCycle, ReflectionTooDeep, InvalidInput)
STANDING_ENDS = """
    SELECT id FROM assertions WHERE kind = 'end' AND retracted_in IS NULL
        AND namespace = :namespace AND agent_id = :agent_id AND id NOT IN (
            SELECT id FROM assertions WHERE kind = 'assert'
        )
    ORDER BY commit_ts
"""
DEEDS = (
    *("write",) * 6,
    *("delete", "several", "wait"),
    *("remember",) * 3,
    *("update",) * 5,
    *("retract", "touch", "touch", "touch", "touch", "promote"),
    *("reflect", "reflect", "link", "link", "unlink", "supersede", "resolve"),
    *("transcript", "cite", "configure"),
    *("assert", "assert", "assert", "end", "withdraw", "cardinality", "alias", "merge"),
)


class Made(NamedTuple):
    """Something new, by the name of the list that it is to be found in."""

    kind: str
    name: str | None


class Twins:
    """What is done to one is done to the other; their answers are compared elsewhere."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clocks = (FixedClock(), FixedClock())
        self.stores = tuple(memory_store(clock=clock, ids=FixedIds()) for clock in self.clocks)
        self.memories: list[str] = []
        self.transcripts: list[str] = []
        self.assertions: list[str] = []
        self.done = 0
        self.old_versions = True

    def do(self, times: int) -> None:
        """Do some things, the same to both."""
        for _ in range(times):
            deed = self.random.choice(DEEDS)
            if deed == "wait":
                seconds = self.random.choice((1, 60, 5000, 30_000))
                for clock in self.clocks:
                    clock.advance(seconds)
                continue
            for clock in self.clocks:
                clock.advance(0.5)
            self.done += 1
            self._both(getattr(self, f"_{deed}")())

    def compact(self, namespace: str, before: int, *, weight: int, deeds: int = 0) -> int:
        """Compact one in slices; the other makes commits that say nothing instead.

        Behind each slice the views are what a rebuild gives, and some things are done to both.
        """
        plain, summed = self.stores
        self.old_versions = False  # the one would refuse to rest on them
        carry_out = core_of(summed).committer._write_slice

        def slice_and_go_on(plan: Plan, part: Slice) -> Step:
            step = carry_out(plan, part)
            if step.commit_ts is not None:
                plain.write(agent_id="_", namespace="other", key="k", value={})
                assert plain.stats().commits == step.commit_ts
                if deeds:
                    assert summed.rebuild().identical
                    summed.verify()
                self.do(deeds)
            return step

        with ExitStack() as changed:
            for name in ("MIN_WEIGHT", "FIRST_WEIGHT", "MAX_WEIGHT"):
                changed.enter_context(patch.object(pace, name, weight))
            committer = core_of(summed).committer
            changed.enter_context(patch.object(committer, "_write_slice", slice_and_go_on))
            return summed.compact(namespace=namespace, before=before, confirm=True).erased

    def _both(self, deed: Callable[[Store], Any]) -> None:
        answers = []
        for store in self.stores:
            try:
                answers.append(deed(store))
            except REFUSED as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        answer = answers[0]
        if isinstance(answer, Made):
            reference: list[str] = getattr(self, answer.kind)
            if answer.name is not None and answer.name not in reference:
                reference.append(answer.name)

    def _who(self) -> dict[str, Any]:
        return {
            "namespace": self.random.choice(SPACES),
            "agent_id": self.random.choice(AGENTS),
        }

    def _named(self) -> str:
        return f"txn-{self.done}"

    def _ground(self) -> Any:
        which = self.random.randrange(4)
        version = self.random.choice((None, 1, 2)) if self.old_versions else None
        if which == 0 and self.memories:
            return MemoryRef(self._some(), version)
        if which == 1 and self.assertions:
            return FactRef(self.random.choice(self.assertions))
        who = self._who()
        return KeyRef(self.random.choice(KEYS), version, who["agent_id"], who["namespace"])

    def _write(self) -> Callable[[Store], Any]:
        who, key, name = self._who(), self.random.choice(KEYS), self._named()
        because = [self._ground() for _ in range(self.random.choice((0, 0, 1, 2)))]
        value = {"is": self.done}
        return lambda store: store.write(key=key, value=value, because=because, txn_id=name, **who)

    def _delete(self) -> Callable[[Store], Any]:
        who, key, name = self._who(), self.random.choice(KEYS), self._named()
        return lambda store: store.delete(key=key, txn_id=name, **who)

    def _several(self) -> Callable[[Store], Any]:
        writes = [(self._who(), self.random.choice(KEYS)) for _ in range(4)]
        name, value = self._named(), {"together": self.done}

        def deed(store: Store) -> int:
            with store.begin_transaction(txn_id=name) as tx:
                for who, key in writes:
                    tx.write(key=key, value=value, **who)
                tx.remember(f"together {name}", agent_id="a1", namespace="n")
            assert tx.commit_ts is not None
            return tx.commit_ts

        return deed

    def _remember(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        random = self.random
        title, ttl = random.choice(TITLES), random.choice((None, None, 100))
        content = LONG + name if random.random() < 0.3 else f"content {name}"
        tier = random.choice(("short", "mid", "long"))
        visibility = "private" if random.random() < 0.2 else "namespace"
        return lambda store: Made(
            "memories",
            store.remember(
                content,
                title=title,
                ttl=ttl,
                tier=tier,
                visibility=visibility,
                txn_id=name,
                tags=(name,),
                **who,
            ).id,
        )

    def _some(self) -> str:
        return self.random.choice(self.memories[-6:]) if self.memories else "none"

    def _update(self) -> Callable[[Store], Any]:
        memory, name, agent = self._some(), self._named(), self.random.choice(AGENTS)
        changes: dict[str, Any] = self.random.choice(
            (
                {"content": f"changed {name}"},
                {"content": LONG + "changed " + name},
                {"tags": (name, "more")},
                {"title": self.random.choice(("alpha", "gamma", None))},
                {"tier": "short"},
                {"kind": "claim", "content": "claimed"},
            )
        )
        return lambda store: (
            store.update_memory(memory, txn_id=name, agent_id=agent, **changes).version
        )

    def _retract(self) -> Callable[[Store], Any]:
        memory, name, agent = self._some(), self._named(), self.random.choice(AGENTS)
        return lambda store: store.retract_memory(
            memory, reason=f"because {name}", txn_id=name, agent_id=agent
        )

    def _touch(self) -> Callable[[Store], Any]:
        memory, name, agent = self._some(), self._named(), self.random.choice(AGENTS)
        return lambda store: store.touch(memory, txn_id=name, agent_id=agent).access_count

    def _promote(self) -> Callable[[Store], Any]:
        memory, name, agent = self._some(), self._named(), self.random.choice(AGENTS)
        tier = self.random.choice(("mid", "long"))
        return lambda store: store.promote(memory, tier=tier, txn_id=name, agent_id=agent).tier

    def _reflect(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        on = [self._some() for _ in range(self.random.choice((1, 2)))]
        return lambda store: Made(
            "memories",
            store.reflect(f"reflection {name}", on=on, txn_id=name, **who).id,
        )

    def _link(self) -> Callable[[Store], Any]:
        ends, name, agent = (self._some(), self._some()), self._named(), self.random.choice(AGENTS)
        relation = self.random.choice(("related_to", "derived_from", "reflects_on", "supersedes"))
        return lambda store: (
            store.link(
                source=ends[0], target=ends[1], relation=relation, txn_id=name, agent_id=agent
            ).notified
        )

    def _unlink(self) -> Callable[[Store], Any]:
        memory, name, which = self._some(), self._named(), self.random.random()

        def deed(store: Store) -> Any:
            for agent in AGENTS:
                links = store.links(memory, agent_id=agent)
                if links:
                    link = links[int(which * len(links))]
                    return store.unlink(
                        source=link.source,
                        target=link.target,
                        relation=link.relation,
                        txn_id=name,
                        agent_id=agent,
                    )
            return None

        return deed

    def _supersede(self) -> Callable[[Store], Any]:
        ends, name, agent = (self._some(), self._some()), self._named(), self.random.choice(AGENTS)
        return lambda store: (
            store.supersede(old=ends[0], new=ends[1], txn_id=name, agent_id=agent).notified
        )

    def _resolve(self) -> Callable[[Store], Any]:
        agent, name = self.random.choice(AGENTS), self._named()
        decision = self.random.choice(("keep", "retract"))

        def deed(store: Store) -> Any:
            notices = list(store.invalidations(agent_id=agent))
            if not notices:
                return None
            return store.resolve_invalidation(
                notices[0].id, decision=decision, note=name, agent_id=agent, txn_id=name
            ).commit_ts

        return deed

    def _transcript(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        return lambda store: Made(
            "transcripts",
            store.store_transcript(f"they said {name}", txn_id=name, **who).id,
        )

    def _cite(self) -> Callable[[Store], Any]:
        memory, name, agent = self._some(), self._named(), self.random.choice(AGENTS)
        transcript = self.random.choice(self.transcripts) if self.transcripts else "none"
        return lambda store: (
            store.link_transcript(
                memory_id=memory,
                transcript_id=transcript,
                spans=[(0, 4)],
                txn_id=name,
                agent_id=agent,
            ).spans
        )

    def _configure(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        seconds = self.random.choice((1000, 20_000))
        return lambda store: store.configure(tiers={"short": seconds}, txn_id=name, **who)

    def _day(self) -> datetime:
        start = datetime.fromisoformat("2025-06-01T00:00:00+00:00")
        return start + timedelta(days=self.random.randrange(20))

    def _assert(self) -> Callable[[Store], Any]:
        who, name, random = self._who(), self._named(), self.random
        text: dict[str, Any] = {
            "subject": random.choice(SUBJECTS),
            "relation": random.choice(RELATIONS),
            "object": random.choice(("tea", "Rome", "Oslo")),
            "valid_from": random.choice((None, self._day())),
            "source": random.choice((None, MemoryRef(self._some()))),
        }
        return lambda store: Made(
            "assertions",
            store.assert_fact(txn_id=name, **text, **who).assertion_id,
        )

    def _end(self) -> Callable[[Store], Any]:
        who, name, random = self._who(), self._named(), self.random
        text: dict[str, Any] = {
            "subject": random.choice(SUBJECTS),
            "relation": random.choice(RELATIONS),
            "object": random.choice((None, "tea", "Rome")),
            "at": random.choice((None, self._day())),
            "source": random.choice((None, MemoryRef(self._some()))),
        }
        return lambda store: store.end_fact(txn_id=name, **text, **who, allow_unknown=True).close

    def _withdraw(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        facts = self.stores[0].facts(include_closed=True, **who)
        text = [assertion for fact in facts for assertion in fact.assertions]
        text += [row["id"] for row in self.stores[0].sql(STANDING_ENDS, who)]
        assertion = self.random.choice(text) if text else "none"
        return lambda store: (
            store.retract_fact(assertion_id=assertion, reason="wrong", txn_id=name, **who).commit_ts
        )

    def _cardinality(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        relation = self.random.choice(RELATIONS)
        cardinality = self.random.choice(("single", "multi"))
        return lambda store: store.set_cardinality(
            relation=relation, cardinality=cardinality, txn_id=name, **who
        )

    def _alias(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        alias = self.random.choice(("rob", "Bobby"))
        return lambda store: store.alias(entity="bob", alias=alias, txn_id=name, **who)

    def _merge(self) -> Callable[[Store], Any]:
        who, name = self._who(), self._named()
        return lambda store: store.merge_entities(source="eve", into="bob", txn_id=name, **who)
