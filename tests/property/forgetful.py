"""A history of everything a store can hold, written and forgotten at random, with marked words.

Each word is used for one thing only, so that it is known which of them have to be gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import apsw

import memoranda
from memoranda import ALL_NAMESPACES, KeyRef, MemorandaError, MemoryRef, Store
from memoranda.log.field_commitments import Salts
from memoranda.model import codec
from memoranda.model.operations import Redacted
from memoranda.model.operations.redacted import OpenSlot

AGENTS = ("agent-ann", "agent-bob", "agent-cyd")
SPACES = ("space-one", "space-one/deeper", "space-two")
SALT = 16


class History:
    """What was written, and which words go with what."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store = store
        self.random = random
        self.words: dict[tuple[str, ...], set[str]] = defaultdict(set)
        """By what they belong to: a memory, a transcript, a key, a fact, the end of one."""
        self.owner: dict[tuple[str, ...], tuple[str, str]] = {}
        self.sourced: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.citing: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        """The memories that cite a transcript."""
        self.objects: dict[tuple[str, ...], str] = {}
        """What a fact is about that no other fact is about."""
        self.gone: set[str] = set()
        self._count = 0

    def word(self, *owner: str) -> str:
        self._count += 1
        word = f"w{self._count:05}{self.random.getrandbits(40):010x}w"
        self.words[owner].add(word)
        return word

    def of(self, kind: str) -> list[tuple[str, ...]]:
        return [item for item in self.owner if item[0] == kind]

    def bound(self) -> tuple[Store, tuple[str, str]]:
        scope = (self.random.choice(SPACES), self.random.choice(AGENTS))
        return self.store.bind(namespace=scope[0], agent_id=scope[1]), scope

    def bound_to(self, owner: tuple[str, ...]) -> Store:
        """Return the store as who made something sees it."""
        namespace, agent_id = self.owner[owner]
        return self.store.bind(namespace=namespace, agent_id=agent_id)

    def step(self) -> None:
        act = self.random.choice(
            [self.write, self.write, self.remember, self.remember, self.revise, self.talk,
             self.link, self.link, self.state_fact, self.state_fact, self.end_fact, self.supersede,
             self.unite, self.shared, self.settle]
        )  # fmt: skip
        if len(self.of("memory")) < 2:
            act = self.remember
        with suppress(MemorandaError):  # a cycle, a depth, a name that is taken: nothing is written
            act()

    def write(self) -> None:
        bound, scope = self.bound()
        reference = [item for item in self.of("key") if self.owner[item] == scope]
        if reference and self.random.random() < 0.5:
            owner = self.random.choice(reference)
        else:
            owner = ("key", *scope, f"key-{self.random.getrandbits(40):010x}")
            self.words[owner].add(owner[3])
            self.owner[owner] = scope
        because: list[Any] = []
        for kind, other in self.random.sample(
            [(item[0], item) for item in self.owner if item != owner], k=min(2, len(self.owner) - 1)
        ):
            if kind == "key":
                because.append(KeyRef(other[3], agent_id=other[2], namespace=other[1]))
            elif kind == "memory":
                because.append(MemoryRef(other[1]))
            elif kind == "fact":
                because.append(memoranda.FactRef(other[1]))
        value = {"v": self.word(*owner) * self.random.choice([1, 1, 300])}
        try:
            bound.write(key=owner[3], value=value, because=because)
        except MemorandaError:
            bound.write(key=owner[3], value=value)
        if self.random.random() < 0.1:
            bound.delete(key=owner[3])

    def remember(self) -> None:
        bound, scope = self.bound()
        txn_id = f"txn-{self.random.getrandbits(40):010x}" if self.random.random() < 0.3 else None
        words = [self.word("new") for _ in range(4)]
        memory = bound.remember(
            words[0] * self.random.choice([1, 2, 600]),
            title=words[1],
            tags=[words[2]],
            metadata={"m": words[3]},
            kind=self.random.choice(["observation", "reflection"]),
            visibility=self.random.choice(["namespace", "namespace", "private"]),
            txn_id=txn_id,
        )
        self.words[("memory", memory.id)] |= self.words.pop(("new",))
        self.owner[("memory", memory.id)] = scope

    def revise(self) -> None:
        owner = self.random.choice(self.of("memory"))
        bound = self.bound_to(owner)
        act = self.random.randrange(4)
        if act == 0:
            bound.update_memory(owner[1], content=self.word(*owner), title=self.word(*owner))
        elif act == 1:
            bound.retract_memory(owner[1], reason=self.word(*owner))
        elif act == 2:
            bound.touch(owner[1])
        else:
            transcripts = self.of("transcript")
            if transcripts:
                cited = self.random.choice(transcripts)
                bound.link_transcript(memory_id=owner[1], transcript_id=cited[1], spans=[(0, 5)])
                self.citing[cited[1]].add(owner)

    def talk(self) -> None:
        bound, scope = self.bound()
        word = self.word("new")
        transcript = bound.store_transcript(f"{word} was said. " * self.random.choice([1, 50]))
        self.words[("transcript", transcript.id)] |= self.words.pop(("new",))
        self.owner[("transcript", transcript.id)] = scope

    def link(self) -> None:
        memories = self.of("memory")
        one, other = self.random.sample(memories, k=2)
        relation = self.random.choice(["reflects_on", "reflects_on", "derived_from", "related_to"])
        bound = self.bound_to(one)
        act = bound.link if self.random.random() < 0.8 else bound.unlink
        act(source=one[1], target=other[1], relation=relation)

    def supersede(self) -> None:
        one, other = self.random.sample(self.of("memory"), k=2)
        bound = self.bound_to(one)
        bound.supersede(old=one[1], new=other[1])
        notices = [notice for notice in bound.invalidations() if notice.dependent_id is not None]
        for notice in notices[:1]:
            assert notice.dependent_id is not None
            dependent = ("memory", notice.dependent_id)
            bound.resolve_invalidation(
                notice.id,
                decision=self.random.choice(["keep", "retract"]),
                note=self.word(*dependent),
            )

    def state_fact(self) -> None:
        bound, scope = self.bound()
        sources = [*self.of("memory"), *self.of("transcript"), None]
        source = self.random.choice(sources)
        subject, object_ = (f"entity {n}" for n in self.random.sample(range(5), k=2))
        word = self.word("new") if self.random.random() < 0.5 else object_
        day = self.random.randrange(1, 28)
        once = "occasion" if self.random.random() < 0.3 else None
        with bound.begin_transaction() as transaction:
            result = transaction.assert_fact(
                subject=subject,
                relation=self.random.choice(["is at", "knows"]),
                object=word,
                valid_from=f"2025-01-{day:02}T00:00:00Z",
                valid_to="2025-02-02T00:00:00Z" if self.random.random() < 0.2 else None,
                source=None if source is None else source[1],
                once=once,
            )
        fact = ("fact", result)
        if word != object_:
            self.objects[fact] = word
        self.words[fact] |= self.words.pop(("new",), set())
        self.owner[fact] = scope
        if source is not None:
            self.sourced[source[1]].add(fact)
        if self.random.random() < 0.2:
            bound.retract_fact(assertion_id=result, reason=self.word(*fact))

    def end_fact(self) -> None:
        bound, scope = self.bound()
        source = self.random.choice([*self.of("memory"), *self.of("transcript"), None])
        by_name = (self.word("new"), f"entity {self.random.randrange(5)}", None)
        with bound.begin_transaction() as transaction:
            result = transaction.end_fact(
                allow_unknown=True,
                subject=f"entity {self.random.randrange(5)}",
                relation=self.random.choice(["is at", "knows", self.word("new")]),
                object=self.random.choice(by_name),
                at=f"2025-01-{self.random.randrange(1, 28):02}T00:00:00Z",
                source=None if source is None else source[1],
            )
        end = ("end", result)
        self.words[end] |= self.words.pop(("new",), set())
        self.owner[end] = scope
        if source is not None:
            self.sourced[source[1]].add(end)
        if self.random.random() < 0.2:
            bound.retract_fact(assertion_id=result, reason=self.word(*end))

    def unite(self) -> None:
        bound, _ = self.bound()
        if self.random.random() < 0.5:
            cardinality = self.random.choice(["single", "multi"])
            bound.set_cardinality(relation="is at", cardinality=cardinality)
        else:
            one, other = (f"entity {n}" for n in self.random.sample(range(5), k=2))
            bound.merge_entities(source=one, into=other)

    def shared(self) -> None:
        with self.store.bind(agent_id=self.random.choice(AGENTS)).begin_transaction() as shared:
            for agent_id in AGENTS:
                space = self.random.choice(SPACES)
                owner = ("key", space, agent_id, f"key-{self.random.getrandbits(40):010x}")
                self.words[owner].add(owner[3])
                self.owner[owner] = (space, agent_id)
                value = {"v": self.word(*owner)}
                shared.write(agent_id=agent_id, namespace=space, key=owner[3], value=value)

    def settle(self) -> None:
        bound, _ = self.bound()
        bound.configure(max_reflection_depth=self.random.choice([3, 4, 5]))

    def forget(self) -> bool:
        """Forget something at random, and say whether there was anything."""
        kind = self.random.choice(
            ["memory", "memory", "transcript", "derived", "key", "key", "facts", "fact", "entity",
             "agent", "namespace", "children"]
        )  # fmt: skip
        others: dict[str, Callable[[], bool]] = {
            "agent": lambda: self._forget_name(whole_agent=self.random.choice(AGENTS)),
            "namespace": lambda: self._forget_name(whole_namespace=self.random.choice(SPACES)),
            "children": lambda: self._forget_name(whole_namespace=SPACES[0], children=True),
            "fact": lambda: self._forget_fact(kind),
            "entity": lambda: self._forget_fact(kind),
            "derived": self._forget_derived,
        }
        if kind in others:
            return others[kind]()
        reference = self.of("memory" if kind == "facts" else kind)
        if not reference:
            return False
        owner = self.random.choice(reference)
        bound = self.bound_to(owner)
        if kind == "key":
            bound.forget(key=owner[3])
        elif kind == "transcript":
            bound.forget(transcript_id=owner[1])
        elif kind == "memory":
            bound.forget(memory_id=owner[1])
        elif any(fact in self.owner for fact in self.sourced[owner[1]]):
            bound.forget(facts_from=owner[1])
        else:
            return False
        self._drop([owner] if kind != "facts" else [], [owner[1]])
        return True

    def _forget_fact(self, kind: str) -> bool:
        """Forget an assertion, or what it alone is about."""
        reference = [item for item in self.objects if item in self.owner]
        if not reference:
            return False
        fact = self.random.choice(reference)
        bound = self.bound_to(fact)
        if kind == "fact":
            bound.forget(fact=fact[1])
        else:
            bound.forget(entity=self.objects[fact].upper())
        self._drop([fact], [])
        return True

    def _forget_derived(self) -> bool:
        reference = self.of("transcript")
        if not reference:
            return False
        owner = self.random.choice(reference)
        self.store.forget(transcript_id=owner[1], derived=True)
        going = [owner, *(item for item in self.citing[owner[1]] if item in self.owner)]
        self._drop(going, [item[1] for item in going])
        return True

    def _forget_name(self, **named: Any) -> bool:
        if not list(self.store.replay(agent_id=memoranda.ALL_AGENTS, namespace=ALL_NAMESPACES)):
            return False
        try:
            self.store.forget(**named)
        except memoranda.NotFound:
            return False
        name, children = next(iter(named.values())), "children" in named
        going = [
            item
            for item, scope in self.owner.items()
            if name in scope or (children and scope[0].startswith(f"{name}/"))
        ]
        self._drop(going, [item[1] for item in going])
        return True

    def _drop(self, going: list[tuple[str, ...]], sources: list[str]) -> None:
        facts = [fact for source in sources for fact in self.sourced.pop(source, ())]
        for item in (*going, *facts):
            self.gone |= self.words.pop(item, set())
            self.owner.pop(item, None)

    def content(self) -> dict[str, Any]:
        """Return everything readable that is not forgotten, by what it is."""
        result: dict[str, Any] = {}
        for owner, (namespace, agent_id) in self.owner.items():
            bound = self.store.bind(namespace=namespace, agent_id=agent_id)
            if owner[0] == "key":
                versions = bound.history(key=owner[3])
                result[str(owner)] = [(version.version, version.value) for version in versions]
            elif owner[0] == "memory":
                history = bound.memory_history(owner[1])
                result[str(owner)] = [
                    (version.version, version.title, version.content) for version in history
                ]
                result[f"{owner} links"] = sorted(
                    (link.source, link.relation, link.target)
                    for link in bound.links(owner[1], include_closed=True)
                )
            elif owner[0] == "transcript":
                transcript = bound.get_transcript(owner[1])
                assert transcript is not None
                result[str(owner)] = transcript.text()
        for row in self.store.sql("SELECT id, subject, object, at, kind, reason FROM assertions"):
            result[f"fact {row['id']} {row['kind']}"] = (row["object"], row["at"], row["reason"])
        return result


@dataclass
class Salted:
    """The salts in a store's file, and the names that stand there."""

    events: dict[int, list[bytes]] = field(default_factory=dict)
    """By commits: the envelope's, and each operation's."""
    names: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """Of the names of agents and namespaces."""
    present: set[str] = field(default_factory=set)
    """The names that anything is said to be of."""
    opened: set[bytes] = field(default_factory=set)
    """Of what stays of operations of which something else went."""


def salts_of(path: Path) -> Salted:
    """Return the salts of every event."""
    database, result = apsw.Connection(str(path)), Salted()
    try:
        rows = list(database.execute("SELECT commit_ts, salts, operations FROM event"))
    finally:
        database.close()
    for commit_ts, stored, encoded in rows:
        operations = codec.decode_operations(encoded)
        salts = Salts(stored, operations)
        result.events[commit_ts] = [salts.envelope, *salts.operations]
        for pair, salt in salts.scopes.items():
            for name, own in zip(pair, (salt[:SALT], salt[SALT:]), strict=True):
                result.names[name].add(own)
        for operation in operations:
            result.present |= {operation.namespace, operation.agent_id}
            if isinstance(operation, Redacted):
                result.opened |= {
                    slot.salt for slot in operation.slots if isinstance(slot, OpenSlot)
                }
    return result
